package mpi

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi/internal/layout"
)

// Order is how an array of several dimensions lies in memory (MPI 4.1, section 5.1.3).
type Order uint8

const (
	// OrderC is by rows: the last index moves fastest, as in C and in Go's arrays of arrays.
	OrderC = Order(layout.RowMajor)
	// OrderFortran is by columns: the first index moves fastest.
	OrderFortran = Order(layout.ColumnMajor)
)

// String is the name of the constant.
func (o Order) String() string {
	switch o {
	case OrderC:
		return "OrderC"
	case OrderFortran:
		return "OrderFortran"
	default:
		return fmt.Sprintf("Order(%d)", uint8(o))
	}
}

// Distribution is how a dimension of an array is dealt out to the processes of a dimension of a
// grid (MPI 4.1, section 5.1.4).
type Distribution uint8

const (
	// DistributeBlock gives each process one block, of equal length but for the last:
	// MPI_DISTRIBUTE_BLOCK.
	DistributeBlock Distribution = iota
	// DistributeCyclic deals blocks out in turn, of one element unless Darray's dargs say
	// otherwise: MPI_DISTRIBUTE_CYCLIC.
	DistributeCyclic
	// DistributeNone leaves the dimension whole: MPI_DISTRIBUTE_NONE.
	DistributeNone
)

// DistributeDfltDarg as an argument of a distribution lets the distribution choose:
// MPI_DISTRIBUTE_DFLT_DARG.
const DistributeDfltDarg = 0

var distributionNames = [...]string{"DistributeBlock", "DistributeCyclic", "DistributeNone"}

// String is the name of the constant.
func (d Distribution) String() string {
	if int(d) < len(distributionNames) {
		return distributionNames[d]
	}
	return fmt.Sprintf("Distribution(%d)", uint8(d))
}

// Subarray is a part of an array of values of t: of each dimension d with sizes[d] elements, the
// subsizes[d] elements from starts[d] on (MPI 4.1, section 5.1.3, MPI_Type_create_subarray). Its
// origin and extent are those of the whole array, so Contiguous gives the same part of several
// arrays. Errors are of class [ErrArg]; the slices are copied.
func Subarray(sizes, subsizes, starts []int, order Order, t *Datatype) *Datatype {
	d := derived(Contents{
		Combiner: CombinerSubarray, Sizes: slices.Clone(sizes), Subsizes: slices.Clone(subsizes), Starts: slices.Clone(starts),
		Order: order, Types: []*Datatype{t},
	})
	d.need(len(sizes) > 0 && len(subsizes) == len(sizes) && len(starts) == len(sizes), ErrArg,
		"%d sizes, %d subsizes and %d starts: need one of each for every dimension", len(sizes), len(subsizes), len(starts))
	d.need(order <= OrderFortran, ErrArg, "the order is %v: need OrderC or OrderFortran", order)
	return d.lay(func() (*layout.Map, error) {
		for i, size := range sizes {
			d.need(size >= 1, ErrArg, "dimension %d has size %d: need 1 or more", i, size)
			d.need(subsizes[i] >= 1 && subsizes[i] <= size, ErrArg, "dimension %d has subsize %d: need 1 to %d, its size", i, subsizes[i], size)
			d.need(starts[i] >= 0 && starts[i] <= size-subsizes[i], ErrArg, "dimension %d starts at %d: with %d of %d elements it is 0 to %d",
				i, starts[i], subsizes[i], size, size-subsizes[i])
		}
		if d.err != nil {
			return nil, nil
		}
		return layout.Subarray(t.m, sizes, subsizes, starts, layout.Order(order))
	})
}

// Darray is what one process has of an array of values of t that is distributed over a grid of
// processes (MPI 4.1, section 5.1.4, MPI_Type_create_darray).
//
// The grid has size processes, psizes[d] in dimension d; rank is one of them, the last coordinate
// moving fastest whatever the order. Of the array, dimension d has gsizes[d] elements, which
// distribs[d] deals out in blocks of dargs[d]: at least gsizes[d]/psizes[d] of them for
// DistributeBlock, any number for DistributeCyclic. [DistributeDfltDarg], which is all that
// DistributeNone takes, chooses: equal blocks, or blocks of one; a nil dargs chooses so for all
// dimensions.
//
// Its origin and extent are those of the whole array. Errors are of class [ErrArg]; the slices are
// copied.
func Darray(size, rank int, gsizes []int, distribs []Distribution, dargs, psizes []int, order Order, t *Datatype) *Datatype {
	if dargs == nil {
		dargs = make([]int, len(gsizes))
	}
	d := derived(Contents{
		Combiner: CombinerDarray, Size: size, Rank: rank, Sizes: slices.Clone(gsizes), Distribs: slices.Clone(distribs),
		Dargs: slices.Clone(dargs), Psizes: slices.Clone(psizes), Order: order, Types: []*Datatype{t},
	})
	n := len(gsizes)
	d.need(n > 0 && len(distribs) == n && len(dargs) == n && len(psizes) == n, ErrArg,
		"%d sizes, %d distributions, %d arguments and %d sizes of the grid: need one of each for every dimension",
		n, len(distribs), len(dargs), len(psizes))
	d.need(order <= OrderFortran, ErrArg, "the order is %v: need OrderC or OrderFortran", order)
	d.need(rank >= 0 && rank < size, ErrArg, "the rank is %d: need 0 to %d", rank, size-1)
	return d.lay(func() (*layout.Map, error) {
		shares := d.shares()
		if d.err != nil {
			return nil, nil
		}
		return layout.Darray(t.m, gsizes, shares, layout.Order(order))
	})
}

// shares are what a Darray's process has of each dimension.
func (t *Datatype) shares() []layout.Share {
	c := &t.contents
	shares := make([]layout.Share, len(c.Sizes))
	// For both orders "the ordering of processes in the process grid is assumed to be row-major"
	// (MPI 4.1, section 5.1.4): the last dimension moves fastest.
	ranks, rest := c.Rank, c.Size
	for i := len(shares) - 1; i >= 0; i-- {
		p := c.Psizes[i]
		t.need(p >= 1 && rest%max(p, 1) == 0, ErrArg, "dimension %d of the grid has size %d: the sizes %v are to have the product %d", i, p, c.Psizes, c.Size)
		if t.err != nil {
			return nil
		}
		shares[i] = layout.Share{Block: t.block(i), Of: p, Index: ranks % p}
		ranks, rest = ranks/p, rest/p
	}
	t.need(rest == 1, ErrArg, "the sizes of the grid are %v: their product is not %d", c.Psizes, c.Size)
	return shares
}

// block is the length of the blocks in which dimension i of a Darray is dealt out; at least 1.
func (t *Datatype) block(i int) int {
	size, p, arg := t.contents.Sizes[i], t.contents.Psizes[i], t.contents.Dargs[i]
	t.need(size >= 1, ErrArg, "dimension %d has size %d: need 1 or more", i, size)
	t.need(arg >= 0, ErrArg, "the argument of dimension %d is %d: need 1 or more, or DistributeDfltDarg", i, arg)
	equal := max(1, size/p)
	if size > equal*p {
		equal++
	}
	switch t.contents.Distribs[i] {
	case DistributeBlock:
		t.need(arg == DistributeDfltDarg || arg >= equal, ErrArg, "blocks of %d for dimension %d: %d processes need blocks of %d at least for %d elements",
			arg, i, p, equal, size)
		if arg == DistributeDfltDarg {
			return equal
		}
		return arg
	case DistributeCyclic:
		return max(1, arg)
	case DistributeNone:
		t.need(arg == DistributeDfltDarg, ErrArg, "the argument of dimension %d is %d: DistributeNone takes none", i, arg)
		t.need(p == 1, ErrArg, "dimension %d of the grid has size %d: DistributeNone needs 1", i, p)
		return max(1, size)
	default:
		t.need(false, ErrArg, "the distribution of dimension %d is %v: need DistributeBlock, DistributeCyclic or DistributeNone", i, t.contents.Distribs[i])
		return 1
	}
}
