package mpi_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/mpi"
)

// Behind a barrier a rank sees what all others did before it.
func ExampleBarrier() {
	var come atomic.Int32 // shared, because these ranks are threads
	run(4, func(c *mpi.Comm) error {
		come.Add(1)
		if err := mpi.Barrier(c); err != nil {
			return err
		}
		if c.Rank() == 3 {
			fmt.Println(come.Load(), "have come")
		}
		return nil
	})
	// Output: 4 have come
}

func ExampleGather() {
	run(3, func(c *mpi.Comm) error {
		var all []int
		if c.Rank() == 0 {
			all = make([]int, c.Size())
		}
		if err := mpi.Gather(c, []int{c.Rank() * c.Rank()}, all, 0); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println(all)
		}
		return nil
	})
	// Output: [0 1 4]
}

// Rank r gives r words. Only the root needs to know how many come from which rank.
func ExampleGatherv() {
	words := strings.Fields("never the same length")
	run(3, func(c *mpi.Comm) error {
		mine := words[c.Rank() : 2*c.Rank()]
		all, counts := make([]string, 3), []int{0, 1, 2}
		if err := mpi.Gatherv(c, mine, all, counts, nil, 0); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println(all)
		}
		return nil
	})
	// Output: [the same length]
}

// Rows of different lengths, with a gap between them in the root's memory.
func ExampleScatterv() {
	run(2, func(c *mpi.Comm) error {
		in := []int{1, 2, 3, -1, 4, 5} // used at the root only
		mine := make([]int, 3-c.Rank())
		if err := mpi.Scatterv(c, in, []int{3, 2}, []int{0, 4}, mine, 0); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fmt.Println(mine)
		}
		return nil
	})
	// Output: [4 5]
}

// Transposing a matrix of which each rank has a row. In place: in and out are the same slice.
func ExampleAlltoall() {
	run(3, func(c *mpi.Comm) error {
		row := []int{10 * c.Rank(), 10*c.Rank() + 1, 10*c.Rank() + 2}
		if err := mpi.Alltoall(c, row, row); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fmt.Println(row)
		}
		return nil
	})
	// Output: [1 11 21]
}

// A collective of values needs no slices.
func ExampleAllreduceValue() {
	run(3, func(c *mpi.Comm) error {
		longest, err := mpi.AllreduceValue(c, []string{"a", "longer", "word"}[c.Rank()], mpi.OpOf(func(x, y string) string {
			if len(y) > len(x) {
				return y
			}
			return x
		}))
		if c.Rank() == 2 {
			fmt.Println(longest)
		}
		return err
	})
	// Output: longer
}

// Objects are reduced too: here the counts of words.
func ExampleAllreduce_maps() {
	merge := func(acc, in []map[string]int) {
		for i := range acc {
			sum := maps.Clone(acc[i])
			for word, n := range in[i] {
				sum[word] += n
			}
			acc[i] = sum
		}
	}
	run(3, func(c *mpi.Comm) error {
		mine := map[string]int{"all": 1, fmt.Sprint("rank", c.Rank()): 10}
		sum := make([]map[string]int, 1)
		if err := mpi.Allreduce(c, []map[string]int{mine}, sum, merge); err != nil {
			return err
		}
		if c.Rank() == 2 {
			for _, word := range slices.Sorted(maps.Keys(sum[0])) {
				fmt.Println(word, sum[0][word])
			}
		}
		return nil
	})
	// Output:
	// all 3
	// rank0 10
	// rank1 10
	// rank2 10
}

// Each rank gets its part of a sum of vectors.
func ExampleReduceScatter() {
	run(3, func(c *mpi.Comm) error {
		in := []int{1, 2, 3, 4, 5, 6} // of every rank
		counts := []int{1, 2, 3}
		part := make([]int, counts[c.Rank()])
		if err := mpi.ReduceScatter(c, in, part, counts, mpi.Sum); err != nil {
			return err
		}
		if c.Rank() == 2 {
			fmt.Println(part)
		}
		return nil
	})
	// Output: [12 15 18]
}

func ExampleReduceScatterBlock() {
	run(2, func(c *mpi.Comm) error {
		part := make([]float64, 2)
		if err := mpi.ReduceScatterBlock(c, []float64{1, 2, 3, 4}, part, mpi.Max); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fmt.Println(part)
		}
		return nil
	})
	// Output: [3 4]
}

// Where each rank's part of a common file begins: what those before it have.
func ExampleExscan() {
	run(4, func(c *mpi.Comm) error {
		begin := []int{0} // rank 0 gets nothing, and begins here
		if err := mpi.Exscan(c, []int{100 + c.Rank()}, begin, mpi.Sum); err != nil {
			return err
		}
		if c.Rank() == 3 {
			fmt.Println("rank 3 begins at", begin[0])
		}
		return nil
	})
	// Output: rank 3 begins at 303
}

// An iteration that needs the same sum again and again prepares it once.
func ExampleAllreduceInit() {
	run(2, func(c *mpi.Comm) error {
		residual, sum := []float64{0}, []float64{0}
		r := mpi.AllreduceInit(c, residual, sum, mpi.Sum)
		for step := range 3 {
			residual[0] = 1 / float64(step+1)
			if err := r.Start(); err != nil {
				return err
			}
			if _, err := r.Wait(); err != nil {
				return err
			}
			if c.Rank() == 0 {
				fmt.Printf("%.2f\n", sum[0])
			}
		}
		return nil
	})
	// Output:
	// 2.00
	// 1.00
	// 0.67
}

// Between two groups: rank 0 of the first tells all ranks of the second.
func ExampleBcast_intercommunicator() {
	run(4, func(c *mpi.Comm) error {
		half, err := c.Split(c.Rank()/2, 0)
		if err != nil {
			return err
		}
		inter, err := half.IntercommCreate(0, c, 2-c.Rank()/2*2, 0)
		if err != nil {
			return err
		}
		word, root := []string{"to the others"}, 0
		switch c.Rank() {
		case 0:
			root = mpi.Root
		case 1:
			root = mpi.ProcNull
		default:
			word[0] = ""
		}
		if err := mpi.Bcast(inter, word, root); err != nil {
			return err
		}
		if c.Rank() == 3 {
			fmt.Println(word[0])
		}
		return nil
	})
	// Output: to the others
}
