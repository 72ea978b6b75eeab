package engine

import (
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// seat is how the worker's thread gets a core beside threads that compute, where there are fewer
// than two for each rank. It may run on all that the job has on this host, though its process be
// bound to fewer. While it is modest it takes a core only where one is idle, which the kernel knows
// best, and decides when the thread wakes.
type seat struct {
	mu     sync.Mutex // taken before the engine's
	tid    int        // guarded by mu: of the worker's thread; 0 if that is never modest
	modest bool       // guarded by mu

	// Owned by the worker.
	home   []int            // where its thread may run before and after; nil if it does not roam
	delay  *sys.ThreadDelay // for how long its thread has waited for a core; nil if it is never modest
	waited time.Duration    // that, when it was last asked
}

// lateAfter is after what time of waiting for a core the worker takes it that none was idle. A
// caller that polls in vain has left its core by then.
const lateAfter = 500 * time.Microsecond

// begin is called by the worker's thread. It may run on roam from now on, unless that is empty. It
// is modest if modest is set, the kernel permits that and says for how long it waits. Where ranks
// share cores it is not to be: callers that wait yield these, so that the worker would be in time
// though none is idle.
func (s *seat) begin(roam []int, modest bool) {
	if home, err := sys.ThreadCPUs(0); len(roam) > 0 && err == nil && sys.SetThreadCPUs(0, roam) == nil {
		s.home = home
	}
	if !modest {
		return
	}
	delay, err := sys.NewThreadDelay()
	if err != nil {
		return
	}
	if sys.SetThreadModest(0, true) != nil {
		_ = delay.Close()
		return
	}
	s.delay = delay
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tid, s.modest = sys.ThreadID(), true
}

// end is called by the worker's thread when it has nothing more to do: another goroutine may be
// next on that thread.
func (s *seat) end() {
	s.setModest(never)
	if s.home != nil {
		_ = sys.SetThreadCPUs(0, s.home)
	}
	if s.delay != nil {
		_ = s.delay.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tid = 0
}

// setModest makes the thread modest, or not, as is says then. Any goroutine may call it.
func (s *seat) setModest(is func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tid == 0 {
		return
	}
	if on := is(); on != s.modest && sys.SetThreadModest(s.tid, on) == nil {
		s.modest = on
	}
}

func never() bool { return false }

// wasLate reports whether the worker has waited for a core since it last asked. One that is never
// modest takes a core in any case, so that this says nothing: it is late.
func (s *seat) wasLate() bool {
	if s.delay == nil {
		return true
	}
	total, err := s.delay.Total()
	d := total - s.waited
	s.waited = total
	return err != nil || d > lateAfter
}
