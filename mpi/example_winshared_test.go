package mpi_test

import (
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

// The ranks of a host fill a table together, and each reads all of it: no message moves.
func ExampleWinAllocateShared() {
	run(3, func(world *mpi.Comm) error {
		host, err := world.SplitType(mpi.SplitShared, world.Rank(), nil)
		if err != nil {
			return err
		}
		w, mine, err := mpi.WinAllocateShared[int](host, 2, nil)
		if err != nil {
			return err
		}
		for i := range mine {
			mine[i] = 10*host.Rank() + i
		}
		if err := w.Fence(0); err != nil { // all have written
			return err
		}
		table, err := mpi.WinSharedAll[int](w)
		if err != nil {
			return err
		}
		next, err := mpi.WinSharedQuery[int](w, (host.Rank()+1)%host.Size())
		if err != nil {
			return err
		}
		if host.Rank() == 0 {
			fmt.Println(table, next)
		}
		return w.Free() // when all have read
	})
	// Output: [0 1 10 11 20 21] [10 11]
}

// A library keeps what it has made for a window with the window.
func ExampleWinKeyval() {
	run(1, func(world *mpi.Comm) error {
		key := mpi.WinKeyvalCreate(func(_ *mpi.Win, plan string) error {
			fmt.Println("gone:", plan)
			return nil
		})
		w, err := mpi.WinCreate(world, make([]float64, 8), nil)
		if err != nil {
			return err
		}
		if err := key.Set(w, "eight numbers"); err != nil {
			return err
		}
		plan, _ := key.Get(w)
		fmt.Println("kept:", plan)
		return w.Free()
	})
	// Output:
	// kept: eight numbers
	// gone: eight numbers
}
