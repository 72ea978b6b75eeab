package progress

import "sync/atomic"

// Right is the progress right of an engine: its State, which goroutines change by transitions. Each
// is one atomic step. A transition that would change nothing does not write.
type Right struct {
	word atomic.Uint64
}

// State is the state of this moment.
func (r *Right) State() State { return State(r.word.Load()) }

func (r *Right) swap(s, next State) bool {
	return next == s || r.word.CompareAndSwap(uint64(s), uint64(next))
}

// TryAcquire takes the right if it is free.
func (r *Right) TryAcquire() bool {
	for s := r.State(); !s.Held(); s = r.State() {
		if next, _ := s.Acquire(); r.word.CompareAndSwap(uint64(s), uint64(next)) {
			return true
		}
	}
	return false
}

// Do makes a transition, and returns its effect.
func (r *Right) Do(f func(State) (State, Effect)) Effect {
	for {
		s := r.State()
		if next, x := f(s); r.swap(s, next) {
			return x
		}
	}
}

// Try makes a transition that may fail, such as Take and Pass, and returns what it reports.
func (r *Right) Try(f func(State) (State, bool)) bool {
	for {
		s := r.State()
		if next, ok := f(s); r.swap(s, next) {
			return ok
		}
	}
}

// Note makes a transition that has no effect, and returns the state that it led to.
func (r *Right) Note(f func(State) State) State {
	for {
		s := r.State()
		if next := f(s); r.swap(s, next) {
			return next
		}
	}
}

// Attend makes the transition Attend. It is a loop of its own, as Kick and Nap are: a function
// literal that holds the arguments would be allocated wherever the compiler does not inline it.
func (r *Right) Attend(output, look bool) Effect {
	for {
		s := r.State()
		if next, x := s.Attend(output, look); r.swap(s, next) {
			return x
		}
	}
}

// Kick makes the transition Kick.
func (r *Right) Kick(output bool) Effect {
	for {
		s := r.State()
		if next, x := s.Kick(output); r.swap(s, next) {
			return x
		}
	}
}

// Nap makes the transition Nap.
func (r *Right) Nap(expected bool) bool {
	for {
		s := r.State()
		if next, ok := s.Nap(expected); r.swap(s, next) {
			return ok
		}
	}
}

// Sit makes the transition Sit.
func (r *Right) Sit(p Place) {
	for s := r.State(); !r.swap(s, s.Sit(p)); s = r.State() {
	}
}

// Release makes the transition Release, and returns the state before.
func (r *Right) Release() State { return State(r.word.And(uint64((^State(0)).Release()))) }

// ReleaseAll makes the transition ReleaseAll, and returns the state before.
func (r *Right) ReleaseAll() State { return State(r.word.And(uint64((^State(0)).ReleaseAll()))) }
