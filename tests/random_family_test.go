package tests

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

// Communicators of random programs: made of others in any way, and used at once, with the same
// tags.

// kin is communicators that one call makes, of different ranks each: a split makes several.
type kin struct {
	what   string
	parent int
	of     [][]int // the members of each, in their order, by ranks of the strand's communicator
	tags   []int   // drawn last in each
	make   func(x *strand, parent *mpi.Comm) (*mpi.Comm, error)
}

// memberOf is the place of the one that a rank is in; -1 if it is in none.
func (k *kin) memberOf(rank int) int {
	return slices.IndexFunc(k.of, func(members []int) bool { return slices.Contains(members, rank) })
}

// waysToMake make communicators of those of a parent; what they return lacks the number of the
// parent.
var waysToMake = []func(d *dice, parent *kin) *kin{makeDup, makeSplit, makeSplit, makeOfGroup, makeOfGroup}

func makeDup(d *dice, parent *kin) *kin {
	k := &kin{what: "Dup", of: parent.of, make: func(_ *strand, p *mpi.Comm) (*mpi.Comm, error) { return p.Dup(nil) }}
	if d.chance(2) {
		k.what, k.make = "Idup", func(_ *strand, p *mpi.Comm) (*mpi.Comm, error) {
			c := p.Idup(nil)
			_, err := c.Wait()
			return c.Comm(), err
		}
	}
	return k
}

func makeSplit(d *dice, parent *kin) *kin {
	colors, keys := make([]int, d.size), make([]int, d.size)
	for r := range colors {
		if colors[r], keys[r] = d.IntN(4), d.IntN(4)-1; colors[r] == 3 {
			colors[r] = mpi.Undefined
		}
	}
	k := &kin{what: fmt.Sprintf("Split by %v, in the order of %v", colors, keys)}
	for _, members := range parent.of {
		for color := range 3 {
			var same []int
			for _, r := range members {
				if colors[r] == color {
					same = append(same, r)
				}
			}
			slices.SortStableFunc(same, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
			if len(same) > 0 {
				k.of = append(k.of, same)
			}
		}
	}
	k.make = func(x *strand, p *mpi.Comm) (*mpi.Comm, error) { return p.Split(colors[x.c.Rank()], keys[x.c.Rank()]) }
	return k
}

// makeOfGroup takes some ranks in some order, by one of the functions that make a communicator of a
// group; all but Create are called by these only.
func makeOfGroup(d *dice, parent *kin) *kin {
	k := &kin{}
	for _, members := range parent.of {
		some := slices.Clone(members)
		d.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		k.of = append(k.of, some[:1+d.IntN(len(some))])
	}
	way, tag := d.IntN(3), d.newTag()
	k.what = fmt.Sprintf("%s of %v", []string{"Create", "CreateGroup", "CommCreateFromGroup"}[way], k.of)
	k.make = func(x *strand, p *mpi.Comm) (*mpi.Comm, error) {
		me := x.c.Rank()
		all := parent.of[parent.memberOf(me)]
		group, at := mpi.GroupEmpty, k.memberOf(me)
		if at >= 0 || way == 0 {
			at = slices.IndexFunc(k.of, func(some []int) bool { return slices.Contains(all, some[0]) })
			var places []int
			for _, r := range k.of[at] {
				places = append(places, slices.Index(all, r))
			}
			var err error
			if group, err = p.Group().Incl(places...); err != nil {
				return nil, err
			}
		}
		switch {
		case way == 0:
			return p.Create(group)
		case way == 1:
			return p.CreateGroup(group, tag)
		case at < 0:
			return nil, nil
		}
		c, err := mpi.CommCreateFromGroup(group, fmt.Sprintf("strand %d, group %d", x.index, tag), nil, mpi.ErrorsReturn)
		if err != nil {
			return nil, err
		}
		return c.WithContext(x.ctx), nil
	}
	return k
}

// inner draws a step for another communicator, of so many ranks; tag is the last that was drawn
// there.
func (d *dice) inner(size int, tag *int) randomStep {
	in := &dice{Rand: d.Rand, size: size, n: d.n, tag: *tag}
	s := drawStep(in, plainTables)
	d.n, *tag = in.n, in.tag
	return s
}

// familyOps make communicators of each other, take turns with what goes on in them, and free them
// in any order; what is not complete then completes later.
var familyOps = []randomOp{{name: "communicators", draw: func(d *dice) (string, func(*strand)) {
	own := make([]int, d.size)
	for r := range own {
		own[r] = r
	}
	kins := []*kin{{what: "the strand's", of: [][]int{own}}} // the first is there already
	var what strings.Builder
	for range 1 + d.IntN(4) {
		parent := d.IntN(len(kins))
		k := waysToMake[d.IntN(len(waysToMake))](d, kins[parent])
		k.parent, k.tags = parent, make([]int, len(k.of))
		kins = append(kins, k)
		fmt.Fprintf(&what, "\n  communicator %d: of %d, %s", len(kins)-1, parent, k.what)
	}
	type turn struct {
		kin, at int
		randomStep
	}
	var turns []turn
	for range 2 + d.IntN(5) {
		k := 1 + d.IntN(len(kins)-1)
		if len(kins[k].of) == 0 {
			continue
		}
		at := d.IntN(len(kins[k].of))
		s := d.inner(len(kins[k].of[at]), &kins[k].tags[at])
		turns = append(turns, turn{k, at, s})
		fmt.Fprintf(&what, "\n  in communicator %d, ranks %v: %s", k, kins[k].of[at], s.what)
	}
	bundles := drawBundles(d, kins)
	return what.String(), func(x *strand) {
		cs := x.makeAll(kins)
		me := x.c.Rank()
		x.startBundles(bundles, cs)
		for _, t := range turns {
			if slices.Contains(kins[t.kin].of[t.at], me) {
				x.on(cs[t.kin], func() { t.run(x) })
			}
		}
		for _, i := range x.own.Perm(len(cs)) {
			if i > 0 && cs[i] != nil {
				x.must(cs[i].Free())
			}
		}
	}
}}}

// bundle is messages in one communicator, beside those of others.
type bundle struct {
	kin     int
	members []int
	ls      []addressed
}

// drawBundles draws messages in each communicator, all with the same tags.
func drawBundles(d *dice, kins []*kin) (bundles []bundle) {
	for i, k := range kins {
		for at, members := range k.of {
			if i == 0 || d.chance(3) {
				continue
			}
			in := &dice{Rand: d.Rand, size: len(members), n: d.n, tag: k.tags[at]}
			ls, _ := drawLetters(in, letterMakers, false, func() (int, int) { return in.rank(), in.rank() })
			d.n, k.tags[at] = in.n, in.tag
			bundles = append(bundles, bundle{i, members, ls})
		}
	}
	return bundles
}

// startBundles starts the messages of all communicators in an order of this rank's own: only those
// of one have an order.
func (x *strand) startBundles(bundles []bundle, cs []*mpi.Comm) {
	var lists [][]func()
	for _, w := range bundles {
		c, me := cs[w.kin], slices.Index(w.members, x.c.Rank())
		if me < 0 {
			continue
		}
		var out, in []func()
		for _, l := range w.ls {
			if l.from == me {
				out = append(out, func() { x.on(c, func() { l.send(x) }) })
			}
			if l.to == me {
				in = append(in, func() { x.on(c, func() { l.recv(x, l.source, l.wanted) }) })
			}
		}
		lists = append(lists, out, in)
	}
	for {
		lists = slices.DeleteFunc(lists, func(l []func()) bool { return len(l) == 0 })
		if len(lists) == 0 {
			return
		}
		i := x.own.IntN(len(lists))
		lists[i][0]()
		lists[i] = lists[i][1:]
	}
}

// makeAll makes the communicators, of which this rank gets nil where it is in none, and looks at
// each.
func (x *strand) makeAll(kins []*kin) []*mpi.Comm {
	me := x.c.Rank()
	cs := []*mpi.Comm{x.c}
	for i, k := range kins[1:] {
		parent := cs[k.parent]
		cs = append(cs, nil)
		if parent == nil {
			continue
		}
		c, err := k.make(x, parent)
		x.must(err)
		at := k.memberOf(me)
		if (c == nil) != (at < 0) {
			x.failf("communicator %d is %v, where the members are %v", i+1, c, k.of)
		}
		if cs[i+1] = c; c == nil {
			continue
		}
		got := make([]int, len(k.of[at]))
		x.must(mpi.Allgather(c, []int{me}, got))
		if !slices.Equal(got, k.of[at]) || c.Size() != len(got) || got[c.Rank()] != me {
			x.failf("communicator %d has the ranks %v, want %v", i+1, got, k.of[at])
		}
		x.checkCompare(c, parent, got, kins[k.parent].of[kins[k.parent].memberOf(me)])
	}
	return cs
}

// checkCompare compares communicators of given members.
func (x *strand) checkCompare(c, d *mpi.Comm, cs, ds []int) {
	want := mpi.Unequal
	if slices.Equal(cs, ds) {
		want = mpi.Congruent
	} else if slices.Equal(slices.Sorted(slices.Values(cs)), slices.Sorted(slices.Values(ds))) {
		want = mpi.Similar
	}
	got, err := c.Compare(d)
	if x.must(err); got != want {
		x.failf("Compare of communicators of %v and %v gives %v, want %v", cs, ds, got, want)
	}
}
