package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// fairRequests are persistent receives, all of which are complete whenever they are looked at.
type fairRequests struct {
	c  *mpi.Comm
	rs []*mpi.Request
}

func newFair(c *mpi.Comm, n int) (*fairRequests, error) {
	f := &fairRequests{c: c}
	var err error
	for i := range n {
		f.rs = append(f.rs, mpi.RecvInit(c, make([]int, 1), 0, i))
		err = errors.Join(err, f.again(i))
	}
	return f, err
}

// again starts a receive, whose message is there.
func (f *fairRequests) again(i int) error {
	return errors.Join(mpi.Send(f.c, []int{i}, 0, i), f.rs[i].Start())
}

// McMPI's fairness: of n requests that are always complete, as each that is returned is started
// again at once, WaitAny and TestAny return each in turn, and WaitSome and TestSome all of them:
// "If a request for a receive repeatedly appears in a list of requests passed to MPI_WAITSOME or
// MPI_TESTSOME, and a matching send has been posted, then the receive will eventually succeed"
// (MPI 4.1, section 3.7.5).
func TestRequestsByTurns(t *testing.T) {
	const n = 7
	inTurn := func(f *fairRequests, call func() (int, error)) error {
		last := map[int]int{}
		for round := range 10 * n {
			i, err := call()
			if err != nil {
				return err
			}
			if before, ok := last[i]; ok && round-before != n {
				return fmt.Errorf("call %d returns request %d, as call %d did: each of %d should have had its turn", round, i, before, n)
			}
			if last[i] = round; round == n-1 && len(last) != n {
				return fmt.Errorf("%d calls have returned %d of %d requests", n, len(last), n)
			}
			if err := f.again(i); err != nil {
				return err
			}
		}
		return nil
	}
	some := func(f *fairRequests, call func() ([]int, error)) error {
		for range 10 {
			indices, err := call()
			if err != nil || len(indices) != n {
				return fmt.Errorf("of %d requests that are complete it returns %v, %w", n, indices, err)
			}
			for _, i := range indices {
				if err := f.again(i); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for name, calls := range map[string]func(f *fairRequests) error{
		"WaitAny": func(f *fairRequests) error {
			return inTurn(f, func() (int, error) { i, _, err := mpi.WaitAny(f.rs...); return i, err })
		},
		"TestAny": func(f *fairRequests) error {
			return inTurn(f, func() (int, error) { i, _, _, err := mpi.TestAny(f.rs...); return i, err })
		},
		"WaitSome": func(f *fairRequests) error {
			return some(f, func() ([]int, error) { is, _, err := mpi.WaitSome(f.rs...); return is, err })
		},
		"TestSome": func(f *fairRequests) error {
			return some(f, func() ([]int, error) { is, _, err := mpi.TestSome(f.rs...); return is, err })
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
				f, err := newFair(c, n)
				if err != nil {
					return err
				}
				if err := calls(f); err != nil {
					return err
				}
				_, err = mpi.WaitAll(f.rs...)
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// The same of requests that are made anew each time, beside one that is never complete: this one
// does not count.
func TestWaitAnyAnew(t *testing.T) {
	const n = 4
	if err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		bufs := make([][1]int, n+1)
		rs := make([]*mpi.Request, n+1)
		again := func(i int) error {
			rs[i] = mpi.Irecv(c, bufs[i][:], mpi.AnySource, i)
			return mpi.Send(c, []int{i}, 0, i)
		}
		for i := range n {
			if err := again(i); err != nil {
				return err
			}
		}
		rs[n] = mpi.Irecv(c, bufs[n][:], 0, n)
		var counts [n + 1]int
		for range 20 * n {
			i, st, err := mpi.WaitAny(rs...)
			if err != nil {
				return err
			}
			if st.Tag != i || st.Source != 0 {
				return fmt.Errorf("request %d has got a message of %d, tag %d", i, st.Source, st.Tag)
			}
			counts[i]++
			if err := again(i); err != nil {
				return err
			}
		}
		for i, k := range counts[:n] {
			if k != 20 {
				return fmt.Errorf("request %d was returned %d times: %v", i, k, counts)
			}
		}
		_, err := mpi.WaitAll(rs[:n]...)
		return errors.Join(err, mpi.Send(c, []int{0}, 0, n), second(rs[n].Wait()))
	}); err != nil {
		t.Error(err)
	}
}
