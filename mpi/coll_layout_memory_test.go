package mpi_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// memoryRanks is the number of ranks of the tests below, of one process.
const memoryRanks = 3

// allocated runs op at all ranks and returns how much memory their process allocates in it, for each of them.
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

// gappy is a layout of n bytes in runs of 1000 with gaps, which ends where a next one may begin, and the bytes that it spans.
func gappy(n int) (t *mpi.Datatype, span int) {
	const run, stride = 1000, 1024
	span = n / run * stride
	return mpi.Resized(mpi.Vector(n/run, run, stride, mpi.TypeOf[byte]()), 0, span), span
}

// A collective that moves data moves layouts without memory as large as the message: the algorithms of long messages need
// none, the chunks that are packed at a time are what a rank allocates.
func TestLayoutCollectiveMemory(t *testing.T) {
	const long, limit = 64_000_000, 4 << 20
	const part = long / memoryRanks / 1000 * 1000 // of one rank
	each := []int{1, 1, 1}
	for name, x := range map[string]struct {
		n, in, out int // bytes of a value, values in the buffers
		run        func(c *mpi.Comm, in, out []byte) error
	}{
		"Bcast":      {long, 1, 0, func(c *mpi.Comm, in, _ []byte) error { return mpi.Bcast(c, in, 1) }},
		"Gather":     {part, 1, 3, func(c *mpi.Comm, in, out []byte) error { return mpi.Gather(c, in, out, 1) }},
		"Gatherv":    {part, 1, 3, func(c *mpi.Comm, in, out []byte) error { return mpi.Gatherv(c, in, out, each, nil, 1) }},
		"Scatter":    {part, 3, 1, func(c *mpi.Comm, in, out []byte) error { return mpi.Scatter(c, in, out, 1) }},
		"Scatterv":   {part, 3, 1, func(c *mpi.Comm, in, out []byte) error { return mpi.Scatterv(c, in, each, nil, out, 1) }},
		"Allgather":  {part, 1, 3, mpi.Allgather[byte]},
		"Allgatherv": {part, 1, 3, func(c *mpi.Comm, in, out []byte) error { return mpi.Allgatherv(c, in, out, each, nil) }},
		"Alltoall":   {part, 3, 3, mpi.Alltoall[byte]},
		"Alltoallv":  {part, 3, 3, func(c *mpi.Comm, in, out []byte) error { return mpi.Alltoallv(c, in, each, nil, out, each, nil) }},
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
			t.Logf("%d bytes for each rank", n)
			if n > limit {
				t.Errorf("%d bytes allocated for each rank, want at most %d for a message of %d", n, limit, x.n)
			}
			runtime.GC() // of the buffers, which are large
		})
	}
}

func onRing(c *mpi.Comm, f func(c *mpi.Comm) error) error {
	ring, err := c.WithType(nil).CartCreate([]int{memoryRanks}, []bool{true}, false)
	if err != nil {
		return err
	}
	layout, _ := gappy(64_000_000 / memoryRanks / 1000 * 1000)
	return f(ring.WithType(layout))
}
