//go:build linux && !fitmpi_portable

package engine

import (
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// hosted is a rank under assist whose peer shares memory with it: its worker, which sleeps without
// the right, a caller that receives one or both of two messages, and the peer, which puts them. A
// transition and its effect are one step, as no goroutine looks in between.
type hosted struct {
	ring, got, posted         int8 // records
	armed, bell, hears, woken bool // block.Armed; the eventfd; the waiter is armed, and woken
	right                     progress.State
	callers, seen             int8
	found, moved              bool // of armLocal by the holder of the right; of the worker's turn
	put, round                int8 // of the writer and of the caller
	pc                        [3]int8
}

const hWorker, hCaller, hWriter = 0, 1, 2

func (s hosted) at(i int, pc int8) hosted {
	s.pc[i] = pc
	return s
}

// poll is local.poll.
func (s hosted) poll() hosted {
	s.got, s.ring = s.got+s.ring, 0
	return s
}

// made is s after a transition with an effect.
func (s hosted) made(right progress.State, x progress.Effect) hosted {
	s.right = right
	s.woken = s.woken || x&progress.WakeWorker != 0
	return s
}

func (s hosted) kick(output bool) hosted { return s.made(s.right.Kick(output)) }

// rouse is Engine.rouse, which a peer in the same process calls.
func (s hosted) rouse() hosted { return s.made(s.right.Rouse()) }

// hear is what a poll of the poller does with the bell.
func (s hosted) hear() hosted {
	if s.bell {
		s.bell = false
		s = s.kick(true)
	}
	return s
}

// attend is Engine.attend(false) with rearm, at pcs from p on; then next.
func (s hosted) attend(i int, p, next int8) []hosted {
	switch s.pc[i] - p {
	case 0:
		right, x := s.right.Attend(false, true)
		if s = s.made(right, x); x&progress.Rearm == 0 {
			return []hosted{s.at(i, next)}
		}
		return []hosted{s.at(i, p+1)}
	case 1: // rearm
		if s.armed {
			return []hosted{s.at(i, next)}
		}
		return []hosted{s.at(i, p+2)}
	default:
		return s.armLocal(i, p+2, next, func(s hosted) hosted { return s.made(s.right.Stir()).at(i, next) })
	}
}

// armLocal is Engine.armLocal by an actor that does not hold the right, at pcs from p on; then
// next, or found where there is something.
func (s hosted) armLocal(i int, p, next int8, found func(hosted) hosted) []hosted {
	switch s.pc[i] - p {
	case 0:
		s.armed = true
		return []hosted{s.at(i, p+1)}
	case 1:
		var ok bool
		if s.right, ok = s.right.Acquire(); !ok {
			return []hosted{found(s)}
		}
		return []hosted{s.at(i, p+2)}
	case 2:
		s.armed = true
		return []hosted{s.at(i, p+3)}
	case 3:
		s.found = s.ring > 0
		return []hosted{s.at(i, p+4)}
	default:
		missed := s.right.Missed()
		s.right = s.right.Release()
		if s.found || missed {
			return []hosted{found(s)}
		}
		return []hosted{s.at(i, next)}
	}
}

// hostedWorker is Engine.work, with nap and sleep. Its naps end by their time limit if they are
// bounded; else only while another goroutine has the right.
func hostedWorker(bounded bool) actor[hosted] {
	return actor[hosted]{"worker", func(s hosted) []hosted { return s.work(bounded) }}
}

func (s hosted) work(bounded bool) []hosted {
	const (
		look, need, try, turn, epoll, release              = 0, 1, 2, 5, 6, 7
		sleep, check, arm, seat, wait, woke, disarm, after = 10, 11, 20, 30, 31, 32, 33, 34
		nap, doze, up                                      = 40, 42, 43
	)
	const i = hWorker
	switch pc := s.pc[i]; pc {
	case look:
		s.moved = s.callers != s.seen
		s.seen = s.callers
		return []hosted{s.at(i, need)}
	case need: // callers attend to what there is
		if s.moved && !s.right.Owed() || s.right.Wanted() {
			return []hosted{s.at(i, nap)}
		}
		return []hosted{s.at(i, try)}
	case try:
		var ok bool
		if s.right, ok = s.right.Take(); !ok {
			return []hosted{s.at(i, nap)}
		}
		return []hosted{s.at(i, turn)}
	case turn:
		s.moved = s.ring > 0
		return []hosted{s.poll().at(i, epoll)}
	case epoll:
		s.moved = s.moved || s.bell
		s.bell = false
		return []hosted{s.at(i, release)}
	case release:
		s.right = s.right.Release()
		if s.moved {
			return []hosted{s.at(i, after)}
		}
		return []hosted{s.at(i, sleep)}
	case sleep: // for a while, or, if there is nothing to be expected, for good
		short, long := s, s
		short.right, long.right = s.right.Sit(progress.Holding), s.right.Sit(progress.Idle)
		return []hosted{short.at(i, check), long.at(i, check)}
	case check:
		switch {
		case s.right.Wanted():
			s.right = s.right.Sit(progress.Awake)
			return []hosted{s.at(i, after)}
		case s.right.Place() == progress.Idle && s.posted > s.got:
			s.right = s.right.Sit(progress.Holding)
			return []hosted{s.at(i, check)}
		}
		return []hosted{s.at(i, arm)}
	case seat:
		s.hears = true
		return []hosted{s.at(i, wait)}
	case wait, doze:
		if !s.woken && !(s.hears && s.bell) && (pc == wait || !bounded && !s.right.Held()) {
			return nil
		}
		s.hears = s.hears && !s.bell
		s.woken = false
		if pc == doze {
			return []hosted{s.at(i, up)}
		}
		return []hosted{s.at(i, woke)}
	case woke:
		s.right = s.right.Sit(progress.Awake)
		return []hosted{s.at(i, disarm)}
	case disarm:
		s.armed = false
		return []hosted{s.at(i, after)}
	case after:
		s.seen = s.callers
		return []hosted{s.at(i, look)}
	case nap:
		var ok bool
		if s.right, ok = s.right.Nap(false); !ok {
			return []hosted{s.at(i, look)}
		}
		return []hosted{s.at(i, doze)}
	case up:
		s.right = s.right.Sit(progress.Awake)
		return []hosted{s.at(i, look)}
	default:
		return s.armLocal(i, arm, seat, func(s hosted) hosted {
			s.right = s.right.Sit(progress.Awake)
			return s.at(i, after)
		})
	}
}

// hostedCaller receives messages, one after the other: each by a blocking call, or, if it leaves
// it, by a post, and computes until it is there. deaf leaves out what attendSelf does for the
// worker. dozes lets it sleep once, where it shares a core: for a while at most, and then it looks
// again.
func hostedCaller(leaves []bool, deaf, dozes bool) actor[hosted] {
	const (
		post, claim, wish, unwish, count, poll, self, off, call, again = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
		release, left, goal, summon, park, over                        = 10, 12, 13, 14, 17, 18
		doze, input, nap, disarm, listen, want                         = 20, 21, 22, 23, 24, 25
		attend, end                                                    = 40, 60
	)
	const i = hCaller
	met := func(s hosted) bool { return s.got >= s.posted }
	return actor[hosted]{"caller", func(s hosted) []hosted {
		switch s.pc[i] {
		case post:
			s.posted++
			if leaves[s.round] {
				return []hosted{s.at(i, attend)}
			}
			return []hosted{s.at(i, claim)}
		case claim:
			switch {
			case met(s):
				return []hosted{s.at(i, over)}
			case s.right.Held():
				return []hosted{s.at(i, want)}
			}
			s.right, _ = s.right.Acquire()
			return []hosted{s.at(i, count)}
		case want:
			s.right = s.right.Want()
			return []hosted{s.at(i, wish)}
		case wish: // until it has it, has what it waits for, or has waited long enough
			next := []hosted{s.at(i, unwish)}
			if right, ok := s.right.Acquire(); ok {
				s.right, _ = right.Unwant()
				next = append(next, s.at(i, count))
			}
			return next
		case unwish:
			return []hosted{s.made(s.right.Unwant()).at(i, goal)}
		case count:
			s.callers++
			return []hosted{s.at(i, poll)}
		case poll, again:
			next := []hosted{s.poll(), s.poll().hear()} // a look at the rings, or a turn
			for k, t := range next {
				switch {
				case met(t):
					next[k] = t.at(i, release)
				case s.pc[i] == poll:
					next[k] = t.at(i, self)
				default: // it has waited long enough
					next[k] = t.at(i, release)
					if dozes {
						next = append(next, t.at(i, doze))
					}
				}
			}
			return next
		case doze:
			s.armed = true
			return []hosted{s.at(i, input)}
		case input:
			if s.ring > 0 {
				return []hosted{s.at(i, disarm)}
			}
			return []hosted{s.at(i, nap)}
		case nap: // until the bell rings, or for a while
			return []hosted{s.at(i, disarm)}
		case disarm:
			s.armed = false
			return []hosted{s.at(i, listen)}
		case listen: // a turn
			return []hosted{s.poll().hear().at(i, release)}
		case self:
			if !s.armed {
				return []hosted{s.at(i, again)}
			}
			return []hosted{s.at(i, off)}
		case off:
			s.armed = false
			if deaf {
				return []hosted{s.at(i, again)}
			}
			return []hosted{s.at(i, call)}
		case call:
			return []hosted{s.kick(true).at(i, again)}
		case release:
			s.right = s.right.ReleaseAll()
			return []hosted{s.at(i, left)}
		case left:
			if s.posted > s.got {
				return []hosted{s.at(i, attend)}
			}
			return []hosted{s.at(i, goal)}
		case goal:
			switch {
			case met(s):
				return []hosted{s.at(i, over)}
			case leaves[s.round]:
				return []hosted{s.at(i, park)}
			}
			return []hosted{s.at(i, summon)}
		case summon:
			return []hosted{s.made(s.right.Summon()).at(i, park)}
		case park:
			if !met(s) {
				return nil
			}
			return []hosted{s.at(i, over)}
		case over:
			if s.round++; int(s.round) < len(leaves) {
				return []hosted{s.at(i, post)}
			}
			return []hosted{s.at(i, end)}
		case end:
			return nil
		default:
			return s.attend(i, attend, goal)
		}
	}}
}

// hostedWriter puts two messages and notifies the rank: a process by the bell, a thread by a visit.
func hostedWriter(thread bool) actor[hosted] {
	const put, look, swap, ring, visit, deliver, leave, attend, end = 0, 1, 2, 3, 5, 6, 7, 20, 40
	const i = hWriter
	return actor[hosted]{"writer", func(s hosted) []hosted {
		switch s.pc[i] {
		case put:
			if s.put == 2 {
				return nil
			}
			s.put++
			s.ring++
			return []hosted{s.at(i, look)}
		case look:
			switch {
			case !s.armed:
				return []hosted{s.at(i, put)}
			case thread:
				return []hosted{s.at(i, visit)}
			}
			return []hosted{s.at(i, swap)}
		case visit:
			var ok bool
			if s.right, ok = s.right.Acquire(); !ok {
				return []hosted{s.at(i, swap)}
			}
			return []hosted{s.at(i, deliver)}
		case deliver:
			return []hosted{s.poll().at(i, leave)}
		case leave:
			missed := s.right.Missed()
			if s.right = s.right.Release(); missed { // else nothing is left, or it is owed already
				return []hosted{s.at(i, attend)}
			}
			return []hosted{s.at(i, put)}
		case swap:
			if !s.armed {
				return []hosted{s.at(i, put)}
			}
			s.armed = false
			return []hosted{s.at(i, ring)}
		case ring:
			if thread {
				return []hosted{s.rouse().at(i, put)}
			}
			s.bell = true
			return []hosted{s.at(i, put)}
		default:
			return s.attend(i, attend, put)
		}
	}}
}

// hostedDriver is driveUntil of a caller that has the right, with sleep; unarmed leaves out that it
// looks at the rings once more after it has armed them.
func hostedDriver(unarmed bool) actor[hosted] {
	const begin, turn, epoll, decide, sleep, arm, input, seat, wait, woke, disarm, end = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 60
	const i = hCaller
	return actor[hosted]{"driver", func(s hosted) []hosted {
		switch s.pc[i] {
		case begin:
			return []hosted{s.at(i, turn)}
		case turn:
			s.moved = s.ring > 0
			return []hosted{s.poll().at(i, epoll)}
		case epoll:
			s.moved = s.moved || s.bell
			s.bell = false
			return []hosted{s.at(i, decide)}
		case decide:
			switch {
			case s.got == 2:
				return []hosted{s.at(i, end)}
			case s.moved:
				return []hosted{s.at(i, turn)}
			}
			return []hosted{s.at(i, sleep)}
		case sleep:
			s.right = s.right.Sit(progress.Idle)
			return []hosted{s.at(i, arm)}
		case arm:
			s.armed = true
			return []hosted{s.at(i, input)}
		case input:
			if s.ring > 0 && !unarmed {
				s.right = s.right.Sit(progress.Awake)
				return []hosted{s.at(i, turn)}
			}
			return []hosted{s.at(i, seat)}
		case seat:
			s.hears = true
			return []hosted{s.at(i, wait)}
		case wait:
			if !s.woken && !(s.hears && s.bell) {
				return nil
			}
			s.hears, s.woken = s.hears && !s.bell, false
			return []hosted{s.at(i, woke)}
		case woke:
			s.right = s.right.Sit(progress.Awake)
			return []hosted{s.at(i, disarm)}
		case disarm:
			s.armed = false
			return []hosted{s.at(i, turn)}
		}
		return nil
	}}
}

func (s hosted) isOver() bool { return s.got == 2 && s.pc[hCaller] == 60 }

// isServed: the caller has what it has asked for. What comes after that waits for the next call, or
// for the end of the worker's nap.
func (s hosted) isServed() bool { return s.got >= s.posted && s.pc[hCaller] == 60 }

// TestRingsAreHeard: whatever a peer of this host puts is handled, whether the rank's worker
// sleeps, naps or polls, and whether its caller comes, goes or computes. Without the kick of
// attendSelf, which was missing once, a worker sleeps on while nothing notifies it.
func TestRingsAreHeard(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	for _, thread := range []bool{false, true} {
		for _, leaves := range [][]bool{{false}, {true}} {
			wantNeverStuck(t, hosted{}, hosted.isOver, hostedWorker(true), hostedCaller(leaves, false, false), hostedWriter(thread))
		}
		for _, leaves := range [][]bool{{false}, {true}, {false, true}, {true, true}} {
			wantNeverStuck(t, hosted{}, hosted.isServed, hostedWorker(false), hostedCaller(leaves, false, true), hostedWriter(thread))
		}
	}
	for _, thread := range []bool{false, true} {
		var start hosted
		start.right, _ = start.right.Acquire() // no thread visits: the driver has the right all the time
		wantNeverStuck(t, start, hosted.isOver, hostedDriver(false), hostedWriter(thread))
		wantStuck(t, "arming last", start, hosted.isOver, hostedDriver(true), hostedWriter(thread))
	}
	wantStuck(t, "a caller that disarms", hosted{}, hosted.isOver, hostedWorker(true), hostedCaller([]bool{false}, true, false), hostedWriter(false))
}
