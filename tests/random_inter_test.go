package tests

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

// Intercommunicators of random programs: messages and collectives between any two groups.

// randomGroups are the two groups of an intercommunicator, by ranks of the communicator below, in
// their order.
type randomGroups struct {
	of   [2][]int
	side []int // of each rank: whose group it is in
}

func drawGroups(d *dice) *randomGroups {
	g := &randomGroups{side: make([]int, d.size)}
	order := d.Perm(d.size)
	first := 1 + d.IntN(d.size-1) // ranks of the first group
	for i, r := range order {
		if i >= first {
			g.side[r] = 1
		}
		g.of[g.side[r]] = append(g.of[g.side[r]], r)
	}
	return g
}

// waysToJoin make an intercommunicator of the groups.
var waysToJoin = []struct {
	name string
	make func(x *strand, g *randomGroups, leaders [2]int, tag int) (*mpi.Comm, error)
}{
	{"IntercommCreate", func(x *strand, g *randomGroups, leaders [2]int, tag int) (*mpi.Comm, error) {
		mine := g.side[x.c.Rank()]
		half, err := x.c.Split(mine, slices.Index(g.of[mine], x.c.Rank()))
		if err != nil {
			return nil, err
		}
		inter, err := half.IntercommCreate(leaders[mine], x.c, g.of[1-mine][leaders[1-mine]], tag)
		if err == nil {
			err = half.Free()
		}
		return inter, err
	}},
	{"IntercommCreateFromGroups", func(x *strand, g *randomGroups, leaders [2]int, tag int) (*mpi.Comm, error) {
		mine, all := g.side[x.c.Rank()], x.c.Group()
		var both [2]*mpi.Group
		for i, ranks := range g.of {
			var err error
			if both[i], err = all.Incl(ranks...); err != nil {
				return nil, err
			}
		}
		inter, err := mpi.IntercommCreateFromGroups(both[mine], leaders[mine], both[1-mine], leaders[1-mine],
			fmt.Sprintf("strand %d, number %d", x.index, tag), nil, mpi.ErrorsReturn)
		if err != nil {
			return nil, err
		}
		return inter.WithContext(x.ctx), nil
	}},
}

// interOps make an intercommunicator, use it and what is merged of it; what is not complete when it
// is freed completes later.
var interOps = []randomOp{{name: "an intercommunicator", min: 2, draw: func(d *dice) (string, func(*strand)) {
	g, way, dup, tag := drawGroups(d), waysToJoin[d.IntN(len(waysToJoin))], d.chance(4), d.newTag()
	leaders := [2]int{d.IntN(len(g.of[0])), d.IntN(len(g.of[1]))}
	var what strings.Builder
	fmt.Fprintf(&what, "%s of %v and %v, leaders %v, copied %t", way.name, g.of[0], g.of[1], leaders, dup)
	var runs []func(x *strand)
	for range 1 + d.IntN(4) {
		w, run := interMakers[d.IntN(len(interMakers))](d, g)
		what.WriteString("\n  " + w)
		runs = append(runs, run)
	}
	high := [2]bool{d.chance(2), d.chance(2)}
	after := d.inner(d.size, new(int))
	fmt.Fprintf(&what, "\n  Merge %v, %s", high, after.what)
	return what.String(), func(x *strand) {
		inter, err := way.make(x, g, leaders, tag)
		x.must(err)
		if dup {
			first := inter
			inter, err = inter.Dup(nil)
			x.must(err)
			x.must(first.Free())
		}
		x.checkGroups(inter, g)
		x.side = g.side[x.c.Rank()]
		x.on(inter, func() {
			for _, run := range runs {
				run(x)
			}
		})
		merged, err := inter.Merge(high[x.side])
		x.must(err)
		x.must(inter.Free())
		x.checkMerged(merged, g, high)
		x.on(merged, func() { after.run(x) })
		x.must(merged.Free())
	}
}}}

// checkGroups compares what an intercommunicator says of itself with the groups.
func (x *strand) checkGroups(inter *mpi.Comm, g *randomGroups) {
	mine := g.side[x.c.Rank()]
	if got, want := [3]int{inter.Size(), inter.RemoteSize(), inter.Rank()},
		[3]int{len(g.of[mine]), len(g.of[1-mine]), slices.Index(g.of[mine], x.c.Rank())}; got != want {
		x.failf("sizes and rank of %v are %v, want %v", inter, got, want)
	}
}

// checkMerged: the group that says that it is high comes last; if both say the same one of them
// does.
func (x *strand) checkMerged(merged *mpi.Comm, g *randomGroups, high [2]bool) {
	got := make([]int, x.c.Size())
	x.must(mpi.Allgather(merged, []int{x.c.Rank()}, got))
	first, second := slices.Concat(g.of[0], g.of[1]), slices.Concat(g.of[1], g.of[0])
	if may := [2]bool{!high[0] || high[1], high[0] || !high[1]}; !(may[0] && slices.Equal(got, first)) && !(may[1] && slices.Equal(got, second)) {
		x.failf("the merged communicator has the ranks %v of %v and %v, where %v is high", got, g.of[0], g.of[1], high)
	}
}

// interMaker draws something to do with an intercommunicator.
type interMaker func(d *dice, g *randomGroups) (what string, run func(x *strand))

var interMakers = []interMaker{
	interLetters, interLetters, interLetters,
	interMakerOf(&randomInts), interMakerOf(&randomBytes), interMakerOf(&randomPairs), interMakerOf(&randomMatrices),
	interMakerOf(&randomStrings), interMakerOf(&randomRecords),
}

// interLetters are messages between the groups: from and to are ranks in these, and the side says
// whose is the sender.
func interLetters(d *dice, g *randomGroups) (string, func(*strand)) {
	type way struct {
		ls   []addressed
		side int
	}
	var ways []way
	blocking, what := d.chance(2), "messages"
	for range 1 + d.IntN(3) {
		side := d.IntN(2)
		ls, w := drawLetters(d, slices.Concat(letterMakers, laidMakers), blocking,
			func() (int, int) { return d.IntN(len(g.of[side])), d.IntN(len(g.of[1-side])) })
		ways, what = append(ways, way{ls, side}), what+fmt.Sprintf(" from group %d:%s", side, w)
	}
	return what, func(x *strand) {
		me, mine := x.c.Rank(), x.side
		for _, w := range ways {
			x.exchange(w.ls, blocking,
				func(l addressed) bool { return mine == w.side && l.from == me },
				func(l addressed) bool { return mine != w.side && l.to == me })
		}
	}
}
