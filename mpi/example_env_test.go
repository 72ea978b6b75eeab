package mpi_test

import (
	"errors"
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

// A library keeps what it needs with the communicator that its user gives it: here a duplicate, so
// that its messages never meet its user's, and a number of calls.
func ExampleKeyval() {
	type state struct {
		private *mpi.Comm
		calls   int
	}
	key := mpi.KeyvalCreate(nil, func(_ *mpi.Comm, s *state) error { return s.private.Free() })
	solve := func(c *mpi.Comm) (*state, error) { // a function of the library
		s, ok := key.Get(c)
		if !ok {
			private, err := c.Dup(nil)
			if err != nil {
				return nil, err
			}
			s = &state{private: private}
			if err := key.Set(c, s); err != nil {
				return nil, err
			}
		}
		s.calls++
		return s, mpi.Barrier(s.private)
	}
	run(2, func(world *mpi.Comm) error {
		c, err := world.Dup(nil)
		if err != nil {
			return err
		}
		for range 3 {
			if _, err := solve(c); err != nil {
				return err
			}
		}
		s, err := solve(c)
		if err != nil {
			return err
		}
		if err := c.Free(); err != nil { // frees the library's duplicate too
			return err
		}
		_, ok := key.Get(c)
		if c.Rank() == 0 {
			fmt.Println("calls:", s.calls, "kept:", ok)
		}
		return nil
	})
	// Output:
	// calls: 4 kept: false
}

// The copy function says what a duplicate inherits.
func ExampleKeyvalCreate() {
	run(1, func(world *mpi.Comm) error {
		generation := mpi.KeyvalCreate(func(_ *mpi.Comm, g int) (int, bool, error) { return g + 1, true, nil }, nil)
		title := mpi.KeyvalCreate[string](mpi.CopyAttribute, nil)
		if err := errors.Join(generation.Set(world, 1), title.Set(world, "ocean")); err != nil {
			return err
		}
		child, err := world.Dup(nil)
		if err != nil {
			return err
		}
		g, _ := generation.Get(child)
		name, _ := title.Get(child)
		fmt.Println("generation", g, "of", name)
		return child.Free()
	})
	// Output:
	// generation 2 of ocean
}

// A library defines errors of its own, and hands them to the error handler of its user's
// communicator.
func ExampleAddErrorCode() {
	numerics := mpi.AddErrorClass()
	singular, err := mpi.AddErrorCode(numerics)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := errors.Join(mpi.AddErrorString(numerics, "numerical trouble"), mpi.AddErrorString(singular, "the matrix is singular")); err != nil {
		fmt.Println(err)
		return
	}
	run(1, func(world *mpi.Comm) error {
		world.SetErrhandler(mpi.ErrorsReturn)
		err := world.CallErrhandler(fmt.Errorf("row %d: %w", 3, singular))
		fmt.Println(errors.Is(err, numerics), errors.Is(err, singular), errors.Is(err, mpi.ErrIO))
		fmt.Println(mpi.ErrorString(mpi.ClassOf(err)), "in", errors.Unwrap(err))
		return nil
	})
	// Output:
	// true true false
	// numerical trouble in row 3: mpi: the matrix is singular
}

// With BufferAutomatic a buffered send always finds room; the flush tells when all have left.
func ExampleComm_AttachBuffer() {
	run(2, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			for range 3 {
				v, _, err := mpi.RecvValue[int](c, 0, 0)
				if err != nil {
					return err
				}
				fmt.Println("got", v)
			}
			return nil
		}
		if err := c.AttachBuffer(mpi.BufferAutomatic); err != nil {
			return err
		}
		for i := range 3 {
			if err := mpi.Bsend(c, []int{i * i}, 1, 0); err != nil {
				return err
			}
		}
		flushed := c.IflushBuffer()
		// ... compute here ...
		if _, err := flushed.Wait(); err != nil {
			return err
		}
		_, err := c.DetachBuffer()
		return err
	})
	// Output:
	// got 0
	// got 1
	// got 4
}

func ExampleAllocMem() {
	field, err := mpi.AllocMem[float64](1 << 20) // 8 MB, in huge pages if the system has them
	if err != nil {
		fmt.Println(err)
		return
	}
	field[len(field)-1] = 1
	fmt.Println(len(field), "elements")
	fmt.Println(mpi.FreeMem(field))
	// Output:
	// 1048576 elements
	// <nil>
}

func ExampleVersion() {
	major, minor := mpi.Version()
	fmt.Printf("MPI %d.%d, thread level %v\n", major, minor, mpi.QueryThread())
	// Output:
	// MPI 4.1, thread level multiple
}
