package mpi_test

import (
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

func ExampleDimsCreate() {
	fmt.Println(mpi.DimsCreate(12, make([]int, 2)))
	fmt.Println(mpi.DimsCreate(12, []int{0, 2, 0}))
	// Output:
	// [4 3] <nil>
	// [3 2 2] <nil>
}

// A ring: every rank sends its number to the next one.
func ExampleComm_CartCreate() {
	run(4, func(c *mpi.Comm) error {
		ring, err := c.CartCreate([]int{c.Size()}, []bool{true}, false)
		if err != nil {
			return err
		}
		before, after, err := ring.CartShift(0, 1)
		if err != nil {
			return err
		}
		from := []int{0}
		if _, err := mpi.Sendrecv(ring, []int{ring.Rank()}, after, 0, from, before, 0); err != nil {
			return err
		}
		if ring.Rank() == 0 {
			fmt.Println("rank 0 is told", from[0])
		}
		return nil
	})
	// Output: rank 0 is told 3
}

// The rows of a grid of two by three ranks add up their numbers.
func ExampleComm_CartSub() {
	run(6, func(c *mpi.Comm) error {
		grid, err := c.CartCreate([]int{2, 3}, nil, false)
		if err != nil {
			return err
		}
		row, err := grid.CartSub([]bool{false, true})
		if err != nil {
			return err
		}
		sum, all := []int{0}, make([]int, 6)
		if err := mpi.Allreduce(row, []int{grid.Rank()}, sum, mpi.Sum); err != nil {
			return err
		}
		if err := mpi.Gather(grid, sum, all, 0); err != nil {
			return err
		}
		if grid.Rank() == 0 {
			fmt.Println(all)
		}
		return nil
	})
	// Output: [3 3 3 12 12 12]
}

// A line that ends: what would come from outside stays as it was.
func ExampleNeighborAlltoall() {
	run(3, func(c *mpi.Comm) error {
		line, err := c.CartCreate([]int{3}, nil, false)
		if err != nil {
			return err
		}
		me := line.Rank()
		in := []string{fmt.Sprint("left from ", me), fmt.Sprint("right from ", me)}
		out := []string{"nobody", "nobody"}
		if err := mpi.NeighborAlltoall(line, in, out); err != nil {
			return err
		}
		if me == 2 {
			fmt.Printf("%q\n", out)
		}
		return nil
	})
	// Output: ["right from 1" "nobody"]
}

// Rank 0 is told by all others, each of which knows only that.
func ExampleComm_DistGraphCreate() {
	run(4, func(c *mpi.Comm) error {
		var sources, degrees, destinations []int
		if c.Rank() > 0 {
			sources, degrees, destinations = []int{c.Rank()}, []int{1}, []int{0}
		}
		star, err := c.DistGraphCreate(sources, degrees, destinations, mpi.Unweighted, false)
		if err != nil {
			return err
		}
		n, _, _, err := star.DistGraphNeighborsCount()
		if err != nil {
			return err
		}
		told := make([]int, n)
		if err := mpi.NeighborAllgather(star, []int{10 * star.Rank()}, told); err != nil {
			return err
		}
		if star.Rank() == 0 {
			fmt.Println(told)
		}
		return nil
	})
	// Output: [10 20 30]
}
