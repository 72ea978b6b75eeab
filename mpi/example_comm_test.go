package mpi_test

import (
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

// Groups are made of groups, without messages; Create makes a communicator of one.
func ExampleGroup() {
	run(5, func(c *mpi.Comm) error {
		all := c.Group()
		even, err := all.RangeIncl(mpi.Range{First: 0, Last: all.Size() - 1, Stride: 2})
		if err != nil {
			return err
		}
		odd, err := all.Difference(even)
		if err != nil {
			return err
		}
		inEven, err := all.TranslateRanks([]int{4, 3}, even)
		if err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println(even.Size(), "even,", odd.Size(), "odd; rank 4 is number", inEven[0], "of the even ones, rank 3 is none:", inEven[1] == mpi.Undefined)
		}
		d, err := c.Create(even)
		if err != nil || d == nil { // nil at the odd ranks
			return err
		}
		sum := []int{0}
		if err := mpi.Reduce(d, []int{c.Rank()}, sum, mpi.Sum, 0); err != nil {
			return err
		}
		if d.Rank() == 0 {
			fmt.Println("the even ranks add up to", sum[0])
		}
		return nil
	})
	// Output:
	// 3 even, 2 odd; rank 4 is number 2 of the even ones, rank 3 is none: true
	// the even ranks add up to 6
}

// CreateGroup is called by the members alone.
func ExampleComm_CreateGroup() {
	run(3, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			return nil // has better things to do
		}
		g, err := c.Group().Excl(1)
		if err != nil {
			return err
		}
		d, err := c.CreateGroup(g, 0)
		if err != nil {
			return err
		}
		ranks := make([]int, d.Size())
		if err := mpi.Allgather(d, []int{c.Rank()}, ranks); err != nil {
			return err
		}
		if d.Rank() == 0 {
			fmt.Println("together:", ranks)
		}
		return nil
	})
	// Output: together: [0 2]
}

// SplitType finds the ranks that share memory; one of each group then speaks for it.
func ExampleComm_SplitType() {
	run(4, func(c *mpi.Comm) error {
		near, err := c.SplitType(mpi.SplitShared, c.Rank(), nil)
		if err != nil {
			return err
		}
		color := mpi.Undefined
		if near.Rank() == 0 {
			color = 0
		}
		leaders, err := c.Split(color, c.Rank())
		if err != nil || leaders == nil {
			return err
		}
		fmt.Println(leaders.Size(), "leader of", near.Size(), "ranks")
		return nil
	})
	// Output: 1 leader of 4 ranks
}

// Idup lets a program do something else while a communicator is made.
func ExampleComm_Idup() {
	run(2, func(c *mpi.Comm) error {
		r := c.Idup(nil)
		// ... compute here ...
		if _, err := r.Wait(); err != nil {
			return err
		}
		d := r.Comm()
		same, err := c.Compare(d)
		if err != nil {
			return err
		}
		if d.Rank() == 0 {
			fmt.Println("the copy is", same)
		}
		return nil
	})
	// Output: the copy is congruent
}

// An intercommunicator joins two groups, here one that asks and one that answers; ranks are those
// of the other group.
func ExampleComm_IntercommCreate() {
	run(4, func(c *mpi.Comm) error {
		asks := c.Rank() < 3 // and rank 3 answers
		color, otherLeader := 0, 3
		if !asks {
			color, otherLeader = 1, 0
		}
		local, err := c.Split(color, 0)
		if err != nil {
			return err
		}
		inter, err := local.IntercommCreate(0, c, otherLeader, 0)
		if err != nil {
			return err
		}
		if asks {
			if err := mpi.SendValue(inter, fmt.Sprint("what is ", inter.Rank(), "+1?"), 0, 0); err != nil {
				return err
			}
			answer, _, err := mpi.RecvValue[int](inter, 0, 0)
			if err == nil && inter.Rank() == 2 {
				fmt.Println("the answer is", answer)
			}
			return err
		}
		for r := range inter.RemoteSize() {
			question, st, err := mpi.RecvValue[string](inter, r, 0)
			if err != nil {
				return err
			}
			if r == 2 {
				fmt.Println("rank", st.Source, "asks", question)
			}
			if err := mpi.SendValue(inter, r+1, st.Source, 0); err != nil {
				return err
			}
		}
		return nil
	})
	// Output:
	// rank 2 asks what is 2+1?
	// the answer is 3
}

// Merge makes one communicator of both groups.
func ExampleComm_Merge() {
	run(4, func(c *mpi.Comm) error {
		local, err := c.Split(c.Rank()%2, 0)
		if err != nil {
			return err
		}
		inter, err := local.IntercommCreate(0, c, 1-c.Rank()%2, 0)
		if err != nil {
			return err
		}
		all, err := inter.Merge(c.Rank()%2 == 0) // the even ranks come last
		if err != nil {
			return err
		}
		order := make([]int, all.Size())
		if err := mpi.Allgather(all, []int{c.Rank()}, order); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println("the order is", order)
		}
		return nil
	})
	// Output: the order is [1 3 0 2]
}

// Infos carry hints; those of a communicator can be asked for.
func ExampleInfo() {
	run(1, func(c *mpi.Comm) error {
		info := mpi.InfoCreate()
		if err := info.Set("mpi_assert_no_any_tag", "true"); err != nil {
			return err
		}
		d, err := c.Dup(info)
		if err != nil {
			return err
		}
		for key, value := range d.Info().All() {
			fmt.Println(key, value)
		}
		return nil
	})
	// Output:
	// mpi_assert_no_any_tag true
	// mpi_assert_no_any_source false
	// mpi_assert_exact_length false
	// mpi_assert_allow_overtaking false
	// mpi_assert_strict_persistent_collective_ordering false
}
