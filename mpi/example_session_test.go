package mpi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/fitmpi/fitmpi/mpi"
)

// A library that communicates apart from everything else opens a session of its own. It needs
// neither Init nor Main; a program whose process is one rank gives context.Background().
func ExampleSessionInit() {
	err := mpi.RunThreads(3, func(ctx context.Context, _ *mpi.Comm) error {
		s, err := mpi.SessionInit(ctx, nil, mpi.ErrorsReturn)
		if err != nil {
			return err
		}
		all, err := s.GroupFromPset(mpi.PsetWorld)
		if err != nil {
			return err
		}
		c, err := mpi.CommCreateFromGroup(all, "example.org/sums", nil, mpi.ErrorsReturn)
		if err != nil {
			return err
		}
		sum := []int{0}
		if err := mpi.Allreduce(c, []int{c.Rank()}, sum, mpi.Sum); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println("the sum of the ranks is", sum[0])
		}
		if err := c.Free(); err != nil {
			return err
		}
		return s.Finalize()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: the sum of the ranks is 3
}

// The process sets that the calling rank belongs to.
func ExampleSession_NthPset() {
	err := mpi.RunThreads(1, func(ctx context.Context, _ *mpi.Comm) error {
		s, err := mpi.SessionInit(ctx, nil, mpi.ErrorsReturn)
		if err != nil {
			return err
		}
		n, err := s.NumPsets()
		if err != nil {
			return err
		}
		for i := range n {
			name, err := s.NthPset(i)
			if err != nil {
				return err
			}
			info, err := s.PsetInfo(name)
			if err != nil {
				return err
			}
			size, _ := info.Get("mpi_size")
			fmt.Println(name, size)
		}
		return s.Finalize()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// mpi://WORLD 1
	// mpi://SELF 1
	// fitmpi://host 1
}
