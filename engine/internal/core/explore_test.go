package core

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// explorer plays every schedule of a scene. Where two schedules lead to the same state what follows
// is played once. A state cannot be copied, so each branch is reached by playing its moves again
// from the beginning.
type explorer struct {
	sc    *scene
	most  int                // states to look at, 0 = all
	seen  int                // that were looked at
	until int                // seen at which this descent ends
	known map[uint64]float64 // by state: in how many ways it goes on to an end; 0: it is being looked at
	path  []move
	moves int // played, repetitions not counted
	ends  int
	full  bool // seen has reached until: what is above is not known
	rand  *rand.Rand
	hash  hasher
}

// exploreError ends a schedule that shows a bug.
type exploreError string

// judge takes what a world finds wrong.
type judge struct{}

func (judge) Helper()                           {}
func (judge) Fatal(args ...any)                 { panic(exploreError(fmt.Sprint(args...))) }
func (judge) Fatalf(format string, args ...any) { panic(exploreError(fmt.Sprintf(format, args...))) }

// explore returns the number of schedules, and what is wrong with one of them.
func (x *explorer) explore() (schedules float64, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exploreError:
			err = fmt.Errorf("%s\nafter %s", string(r), x.story())
		default:
			err = fmt.Errorf("panic: %v\nafter %s", r, x.story())
		}
	}()
	x.known = make(map[uint64]float64)
	for { // a bounded search begins again and again, so that it sees something of everything
		if x.full, x.until = false, math.MaxInt; x.most > 0 {
			x.until = x.seen + x.most/descents
		}
		schedules = x.visit(newXworld(judge{}, x.sc))
		if !x.full || x.seen >= x.most {
			return schedules, nil
		}
	}
}

// descents is how often a bounded search begins at the beginning.
const descents = 25

func (x *explorer) story() string {
	var b strings.Builder
	for _, m := range x.path {
		fmt.Fprintf(&b, "\n  %v", m)
	}
	return b.String()
}

// visit plays all that may follow in w, which it uses up, and counts the ways to an end.
func (x *explorer) visit(w *xworld) (ways float64) {
	id := x.hash.fingerprint(w)
	if n, ok := x.known[id]; ok {
		if n == 0 {
			panic(exploreError("a circle: this may go on for ever"))
		}
		return n
	}
	if x.seen++; x.seen > x.until {
		x.full = true
		return 0
	}
	ms := w.moves()
	x.rand.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
	if len(ms) == 0 {
		w.end()
		x.ends++
		x.known[id] = 1
		return 1
	}
	x.known[id] = 0
	for i, m := range ms {
		if i > 0 {
			w = x.replay()
		}
		x.path = append(x.path, m)
		w.do(m)
		x.moves++
		ways += x.visit(w)
		if x.path = x.path[:len(x.path)-1]; x.full {
			delete(x.known, id)
			return ways
		}
	}
	x.known[id] = max(ways, math.SmallestNonzeroFloat64)
	return ways
}

func (x *explorer) replay() *xworld {
	w := newXworld(judge{}, x.sc)
	for _, m := range x.path {
		w.do(m)
	}
	return w
}

// exploreMost is how many states of each scene a run looks at: FITMPI_TESTS_EXPLORE, 0 for all;
// else a few thousand, or a few hundred.
func exploreMost(level effort.Level) int {
	if n, err := strconv.Atoi(os.Getenv("FITMPI_TESTS_EXPLORE")); err == nil {
		return n
	}
	switch {
	case level == effort.Short:
		return 250
	case level == effort.Usual:
		return 1000
	}
	return 2500
}

// TestExplore is a model check of the protocols: every order in which a few operations, writes,
// arrivals, jobs and losses of connections may happen, with a model of matching beside it. Each
// message is received once, by the receive that MPI's order gives it to, whole and unchanged;
// whatever must complete does; no credit, memory or id is lost.
func TestExplore(t *testing.T) {
	for i := range scenes {
		sc := &scenes[i]
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			if sc.large {
				effort.Need(t, effort.Full, "it looks at a great many states")
			}
			start := time.Now()
			x := &explorer{sc: sc, most: exploreMost(effort.Now()), rand: rand.New(rand.NewPCG(1, 2))}
			n, err := x.explore()
			if err != nil {
				t.Fatal(err)
			}
			if x.full {
				t.Logf("some states: %d looked at, %d ends, %v", x.seen, x.ends, time.Since(start).Round(time.Millisecond))
			} else {
				t.Logf("all %d states, %d moves, %d ends, %.3g schedules, %v", len(x.known), x.moves, x.ends, n, time.Since(start).Round(time.Millisecond))
			}
		})
	}
}

// TestExploreSees: the search finds what it is there for. Where frames of one kind are lost
// something waits for ever, or is kept.
func TestExploreSees(t *testing.T) {
	for kind, sc := range map[wire.Kind]scene{
		wire.KindAck:         {progs: []xprogram{program(0, xsendTo(1, 1, xEager).synchronous()), program(1, xrecvFrom(0, 1))}},
		wire.KindCTS:         {progs: []xprogram{program(0, xsendTo(1, 1, xLong)), program(1, xrecvFrom(0, 1))}},
		wire.KindCredit:      {window: 1070, progs: []xprogram{program(0, xsendTo(1, 1, xEager), xsendTo(1, 1, xEager)), program(1, xrecvFrom(0, 1))}},
		wire.KindReceived:    {breaks: 1, progs: []xprogram{program(0, xsendTo(1, 1, xEager))}},
		wire.KindCancelReply: {progs: []xprogram{program(0, xsendTo(1, 1, xLong), xop{do: xCancel, of: 0})}},
	} {
		sc.ranks = 2
		if _, err := (&explorer{sc: &sc, rand: rand.New(rand.NewPCG(1, 2))}).explore(); err != nil {
			t.Errorf("%v: %v", kind, err)
		}
		sc.drop = kind
		if _, err := (&explorer{sc: &sc, rand: rand.New(rand.NewPCG(1, 2))}).explore(); err == nil {
			t.Errorf("all frames of kind %v are lost, and it is not seen", kind)
		}
	}
}
