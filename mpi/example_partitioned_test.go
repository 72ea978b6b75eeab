package mpi_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/fitmpi/fitmpi/mpi"
)

// Four goroutines of rank 0 fill one message. Each part leaves when its goroutine is
// done with it, and rank 1 works on what is there.
func ExamplePsendInit() {
	err := mpi.RunThreads(2, func(_ context.Context, world *mpi.Comm) error {
		const parts, each = 4, 1000
		buf := make([]int, parts*each)
		if world.Rank() == 1 {
			r := mpi.PrecvInit(world, buf, parts, 0, 0)
			if err := r.Start(); err != nil {
				return err
			}
			_, err := r.Wait()
			fmt.Println("the last element is", buf[len(buf)-1])
			return err
		}
		s := mpi.PsendInit(world, buf, parts, 1, 0)
		if err := s.Start(); err != nil {
			return err
		}
		var work sync.WaitGroup
		for p := range parts {
			work.Go(func() {
				for i := p * each; i < (p+1)*each; i++ {
					buf[i] = i * i
				}
				if err := s.Pready(p); err != nil {
					log.Print(err)
				}
			})
		}
		_, err := s.Wait() // of this round: Start begins the next
		work.Wait()
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: the last element is 15992001
}

// Partitions are used in the order in which they come.
func ExampleRequest_Parrived() {
	err := mpi.RunThreads(2, func(_ context.Context, world *mpi.Comm) error {
		buf := []float64{1, 2, 3, 4}
		if world.Rank() == 0 {
			s := mpi.PsendInit(world, buf, 4, 1, 0)
			if err := s.Start(); err != nil {
				return err
			}
			if err := s.PreadyRange(0, 3); err != nil {
				return err
			}
			_, err := s.Wait()
			return err
		}
		r := mpi.PrecvInit(world, make([]float64, 4), 2, 0, 0)
		if err := r.Start(); err != nil {
			return err
		}
		for seen := 0; seen < 2; {
			there, err := r.Parrived(seen)
			if err != nil {
				return err
			}
			if there {
				fmt.Println("partition", seen, "is there")
				seen++
			}
		}
		_, err := r.Wait()
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// partition 0 is there
	// partition 1 is there
}

// A partition may be a column of a matrix: then it is a datatype, of which the next begins one
// value further.
func ExamplePsendInit_columns() {
	err := mpi.RunThreads(2, func(_ context.Context, world *mpi.Comm) error {
		const rows, cols = 3, 2
		if world.Rank() == 1 {
			byColumn := make([]int, rows*cols)
			r := mpi.PrecvInit(world, byColumn, 3, 0, 0) // as one likes: all that counts is the data in all
			if err := r.Start(); err != nil {
				return err
			}
			_, err := r.Wait()
			fmt.Println(byColumn)
			return err
		}
		matrix := []int{
			1, 2,
			3, 4,
			5, 6,
		}
		column := mpi.Resized(mpi.Vector(rows, 1, cols, mpi.TypeOf[int]()), 0, 8)
		s := mpi.PsendInit(world.WithType(column), matrix, cols, 1, 0)
		if err := s.Start(); err != nil {
			return err
		}
		if err := s.PreadyList(1, 0); err != nil {
			return err
		}
		_, err := s.Wait()
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [1 3 5 2 4 6]
}
