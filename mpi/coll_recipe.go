package mpi

import (
	"slices"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// A blocking collective of short messages does the same each time that it is called with operands
// of the same lengths, and a program calls few such collectives, many times. So what was done at
// once (coll_direct.go) is kept as a recipe, in which memory is a place in the operands, and is
// followed the next time: that takes a third of the time in which the algorithm lists it. Where
// something must wait, the algorithm lists all once more, and what the recipe has done is skipped.

// recipeKey is what the steps of a collective follow from, beside the communicator. The zero value
// is that of a collective that has no recipe.
type recipeKey struct {
	hasOne   bool
	kind     coll.Kind
	by       coll.Algorithm
	commutes bool
	overlaps bool // the operands share memory
	shift    int  // and are so far from each other then
	root     int
	in, out  int // lengths
	elem     int // the size of what is combined
}

// repeats lets x have a recipe: it is of this kind between all ranks of c, of a root if it has one,
// and its steps follow from that and from where its operands lie.
func (x *collective) repeats(c *Comm, k coll.Kind, root int, in, out coll.Buf) *collective {
	from, plain := in.Memory()
	to, lands := out.Memory()
	if !plain || !lands || c.isInter() {
		return x
	}
	x.in, x.out = from, to
	x.recipe = recipeKey{hasOne: true, kind: k, by: c.algorithm(k), root: root, in: len(from), out: len(to)}
	if overlap(from, to) {
		x.recipe.overlaps, x.recipe.shift = true, distance(from, to)
	}
	return x
}

// reduces is repeats of the reduction r.
func (x *collective) reduces(c *Comm, k coll.Kind, root int, r *reduced) *collective {
	x.combine = r.red.Combine
	if x.repeats(c, k, root, r.in, r.out); x.recipe.hasOne {
		x.recipe.elem, x.recipe.commutes = r.red.ElemSize, r.red.Commutative
	}
	return x
}

// recipe is what one collective does at this rank, in this order. Immutable once it is kept.
type recipe struct {
	key     recipeKey
	scratch []int // lengths of the temporary memory that it takes
	acts    []act
}

// act is one thing that a collective does.
type act struct {
	do              action
	peer            int32    // of actSend and actRecv
	to, left, right memPlace // as those of a coll.Combination; what is sent is left, what is received to
}

type action uint8

const (
	actSend action = iota
	actRecv
	actCopy
	actCombine
)

// memPlace is n bytes of a part of the memory of a collective: its first operand, its second one,
// and then what is temporary.
type memPlace struct{ part, at, n int }

const (
	// mostActs bounds a recipe. A collective that does more takes long whether it has one or not.
	mostActs = 64
	// mostRecipes bounds those of a communicator. Whatever the program calls then has none.
	mostRecipes = 32
)

// recipes are those of a communicator. Any goroutine may use them.
type recipes struct {
	all atomic.Pointer[[]*recipe]
}

// find is the recipe of k, nil if there is none; room says that one may be kept.
func (t *recipes) find(k *recipeKey) (r *recipe, room bool) {
	all := t.all.Load()
	if all == nil {
		return nil, true
	}
	for _, r := range *all {
		if r.key == *k {
			return r, false
		}
	}
	return nil, len(*all) < mostRecipes
}

// keep adds a copy of r, if there is room.
func (t *recipes) keep(r *recipe) {
	var all []*recipe
	before := t.all.Load()
	if before != nil {
		all = *before
	}
	if len(all) == mostRecipes { // another goroutine has filled it
		return
	}
	all = append(slices.Clip(all), &recipe{r.key, slices.Clone(r.scratch), slices.Clone(r.acts)})
	t.all.CompareAndSwap(before, &all) // if another goroutine was faster, the next call keeps it
}

// cook is the recipe that a graph writes or follows, and the memory that it speaks of. Owned by the
// caller of the collective.
type cook struct {
	writes bool
	recipe recipe // that is written
	parts  [][]byte
}

// write begins a recipe.
func (k *cook) write(key recipeKey, in, out []byte) {
	k.writes = true
	k.recipe.key, k.recipe.scratch, k.recipe.acts = key, k.recipe.scratch[:0], k.recipe.acts[:0]
	k.parts = append(k.parts[:0], in, out)
}

// lent takes note of temporary memory.
func (k *cook) lent(b []byte) {
	if k.writes {
		k.recipe.scratch = append(k.recipe.scratch, len(b))
		k.parts = append(k.parts, b)
	}
}

// did takes note of what was done; to, left and right are as in an act.
func (k *cook) did(do action, peer int, to, left, right []byte) {
	if !k.writes {
		return
	}
	a := act{do: do, peer: int32(peer)}
	ok := k.find(&a.to, to) && k.find(&a.left, left) && k.find(&a.right, right)
	k.recipe.acts = append(k.recipe.acts, a)
	k.writes = ok && len(k.recipe.acts) <= mostActs
}

// find sets p to where b is. It reports false if that is not known.
func (k *cook) find(p *memPlace, b []byte) bool {
	if len(b) == 0 {
		return true
	}
	for i, part := range k.parts {
		if at := distance(b, part); len(part) > 0 && at >= 0 && at+len(b) <= len(part) {
			*p = memPlace{i, at, len(b)}
			return true
		}
	}
	return false
}

// at is the memory of a place.
func (k *cook) at(p memPlace) []byte {
	if p.n == 0 {
		return nil
	}
	return k.parts[p.part][p.at : p.at+p.n : p.at+p.n]
}

// clear forgets the memory.
func (k *cook) clear() {
	clear(k.parts)
	k.writes, k.parts = false, k.parts[:0]
}

// byRecipe does the collective x if it has a recipe, and reports whether all is done. Else the
// algorithm is to list it: what is done it skips; or it has no recipe, and one is written if it may
// be kept.
//
// Preconditions:
//   - steps may be done at once.
func (g *graph) byRecipe(x *collective, known *recipes) (done bool) {
	r, room := known.find(&x.recipe)
	if r == nil {
		if room {
			g.cook.write(x.recipe, x.in, x.out)
		}
		return false
	}
	g.cook.parts = append(g.cook.parts[:0], x.in, x.out)
	for _, n := range r.scratch {
		g.cook.parts = append(g.cook.parts, g.Scratch(n))
	}
	n, err := g.follow(r, x.combine)
	if n == len(r.acts) && err == nil {
		g.cook.clear()
		return true
	}
	g.direct.skip, g.direct.failed, g.direct.waits = n, err, err == nil
	g.relent = 0
	return false
}

// follow does what r says, and returns how much of that is done: all before what must wait, or up
// to what has failed.
func (g *graph) follow(r *recipe, op func(acc, in []byte) error) (n int, err error) {
	k, p := &g.cook, &g.direct
	for i := range r.acts {
		a := &r.acts[i]
		switch a.do {
		case actSend:
			if !p.send(g, int(a.peer), k.at(a.left)) {
				return i, nil
			}
		case actRecv:
			var ok bool
			if ok, err = p.recv(g, int(a.peer), k.at(a.to)); !ok {
				return i, nil
			}
		case actCopy:
			copy(k.at(a.to), k.at(a.left))
		case actCombine:
			x := coll.Combination{Op: op, To: k.at(a.to), Left: k.at(a.left), Right: k.at(a.right)}
			err = engine.Protect(func() error { return x.Do() })
		}
		if err != nil {
			return i + 1, err
		}
	}
	return len(r.acts), nil
}
