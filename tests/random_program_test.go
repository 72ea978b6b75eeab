package tests

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

// Random programs. A program has one to three strands, which run side by side, each on a
// communicator and in a goroutine of its own. A strand is a list of steps that all ranks of its
// communicator derive from the seed: which operations, of which ranks with which, of what. A rank
// draws for itself, from another generator, only what the others need not know: in which order it
// starts what may be started in any, and when and how it waits.
//
// No program locks up. A rank waits only for operations of steps that it has come to. Inside a
// step, all ranks call operations that block in the order in which they were drawn. So of those
// that wait, the rank that is furthest behind can go on.

// randomOp is what a step may be: an entry of one of the tables. draw knows nothing of ranks, so
// all draw the same; what it returns runs on each rank, and what describes it.
type randomOp struct {
	name string
	min  int // ranks that it needs
	draw func(d *dice) (what string, run func(x *strand))
}

// plainTables are operations on the communicator that a strand has: one of the tables is drawn
// first, then an entry.
var plainTables = [][]randomOp{
	letterOps, letterOps, // twice, for what can go wrong with them is the most
	patternOps,
	slices.Concat(exchangesOf(&randomInts), exchangesOf(&randomBytes), exchangesOf(&randomStrings), exchangesOf(&randomRecords), commOps),
	slices.Concat(collectivesOf(&randomInts), collectivesOf(&randomBytes), collectivesOf(&randomPairs)),
	slices.Concat(collectivesOf(&randomInts), collectivesOf(&randomMatrices), collectivesOf(&randomLocs)),
	slices.Concat(collectivesOf(&randomStrings), collectivesOf(&randomRecords)),
	layoutOps, partitionOps, cancelOps, errorOps,
}

// randomTables are all operations: those that make communicators too, and do what is in plainTables
// on them.
var randomTables = slices.Concat(plainTables, [][]randomOp{neighbourOps, interOps, familyOps, familyOps})

// mostly are the tables of programs of one family, beside messages that any number of ranks can
// exchange.
func mostly(ops []randomOp) [][]randomOp { return [][]randomOp{ops, ops, ops, letterOps} }

// dice draws what all ranks of a communicator must know.
type dice struct {
	*rand.Rand
	size   int // ranks
	tag, n int // drawn last
}

func (d *dice) rank() int         { return d.IntN(d.size) }
func (d *dice) chance(n int) bool { return d.IntN(n) == 0 }

// newTag is a tag that no other operation of the strand has.
func (d *dice) newTag() int {
	d.tag++
	return d.tag
}

// number tells an operation's elements from those of others.
func (d *dice) number() int {
	d.n++
	return d.n
}

// length is a number of elements: none, few, where protocols change, and seldom any, most at most.
func (d *dice) length(most int) int {
	switch d.IntN(24) {
	case 0, 1, 2:
		return d.IntN(4)
	case 3:
		return d.IntN(most + 1)
	}
	if d.chance(2) {
		most = d.IntN(most + 1)
	}
	return min(lengths[d.IntN(len(lengths))]+d.IntN(2), most)
}

// randomStep is one step of a strand.
type randomStep struct {
	what string
	run  func(x *strand)
}

func drawStep(d *dice, tables [][]randomOp) randomStep {
	for {
		table := tables[d.IntN(len(tables))]
		op := &table[d.IntN(len(table))]
		if d.size < op.min {
			continue
		}
		what, run := op.draw(d)
		return randomStep{op.name + ": " + what, run}
	}
}

// strand is the execution of a list of steps on one rank. It belongs to its goroutine.
type strand struct {
	t       *T
	c       *mpi.Comm
	own     *rand.Rand // this rank's
	name    string
	index   int // among the strands of the program
	program string
	seed    uint64
	step    int
	what    string // the step
	open    []openOp
	side    int // this rank's group in the intercommunicator that the step made
	ctx     context.Context
	failing context.CancelFunc // ends the other strands of this rank
}

// openOp is an operation in progress, and what to do when it is complete.
type openOp struct {
	r      *mpi.Request
	step   int
	what   string
	fails  mpi.ErrorClass // with an error of this class; or Success
	verify func(mpi.Status)
}

// failf ends the program.
func (x *strand) failf(format string, args ...any) {
	x.failing()
	x.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), x.where())
}

// where says where the strand is, and how to come there again.
func (x *strand) where() string {
	return fmt.Sprintf("in step %d, %s,\nof the strand on %s; replay with -case='%s' -seed=%d -seeds=1", x.step, x.what, x.name, x.program, x.seed)
}

func (x *strand) must(err error) {
	if err != nil {
		x.failf("%v", err)
	}
}

// compare fails the strand at the first difference.
func compare[T any](x *strand, e *randomElem[T], what string, got, want []T) {
	if len(got) != len(want) {
		x.failf("%s has %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !e.same(got[i], want[i]) {
			x.failf("%s is at element %d of %d: %v, want %v", what, i, len(want), got[i], want[i])
		}
	}
}

// leave leaves an operation open.
func (x *strand) leave(r *mpi.Request, verify func(mpi.Status)) {
	x.leaveFailing(r, mpi.Success, verify)
}

// leaveFailing leaves open an operation that gives an error of a class.
func (x *strand) leaveFailing(r *mpi.Request, fails mpi.ErrorClass, verify func(mpi.Status)) {
	x.open = append(x.open, openOp{r, x.step, x.what, fails, verify})
}

// on runs f on another communicator.
func (x *strand) on(c *mpi.Comm, f func()) {
	own := x.c
	x.c = c
	f()
	x.c = own
}

// run executes the steps.
func (x *strand) run(steps []randomStep) {
	defer func() {
		if r := recover(); r != nil {
			if r != any(fatal{}) { // a panic of the library's
				x.failing()
				x.t.Errorf("a panic %s", x.where())
			}
			panic(r)
		}
	}()
	for i, s := range steps {
		x.step, x.what = i, s.what
		s.run(x)
		x.complete(x.own.IntN(6))
	}
	x.complete(0)
}

// complete waits for open operations, in an order and in ways of this rank's own, until only keep
// are left.
func (x *strand) complete(keep int) {
	for len(x.open) > keep {
		way := waysToWait[x.own.IntN(len(waysToWait))]
		indices, sts, err := way.wait(x)
		x.checkAnswers(way.name, indices, err)
		done := make([]openOp, len(indices))
		for k, i := range indices {
			done[k] = x.open[i]
			x.open[i].r = nil
		}
		x.open = slices.DeleteFunc(x.open, func(p openOp) bool { return p.r == nil })
		step, what := x.step, x.what
		for k, p := range done {
			x.step, x.what = p.step, p.what
			p.verify(sts[k])
		}
		x.step, x.what = step, what
	}
}

// checkAnswers compares the errors of the open operations that have completed with those that they
// should give.
func (x *strand) checkAnswers(way string, indices []int, err error) {
	got := []error{err}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		got = all.Unwrap()
	} else if err == nil {
		got = nil
	}
	for _, i := range indices {
		switch p := x.open[i]; {
		case p.fails == mpi.Success:
			continue
		case len(got) == 0:
			x.failf("%s gives the errors %v: one of class %v is missing, for\nstep %d, %s", way, err, p.fails, p.step, p.what)
		case !errors.Is(got[0], p.fails):
			x.failf("%s gives the error %v, want one of class %v, for\nstep %d, %s", way, got[0], p.fails, p.step, p.what)
		default:
			got = got[1:]
		}
	}
	if len(got) > 0 {
		x.failf("%s: %v\nopen were:\n%s", way, got[0], x.listOpen())
	}
}

func (x *strand) listOpen() string {
	var b strings.Builder
	for _, p := range x.open {
		fmt.Fprintf(&b, "step %d, %s\n", p.step, p.what)
	}
	return b.String()
}

// rank's own: strands of the same program and rank draw differently.
func ownDice(seed uint64, strand, rank int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(1)<<32|uint64(strand)<<16|uint64(rank)))
}

// strandComm is how a strand gets its communicator. Ranks of different colors run different
// programs.
type strandComm struct {
	name string
	make func(d *dice, c *mpi.Comm) (own *mpi.Comm, color int, err error)
}

var strandComms = []strandComm{
	{"a copy", func(_ *dice, c *mpi.Comm) (*mpi.Comm, int, error) {
		own, err := c.Dup(nil)
		return own, 0, err
	}},
	{"a part", func(d *dice, c *mpi.Comm) (*mpi.Comm, int, error) {
		colors, keys := make([]int, c.Size()), make([]int, c.Size())
		for r := range colors {
			colors[r], keys[r] = d.IntN(2), d.IntN(4)
		}
		own, err := c.Split(colors[c.Rank()], keys[c.Rank()])
		return own, colors[c.Rank()], err
	}},
	{"the same ranks in another order", func(_ *dice, c *mpi.Comm) (*mpi.Comm, int, error) {
		own, err := c.Split(0, -c.Rank())
		return own, 0, err
	}},
}

// runProgram runs the program of a seed on one rank of c, of the operations of some tables. Name is
// the case that replays it.
func runProgram(t *T, c *mpi.Comm, name string, tables [][]randomOp, seed uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), programLimit)
	defer cancel()
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 1)), size: c.Size()}
	strands := make([]*strand, 1+max(0, d.IntN(5)-2))
	plans := make([][]randomStep, len(strands))
	for i := range strands {
		x := &strand{t: t, name: "the case's communicator", index: i, program: name, seed: seed, own: ownDice(seed, i, c.Rank()), ctx: ctx, failing: cancel}
		color := 0
		if i == 0 {
			x.c = c
		} else {
			how := strandComms[d.IntN(len(strandComms))]
			own, k, err := how.make(d, c)
			t.must(err, how.name, "seed", seed)
			x.c, x.name, color = own, fmt.Sprintf("%s of it, color %d", how.name, k), k
		}
		mine := &dice{Rand: rand.New(rand.NewPCG(seed, uint64(2+i)<<8|uint64(color))), size: x.c.Size()}
		for range 5 + mine.IntN(8) {
			plans[i] = append(plans[i], drawStep(mine, tables))
		}
		strands[i] = x
	}
	t.must(c.AttachJobBuffer(make([]byte, attachedBytes)))
	t.each(len(strands), func(i int) {
		x := strands[i]
		whole := x.c
		x.c = whole.WithContext(ctx)
		x.run(plans[i])
		x.c = whole
	})
	_, err := c.DetachJobBuffer()
	t.must(err)
	t.must(mpi.Barrier(c)) // the next program has the same tags: its messages must not meet wildcards of this one
	for _, x := range strands[1:] {
		t.must(x.c.Free())
	}
}
