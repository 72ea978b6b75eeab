package mpi_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// memoryRanks is the number of ranks of the tests below, of one process.
const memoryRanks = 3

// allocated runs op at all ranks and returns how much memory their process allocates in it, for
// each of them.
func allocated(t *testing.T, prepare func(c *mpi.Comm) (op func() error)) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	err := mpi.RunThreads(memoryRanks, func(_ context.Context, c *mpi.Comm) error {
		op := prepare(c)
		read := func(m *runtime.MemStats) error {
			if err := mpi.Barrier(c); err != nil {
				return err
			}
			if c.Rank() == 0 {
				runtime.ReadMemStats(m)
			}
			return mpi.Barrier(c)
		}
		if err := read(&before); err != nil {
			return err
		}
		if err := op(); err != nil {
			return err
		}
		return read(&after)
	})
	if err != nil {
		t.Fatal(err)
	}
	return (after.TotalAlloc - before.TotalAlloc) / memoryRanks
}

// gappy is a layout of n bytes in runs of 1000 with gaps, which ends where a next one may begin,
// and the bytes that it spans.
func gappy(n int) (t *mpi.Datatype, span int) {
	const run, stride = 1000, 1024
	span = n / run * stride
	return mpi.Resized(mpi.Vector(n/run, run, stride, mpi.TypeOf[byte]()), 0, span), span
}

// A collective that moves data moves layouts without memory as large as the message: the algorithms
// of long messages need none, the chunks that are packed at a time are what a rank allocates.
func TestLayoutCollectiveMemory(t *testing.T) {
	effort.Need(t, effort.Usual, "it moves long vectors")
	const long, limit = 64_000_000, 4 << 20
	const part = long / memoryRanks / 1000 * 1000 // of one rank
	each := []int{1, 1, 1}
	for name, x := range map[string]struct {
		n, in, out int // bytes of a value, values in the buffers
		run        func(c *mpi.Comm, in, out []byte) error
	}{
		"Bcast":             {long, 1, 0, func(c *mpi.Comm, in, _ []byte) error { return mpi.Bcast(c, in, 1) }},
		"Gather":            {part, 1, 3, func(c *mpi.Comm, in, out []byte) error { return mpi.Gather(c, in, out, 1) }},
		"Gatherv":           {part, 1, 3, func(c *mpi.Comm, in, out []byte) error { return mpi.Gatherv(c, in, out, each, nil, 1) }},
		"Scatter":           {part, 3, 1, func(c *mpi.Comm, in, out []byte) error { return mpi.Scatter(c, in, out, 1) }},
		"Scatterv":          {part, 3, 1, func(c *mpi.Comm, in, out []byte) error { return mpi.Scatterv(c, in, each, nil, out, 1) }},
		"Allgather":         {part, 1, 3, mpi.Allgather[byte]},
		"Allgatherv":        {part, 1, 3, func(c *mpi.Comm, in, out []byte) error { return mpi.Allgatherv(c, in, out, each, nil) }},
		"Alltoall":          {part, 3, 3, mpi.Alltoall[byte]},
		"Alltoallv":         {part, 3, 3, func(c *mpi.Comm, in, out []byte) error { return mpi.Alltoallv(c, in, each, nil, out, each, nil) }},
		"Alltoall in place": {part, 3, 0, func(c *mpi.Comm, in, _ []byte) error { return mpi.Alltoall(c, in, in) }},
		"Alltoallv in place": {part, 3, 0, func(c *mpi.Comm, in, _ []byte) error {
			return mpi.Alltoallv(c, in, each, nil, in, each, nil)
		}},
		"NeighborAllgather": {part, 1, 2, func(c *mpi.Comm, in, out []byte) error {
			return onRing(c, func(c *mpi.Comm) error { return mpi.NeighborAllgather(c, in, out) })
		}},
		"NeighborAlltoall": {part, 2, 2, func(c *mpi.Comm, in, out []byte) error {
			return onRing(c, func(c *mpi.Comm) error { return mpi.NeighborAlltoall(c, in, out) })
		}},
		"persistent": {long, 1, 0, func(c *mpi.Comm, in, _ []byte) error {
			r := mpi.BcastInit(c, in, 0)
			for range 2 {
				if err := r.Start(); err != nil {
					return err
				}
				if _, err := r.Wait(); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			n := allocated(t, func(c *mpi.Comm) func() error {
				layout, span := gappy(x.n)
				in, out := make([]byte, x.in*span), make([]byte, x.out*span)
				return func() error { return x.run(c.WithType(layout), in, out) }
			})
			wantAllocated(t, n, limit, x.n)
		})
	}
}

// Nor is a copy made of long blocks without layouts that are exchanged in place, and they come
// where they belong.
func TestAlltoallInPlaceMemory(t *testing.T) {
	effort.Need(t, effort.Usual, "it moves hundreds of megabytes")
	const block, limit = 16 << 20, 4 << 20
	for name, run := range map[string]func(c *mpi.Comm, buf []byte) error{
		"Alltoall": func(c *mpi.Comm, buf []byte) error { return mpi.Alltoall(c, buf, buf) },
		"Alltoallv": func(c *mpi.Comm, buf []byte) error {
			counts, displs := make([]int, memoryRanks), make([]int, memoryRanks)
			for r := range counts { // what two ranks exchange is longer, the closer they are
				counts[r], displs[r] = block-max(r-c.Rank(), c.Rank()-r), (memoryRanks-1-r)*block
			}
			if err := mpi.Alltoallv(c, buf, counts, displs, buf, counts, displs); err != nil {
				return err
			}
			for r, n := range counts { // in the order that the check below expects, the byte that is not sent as if it had come
				b := buf[displs[r] : displs[r]+block]
				for ; n < block; n++ {
					b[n] = b[0]
				}
			}
			slices.Reverse(buf)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := allocated(t, func(c *mpi.Comm) func() error {
				buf := make([]byte, memoryRanks*block)
				for i := range buf {
					buf[i] = byte(1 + c.Rank())
				}
				return func() error {
					if err := run(c, buf); err != nil {
						return err
					}
					for r := range memoryRanks {
						if from := buf[r*block : (r+1)*block]; bytes.Count(from, []byte{byte(1 + r)}) != block {
							return fmt.Errorf("rank %d has other bytes than those of rank %d in its block", c.Rank(), r)
						}
					}
					return nil
				}
			})
			wantAllocated(t, n, limit, memoryRanks*block)
		})
	}
}

func wantAllocated(t *testing.T, n, limit uint64, message int) {
	t.Helper()
	t.Logf("%d bytes for each rank", n)
	if n > limit {
		t.Errorf("%d bytes allocated for each rank, want at most %d for a message of %d", n, limit, message)
	}
	runtime.GC() // of the buffers, which are large
}

// padded is an element with padding, which does not travel.
type padded struct {
	A uint8
	B uint64
}

// A reduction of a long vector takes memory for the few segments that are under way, whatever form
// its buffers have; those of some ranks may have layouts where those of others have none.
func TestReductionMemory(t *testing.T) {
	effort.Need(t, effort.Usual, "it reduces long vectors in thirty ways")
	if raceEnabled {
		t.Skip("the race detector allocates, and takes minutes for so much arithmetic")
	}
	const long, limit = 32_000_000, 6 << 20
	const part = long / memoryRanks / 1000 * 1000 // of which none may take one either
	reductions := map[string]struct {
		n, in int // bytes of a value, values in the first buffer
		run   func(c *mpi.Comm, in, out []byte) error
	}{
		"Reduce":    {long, 1, func(c *mpi.Comm, in, out []byte) error { return mpi.Reduce(c, in, out, mpi.BXor, 1) }},
		"Allreduce": {long, 1, func(c *mpi.Comm, in, out []byte) error { return mpi.Allreduce(c, in, out, mpi.BXor) }},
		"Allreduce in order": {long, 1, func(c *mpi.Comm, in, out []byte) error {
			return mpi.Allreduce(c, in, out, func(acc, in []byte) { mpi.BXor(acc, in) })
		}},
		"Allreduce in place": {long, 1, func(c *mpi.Comm, in, _ []byte) error { return mpi.Allreduce(c, in, in, mpi.BXor) }},
		"Scan":               {long, 1, func(c *mpi.Comm, in, out []byte) error { return mpi.Scan(c, in, out, mpi.BXor) }},
		"Exscan":             {long, 1, func(c *mpi.Comm, in, out []byte) error { return mpi.Exscan(c, in, out, mpi.BXor) }},
		"ReduceScatterBlock": {part, 3, func(c *mpi.Comm, in, out []byte) error { return mpi.ReduceScatterBlock(c, in, out, mpi.BXor) }},
		"ReduceScatterBlock in place": {part, 3, func(c *mpi.Comm, in, _ []byte) error {
			return mpi.ReduceScatterBlock(c, in, in, mpi.BXor)
		}},
		"ReduceScatter in order": {part, 3, func(c *mpi.Comm, in, out []byte) error {
			return mpi.ReduceScatter(c, in, out, []int{1, 1, 1}, func(acc, in []byte) { mpi.BXor(acc, in) })
		}},
	}
	for name, x := range reductions {
		for form, laid := range map[string]func(rank int) bool{
			"plain": func(int) bool { return false },
			"laid":  func(int) bool { return true },
			"mixed": func(rank int) bool { return rank%2 == 0 },
		} {
			t.Run(name+"/"+form, func(t *testing.T) {
				n := allocated(t, func(c *mpi.Comm) func() error {
					layout, span := gappy(x.n)
					if !laid(c.Rank()) {
						layout, span = mpi.Contiguous(x.n, mpi.TypeOf[byte]()), x.n
					}
					in, out := make([]byte, x.in*span), make([]byte, span)
					return func() error { return x.run(c.WithType(layout), in, out) }
				})
				wantAllocated(t, n, limit, long)
			})
		}
	}
	t.Run("padding", func(t *testing.T) {
		n := allocated(t, func(c *mpi.Comm) func() error {
			in, out := make([]padded, long/9), make([]padded, long/9)
			return func() error { return mpi.Allreduce(c, in, out, func(acc, in []padded) {}) }
		})
		wantAllocated(t, n, limit, long)
	})
}

func onRing(c *mpi.Comm, f func(c *mpi.Comm) error) error {
	ring, err := c.WithType(nil).CartCreate([]int{memoryRanks}, []bool{true}, false)
	if err != nil {
		return err
	}
	layout, _ := gappy(64_000_000 / memoryRanks / 1000 * 1000)
	return f(ring.WithType(layout))
}
