package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// receives posts a receive of an int with each of the tags below n, from this rank itself.
func receives(c *mpi.Comm, n int) (rs []*mpi.Request, bufs [][]int) {
	for tag := range n {
		buf := make([]int, 1)
		rs, bufs = append(rs, mpi.Irecv(c, buf, c.Rank(), tag)), append(bufs, buf)
	}
	return rs, bufs
}

// TestAsCompleted: each request is yielded once, when it is complete, with its place in the list,
// its status and its error; those that are left when the loop is left are as they were.
func TestAsCompleted(t *testing.T) {
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		rs, bufs := receives(c, 4)
		rs = append(rs, nil, mpi.RecvInit(c, make([]int, 1), 0, 9), mpi.Irecv(c, make([]int, 1), 7, 0)) // a null, an inactive and a failed one
		const failed = 6
		send := func(tag int) error { return mpi.Send(c, []int{tag + 100}, 0, tag) }
		order, next := []int{2, 0, 3, 1}, 0
		var got []int
		for i, done := range mpi.AsCompleted(rs...) {
			if got = append(got, i); done.Index != i {
				return fmt.Errorf("index %d of request %d", done.Index, i)
			}
			switch {
			case i == failed && mpi.ClassOf(done.Err) != mpi.ErrRank:
				return fmt.Errorf("the failed one says %v", done.Err)
			case i != failed && (done.Err != nil || done.Status.Tag != i || bufs[i][0] != i+100):
				return fmt.Errorf("request %d: %v, %v, %d", i, done.Status, done.Err, bufs[i][0])
			}
			if next == 3 {
				break
			}
			if err := send(order[next]); err != nil {
				return err
			}
			next++
		}
		if want := []int{failed, 2, 0, 3}; !slices.Equal(got, want) {
			return fmt.Errorf("completed in the order %v, want %v", got, want)
		}
		if _, done, _ := rs[1].Test(); done {
			return errors.New("the one that was left is complete")
		}
		if err := send(1); err != nil {
			return err
		}
		_, err := rs[1].Wait()
		return errors.Join(err, rs[5].Free())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Requests that are complete beforehand, and lists of none.
func TestAsCompletedAtOnce(t *testing.T) {
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		for range mpi.AsCompleted() {
			return errors.New("an empty list yields something")
		}
		rs, _ := receives(c, 100)
		for tag := range rs {
			if err := mpi.Send(c, []int{tag}, 0, tag); err != nil {
				return err
			}
		}
		for i := range mpi.AsCompleted(rs...) { // leaves after the first of many that are complete
			if i != 0 {
				return fmt.Errorf("begins with %d", i)
			}
			break
		}
		n := 1
		for range mpi.AsCompleted(rs...) {
			n++
		}
		if n != len(rs) {
			return fmt.Errorf("%d of %d", n, len(rs))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCompletions: completions come on a channel, which a program reads beside others, and which is
// closed after the last.
func TestCompletions(t *testing.T) {
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		if c.Rank() == 1 { // sends when it is asked
			for range 3 {
				tag := make([]int, 1)
				if _, err := mpi.Recv(c, tag, 0, 50); err != nil {
					return err
				}
				if err := mpi.Send(c, tag, 0, tag[0]); err != nil {
					return err
				}
			}
			return nil
		}
		bufs, rs := [3][1]int{}, []*mpi.Request(nil)
		for i := range bufs {
			rs = append(rs, mpi.Irecv(c, bufs[i][:], 1, i))
		}
		done, asks := mpi.Completions(append(rs, nil)...), make(chan int, 3)
		for _, tag := range []int{1, 2, 0} {
			asks <- tag
		}
		var got []int
		for len(got) < 3 {
			select {
			case tag := <-asks:
				if err := mpi.Send(c, []int{tag}, 1, 50); err != nil {
					return err
				}
			case x := <-done:
				if got = append(got, x.Index); x.Err != nil || x.Status.Source != 1 || bufs[x.Index][0] != x.Index {
					return fmt.Errorf("%+v, buffer %d", x, bufs[x.Index][0])
				}
			}
		}
		if _, open := <-done; open {
			return errors.New("the channel is open after the last")
		}
		slices.Sort(got)
		if !slices.Equal(got, []int{0, 1, 2}) {
			return fmt.Errorf("completed: %v", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCompletionsOfAnEndingJob: what does not complete ends with the job, and so does the goroutine
// behind the channel.
func TestCompletionsOfAnEndingJob(t *testing.T) {
	var done <-chan mpi.Completion
	cause := errors.New("this rank gives up")
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		if c.Rank() == 0 {
			done = mpi.Completions(mpi.Irecv(c, make([]int, 1), 1, 0))
			return cause
		}
		_, err := mpi.Recv(c, make([]int, 1), 0, 0)
		return err
	})
	if !errors.Is(err, cause) {
		t.Errorf("the job says %v", err)
	}
	if x, open := <-done; !open || x.Err == nil {
		t.Errorf("the receive that nothing came for: %+v, %v", x, open)
	}
	if _, open := <-done; open {
		t.Error("the channel is open after the last")
	}
}

// TestIsendValue: a value that was given is sent as it was, and arrives in the request. MPI.NET:
// nonblocking receives keep the value in the request.
func TestIsendValue(t *testing.T) {
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		if c.Rank() == 0 {
			w := words{[]string{"a", "b"}}
			rs := []*mpi.Request{mpi.IsendValue(c, w, 1, 0), mpi.IsendValue(c, 42, 1, 1), mpi.Isend(c, []int{1, 2}, 1, 2), mpi.Isend(c, []int{}, 1, 3)}
			_, err := mpi.WaitAll(rs...)
			return err
		}
		all, n := mpi.IrecvValue[words](c, 0, 0), mpi.IrecvValue[int](c, mpi.AnySource, 1)
		if st, err := n.Wait(); err != nil || n.Value() != 42 || st.Source != 0 || st.Count != 1 {
			return fmt.Errorf("%d, %v, %w", n.Value(), st, err)
		}
		if _, err := all.Wait(); err != nil || !slices.Equal(all.Value().All, []string{"a", "b"}) {
			return fmt.Errorf("%v, %w", all.Value(), err)
		}
		if _, err := mpi.IrecvValue[int](c, 0, 2).Wait(); mpi.ClassOf(err) != mpi.ErrTruncate {
			return fmt.Errorf("two values: %v", err)
		}
		if _, err := mpi.IrecvValue[int](c, 0, 3).Wait(); mpi.ClassOf(err) != mpi.ErrCount {
			return fmt.Errorf("no value: %v", err)
		}
		if _, err := mpi.IrecvValue[int](c, 5, 0).Wait(); mpi.ClassOf(err) != mpi.ErrRank {
			return fmt.Errorf("no such rank: %v", err)
		}
		x := mpi.IrecvValue[int](c, mpi.ProcNull, 0)
		_, err := x.Wait()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
