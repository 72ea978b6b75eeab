package mpi_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/fitmpi/fitmpi/mpi"
)

// usage is a tool that counts calls and bytes of each operation, and prints what all ranks have
// counted when they finalize.
type usage struct {
	mu    sync.Mutex // calls may come from several goroutines
	calls map[string]int
	bytes map[string]int
}

func (u *usage) Begin(call *mpi.Call) {
	if call.Op == "Finalize" { // the last chance to communicate
		u.print(call.Comm.WithoutTools())
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls[call.Op]++
	u.bytes[call.Op] += call.SendBytes
}

func (u *usage) End(*mpi.Call, error) {}

// print collects at rank 0 what the ranks have counted. Its own calls are not counted.
func (u *usage) print(world *mpi.Comm) {
	counts := []map[string][2]int{{}}
	for op, n := range u.calls {
		counts[0][op] = [2]int{n, u.bytes[op]}
	}
	all := make([]map[string][2]int, world.Size())
	if err := mpi.Gather(world, counts, all, 0); err != nil || world.Rank() != 0 {
		return
	}
	sum := map[string][2]int{}
	for _, rank := range all {
		for op, c := range rank {
			sum[op] = [2]int{sum[op][0] + c[0], sum[op][1] + c[1]}
		}
	}
	for _, op := range slices.Sorted(maps.Keys(sum)) {
		fmt.Printf("%-10s %3d calls %5d bytes\n", op, sum[op][0], sum[op][1])
	}
}

// A tool sees every call of a program that knows nothing of it. In a program of its own, UseTool
// stands in main before [mpi.Main], or in the init function of a package that is imported for it.
func ExampleUseTool() {
	remove := mpi.UseTool(func(mpi.ToolRank) mpi.Tool {
		return &usage{calls: map[string]int{}, bytes: map[string]int{}}
	})
	defer remove()

	err := mpi.RunThreads(3, func(_ context.Context, world *mpi.Comm) error {
		right, left := (world.Rank()+1)%world.Size(), (world.Rank()+world.Size()-1)%world.Size()
		for range 10 {
			if _, err := mpi.Sendrecv(world, make([]float64, 8), right, 0, make([]float64, 8), left, 0); err != nil {
				return err
			}
		}
		sum := make([]float64, 1)
		return mpi.Allreduce(world, []float64{1}, sum, mpi.Sum)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// Allreduce    3 calls    24 bytes
	// Init         3 calls     0 bytes
	// Sendrecv    30 calls  1920 bytes
}

// Regions divide a program into phases, for profiles, execution traces and tools.
func ExampleRegion() {
	err := mpi.RunThreads(2, func(ctx context.Context, world *mpi.Comm) error {
		inner, end := mpi.Region(ctx, "assemble")
		defer end()
		return assemble(inner, world)
	})
	fmt.Println(err)
	// Output: <nil>
}

func assemble(ctx context.Context, world *mpi.Comm) error {
	_, end := mpi.Region(ctx, "exchange")
	defer end()
	return mpi.Barrier(world)
}

// Variables says how a rank is configured, and by what.
func ExampleComm_Variables() {
	err := mpi.RunThreads(1, func(_ context.Context, world *mpi.Comm) error {
		for _, v := range world.Variables() {
			if v.Name == "FITMPI_EAGER_MAX" {
				fmt.Println(v.Name, v.Value, v.Origin)
			}
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: FITMPI_EAGER_MAX 256K default
}
