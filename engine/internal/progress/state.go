// Package progress has the state of a rank's progress: which goroutine makes it, and which is next.
//
// The progress right is held by at most one goroutine: the worker, a caller, or the thread of a
// peer that visits. A holder that gives it back, and a caller that posts, see to it that another
// goroutine attends to what is left. All that they must know for that is one word, State, so that
// every decision is one atomic step: no goroutine can come between what it has seen and what it
// does. The transitions are functions from one State to the next, without side effects. What the
// caller of one must do besides, to wake a goroutine for instance, is its Effect. Right is the word
// of an engine; the explorers of package engine run on State itself.
//
// Habit predicts whether a caller that posts something comes soon to wait for it.
package progress

// State is which goroutine makes progress at one moment, and what is left.
type State uint64

const (
	held   State = 1 << iota // a goroutine has the right
	missed                   // the worker naps though something is owed, as the right is held: the holder sees to it
	owed                     // something is outstanding that no caller attends to: the worker must, or under caller the holder before it goes
	dozing                   // the holder, a caller, sleeps in the poller
	left                     // a caller that is about to wait has left something to write or to run
)

// The counts lie above the flags. 16 million goroutines that want the right and four billion that
// sleep have room.
const (
	placeShift       = 6
	place      State = 3 << placeShift
	oneWant    State = 1 << 8
	wants      State = 1<<32 - 1<<8
	oneSleeper State = 1 << 32
)

// Place is where the goroutine is that makes progress: the worker, or under caller the caller that
// drives.
type Place uint8

// Places.
const (
	Awake   Place = iota // it will look at the queues again by itself
	Napping              // the worker, in the poller that is not armed, while callers poll: it must arm it for whatever no caller attends to
	Holding              // in the poller with its P: it is to be woken for output and commands only
	Idle                 // in the poller without a P, because nothing is outstanding: it is to be woken for any post
)

// Effect is what a transition asks of the goroutine that has made it.
type Effect uint8

// Effects, a bit each.
const (
	WakeWorker Effect = 1 << iota // wake the goroutine that sleeps in the poller without the right
	WakeDozer                     // wake the caller that dozes
	Arm                           // let the worker's nap end when something arrives
	Rearm                         // let peers of the host notify us again, if they do not
)

// Held reports whether a goroutine has the right.
func (s State) Held() bool { return s&held != 0 }

// Missed reports whether the worker naps though something is owed, because the right is held.
func (s State) Missed() bool { return s&missed != 0 }

// Owed reports whether something is left to the worker, or to the holder of the right.
func (s State) Owed() bool { return s&owed != 0 }

// Dozes reports whether the holder of the right sleeps in the poller.
func (s State) Dozes() bool { return s&dozing != 0 }

// HasLeft reports whether a caller that is about to wait has left something to write or to run.
func (s State) HasLeft() bool { return s&left != 0 }

// Wanted reports whether a caller that is awake waits for the right.
func (s State) Wanted() bool { return s&wants != 0 }

// Sleepers is how many callers sleep until their operations are done.
func (s State) Sleepers() int { return int(s >> 32) }

// Place is where the goroutine that makes progress is.
func (s State) Place() Place { return Place(s & place >> placeShift) }

// Sit says where it is from now on.
func (s State) Sit(p Place) State { return s&^place | State(p)<<placeShift }

// Nap lets the worker leave what there is to callers that poll, if there are any. It reports false,
// and the worker stays awake, where something is owed that no goroutine attends to. expected says
// that a caller is expected which will. A holder of the right learns that something is owed.
func (s State) Nap(expected bool) (State, bool) {
	switch {
	case !s.Owed() || s.Wanted() || expected:
	case s.Held():
		s |= missed
	default:
		return s, false
	}
	return s.Sit(Napping), true
}

// Acquire takes the right if it is free, and reports whether it was.
func (s State) Acquire() (State, bool) { return s | held, s&held == 0 }

// Take is Acquire by a goroutine that attends to what is owed: it takes that over as well. Where
// the right is taken, what the goroutine came for is owed.
func (s State) Take() (State, bool) {
	if s.Held() {
		return s | owed, false
	}
	return s&^owed | held, true
}

// Release gives the right back. Whether the holder must have the worker woken is in s: see Missed.
func (s State) Release() State { return s &^ (held | missed) }

// ReleaseAll is Release by a holder that looks next at all that is outstanding, whatever was owed.
func (s State) ReleaseAll() State { return s &^ (held | missed | owed) }

// Pass is Release where there is no worker: what is owed is the holder's, which keeps the right for
// another turn. It reports whether it has given the right back.
func (s State) Pass() (State, bool) {
	if s.Owed() {
		return s &^ (owed | missed), false
	}
	return s.Release(), true
}

// Owe leaves something to the worker, or to the holder of the right, which is awake or looks in
// time.
func (s State) Owe() State { return s | owed }

// Settle takes back what was owed: callers have done it.
func (s State) Settle() State { return s &^ owed }

// Leave says that a caller that is about to wait has left something to write or to run.
func (s State) Leave() State { return s | left }

// Resume is the end of Leave: the caller makes a whole turn, which does what was left.
func (s State) Resume() State { return s &^ left }

// Attend sees to it that the worker drives, now or when the holder of the right gives it back.
// output says that there is something to write or to run; without it, it is enough that the worker
// hears what arrives. A worker that naps arms its poller for that, but if look is set it must look
// at the rings of its host first.
func (s State) Attend(output, look bool) (State, Effect) {
	s |= owed
	x := Effect(0)
	if output {
		s, x = s.disturb()
	}
	switch s.Place() {
	case Napping:
		switch {
		case s.Held():
			s |= missed
		case output || look:
			return s.Sit(Awake), x | WakeWorker
		default:
			x |= Arm
		}
	case Holding, Idle:
		s, kick := s.Kick(output)
		return s, x | kick | Rearm
	}
	return s, x
}

// disturb wakes the caller that dozes while it has the right.
func (s State) disturb() (State, Effect) {
	if s.Dozes() {
		return s &^ dozing, WakeDozer
	}
	return s, 0
}

// Kick wakes the goroutine that sleeps in the poller; output says that there is something to write
// or to run.
func (s State) Kick(output bool) (State, Effect) {
	if p := s.Place(); p == Idle || p == Holding && output {
		return s.Sit(Awake), WakeWorker
	}
	return s, 0
}

// Stir wakes the worker, whatever it sleeps in.
func (s State) Stir() (State, Effect) {
	if s.Place() == Awake {
		return s, 0
	}
	return s.Sit(Awake), WakeWorker
}

// Rouse wakes the goroutine that makes progress, whatever it sleeps in.
func (s State) Rouse() (State, Effect) {
	s, dozer := s.disturb()
	s, worker := s.Stir()
	return s, dozer | worker
}

// Summon is Rouse for something that is owed.
func (s State) Summon() (State, Effect) { return s.Owe().Rouse() }

// Want says that a caller that is awake waits for the right: the worker leaves it to that caller.
func (s State) Want() State { return s + oneWant }

// Unwant withdraws a wish. The worker may have gone to sleep for it, and be needed.
func (s State) Unwant() (State, Effect) {
	s -= oneWant
	if s.Held() {
		return s, 0
	}
	return s.Summon()
}

// Park says that a caller sleeps until its operations are done, Unpark that it sleeps no more.
func (s State) Park() State { return s + oneSleeper }

// Unpark is the end of Park.
func (s State) Unpark() State { return s - oneSleeper }

// Doze says that the holder of the right sleeps in the poller, Undoze that it sleeps no more.
func (s State) Doze() State { return s | dozing }

// Undoze is the end of Doze.
func (s State) Undoze() State { return s &^ dozing }
