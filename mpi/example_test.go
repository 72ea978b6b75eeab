package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// run runs an example as n ranks of this process. A program of its own calls mpi.Main and is
// started by fitrun.
func run(n int, fn func(c *mpi.Comm) error) {
	err := mpi.RunThreads(n, func(_ context.Context, world *mpi.Comm) error { return fn(world) })
	if err != nil {
		fmt.Println("error:", err)
	}
}

func ExampleRunThreads() {
	err := mpi.RunThreads(4, func(ctx context.Context, world *mpi.Comm) error {
		sum := []int{0}
		if err := mpi.Allreduce(world, []int{world.Rank()}, sum, mpi.Sum); err != nil {
			return err
		}
		if world.Rank() == 0 {
			fmt.Println("the ranks add up to", sum[0])
		}
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// the ranks add up to 6
	// error: <nil>
}

// started is a package variable: the ranks of a process share it, so it is atomic.
var started atomic.Int32

// Ranks that are threads share package variables; what a rank has of its own is in its function.
func ExampleRunThreads_variables() {
	started.Store(0)
	err := mpi.RunThreads(3, func(_ context.Context, world *mpi.Comm) error {
		mine := 10 * world.Rank() // each rank has one
		started.Add(1)            // all ranks count together
		if err := mpi.Barrier(world); err != nil {
			return err
		}
		all := make([]int, world.Size())
		if err := mpi.Gather(world, []int{mine}, all, 0); err != nil {
			return err
		}
		if world.Rank() == 0 {
			fmt.Println("of each rank:", all, "of the process:", started.Load())
		}
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// of each rank: [0 10 20] of the process: 3
	// error: <nil>
}

func ExampleComm_Transport() {
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			fmt.Println(c.Transport(0), c.Transport(1))
		}
		return nil
	})
	// Output: self thread
}

func ExampleSend() {
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Send(c, []float64{1, 2, 3}, 1, 7)
		}
		buf := make([]float64, 10)
		st, err := mpi.Recv(c, buf, mpi.AnySource, mpi.AnyTag)
		fmt.Println(buf[:st.Count], "from rank", st.Source, "with tag", st.Tag)
		return err
	})
	// Output: [1 2 3] from rank 0 with tag 7
}

// A message moves while its sender and its receiver compute.
func ExampleIsend() {
	run(2, func(c *mpi.Comm) error {
		other := 1 - c.Rank()
		ghost, edge := make([]float64, 2), []float64{float64(c.Rank()), 0.5}
		in := mpi.Irecv(c, ghost, other, 0)
		out := mpi.Isend(c, edge, other, 0)
		// ... compute what needs neither ghost nor a changed edge ...
		if _, err := mpi.WaitAll(in, out); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println("rank 0 has", ghost)
		}
		return nil
	})
	// Output: rank 0 has [1 0.5]
}

func ExampleRecvNew() {
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Send(c, []string{"messages", "of", "any", "length"}, 1, 0)
		}
		words, _, err := mpi.RecvNew[string](c, 0, 0)
		fmt.Println(len(words), words)
		return err
	})
	// Output: 4 [messages of any length]
}

func ExampleSendValue() {
	type job struct {
		Name  string
		Sizes map[string]int
	}
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.SendValue(c, job{"fft", map[string]int{"n": 1024}}, 1, 0)
		}
		j, _, err := mpi.RecvValue[job](c, 0, 0)
		fmt.Println(j.Name, j.Sizes["n"])
		return err
	})
	// Output: fft 1024
}

// Requests are served in the order in which they complete.
func ExampleAsCompleted() {
	run(3, func(c *mpi.Comm) error {
		if c.Rank() > 0 {
			return mpi.SendValue(c, c.Rank()*10, 0, 0)
		}
		one, two := mpi.IrecvValue[int](c, 1, 0), mpi.IrecvValue[int](c, 2, 0)
		sum := 0
		for i, done := range mpi.AsCompleted(one.Request, two.Request) {
			if done.Err != nil {
				return done.Err
			}
			sum += []int{one.Value(), two.Value()}[i]
		}
		fmt.Println(sum)
		return nil
	})
	// Output: 30
}

// Every rank passes a value to the right; a ring of Sendrecv does not lock up.
func ExampleSendrecv() {
	run(4, func(c *mpi.Comm) error {
		right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		in := make([]int, 1)
		if _, err := mpi.Sendrecv(c, []int{c.Rank() * c.Rank()}, right, 0, in, left, 0); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println("from the left:", in[0])
		}
		return nil
	})
	// Output: from the left: 9
}

func ExampleProbe() {
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Send(c, make([]int32, 5), 1, 3)
		}
		st, err := mpi.Probe(c, 0, mpi.AnyTag)
		if err != nil {
			return err
		}
		buf := make([]int32, mpi.GetCount[int32](st))
		_, err = mpi.Recv(c, buf, st.Source, st.Tag)
		fmt.Println("room for", len(buf), "elements was right")
		return err
	})
	// Output: room for 5 elements was right
}

// With several goroutines, Mprobe takes the message that it finds, so that no other goroutine can.
func ExampleMprobe() {
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Send(c, []string{"hello"}, 1, 0)
		}
		msg, st, err := mpi.Mprobe(c, mpi.AnySource, mpi.AnyTag)
		if err != nil {
			return err
		}
		words, _, err := mpi.MrecvNew[string](msg)
		fmt.Println(words, "from rank", st.Source)
		return err
	})
	// Output: [hello] from rank 0
}

func ExampleWaitAny() {
	run(3, func(c *mpi.Comm) error {
		if c.Rank() > 0 {
			return mpi.Send(c, []int{c.Rank() * 10}, 0, 0)
		}
		bufs := [2][]int{make([]int, 1), make([]int, 1)}
		rs := []*mpi.Request{mpi.Irecv(c, bufs[0], 1, 0), mpi.Irecv(c, bufs[1], 2, 0)}
		sum := 0
		for {
			i, _, err := mpi.WaitAny(rs...) // in whatever order they come
			if err != nil {
				return err
			}
			if i == mpi.Undefined {
				break
			}
			sum += bufs[i][0]
		}
		fmt.Println("sum", sum)
		return nil
	})
	// Output: sum 30
}

// Persistent requests are made once and started many times.
func ExampleSendInit() {
	run(2, func(c *mpi.Comm) error {
		buf := make([]int, 1)
		if c.Rank() == 0 {
			s := mpi.SendInit(c, buf, 1, 0)
			for i := range 3 {
				buf[0] = i * i
				if err := s.Start(); err != nil {
					return err
				}
				if _, err := s.Wait(); err != nil {
					return err
				}
			}
			return nil
		}
		r := mpi.RecvInit(c, buf, 0, 0)
		for range 3 {
			if err := r.Start(); err != nil {
				return err
			}
			if _, err := r.Wait(); err != nil {
				return err
			}
			fmt.Println(buf[0])
		}
		return nil
	})
	// Output:
	// 0
	// 1
	// 4
}

// Bsend returns at once, whatever the receiver does: the program says how much memory that may
// take.
func ExampleBsend() {
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			got, _, err := mpi.RecvNew[int](c, 0, 0)
			fmt.Println(got)
			return err
		}
		if err := c.AttachJobBuffer(make([]byte, 3*8+mpi.BsendOverhead)); err != nil {
			return err
		}
		if err := mpi.Bsend(c, []int{1, 2, 3}, 1, 0); err != nil {
			return err
		}
		_, err := c.DetachJobBuffer() // waits until the message has left
		return err
	})
	// Output: [1 2 3]
}

func ExampleRequest_Cancel() {
	run(1, func(c *mpi.Comm) error {
		r := mpi.Irecv(c, make([]int, 1), 0, 0)
		if err := r.Cancel(); err != nil {
			return err
		}
		st, err := r.Wait()
		fmt.Println("cancelled:", st.Cancelled)
		return err
	})
	// Output: cancelled: true
}

// An operation of the program's own can be waited for beside those of the library.
func ExampleComm_GrequestStart() {
	run(1, func(c *mpi.Comm) error {
		r := c.GrequestStart(mpi.GeneralCallbacks{
			Query: func() (mpi.Status, error) { return mpi.Status{Count: 42}, nil },
		})
		go func() {
			// ... write a file ...
			r.Complete()
		}()
		sts, err := mpi.WaitAll(r)
		fmt.Println(sts[0].Count)
		return err
	})
	// Output: 42
}

func ExampleBcast() {
	run(3, func(c *mpi.Comm) error {
		buf := make([]string, 1)
		if c.Rank() == 0 {
			buf[0] = "to everybody"
		}
		if err := mpi.Bcast(c, buf, 0); err != nil {
			return err
		}
		if c.Rank() == 2 {
			fmt.Println(buf[0])
		}
		return nil
	})
	// Output: to everybody
}

// Deal out the work, do it, collect the results.
func ExampleScatter() {
	run(3, func(c *mpi.Comm) error {
		var all []int
		if c.Rank() == 0 {
			all = []int{1, 2, 3, 4, 5, 6}
		}
		mine := make([]int, 2)
		if err := mpi.Scatter(c, all, mine, 0); err != nil {
			return err
		}
		for i := range mine {
			mine[i] *= 100
		}
		if err := mpi.Gather(c, mine, all, 0); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println(all)
		}
		return nil
	})
	// Output: [100 200 300 400 500 600]
}

func ExampleAllgather() {
	run(3, func(c *mpi.Comm) error {
		all := make([]string, c.Size())
		if err := mpi.Allgather(c, []string{fmt.Sprint("rank ", c.Rank())}, all); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fmt.Println(all)
		}
		return nil
	})
	// Output: [rank 0 rank 1 rank 2]
}

// Rank r sends r+s elements to rank s.
func ExampleAlltoallv() {
	run(2, func(c *mpi.Comm) error {
		counts := []int{c.Rank(), c.Rank() + 1} // alike both ways
		in, out := make([]int, 2*c.Rank()+1), make([]int, 2*c.Rank()+1)
		for i := range in {
			in[i] = 10*c.Rank() + i
		}
		if err := mpi.Alltoallv(c, in, counts, nil, out, counts, nil); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fmt.Println(out)
		}
		return nil
	})
	// Output: [0 11 12]
}

func ExampleReduce() {
	run(4, func(c *mpi.Comm) error {
		out := make([]float64, 2)
		if err := mpi.Reduce(c, []float64{float64(c.Rank()), 1}, out, mpi.Sum, 0); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println(out)
		}
		return nil
	})
	// Output: [6 4]
}

// Any function is an operation, of any type.
func ExampleAllreduce() {
	type span struct{ Low, High float64 }
	union := func(acc, in []span) {
		for i := range acc {
			acc[i] = span{min(acc[i].Low, in[i].Low), max(acc[i].High, in[i].High)}
		}
	}
	run(3, func(c *mpi.Comm) error {
		r := float64(c.Rank())
		out := make([]span, 1)
		if err := mpi.Allreduce(c, []span{{-r, r * r}}, out, union); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println(out[0].Low, out[0].High)
		}
		return nil
	})
	// Output: -2 4
}

func ExampleScan() {
	run(4, func(c *mpi.Comm) error {
		out := []int{0}
		if err := mpi.Scan(c, []int{c.Rank() + 1}, out, mpi.Prod); err != nil {
			return err
		}
		if c.Rank() == 3 {
			fmt.Println("4! =", out[0])
		}
		return nil
	})
	// Output: 4! = 24
}

// The reduction goes on while the program computes.
func ExampleIallreduce() {
	run(2, func(c *mpi.Comm) error {
		out := make([]int, 1)
		r := mpi.Iallreduce(c, []int{5}, out, mpi.Max)
		// ... compute ...
		if _, err := r.Wait(); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println(out[0])
		}
		return nil
	})
	// Output: 5
}

func ExampleComm_Split() {
	run(4, func(c *mpi.Comm) error {
		row, err := c.Split(c.Rank()/2, 0) // two rows of two
		if err != nil {
			return err
		}
		sum := []int{0}
		if err := mpi.Allreduce(row, []int{c.Rank()}, sum, mpi.Sum); err != nil {
			return err
		}
		if c.Rank() == 3 {
			fmt.Println("rank 3 is rank", row.Rank(), "of its row, whose sum is", sum[0])
		}
		return nil
	})
	// Output: rank 3 is rank 1 of its row, whose sum is 5
}

// A library takes a communicator of its own, so that its messages never meet its user's.
func ExampleComm_Dup() {
	run(2, func(c *mpi.Comm) error {
		private, err := c.Dup(nil)
		if err != nil {
			return err
		}
		if c.Rank() == 0 {
			if err := mpi.Send(private, []int{1}, 1, 0); err != nil {
				return err
			}
			return mpi.Send(c, []int{2}, 1, 0)
		}
		v, _, err := mpi.RecvValue[int](c, mpi.AnySource, mpi.AnyTag)
		if err != nil {
			return err
		}
		w, _, err := mpi.RecvValue[int](private, 0, 0)
		fmt.Println(v, w)
		return err
	})
	// Output: 2 1
}

func ExampleComm_WithContext() {
	run(1, func(c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		_, err := mpi.Recv(c.WithContext(ctx), make([]int, 1), 0, 0) // no rank sends
		fmt.Println(errors.Is(err, context.DeadlineExceeded))
		return nil
	})
	// Output: true
}

func ExampleComm_SetErrhandler() {
	run(1, func(c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		r := mpi.Isend(c, []int{1, 2, 3}, 0, 0)
		_, err := mpi.Recv(c, make([]int, 2), 0, 0)
		if t, ok := errors.AsType[*mpi.TruncateError](err); ok && errors.Is(err, mpi.ErrTruncate) {
			fmt.Println("a message of", t.Message, "for a buffer of", t.Buffer)
		}
		_, err = r.Wait()
		return err
	})
	// Output: a message of 3 for a buffer of 2
}
