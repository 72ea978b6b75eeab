package tests

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

var layoutFormCases = []testCase{
	{name: "layoutform/one group", section: "6.2.2", max: 4, dear: true,
		sentence: "collectives with layouts, in all forms, do what they do without them, and touch nothing else",
		run:      layoutForms},
	{name: "layoutform/two groups", section: "6.2.3", min: 2, max: 4, dear: true,
		sentence: "so do those over intercommunicators",
		run:      interLayoutForms},
}

// mover is a collective in two forms, over buffers of so many blocks. Without layouts a block is
// unit elements, one after the other; with them it is a value of a type, unit is 1, and what the
// collective takes as a whole is one value of that many blocks.
type mover struct {
	name        string
	in, out     int // blocks of the buffers
	sent, taken int // blocks in the types for what is sent and received; 0: the buffer is not used
	start, init func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request
	inPlace     bool
	kept        int // blocks of the first buffer that are the caller's afterwards; 0: all
}

// spacing is the layout of one block of n elements: every second element, and a gap to the next
// block.
type spacing struct {
	n int
	t *mpi.Datatype
}

func newSpacing(n int) spacing {
	return spacing{n, mpi.Resized(mpi.Vector(n, 1, 2, mpi.TypeOf[int32]()), 0, 4*(2*n+3))}
}

func (b spacing) times(n int) *mpi.Datatype {
	switch n {
	case 0:
		return nil
	case 1:
		return b.t
	}
	return mpi.Contiguous(n, b.t)
}

// at is where element i of so many blocks is.
func (b spacing) at(i int) int { return i/b.n*(2*b.n+3) + 2*(i%b.n) }

const untouched = -7

// spread lays v out in a buffer whose gaps are untouched.
func (b spacing) spread(v []int32) []int32 {
	s := slices.Repeat([]int32{untouched}, len(v)/b.n*(2*b.n+3))
	for i, x := range v {
		s[b.at(i)] = x
	}
	return s
}

// check compares a laid out buffer with one that is not.
func (b spacing) check(t *T, what string, got, want []int32) {
	for i, x := range b.spread(want) {
		if got[i] != x {
			t.Fatalf("%s: element %d of the buffer is %d, want %d", what, i, got[i], x)
		}
	}
}

// layoutForms runs each collective with layouts in all forms and compares with the same collective
// without.
func layoutForms(t *T, c *mpi.Comm) {
	ring, err := c.CartCreate([]int{c.Size()}, []bool{true}, false)
	t.must(err)
	for _, n := range blockSizes(t) {
		b := newSpacing(n)
		compareForms(t, c, b, movers(c.Size(), c.Rank(), c.Size()-1, false))
		compareForms(t, c, b, combiners(c.Size(), c.Rank()))
		compareForms(t, ring, b, nearMovers())
	}
}

// interLayoutForms is layoutForms over an intercommunicator.
func interLayoutForms(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	root := mpi.Root // rank 0 of the even ones
	switch {
	case c.Rank()%2 == 1:
		root = 0
	case c.Rank() > 0:
		root = mpi.ProcNull
	}
	for _, n := range blockSizes(t) {
		compareForms(t, inter, newSpacing(n), movers(inter.RemoteSize(), c.Rank(), root, true))
		compareForms(t, inter, newSpacing(n), interCombiners(c.Size(), inter.Size(), root))
	}
}

// blockSizes are for messages that are short, that are not, and that take many chunks.
func blockSizes(t *T) []int {
	switch {
	case !t.World:
		return []int{700}
	case raceEnabled: // every element is looked at, and the detector looks too
		return []int{1, 700, 4000}
	}
	return []int{1, 700, 20000}
}

func compareForms(t *T, c *mpi.Comm, b spacing, ms []mover) {
	for _, m := range ms {
		tc := c.WithTypes(b.times(m.sent), b.times(m.taken))
		var r *mpi.Request
		typedIn, typedOut := make([]int32, len(b.spread(make([]int32, m.in*b.n)))), make([]int32, len(b.spread(make([]int32, m.out*b.n))))
		if m.inPlace {
			typedOut = typedIn
		}
		r = m.init(tc, typedIn, typedOut, 1)
		for round := range 3 {
			what := fmt.Sprintf("%s, blocks of %d, round %d", m.name, b.n, round)
			in, out := make([]int32, m.in*b.n), slices.Repeat([]int32{untouched}, m.out*b.n)
			for i := range in {
				in[i] = int32(1_000_000*t.Rank + 1000*round + i%997)
			}
			if m.inPlace {
				out = in
			}
			copy(typedIn, b.spread(in))
			copy(typedOut, b.spread(out))
			_, err := m.start(c, in, out, b.n).Wait()
			t.must(err, what)
			if round == 0 {
				_, err = m.start(tc, typedIn, typedOut, 1).Wait()
			} else if err = r.Start(); err == nil {
				_, err = r.Wait()
			}
			t.must(err, what, "with layouts")
			if m.kept > 0 {
				in, out = in[:m.kept*b.n], out[:m.kept*b.n]
			}
			b.check(t, what+", in", typedIn, in)
			b.check(t, what+", out", typedOut, out)
		}
	}
}

// scaled is v in units.
func scaled(v []int, unit int) []int {
	s := make([]int, len(v))
	for i := range v {
		s[i] = v[i] * unit
	}
	return s
}

// uneven are counts for p ranks, with displacements in the reverse order and with gaps.
func uneven(p int) (counts, displs []int, total int) {
	counts, displs = make([]int, p), make([]int, p)
	for r := p - 1; r >= 0; r-- {
		counts[r], displs[r] = 1+r%3, total+1
		total += counts[r] + 1
	}
	return counts, displs, total + 1
}

// movers are the collectives that move data between p ranks; over an intercommunicator these are
// the remote ones, whose numbers are those of every second rank.
func movers(p, me, root int, inter bool) []mover {
	counts, displs, total := uneven(p)
	mine := 1 + me%3
	if inter {
		for i := range counts {
			counts[i] = 1
		}
		mine = 1
	}
	each, all := make([]int, p), 0 // counts of Alltoallv
	for r := range each {
		if each[r] = 2; !inter {
			each[r] = 1 + (me+r)%3
		}
		all += each[r]
	}
	ms := []mover{
		{"Bcast", 3, 3, 3, 3, func(c *mpi.Comm, in, _ []int32, _ int) *mpi.Request { return mpi.Ibcast(c, in, root) },
			func(c *mpi.Comm, in, _ []int32, _ int) *mpi.Request { return mpi.BcastInit(c, in, root) }, false, 0},
		{"Gather", 2, 2 * p, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Igather(c, in, out, root) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.GatherInit(c, in, out, root) }, false, 0},
		{"Scatter", 2 * p, 2, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Iscatter(c, in, out, root) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.ScatterInit(c, in, out, root) }, false, 0},
		{"Allgather", 2, 2 * p, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Iallgather(c, in, out) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.AllgatherInit(c, in, out) }, false, 0},
		{"Alltoall", 2 * p, 2 * p, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Ialltoall(c, in, out) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.AlltoallInit(c, in, out) }, false, 0},
		{"Gatherv", mine, total, mine, 1, func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
			return mpi.Igatherv(c, in, out, scaled(counts, unit), scaled(displs, unit), root)
		}, func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
			return mpi.GathervInit(c, in, out, scaled(counts, unit), scaled(displs, unit), root)
		}, false, 0},
		{"Scatterv", total, mine, 1, mine, func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
			return mpi.Iscatterv(c, in, scaled(counts, unit), scaled(displs, unit), out, root)
		}, func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
			return mpi.ScattervInit(c, in, scaled(counts, unit), scaled(displs, unit), out, root)
		}, false, 0},
		{"Allgatherv", mine, total, mine, 1, func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
			return mpi.Iallgatherv(c, in, out, scaled(counts, unit), scaled(displs, unit))
		}, func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
			return mpi.AllgathervInit(c, in, out, scaled(counts, unit), scaled(displs, unit))
		}, false, 0},
	}
	alltoallv := mover{"Alltoallv", all, all, 1, 1, func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
		return mpi.Ialltoallv(c, in, scaled(each, unit), nil, out, scaled(each, unit), nil)
	}, func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
		return mpi.AlltoallvInit(c, in, scaled(each, unit), nil, out, scaled(each, unit), nil)
	}, false, 0}
	ms = append(ms, alltoallv)
	if !inter {
		for _, m := range []mover{ms[4], alltoallv} {
			m.name, m.inPlace = m.name+" in place", true
			ms = append(ms, m)
		}
		gather := mover{"Allgather in place", 2 * p, 2 * p, 2, 2, nil, nil, true, 0}
		gather.start = func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request {
			return mpi.Iallgather(c, ownPart(in, me, p), out)
		}
		gather.init = func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request {
			return mpi.AllgatherInit(c, ownPart(in, me, p), out)
		}
		ms = append(ms, gather)
	}
	return ms
}

// ownPart is the part of a buffer of p equal ones that is this rank's.
func ownPart(b []int32, me, p int) []int32 {
	n := len(b) / p
	return b[me*n : (me+1)*n]
}

// inOrder is an operation that does not commute, and is not associative either: its result shows
// which operands met when.
func inOrder(acc, in []int32) {
	for i := range acc {
		acc[i] = 31*acc[i] ^ in[i]
	}
}

// combiners are the reductions.
func combiners(p, me int) []mover {
	counts, _, _ := uneven(p)
	total := 0
	for _, n := range counts {
		total += n
	}
	ms := []mover{
		{"Reduce", 2, 2, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Ireduce(c, in, out, mpi.Sum, 0) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.ReduceInit(c, in, out, mpi.Sum, 0) }, false, 0},
		{"Allreduce", 2, 2, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Iallreduce(c, in, out, mpi.Sum) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.AllreduceInit(c, in, out, mpi.Sum) }, false, 0},
		{"Allreduce in place", 2, 2, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Iallreduce(c, in, out, mpi.Sum) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.AllreduceInit(c, in, out, mpi.Sum) }, true, 0},
		{"Reduce in place and in order", 2, 2, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Ireduce(c, in, out, inOrder, p-1) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request {
				return mpi.ReduceInit(c, in, out, inOrder, p-1)
			}, true, 0},
		{"Allreduce in order", 2, 2, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Iallreduce(c, in, out, inOrder) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request {
				return mpi.AllreduceInit(c, in, out, inOrder)
			}, false, 0},
		{"Scan in place and in order", 2, 2, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Iscan(c, in, out, inOrder) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.ScanInit(c, in, out, inOrder) }, true, 0},
		{"Exscan in place and in order", 2, 2, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Iexscan(c, in, out, inOrder) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.ExscanInit(c, in, out, inOrder) }, true, 0},
		{"Scan", 2, 2, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Iscan(c, in, out, mpi.Sum) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.ScanInit(c, in, out, mpi.Sum) }, false, 0},
		{"Exscan", 2, 2, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Iexscan(c, in, out, mpi.Sum) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.ExscanInit(c, in, out, mpi.Sum) }, false, 0},
		{"ReduceScatterBlock in order", 2 * p, 2, 2, 2,
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request {
				return mpi.IreduceScatterBlock(c, in, out, inOrder)
			},
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request {
				return mpi.ReduceScatterBlockInit(c, in, out, inOrder)
			}, false, 0},
		{"ReduceScatterBlock", 2 * p, 2, 2, 2,
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request {
				return mpi.IreduceScatterBlock(c, in, out, mpi.Sum)
			},
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request {
				return mpi.ReduceScatterBlockInit(c, in, out, mpi.Sum)
			}, false, 0},
		{"ReduceScatter", total, counts[me], 1, 1,
			func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
				return mpi.IreduceScatter(c, in, out, scaled(counts, unit), mpi.Sum)
			},
			func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
				return mpi.ReduceScatterInit(c, in, out, scaled(counts, unit), mpi.Sum)
			}, false, 0},
	}
	for _, m := range ms[len(ms)-3:] { // those that scatter: the result begins where the operand does
		m.name, m.inPlace, m.out, m.kept = m.name+" in place", true, m.in, m.out
		ms = append(ms, m)
	}
	return ms
}

// interCombiners are the reductions over an intercommunicator. all is a number of blocks that both
// groups can share out.
func interCombiners(all, local, root int) []mover {
	all *= local * (all - local)
	each := slices.Repeat([]int{all / local}, local)
	return []mover{
		{"inter Reduce", 2, 2, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Ireduce(c, in, out, mpi.Sum, root) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request {
				return mpi.ReduceInit(c, in, out, mpi.Sum, root)
			}, false, 0},
		{"inter Allreduce", 2, 2, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.Iallreduce(c, in, out, mpi.Sum) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.AllreduceInit(c, in, out, mpi.Sum) }, false, 0},
		{"inter ReduceScatter", all, all / local, 1, 1,
			func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
				return mpi.IreduceScatter(c, in, out, scaled(each, unit), mpi.Sum)
			},
			func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
				return mpi.ReduceScatterInit(c, in, out, scaled(each, unit), mpi.Sum)
			}, false, 0},
	}
}

// nearMovers are the neighbourhood collectives of a ring.
func nearMovers() []mover {
	counts, displs := []int{2, 2}, []int{3, 0}
	return []mover{
		{"NeighborAllgather", 2, 4, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.IneighborAllgather(c, in, out) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.NeighborAllgatherInit(c, in, out) }, false, 0},
		{"NeighborAlltoall", 4, 4, 2, 2, func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.IneighborAlltoall(c, in, out) },
			func(c *mpi.Comm, in, out []int32, _ int) *mpi.Request { return mpi.NeighborAlltoallInit(c, in, out) }, false, 0},
		{"NeighborAllgatherv", 2, 6, 2, 1, func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
			return mpi.IneighborAllgatherv(c, in, out, scaled(counts, unit), scaled(displs, unit))
		}, func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
			return mpi.NeighborAllgathervInit(c, in, out, scaled(counts, unit), scaled(displs, unit))
		}, false, 0},
		{"NeighborAlltoallv", 5, 6, 1, 1, func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
			return mpi.IneighborAlltoallv(c, in, scaled(counts, unit), scaled(displs, unit), out, scaled(counts, unit), scaled(displs, unit))
		}, func(c *mpi.Comm, in, out []int32, unit int) *mpi.Request {
			return mpi.NeighborAlltoallvInit(c, in, scaled(counts, unit), scaled(displs, unit), out, scaled(counts, unit), scaled(displs, unit))
		}, false, 0},
	}
}
