package tests

import (
	"fmt"
	"math"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

var groupCases = slices.Concat(groupTable, createCases)

var groupTable = []testCase{
	{name: "group/of a communicator", section: "7.3.2",
		sentence: "MPI_COMM_GROUP returns in group a handle to the group of comm.",
		run:      groupOfComm},
	{name: "group/compare", section: "7.3.1",
		sentence: "MPI_IDENT results if the group members and group order is exactly the same in both groups. MPI_SIMILAR results if the group " +
			"members are the same but the order is different. MPI_UNEQUAL results otherwise.",
		run: groupCompare},
	{name: "group/translate", section: "7.3.1",
		sentence: "MPI_PROC_NULL is a valid rank for input to MPI_GROUP_TRANSLATE_RANKS, which returns MPI_PROC_NULL as the translated rank.",
		run:      groupTranslate},
	{name: "group/sets", section: "7.3.2",
		sentence: "For these operations, the order of processes in the output group is determined primarily by order in the first group (if " +
			"possible) and then, if necessary, by order in the second group.",
		run: groupSets},
	{name: "group/incl and excl", section: "7.3.2",
		sentence: "MPI_GROUP_INCL creates a group newgroup that consists of the n processes in group with ranks ranks[0],..., ranks[n-1]; the " +
			"process with rank i in newgroup is the process with rank ranks[i] in group.",
		run: groupInclExcl},
	{name: "group/ranges", section: "7.3.2",
		sentence: "The functionality of this routine is specified to be equivalent to expanding the array of ranges to an array of the included " +
			"ranks and passing the resulting array of ranks and other arguments to MPI_GROUP_INCL.",
		run: groupRanges},
	{name: "group/errors", section: "7.3.2",
		sentence: "Each of the elements of ranks must be a valid rank in group and all elements must be distinct or the program is erroneous.",
		run:      groupErrors},
	{name: "group/several goroutines", section: "FitMPI",
		sentence: "A group is immutable: goroutines of its rank may share it.",
		run:      groupShared},
}

// membersOf are the ranks in c of the members of g, in their order.
func membersOf(t *T, c *mpi.Comm, g *mpi.Group) []int {
	ranks := make([]int, g.Size())
	for i := range ranks {
		ranks[i] = i
	}
	got, err := g.TranslateRanks(ranks, c.Group())
	t.must(err)
	return got
}

// incl is Incl of ranks that are right.
func incl(t *T, c *mpi.Comm, ranks ...int) *mpi.Group {
	g, err := c.Group().Incl(ranks...)
	t.must(err)
	return g
}

// wantGroup says whether g has the ranks want of c, in their order.
func wantGroup(t *T, what string, c *mpi.Comm, g *mpi.Group, err error, ranks ...int) {
	t.must(err, what)
	want(t, "the size of "+what, g.Size(), len(ranks))
	wantSlice(t, what, membersOf(t, c, g), ranks)
	at := slices.Index(ranks, c.Rank())
	if at < 0 {
		at = mpi.Undefined
	}
	want(t, "the rank in "+what, g.Rank(), at)
}

// downFrom is n, n-1, ..., 0.
func downFrom(n int) []int {
	var ranks []int
	for r := n; r >= 0; r-- {
		ranks = append(ranks, r)
	}
	return ranks
}

func groupOfComm(t *T, c *mpi.Comm) {
	g := c.Group()
	want(t, "size", g.Size(), c.Size())
	want(t, "rank", g.Rank(), c.Rank())
	want(t, "size of the empty group", mpi.GroupEmpty.Size(), 0)
	want(t, "rank in the empty group", mpi.GroupEmpty.Rank(), mpi.Undefined)
	got, err := g.TranslateRanks([]int{c.Rank()}, c.World().Group())
	t.must(err)
	want(t, "rank in the world", got[0], t.Rank)
	want(t, "String", c.Self().Group().String(), fmt.Sprintf("group of world ranks [%d]", t.Rank))
}

func groupCompare(t *T, c *mpi.Comm) {
	n := c.Size()
	all, turned, some := c.Group(), incl(t, c, downFrom(n-1)...), incl(t, c, downFrom(n-2)...)
	d, err := c.Dup(nil)
	t.must(err)
	order := mpi.Similar
	if n == 1 {
		order = mpi.Ident
	}
	for _, test := range []struct {
		name string
		a, b *mpi.Group
		want mpi.Comparison
	}{
		{"a group with itself", all, all, mpi.Ident},
		{"a group with that of a copy", all, d.Group(), mpi.Ident},
		{"a group with its reverse", all, turned, order},
		{"a group with a part", all, some, mpi.Unequal},
		{"a part with its group", some, all, mpi.Unequal},
		{"a group with the empty one", all, mpi.GroupEmpty, mpi.Unequal},
		{"the empty group with itself", mpi.GroupEmpty, mpi.GroupEmpty, mpi.Ident},
		{"the empty group with one of no ranks", mpi.GroupEmpty, incl(t, c), mpi.Ident},
	} {
		got, err := test.a.Compare(test.b)
		t.must(err, test.name)
		want(t, test.name, got, test.want)
	}
	if n > 2 { // as many, but others
		got, err := incl(t, c, 0, 1).Compare(incl(t, c, 1, 2))
		t.must(err)
		want(t, "groups of one size", got, mpi.Unequal)
	}
}

func groupTranslate(t *T, c *mpi.Comm) {
	n := c.Size()
	turned := incl(t, c, downFrom(n-1)...)
	ranks := append(downFrom(n-1), mpi.ProcNull, 0, 0)
	got, err := c.Group().TranslateRanks(ranks, turned)
	t.must(err)
	for i, r := range ranks {
		if r == mpi.ProcNull {
			want(t, "ProcNull", got[i], mpi.ProcNull)
		} else {
			want(t, "the rank in the reverse", got[i], n-1-r)
		}
	}
	part := incl(t, c, n-1)
	got, err = c.Group().TranslateRanks(downFrom(n-1), part)
	t.must(err)
	for i, r := range got {
		if i == 0 {
			want(t, "the rank of the member", r, 0)
		} else {
			want(t, "the rank of one who is no member", r, mpi.Undefined)
		}
	}
	got, err = mpi.GroupEmpty.TranslateRanks([]int{mpi.ProcNull}, turned)
	t.must(err)
	wantSlice(t, "ProcNull of the empty group", got, []int{mpi.ProcNull})
	got, err = turned.TranslateRanks([]int{0}, mpi.GroupEmpty)
	t.must(err)
	wantSlice(t, "a rank in the empty group", got, []int{mpi.Undefined})
	_, err = part.TranslateRanks([]int{1}, turned)
	wantError(t, "a rank that is none", err, mpi.ErrRank, "rank 1: need 0 to 0")
}

func groupSets(t *T, c *mpi.Comm) {
	n := c.Size()
	low, high := downFrom(n/2), []int{} // overlap in n/2
	for r := n / 2; r < n; r++ {
		high = append(high, r)
	}
	a, b := incl(t, c, low...), incl(t, c, high...)
	g, err := a.Union(b)
	wantGroup(t, "the union", c, g, err, append(slices.Clone(low), high[1:]...)...)
	g, err = b.Union(a)
	wantGroup(t, "the union the other way", c, g, err, append(slices.Clone(high), low[1:]...)...)
	g, err = a.Intersection(b)
	wantGroup(t, "the intersection", c, g, err, n/2)
	g, err = a.Difference(b)
	wantGroup(t, "the difference", c, g, err, low[1:]...)
	g, err = b.Difference(a)
	wantGroup(t, "the difference the other way", c, g, err, high[1:]...)
	turned := incl(t, c, downFrom(n-1)...)
	g, err = turned.Intersection(a)
	wantGroup(t, "the intersection in the order of the first", c, g, err, low...)
	g, err = turned.Difference(a)
	wantGroup(t, "the difference in the order of the first", c, g, err, downFrom(n - 1)[:n-1-n/2]...)
	wantGroup(t, "the first operand afterwards", c, a, nil, low...)
	for _, e := range []*mpi.Group{mpi.GroupEmpty, incl(t, c)} {
		g, err = e.Union(a)
		wantGroup(t, "the union of nothing", c, g, err, low...)
		g, err = a.Union(e)
		wantGroup(t, "the union with nothing", c, g, err, low...)
		g, err = a.Intersection(e)
		wantGroup(t, "the intersection with nothing", c, g, err)
		g, err = e.Difference(a)
		wantGroup(t, "the difference of nothing", c, g, err)
		got, err := g.Compare(mpi.GroupEmpty)
		t.must(err)
		want(t, "no members and the empty group", got, mpi.Ident)
	}
	g, err = a.Difference(a)
	wantGroup(t, "the difference from itself", c, g, err)
}

func groupInclExcl(t *T, c *mpi.Comm) {
	n, g := c.Size(), c.Group()
	turned, err := g.Incl(downFrom(n - 1)...)
	wantGroup(t, "Incl of all", c, turned, err, downFrom(n-1)...)
	sub, err := turned.Incl(0)
	wantGroup(t, "Incl of the first", c, sub, err, n-1)
	none, err := g.Incl()
	wantGroup(t, "Incl of none", c, none, err)
	same, err := turned.Excl()
	wantGroup(t, "Excl of none", c, same, err, downFrom(n-1)...)
	none, err = g.Excl(downFrom(n - 1)...)
	wantGroup(t, "Excl of all", c, none, err)
	rest, err := turned.Excl(0)
	wantGroup(t, "Excl of the first", c, rest, err, downFrom(n-2)...)
}

func groupRanges(t *T, c *mpi.Comm) {
	n, g := c.Size(), c.Group()
	all := mpi.Range{First: 0, Last: n - 1, Stride: 1}
	got, err := g.RangeIncl(all)
	wantGroup(t, "RangeIncl of all", c, got, err, membersOf(t, c, g)...)
	got, err = g.RangeIncl(mpi.Range{First: n - 1, Last: 0, Stride: -1})
	wantGroup(t, "RangeIncl downwards", c, got, err, downFrom(n-1)...)
	got, err = g.RangeIncl()
	wantGroup(t, "RangeIncl of no range", c, got, err)
	got, err = g.RangeExcl(all)
	wantGroup(t, "RangeExcl of all", c, got, err)
	got, err = g.RangeExcl()
	wantGroup(t, "RangeExcl of no range", c, got, err, membersOf(t, c, g)...)
	for _, big := range []mpi.Range{
		{First: 0, Last: n, Stride: n + 1}, {First: 0, Last: math.MaxInt - 1, Stride: math.MaxInt}, {First: 0, Last: math.MinInt + 1, Stride: math.MinInt},
	} {
		got, err = g.RangeIncl(big)
		wantGroup(t, fmt.Sprint("RangeIncl of ", big), c, got, err, 0)
	}
	if n < 4 {
		return
	}
	got, err = g.RangeIncl(mpi.Range{First: 3, Last: 0, Stride: -2}, mpi.Range{First: 0, Last: 3, Stride: 2})
	wantGroup(t, "RangeIncl of two ranges", c, got, err, 3, 1, 0, 2)
	got, err = g.RangeExcl(mpi.Range{First: 1, Last: 3, Stride: 2}, mpi.Range{First: 0, Last: 0, Stride: -5})
	wantGroup(t, "RangeExcl of two ranges", c, got, err, append([]int{2}, []int{4, 5}[:n-4]...)...)
}

func groupErrors(t *T, c *mpi.Comm) {
	n, g := c.Size(), c.Group()
	for _, r := range []int{-1, n, mpi.ProcNull, mpi.Undefined, math.MaxInt} {
		_, err := g.Incl(0, r)
		wantError(t, "Incl", err, mpi.ErrRank, fmt.Sprintf("rank %d: need 0 to %d", r, n-1))
		_, err = g.Excl(r)
		wantError(t, "Excl", err, mpi.ErrRank, fmt.Sprintf("rank %d: need 0 to %d", r, n-1))
	}
	_, err := g.Incl(n-1, n-1)
	wantError(t, "Incl", err, mpi.ErrRank, fmt.Sprintf("rank %d is given twice", n-1))
	_, err = g.Excl(0, 0)
	wantError(t, "Excl", err, mpi.ErrRank, "rank 0 is given twice")
	_, err = mpi.GroupEmpty.Incl(0)
	wantError(t, "Incl", err, mpi.ErrRank, "the group is empty")
	for _, test := range []struct {
		r     mpi.Range
		class mpi.ErrorClass
		says  string
	}{
		{mpi.Range{First: 0, Last: 0, Stride: 0}, mpi.ErrArg, "stride 0"},
		{mpi.Range{First: 0, Last: -1, Stride: 1}, mpi.ErrArg, "stride"},
		{mpi.Range{First: 0, Last: 1, Stride: -1}, mpi.ErrArg, "stride"},
		{mpi.Range{First: 0, Last: n, Stride: 1}, mpi.ErrRank, fmt.Sprintf("rank %d", n)},
		{mpi.Range{First: 0, Last: math.MaxInt, Stride: 1}, mpi.ErrRank, fmt.Sprintf("rank %d", n)},
		{mpi.Range{First: 0, Last: math.MinInt, Stride: -1}, mpi.ErrRank, "rank -1"},
		{mpi.Range{First: -2, Last: 0, Stride: 1}, mpi.ErrRank, "rank -2"},
	} {
		_, err := g.RangeIncl(test.r)
		wantError(t, fmt.Sprint("RangeIncl of ", test.r), err, test.class, test.says)
		_, err = g.RangeExcl(test.r)
		wantError(t, fmt.Sprint("RangeExcl of ", test.r), err, test.class, test.says)
	}
	_, err = g.RangeIncl(mpi.Range{First: 0, Last: 0, Stride: 1}, mpi.Range{First: 0, Last: n - 1, Stride: 1})
	wantError(t, "RangeIncl", err, mpi.ErrRank, "rank 0 is given twice")
	var none *mpi.Group
	for what, f := range map[string]func() error{
		"Union":          func() error { _, err := g.Union(nil); return err },
		"Intersection":   func() error { _, err := none.Intersection(g); return err },
		"Difference":     func() error { _, err := g.Difference(nil); return err },
		"Compare":        func() error { _, err := g.Compare(nil); return err },
		"TranslateRanks": func() error { _, err := g.TranslateRanks([]int{0}, nil); return err },
		"Incl":           func() error { _, err := none.Incl(0); return err },
		"RangeExcl":      func() error { _, err := none.RangeExcl(); return err },
	} {
		wantError(t, what+" of nil", f(), mpi.ErrGroup, "the group is nil")
	}
	// MPI 4.1, section 9.3: what concerns no communicator goes to the handler of MPI_COMM_SELF.
	var seen error
	c.Self().SetErrhandler(func(_ *mpi.Comm, err *mpi.Error) error { seen = err; return err })
	defer c.Self().SetErrhandler(mpi.ErrorsReturn)
	_, err = g.Incl(n)
	want(t, "what the handler saw", seen, err)
}

func groupShared(t *T, c *mpi.Comm) {
	g := c.Group()
	t.each(4, func(int) {
		for range 50 {
			turned, err := g.Incl(downFrom(c.Size() - 1)...)
			wantGroup(t, "the reverse", c, turned, err, downFrom(c.Size()-1)...)
			u, err := turned.Union(g)
			wantGroup(t, "the union", c, u, err, downFrom(c.Size()-1)...)
		}
	})
}
