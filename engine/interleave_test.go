//go:build linux && !fitmpi_portable

package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
)

// Protocols between goroutines as state machines, tried in every order of their steps. A step of a
// model is one atomic operation of the code, or one section under the mutex; no sleep of a model
// ends by a time limit unless it says so. The progress right is that of the code, and its
// transitions are. So a wake-up that can be lost is a state in which no goroutine can go on.

// actor is a goroutine: from a state it makes one step, to one of those returned; none: it sleeps,
// or is done.
type actor[S comparable] struct {
	name string
	step func(s S) []S
}

// explore visits all states that can be reached and fails the test at one in which no actor can go
// on and not all is done. It returns the way to that, or "".
func explore[S comparable](start S, done func(S) bool, actors ...actor[S]) (states int, stuck string) {
	type edge struct {
		from S
		by   int
	}
	came := map[S]edge{start: {by: -1}}
	for queue := []S{start}; len(queue) > 0; queue = queue[1:] {
		s, moved := queue[0], false
		for i, a := range actors {
			for _, next := range a.step(s) {
				moved = moved || next != s
				if _, ok := came[next]; !ok {
					came[next] = edge{s, i}
					queue = append(queue, next)
				}
			}
		}
		if moved || done(s) {
			continue
		}
		var way []string
		for e := came[s]; e.by >= 0; s, e = e.from, came[e.from] {
			way = append([]string{fmt.Sprintf("%s: %+v", actors[e.by].name, s)}, way...)
		}
		return len(came), strings.Join(way, "\n")
	}
	return len(came), ""
}

// wantNeverStuck and wantStuck say what explore is to find.
func wantNeverStuck[S comparable](t *testing.T, start S, done func(S) bool, actors ...actor[S]) {
	t.Helper()
	n, stuck := explore(start, done, actors...)
	if stuck != "" {
		t.Errorf("nobody goes on after\n%s", stuck)
	}
	t.Logf("%d states", n)
}

func wantStuck[S comparable](t *testing.T, why string, start S, done func(S) bool, actors ...actor[S]) {
	t.Helper()
	if n, stuck := explore(start, done, actors...); stuck == "" {
		t.Errorf("%s: nobody gets stuck in %d states: the model does not see what it is for", why, n)
	}
}

// driven is a rank under caller: two callers that wait for a message each, one that posts, and the
// network. A waiter's wake and the sockets are one thing here, woken; sockets stay ready until they
// are read.
type driven struct {
	right        progress.State
	lead, woken  bool
	queued       bool    // output
	sent         int8    // written
	arrived, got [2]bool // messages: in the sockets, delivered
	fired        [2]bool // the waiter of a follower
	attached     [2]bool
	pc           [5]int8
}

// turn is Engine.turn: it takes what has arrived, fires waiters, and writes.
func (s driven) turn() driven {
	for i := range s.got {
		if s.arrived[i] {
			s.arrived[i], s.got[i] = false, true
			if s.attached[i] {
				s.attached[i], s.fired[i] = false, true
			}
		}
	}
	if s.queued {
		s.queued = false
		s.sent++
	}
	return s
}

func (s driven) at(i int, pc int8) driven {
	s.pc[i] = pc
	return s
}

// pass is passRight, at pcs from p on; then next.
func (s driven) pass(i int, p, next int8) []driven {
	switch s.pc[i] - p {
	case 0:
		var ok bool
		if s.right, ok = s.right.Pass(); ok {
			return []driven{s.at(i, p+2)}
		}
		return []driven{s.at(i, p+1)}
	case 1:
		return []driven{s.turn().at(i, p)}
	default: // offerLead
		s.lead = s.lead || s.right.Sleepers() > 0
		return []driven{s.at(i, next)}
	}
}

const callerEnd = 31

// waiter is driveWait of caller i, with follow.
func waiter(i int) actor[driven] {
	const (
		look, try, turn, decide, doze, check, wait, pass = 0, 1, 2, 3, 4, 5, 6, 10
		attach, follow, offer, sleep, leave, last, end   = 20, 21, 22, 23, 24, 30, callerEnd
	)
	return actor[driven]{fmt.Sprint("caller ", i), func(s driven) []driven {
		switch pc := s.pc[i]; pc {
		case look:
			if s.got[i] {
				return []driven{s.at(i, last)}
			}
			return []driven{s.at(i, try)}
		case try:
			var ok bool
			if s.right, ok = s.right.Acquire(); ok {
				return []driven{s.at(i, turn)}
			}
			return []driven{s.at(i, attach)}
		case turn:
			return []driven{s.turn().at(i, decide)}
		case decide:
			if s.got[i] {
				return []driven{s.at(i, pass)}
			}
			return []driven{s.at(i, doze)}
		case doze: // sleep
			s.right = s.right.Sit(progress.Idle)
			return []driven{s.at(i, check)}
		case check: // is there output?
			if s.queued {
				s.right = s.right.Sit(progress.Awake)
				return []driven{s.at(i, turn)}
			}
			return []driven{s.at(i, wait)}
		case wait:
			if !s.woken && !s.arrived[0] && !s.arrived[1] {
				return nil
			}
			s.woken, s.right = false, s.right.Sit(progress.Awake)
			return []driven{s.at(i, turn)}
		case attach:
			if s.got[i] {
				return []driven{s.at(i, look)}
			}
			s.attached[i] = true
			return []driven{s.at(i, follow)}
		case follow:
			if s.right = s.right.Park(); s.right.Held() {
				return []driven{s.at(i, sleep)}
			}
			return []driven{s.at(i, offer)}
		case offer:
			s.lead = true
			return []driven{s.at(i, sleep)}
		case sleep:
			var next []driven
			if s.fired[i] {
				t := s
				t.fired[i] = false
				next = append(next, t.at(i, leave))
			}
			if s.lead {
				s.lead = false
				next = append(next, s.at(i, leave))
			}
			return next
		case leave: // Detach is under the mutex and takes the waiter's value if it fired
			s.right = s.right.Unpark()
			s.attached[i], s.fired[i] = false, false
			return []driven{s.at(i, look)}
		case last:
			s.lead = s.lead || s.right.Sleepers() > 0 && !s.right.Held()
			return []driven{s.at(i, end)}
		case end:
			return nil
		default:
			return s.pass(i, pass, look)
		}
	}}
}

// poster posts a message that is complete at once: unlockPosted, and driveOnce as it is, or without
// the word that it leaves.
func poster(i int, says bool) actor[driven] {
	const post, try, kick, wake, turn, pass, end = 0, 1, 2, 3, 4, 10, 20
	return actor[driven]{"poster", func(s driven) []driven {
		switch s.pc[i] {
		case post:
			s.queued = true
			return []driven{s.at(i, try)}
		case try:
			right, ok := s.right.Take()
			if ok || says {
				s.right = right
			}
			if ok {
				return []driven{s.at(i, turn)}
			}
			return []driven{s.at(i, kick)}
		case kick:
			var x progress.Effect
			if s.right, x = s.right.Kick(true); x == 0 {
				return []driven{s.at(i, end)}
			}
			return []driven{s.at(i, wake)}
		case wake:
			s.woken = true
			return []driven{s.at(i, end)}
		case turn:
			return []driven{s.turn().at(i, pass)}
		case end:
			return nil
		default:
			return s.pass(i, pass, end)
		}
	}}
}

// network brings the messages, in any order.
var network = actor[driven]{"network", func(s driven) (next []driven) {
	for i := range s.arrived {
		if bit := int8(1) << i; s.pc[3]&bit == 0 {
			t := s.at(3, s.pc[3]|bit)
			t.arrived[i] = true
			next = append(next, t)
		}
	}
	return next
}}

// visitor takes the right for a moment and notifies no other goroutine, as a thread that visits
// would.
var visitor = actor[driven]{"visitor", func(s driven) []driven {
	switch {
	case s.pc[4] == 0 && !s.right.Held():
		s.right, _ = s.right.Acquire()
		return []driven{s.at(4, 1)}
	case s.pc[4] == 1:
		s.right = s.right.Release()
		return []driven{s.at(4, 2)}
	}
	return nil
}}

func (s driven) isOver() bool { return s.pc[0] == callerEnd && s.pc[1] == callerEnd && s.sent == 1 }

// TestCallersPassTheRight: two callers that wait and one that posts always come to their ends
// without a worker. With a visitor, as there was until it was forbidden, a caller sleeps and no
// other drives: that was the hang of two ranks over TCP while a thread beside one of them entered
// Finalize. And what is posted beside a driver stays unless its poster says so.
func TestCallersPassTheRight(t *testing.T) {
	wantNeverStuck(t, driven{}, driven.isOver, waiter(0), waiter(1), poster(2, true), network)
	wantStuck(t, "a visitor", driven{}, driven.isOver, waiter(0), waiter(1), poster(2, true), network, visitor)
	wantStuck(t, "a poster that says nothing", driven{}, driven.isOver, waiter(0), waiter(1), poster(2, false), network)
}
