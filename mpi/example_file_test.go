package mpi_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fitmpi/fitmpi/mpi"
)

// Every rank writes its block of columns of a matrix, which lies in the file by rows.
func ExampleFileWriteAll() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "matrix")
	err = mpi.RunThreads(3, func(ctx context.Context, world *mpi.Comm) error {
		f, err := mpi.FileOpen(world, name, mpi.ModeCreate|mpi.ModeRdwr, nil)
		if err != nil {
			return err
		}
		number := mpi.TypeOf[int32]()
		block := mpi.Subarray([]int{2, 6}, []int{2, 2}, []int{0, 2 * world.Rank()}, mpi.OrderC, number)
		if err := f.SetView(0, number, block, "native", nil); err != nil {
			return err
		}
		r := int32(10 * world.Rank())
		if _, err := mpi.FileWriteAll(f, []int32{r, r + 1, r + 2, r + 3}); err != nil {
			return err
		}
		if err := f.SetView(0, number, number, "native", nil); err != nil {
			return err
		}
		row := make([]int32, 6)
		if _, err := mpi.FileReadAt(f, 6, row); err != nil {
			return err
		}
		if world.Rank() == 0 {
			fmt.Println("second row:", row)
		}
		return f.Close()
	})
	if err != nil {
		panic(err)
	}
	// Output: second row: [2 3 12 13 22 23]
}

// Ranks append lines to a log, each whole, in whatever order they come.
func ExampleFileWriteShared() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "log")
	err = mpi.RunThreads(4, func(ctx context.Context, world *mpi.Comm) error {
		f, err := mpi.FileOpen(world, name, mpi.ModeCreate|mpi.ModeWronly|mpi.ModeAppend, nil)
		if err != nil {
			return err
		}
		if _, err := mpi.FileWriteShared(f, []byte("done\n")); err != nil {
			return err
		}
		return f.Close()
	})
	if err != nil {
		panic(err)
	}
	log, err := os.ReadFile(name)
	fmt.Printf("%s%v\n", log, err)
	// Output:
	// done
	// done
	// done
	// done
	// <nil>
}
