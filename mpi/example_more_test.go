package mpi_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// A program of its own: fitrun starts its ranks, and without a launcher it is a job of one.
func ExampleMain() {
	mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
		fmt.Println("rank", world.Rank(), "of", world.Size())
		return mpi.Barrier(world)
	})
}

// Init and Finalize are for programs that cannot leave their main function to Main.
func ExampleInit() {
	world, err := mpi.Init()
	if err != nil {
		panic(err)
	}
	fmt.Println("rank", world.Rank(), "of", world.Size())
	if err := mpi.Finalize(); err != nil {
		panic(err)
	}
}

// The context bounds the whole job, as it does in a test or a server.
func ExampleRunThreadsContext() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	err := mpi.RunThreadsContext(ctx, 2, func(ctx context.Context, world *mpi.Comm) error {
		_, err := mpi.Recv(world, make([]int, 1), 1-world.Rank(), 0) // no rank sends
		return err
	})
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

// Ssend returns when the receive has started, so both ranks know that the other is there.
func ExampleSsend() {
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Ssend(c, []string{"are you there?"}, 1, 0)
		}
		question := make([]string, 1)
		_, err := mpi.Recv(c, question, 0, 0)
		fmt.Println(question[0])
		return err
	})
	// Output: are you there?
}

// A ready send is for callers that know that the receive is posted: here by the barrier.
func ExampleRsend() {
	run(2, func(c *mpi.Comm) error {
		in := make([]int, 1)
		var r *mpi.Request
		if c.Rank() == 1 {
			r = mpi.Irecv(c, in, 0, 0)
		}
		if err := mpi.Barrier(c); err != nil {
			return err
		}
		if c.Rank() == 0 {
			return mpi.Rsend(c, []int{7}, 1, 0)
		}
		_, err := r.Wait()
		fmt.Println(in[0])
		return err
	})
	// Output: 7
}

// A receive says what came: from which rank, with which tag, how much.
func ExampleRecv() {
	run(3, func(c *mpi.Comm) error {
		if c.Rank() > 0 {
			return mpi.Send(c, make([]int32, c.Rank()), 0, 10*c.Rank())
		}
		var came []mpi.Status
		for range 2 {
			st, err := mpi.Recv(c, make([]int32, 8), mpi.AnySource, mpi.AnyTag)
			if err != nil {
				return err
			}
			came = append(came, st)
		}
		slices.SortFunc(came, func(a, b mpi.Status) int { return cmp.Compare(a.Source, b.Source) })
		for _, st := range came {
			fmt.Println("rank", st.Source, "tag", st.Tag, "elements", st.Count)
		}
		return nil
	})
	// Output:
	// rank 1 tag 10 elements 1
	// rank 2 tag 20 elements 2
}

// A receive of unknown length can be waited for like any other request.
func ExampleIrecvNew() {
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Send(c, []string{"a", "b", "c"}, 1, 0)
		}
		in := mpi.IrecvNew[string](c, 0, 0)
		// ... compute ...
		_, err := in.Wait()
		fmt.Println(in.Data())
		return err
	})
	// Output: [a b c]
}

// What is sent to ProcNull goes nowhere, and nothing comes from it: the ends of a line need no
// special case.
func ExampleSendrecvReplace() {
	run(3, func(c *mpi.Comm) error {
		left, right := c.Rank()-1, c.Rank()+1
		if left < 0 {
			left = mpi.ProcNull
		}
		if right == c.Size() {
			right = mpi.ProcNull
		}
		v := []int{10 * c.Rank()}
		if _, err := mpi.SendrecvReplace(c, v, right, 0, left, 0); err != nil {
			return err
		}
		all := make([]int, c.Size())
		err := mpi.Gather(c, v, all, 0)
		if c.Rank() == 0 {
			fmt.Println(all)
		}
		return err
	})
	// Output: [0 0 10]
}

// Iprobe looks whether a message has come, between pieces of other work.
func ExampleIprobe() {
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Send(c, []float64{1, 2}, 1, 0)
		}
		for {
			st, ok, err := mpi.Iprobe(c, mpi.AnySource, mpi.AnyTag)
			if err != nil {
				return err
			}
			if ok {
				buf := make([]float64, mpi.GetCount[float64](st))
				_, err := mpi.Recv(c, buf, st.Source, st.Tag)
				fmt.Println(buf)
				return err
			}
			// ... a piece of other work ...
		}
	})
	// Output: [1 2]
}

// Test asks without waiting.
func ExampleRequest_Test() {
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Send(c, []int{5}, 1, 0)
		}
		buf := make([]int, 1)
		r := mpi.Irecv(c, buf, 0, 0)
		for {
			st, done, err := r.Test()
			if err != nil {
				return err
			}
			if done {
				fmt.Println(buf[:st.Count])
				return nil
			}
			// ... a piece of other work ...
		}
	})
	// Output: [5]
}

// WaitSome returns all that is done and waits for nothing more.
func ExampleWaitSome() {
	run(4, func(c *mpi.Comm) error {
		if c.Rank() > 0 {
			return mpi.Send(c, []int{c.Rank()}, 0, 0)
		}
		buf := make([]int, c.Size())
		var rs []*mpi.Request
		for r := 1; r < c.Size(); r++ {
			rs = append(rs, mpi.Irecv(c, buf[r:r+1], r, 0))
		}
		sum := 0
		for {
			indices, _, err := mpi.WaitSome(rs...)
			if err != nil {
				return err
			}
			if len(indices) == 0 { // none is left
				break
			}
			for _, i := range indices {
				sum += buf[i+1]
			}
		}
		fmt.Println(sum)
		return nil
	})
	// Output: 6
}

func ExampleTestAll() {
	run(1, func(c *mpi.Comm) error {
		buf := make([]int, 2)
		rs := []*mpi.Request{mpi.Irecv(c, buf[:1], 0, 1), mpi.Irecv(c, buf[1:], 0, 2)}
		_, done, err := mpi.TestAll(rs...)
		fmt.Println("before the sends:", done)
		if err != nil {
			return err
		}
		rs = append(rs, mpi.Isend(c, []int{10}, 0, 1), mpi.Isend(c, []int{20}, 0, 2))
		_, err = mpi.WaitAll(rs...)
		fmt.Println(buf)
		return err
	})
	// Output:
	// before the sends: false
	// [10 20]
}

// The requests of a halo exchange are made once.
func ExampleStartAll() {
	run(2, func(c *mpi.Comm) error {
		mine, ghost, other := make([]int, 1), make([]int, 1), 1-c.Rank()
		halo := []*mpi.Request{mpi.RecvInit(c, ghost, other, 0), mpi.SendInit(c, mine, other, 0)}
		for step := range 3 {
			mine[0] = 10*step + c.Rank()
			if err := mpi.StartAll(halo...); err != nil {
				return err
			}
			// ... compute what needs no ghost ...
			if _, err := mpi.WaitAll(halo...); err != nil {
				return err
			}
			if c.Rank() == 0 {
				fmt.Println(ghost[0])
			}
		}
		return nil
	})
	// Output:
	// 1
	// 11
	// 21
}

func ExampleAllgatherv() {
	run(3, func(c *mpi.Comm) error {
		counts := []int{0, 1, 2}
		all := make([]int, 3)
		err := mpi.Allgatherv(c, slices.Repeat([]int{c.Rank()}, c.Rank()), all, counts, nil)
		if c.Rank() == 1 {
			fmt.Println(all)
		}
		return err
	})
	// Output: [1 2 2]
}

// Several collectives may be under way at once; all ranks start them in the same order.
func ExampleIbcast() {
	run(2, func(c *mpi.Comm) error {
		names, sizes := make([]string, 1), make([]int, 1)
		if c.Rank() == 0 {
			names[0], sizes[0] = "grid", 64
		}
		rs := []*mpi.Request{mpi.Ibcast(c, names, 0), mpi.Ibcast(c, sizes, 0)}
		// ... compute ...
		_, err := mpi.WaitAll(rs...)
		if c.Rank() == 1 {
			fmt.Println(names[0], sizes[0])
		}
		return err
	})
	// Output: grid 64
}

// Every rank says that it has finished, goes on working, and learns when all have.
func ExampleIbarrier() {
	run(3, func(c *mpi.Comm) error {
		all := mpi.Ibarrier(c)
		for {
			_, done, err := all.Test()
			if err != nil || done {
				if c.Rank() == 0 {
					fmt.Println("all have finished")
				}
				return err
			}
			// ... serve the others ...
		}
	})
	// Output: all have finished
}

// The greatest value, and which rank has it.
func ExampleMaxLoc() {
	run(4, func(c *mpi.Comm) error {
		heights := []float64{3, 8, 5, 8}
		mine := []mpi.Loc[float64]{{Value: heights[c.Rank()], Index: int64(c.Rank())}}
		best := make([]mpi.Loc[float64], 1)
		err := mpi.Allreduce(c, mine, best, mpi.MaxLoc)
		if c.Rank() == 0 {
			fmt.Println(best[0].Value, "on rank", best[0].Index)
		}
		return err
	})
	// Output: 8 on rank 1
}

// An operation whose order does not matter leaves the library free to choose one.
func ExampleCommutative() {
	gcd := func(acc, in []int) {
		for i := range acc {
			a, b := acc[i], in[i]
			for b != 0 {
				a, b = b, a%b
			}
			acc[i] = a
		}
	}
	op := mpi.Commutative(gcd)
	run(3, func(c *mpi.Comm) error {
		out := make([]int, 1)
		err := mpi.Allreduce(c, []int{12 * (c.Rank() + 1)}, out, op)
		if c.Rank() == 0 {
			fmt.Println(out[0])
		}
		return err
	})
	fmt.Println(mpi.IsCommutative(op), mpi.IsCommutative(gcd))
	// Output:
	// 12
	// true false
}

func ExampleReduceLocal() {
	sum := []int{1, 2}
	err := mpi.ReduceLocal([]int{10, 20}, sum, mpi.Sum)
	fmt.Println(sum, err)
	// Output: [11 22] <nil>
}

// A rank that takes no part gets no communicator.
func ExampleComm_Split_undefined() {
	run(3, func(c *mpi.Comm) error {
		color := 0
		if c.Rank() == 1 {
			color = mpi.Undefined
		}
		sub, err := c.Split(color, 0)
		if c.Rank() == 1 {
			fmt.Println("nil:", sub == nil)
		}
		return err
	})
	// Output: nil: true
}

// Self is for what a rank does alone through code that wants a communicator.
func ExampleComm_Self() {
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			fmt.Println(c.Self().Size(), c.Self().Rank(), c.Self().World().Size())
		}
		return nil
	})
	// Output: 1 0 2
}

// A handler of one's own sees every error of a communicator and decides what the call returns.
func ExampleErrhandler() {
	var handler mpi.Errhandler = func(c *mpi.Comm, err *mpi.Error) error {
		if err.Class == mpi.ErrRank {
			return fmt.Errorf("%s: no such neighbour: %w", err.Op, err)
		}
		return mpi.ErrorsAreFatal(c, err)
	}
	run(1, func(c *mpi.Comm) error {
		before := c.Errhandler()
		c.SetErrhandler(handler)
		err := mpi.Send(c, []int{1}, 5, 0)
		fmt.Println(strings.HasPrefix(err.Error(), "Send: no such neighbour"), errors.Is(err, mpi.ErrRank))
		c.SetErrhandler(before)
		return nil
	})
	// Output: true true
}

// What went wrong, in the standard's words.
func ExampleClassOf() {
	run(1, func(c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		err := mpi.Send(c, []int{1}, 0, -5)
		fmt.Println(mpi.ClassOf(err) == mpi.ErrTag, "-", mpi.ErrTag.String())
		return nil
	})
	// Output: true - invalid tag
}

func ExampleWtime() {
	began := mpi.Wtime()
	// ... what takes time ...
	fmt.Println(mpi.Wtime()-began >= 0, mpi.Wtick() > 0)
	// Output: true true
}
