package mpi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// block is a message of one value that is not short.
type block [70_000]byte

// order draws the messages of a sender, and the calls of their receiver: both draw the same.
type order struct {
	*rand.Rand
	k int // of the message that comes next
}

// next is the length of the next message, and whether it is one of objects, or of one block.
func (o *order) next() (n int, objects, value bool) {
	o.k++
	n = []int{8, 3000, 20_000, 70_000, 300_000, 1 << 20}[o.IntN(6)]
	return n, o.IntN(6) == 0, o.IntN(6) == 0
}

// bytes is the payload of the message drawn last.
func (o *order) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + o.k)
	}
	return b
}

func (o *order) send(c *mpi.Comm) error {
	n, objects, value := o.next()
	switch {
	case objects:
		return mpi.Send(c, []string{string(o.bytes(n))}, 1, 1)
	case value:
		return mpi.SendValue(c, block(o.bytes(len(block{}))), 1, 1)
	case o.k%2 == 0:
		return mpi.Ssend(c, o.bytes(n), 1, 1)
	}
	return mpi.Send(c, o.bytes(n), 1, 1)
}

// bounded tries a call with deadlines that are drawn until none ends it. It returns how many have.
func bounded(c *mpi.Comm, r *rand.Rand, call func(c *mpi.Comm) error) (ended int, err error) {
	for ; ; ended++ {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(1<<r.IntN(20)))) // to 1 ms
		err = call(c.WithContext(ctx))
		if cancel(); !errors.Is(err, context.DeadlineExceeded) {
			return ended, err
		}
	}
}

// receive receives the next message by a call that is drawn, as often as it takes.
func (o *order) receive(c *mpi.Comm, r *rand.Rand) (ended int, err error) {
	n, objects, value := o.next()
	var got []byte
	switch kind := r.IntN(7); {
	case objects:
		s := make([]string, 1)
		ended, err = bounded(c, r, func(c *mpi.Comm) error { return second(mpi.Recv(c, s, 0, 1)) })
		got = []byte(s[0])
	case value:
		n = len(block{})
		ended, err = bounded(c, r, func(c *mpi.Comm) error {
			v, _, err := mpi.RecvValue[block](c, 0, mpi.AnyTag)
			got = v[:]
			return err
		})
	case kind == 0:
		ended, err = bounded(c, r, func(c *mpi.Comm) (err error) { got, _, err = mpi.RecvNew[byte](c, 0, 1); return err })
	case kind == 1:
		got = make([]byte, n)
		ended, err = bounded(c, r, func(c *mpi.Comm) error {
			msg, _, err := mpi.Mprobe(c, mpi.AnySource, 1)
			if err == nil {
				_, err = mpi.Mrecv(msg, got)
			}
			return err
		})
	case kind == 2:
		column := make([]byte, 2*n)
		ended, err = bounded(c.WithType(mpi.Vector(n, 1, 2, mpi.TypeOf[byte]())), r, func(c *mpi.Comm) error { return second(mpi.Recv(c, column, 0, 1)) })
		for i := range n {
			got = append(got, column[2*i])
		}
	case kind == 3:
		got = make([]byte, n)
		ended, err = bounded(c, r, func(c *mpi.Comm) error {
			return second(mpi.Sendrecv(c, []byte(nil), mpi.ProcNull, 0, got, mpi.AnySource, 1))
		})
	case kind == 4:
		got = make([]byte, n)
		ended, err = bounded(c, r, func(c *mpi.Comm) error { return second(mpi.WaitAll(mpi.Irecv(c, got, 0, mpi.AnyTag))) })
	default:
		got = make([]byte, n)
		ended, err = bounded(c, r, func(c *mpi.Comm) error { return second(mpi.Recv(c, got, 0, 1)) })
	}
	if err == nil && !bytes.Equal(got, o.bytes(n)) {
		err = fmt.Errorf("message %d of %d bytes came as %d other ones", o.k, n, len(got))
	}
	return ended, err
}

// Whatever deadlines end the calls of a receiver, it gets all messages, each once, whole, and in
// their order. A call that a context ends is as if it had never been, as a receive is that was
// cancelled (MPI 4.1, section 3.8.4).
func TestDeadlinesLoseNothing(t *testing.T) {
	for _, transport := range mpi.TransportsHere() {
		for _, policy := range []string{"worker", "assist", "caller"} {
			for _, checks := range []string{"0", "1"} {
				t.Run(transport+"/"+policy+"/"+checks, func(t *testing.T) {
					t.Setenv("FITMPI_TRANSPORT", transport)
					t.Setenv("FITMPI_PROGRESS", policy)
					t.Setenv("FITMPI_CHECK", checks)
					seed := rand.Uint64()
					t.Log("seed", seed)
					err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
						c.SetErrhandler(mpi.ErrorsReturn)
						o, r, all := &order{Rand: rand.New(rand.NewPCG(seed, 0))}, rand.New(rand.NewPCG(seed, 1)), 0
						for range effort.Share(100) {
							if c.Rank() == 0 {
								if err := o.send(c); err != nil {
									return err
								}
								continue
							}
							ended, err := o.receive(c, r)
							if err != nil {
								return err
							}
							all += ended
						}
						if c.Rank() == 1 {
							t.Log(all, "calls were ended")
						}
						return mpi.Barrier(c)
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// Of a Sendrecv whose send is ended after its receive has its message the status says so: that
// message does not come again.
func TestSendrecvHalfEnded(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		if c.Rank() == 1 {
			if err := mpi.Send(c, []int{1, 2, 3}, 0, 7); err != nil {
				return err
			}
			return mpi.Barrier(c)
		}
		if _, err := mpi.Probe(c, 1, 7); err != nil {
			return err
		}
		in := make([]int, 4)
		r := mpi.Isendrecv(c.WithContext(ctx), make([]byte, 8<<20), 1, 8, in, 1, 7)
		cancel(enough)
		st, err := r.Wait()
		if !errors.Is(err, enough) || st.Source != 1 || st.Tag != 7 || st.Count != 3 || in[2] != 3 {
			return fmt.Errorf("the send has ended with %v, and of the receive it says %+v", err, st)
		}
		return mpi.Barrier(c)
	})
	if err != nil {
		t.Error(err)
	}
}
