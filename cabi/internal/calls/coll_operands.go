package calls

import (
	"slices"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/mpi"
)

// operand is a buffer with blocks for ranks: plain bytes, or a layout for each block.
type operand struct {
	b []byte
	t *mpi.Datatype // nil: the bytes are the data
}

// whole is count values of d at an address, as one block. The address of what has no data does not
// matter.
func (c *call) whole(addr int64, count int, d *datatype) operand { return c.blocks(addr, count, d, 1) }

// blocks is n blocks of count values of d, one after the other.
func (c *call) blocks(addr int64, count int, d *datatype, n int) operand {
	b := c.values(addr, count*n, d).asBytes()
	if b.t == nil {
		return operand{b: b.bytes()}
	}
	if n == 1 {
		return operand{b.bytes(), b.t}
	}
	l := d.lay(count * n)
	block := mpi.Resized(mpi.Hindexed([]int{count}, []int{-l.lo}, d.t), 0, count*d.extent)
	return operand{b.bytes(), block}
}

// varied is blocks of different lengths. Counts and displacements are what package mpi takes for
// them: in values of the layout, or in bytes.
type varied struct {
	operand
	counts, displs []int
}

// varied is blocks of counts values of d, at displacements in its extents.
func (c *call) varied(addr int64, counts, displs []int, d *datatype) varied {
	first, end := reach(counts, displs)
	for i, n := range counts {
		if n < 0 {
			panic(failf(abi.ErrCount, "the count of rank %d is %d: need 0 or more", i, n))
		}
	}
	at := make([]int, len(displs))
	for i := range displs {
		if counts[i] > 0 {
			at[i] = displs[i] - first
		}
	}
	v := varied{operand{}, counts, at}
	start := addr + int64(first*d.extent)
	b := c.values(start, end-first, d).asBytes()
	if v.b, v.t = b.bytes(), b.t; b.t == nil {
		v.counts = scaled(counts, d.size)
		v.displs = scaled(at, d.size)
		return v
	}
	v.t = mpi.Resized(mpi.Hindexed([]int{1}, []int{-d.lay(end - first).lo}, d.t), 0, d.extent)
	return v
}

// reach is where blocks that are not empty begin and end, in values.
func reach(counts, displs []int) (first, end int) {
	any := false
	for i, n := range counts {
		if n <= 0 {
			continue
		}
		if !any {
			first, end, any = displs[i], displs[i]+n, true
		}
		first, end = min(first, displs[i]), max(end, displs[i]+n)
	}
	return first, end
}

func scaled(list []int, by int) []int {
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = n * by
	}
	return out
}

// inPlace reports whether a buffer is MPI_IN_PLACE.
func (c *call) inPlace(i int) bool { return c.args[i] == abi.InPlace }

// apart checks that the two buffers of a call, neither of which is MPI_IN_PLACE, are not one, if
// there are some values in the first: "the arguments must not be aliased" (MPI 5.0, section 2.3).
// own is this rank's block in the second, if it has blocks: what goes there may not lie there. At a
// root between two groups only one of the buffers counts.
func (c *call) apart(m *comm, in, out int, some bool, own ...int64) {
	if !some || m.IsInter() || c.args[in] <= abi.InPlace {
		return
	}
	if c.args[in] == c.args[out] || slices.Contains(own, c.args[in]) {
		panic(failf(abi.ErrBuffer, "both buffers are the same memory: use MPI_IN_PLACE"))
	}
}

// apartBlocks is apart of buffers that both have a block for each rank, of the same datatypes: at
// no rank may both begin at one displacement.
func (c *call) apartBlocks(m *comm, in, out int, counts, displs [2][]int) {
	if m.IsInter() || c.args[in] <= abi.InPlace || c.args[in] != c.args[out] {
		return
	}
	for i, n := range counts[0] {
		if n > 0 && counts[1][i] > 0 && displs[0][i] == displs[1][i] {
			panic(failf(abi.ErrBuffer, "the blocks of rank %d in both buffers are the same memory: use MPI_IN_PLACE", i))
		}
	}
}

// peers is how many ranks a collective addresses: those of the other group, if there is one.
func (m *comm) peers() int {
	if m.IsInter() {
		return m.RemoteSize()
	}
	return m.Size()
}

// isRoot reports whether this rank is the root.
func (m *comm) isRoot(root int) bool {
	if m.IsInter() {
		return root == mpi.Root
	}
	return root == m.Rank()
}
