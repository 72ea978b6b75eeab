package engine

import (
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// hosted is a rank under assist whose peer shares memory with it: its worker, which sleeps without
// the right, a caller that receives one or both of two messages, and the peer, which puts them. A
// step that wakes a sleeper and changes asleep is one, as no goroutine looks in between; a nap ends
// by its time limit, no other sleep.
type hosted struct {
	ring, got, posted         int8 // records
	armed, bell, hears, woken bool // block.Armed; the eventfd; the waiter is armed, and woken
	right, owed               bool
	want, callers, seen       int8
	asleep                    uint32
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

// kick is Engine.kick.
func (s hosted) kick(output bool) hosted {
	if s.asleep == asleepIdle || s.asleep == asleepHolding && output {
		s.asleep, s.woken = awake, true
	}
	return s
}

func (s hosted) resume() hosted {
	if s.asleep == napping {
		s.asleep, s.woken = awake, true
	}
	return s
}

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
		s.owed = true
		return []hosted{s.at(i, p+1)}
	case 1: // where is the worker?
		switch s.asleep {
		case awake:
			return []hosted{s.at(i, next)}
		case napping:
			return []hosted{s.at(i, p+2)}
		}
		return []hosted{s.at(i, p+3)}
	case 2:
		if !s.right {
			s = s.resume()
		}
		return []hosted{s.at(i, next)}
	case 3:
		return []hosted{s.kick(false).at(i, p+4)}
	case 4: // rearm
		if s.armed {
			return []hosted{s.at(i, next)}
		}
		return []hosted{s.at(i, p+5)}
	default:
		return s.armLocal(i, p+5, next, func(s hosted) hosted { return s.kick(true).at(i, next) })
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
		if s.right {
			return []hosted{found(s)}
		}
		s.right = true
		return []hosted{s.at(i, p+2)}
	case 2:
		s.armed = true
		return []hosted{s.at(i, p+3)}
	case 3:
		s.found = s.ring > 0
		return []hosted{s.at(i, p+4)}
	default:
		s.right = false
		if s.found {
			return []hosted{found(s)}
		}
		return []hosted{s.at(i, next)}
	}
}

// hostedWorker is Engine.work, with nap and sleep.
var hostedWorker = actor[hosted]{"worker", func(s hosted) []hosted {
	const (
		look, need, try, miss, begin, turn, epoll, release = 0, 1, 2, 3, 4, 5, 6, 7
		sleep, check, arm, seat, wait, woke, disarm, after = 10, 11, 20, 30, 31, 32, 33, 34
		nap, orphan, doze, up                              = 40, 41, 42, 43
	)
	const i = hWorker
	switch pc := s.pc[i]; pc {
	case look:
		s.moved = s.callers != s.seen
		s.seen = s.callers
		return []hosted{s.at(i, need)}
	case need: // callers attend to what there is
		if s.moved && !s.owed || s.want > 0 {
			return []hosted{s.at(i, nap)}
		}
		return []hosted{s.at(i, try)}
	case try:
		if s.right {
			return []hosted{s.at(i, miss)}
		}
		s.right = true
		return []hosted{s.at(i, begin)}
	case miss:
		s.owed = true
		return []hosted{s.at(i, nap)}
	case begin:
		s.owed = false
		return []hosted{s.at(i, turn)}
	case turn:
		s.moved = s.ring > 0
		return []hosted{s.poll().at(i, epoll)}
	case epoll:
		s.moved = s.moved || s.bell
		s.bell = false
		return []hosted{s.at(i, release)}
	case release:
		s.right = false
		if s.moved {
			return []hosted{s.at(i, after)}
		}
		return []hosted{s.at(i, sleep)}
	case sleep: // for a while, or, if there is nothing to be expected, for good
		short, long := s, s
		short.asleep, long.asleep = asleepHolding, asleepIdle
		return []hosted{short.at(i, check), long.at(i, check)}
	case check:
		switch {
		case s.want > 0:
			s.asleep = awake
			return []hosted{s.at(i, after)}
		case s.asleep == asleepIdle && s.posted > s.got:
			s.asleep = asleepHolding
			return []hosted{s.at(i, check)}
		}
		return []hosted{s.at(i, arm)}
	case seat:
		s.hears = true
		return []hosted{s.at(i, wait)}
	case wait, doze:
		if !s.woken && !(s.hears && s.bell) && pc == wait {
			return nil
		}
		s.hears = s.hears && !s.bell
		s.woken = false
		if pc == doze {
			return []hosted{s.at(i, up)}
		}
		return []hosted{s.at(i, woke)}
	case woke:
		s.asleep = awake
		return []hosted{s.at(i, disarm)}
	case disarm:
		s.armed = false
		return []hosted{s.at(i, after)}
	case after:
		s.seen = s.callers
		return []hosted{s.at(i, look)}
	case nap:
		s.asleep = napping
		return []hosted{s.at(i, orphan)}
	case orphan:
		if !s.right && s.want == 0 && s.owed {
			return []hosted{s.at(i, up)}
		}
		return []hosted{s.at(i, doze)}
	case up:
		s.asleep = awake
		return []hosted{s.at(i, look)}
	default:
		return s.armLocal(i, arm, seat, func(s hosted) hosted {
			s.asleep = awake
			return s.at(i, after)
		})
	}
}}

// hostedCaller receives some messages, one after the other: by blocking calls, or, if it leaves
// them, posts them and computes until they are there. deaf leaves out what attendSelf does for the
// worker. dozes lets it sleep once, where it shares a core: for a while at most, and then it looks
// again.
func hostedCaller(rounds int8, leaves, deaf, dozes bool) actor[hosted] {
	const (
		post, claim, wish, unwish, count, poll, self, off, call, again = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
		release, owed, left, goal, summon, rouse, resume, park, over   = 10, 11, 12, 13, 14, 15, 16, 17, 18
		doze, input, nap, disarm, listen                               = 20, 21, 22, 23, 24
		attend, end                                                    = 40, 60
	)
	const i = hCaller
	met := func(s hosted) bool { return s.got >= s.posted }
	return actor[hosted]{"caller", func(s hosted) []hosted {
		switch s.pc[i] {
		case post:
			s.posted++
			if leaves {
				return []hosted{s.at(i, attend)}
			}
			return []hosted{s.at(i, claim)}
		case claim:
			switch {
			case met(s):
				return []hosted{s.at(i, over)}
			case s.right:
				s.want++
				return []hosted{s.at(i, wish)}
			}
			s.right = true
			return []hosted{s.at(i, count)}
		case wish: // until it has it, has what it waits for, or has waited long enough
			next := []hosted{s.at(i, unwish)}
			if !s.right {
				s.right = true
				s.want--
				next = append(next, s.at(i, count))
			}
			return next
		case unwish:
			s.want--
			if !s.right {
				return []hosted{s.at(i, summon)}
			}
			return []hosted{s.at(i, goal)}
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
			s.right = false
			return []hosted{s.at(i, owed)}
		case owed:
			s.owed = false
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
			case leaves:
				return []hosted{s.at(i, park)}
			}
			return []hosted{s.at(i, summon)}
		case summon:
			s.owed = true
			return []hosted{s.at(i, rouse)}
		case rouse:
			return []hosted{s.kick(true).at(i, resume)}
		case resume:
			return []hosted{s.resume().at(i, park)}
		case park:
			if !met(s) {
				return nil
			}
			return []hosted{s.at(i, over)}
		case over:
			if s.round++; s.round < rounds {
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
	const put, look, swap, ring, wake, visit, deliver, leave, asked, attend, end = 0, 1, 2, 3, 4, 5, 6, 7, 8, 20, 40
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
			if s.right {
				return []hosted{s.at(i, swap)}
			}
			s.right = true
			return []hosted{s.at(i, deliver)}
		case deliver:
			return []hosted{s.poll().at(i, leave)}
		case leave:
			s.right = false
			return []hosted{s.at(i, asked)}
		case asked:
			if s.owed {
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
				return []hosted{s.kick(true).at(i, wake)}
			}
			s.bell = true
			return []hosted{s.at(i, put)}
		case wake:
			return []hosted{s.resume().at(i, put)}
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
			s.right = true
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
			s.asleep = asleepIdle
			return []hosted{s.at(i, arm)}
		case arm:
			s.armed = true
			return []hosted{s.at(i, input)}
		case input:
			if s.ring > 0 && !unarmed {
				s.asleep = awake
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
			s.asleep = awake
			return []hosted{s.at(i, disarm)}
		case disarm:
			s.armed = false
			return []hosted{s.at(i, turn)}
		}
		return nil
	}}
}

func (s hosted) isOver() bool { return s.got == 2 && s.pc[hCaller] == 60 }

// TestRingsAreHeard: whatever a peer of this host puts is handled, whether the rank's worker
// sleeps, naps or polls, and whether its caller comes, goes or computes. Without the kick of
// attendSelf, which was missing once, a worker sleeps on while nothing notifies it.
func TestRingsAreHeard(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	for _, thread := range []bool{false, true} {
		for _, leaves := range []bool{false, true} {
			wantNeverStuck(t, hosted{}, hosted.isOver, hostedWorker, hostedCaller(1, leaves, false, false), hostedWriter(thread))
			wantNeverStuck(t, hosted{}, hosted.isOver, hostedWorker, hostedCaller(1, leaves, false, true), hostedWriter(thread))
		}
	}
	wantNeverStuck(t, hosted{}, hosted.isOver, hostedWorker, hostedCaller(2, true, false, true), hostedWriter(false))
	for _, thread := range []bool{false, true} {
		start := hosted{right: true} // no thread visits: the driver has the right all the time
		wantNeverStuck(t, start, hosted.isOver, hostedDriver(false), hostedWriter(thread))
		wantStuck(t, "arming last", start, hosted.isOver, hostedDriver(true), hostedWriter(thread))
	}
	wantStuck(t, "a caller that disarms", hosted{}, hosted.isOver, hostedWorker, hostedCaller(1, false, true, false), hostedWriter(false))
}
