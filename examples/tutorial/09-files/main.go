// Command 09-files: all ranks write one file, each every so many numbers of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fitmpi/fitmpi/mpi"
)

const each = 4 // numbers of a rank

func main() {
	mpi.Main(run)
}

func run(ctx context.Context, world *mpi.Comm) (err error) {
	rank, size := world.Rank(), world.Size()
	dir := ""
	if rank == 0 {
		if dir, err = os.MkdirTemp("", "tutorial"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if dir, err = mpi.BcastValue(world, dir, 0); err != nil {
		return err
	}
	f, err := mpi.FileOpen(world, filepath.Join(dir, "squares"), mpi.ModeCreate|mpi.ModeRdwr, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	number := mpi.TypeOf[int64]()
	mine := mpi.Resized(number, 0, 8*size) // one number, and the next one size numbers later
	if err := f.SetView(8*rank, number, mine, "native", nil); err != nil {
		return err
	}
	squares := make([]int64, each)
	for i := range squares {
		n := int64(i*size + rank)
		squares[i] = n * n
	}
	if _, err := mpi.FileWriteAll(f, squares); err != nil {
		return err
	}
	if err := f.SetView(0, number, number, "native", nil); err != nil { // the whole file
		return err
	}
	whole := make([]int64, each*size)
	status, err := mpi.FileReadAtAll(f, 0, whole)
	if err == nil && rank == 0 {
		fmt.Println("the file has", status.Count, "numbers:", whole)
	}
	return err
}
