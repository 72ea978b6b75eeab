//go:build linux

package launch

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// The key that stops what runs at a terminal (^Z) reaches fitrun alone: its ranks are in process
// groups of their own, or on other hosts. So fitrun stops them, and then itself, and lets them go
// on when the shell lets it (fg, bg). For the job the time between is none.

// terminalStops is where the key is heard, until ignore is called. It is nothing where fitrun was
// started so as to ignore the key.
func terminalStops() (stops chan os.Signal, ignore func()) {
	if signal.Ignored(syscall.SIGTSTP) {
		return nil, func() {}
	}
	stops = make(chan os.Signal, 1)
	signal.Notify(stops, syscall.SIGTSTP)
	return stops, func() { signal.Stop(stops) }
}

// discard takes what came while fitrun was about to stop anyway.
func discard(stops <-chan os.Signal) {
	select {
	case <-stops:
	default:
	}
}

// pause stops all ranks and this process, and returns when that goes on, as do they. A key that
// comes later asks for another stop; of those that come while this process is stopped the system
// forgets all when it lets it go on.
func (x *runner) pause(stops <-chan os.Signal) {
	began := time.Now()
	x.pauseHosts()
	discard(stops)
	sys.StopSelf()
	x.resumeHosts(time.Since(began))
	x.sup.paused(time.Since(began))
}

// pauseHosts stops all ranks, those that were spawned, too. Any goroutine may call it.
func (x *runner) pauseHosts() {
	for _, h := range x.hosts {
		h.Pause()
	}
	if x.fleet != nil {
		x.fleet.Pause()
	}
	for _, y := range x.brood.begun() {
		y.pauseHosts()
	}
}

// resumeHosts lets them go on, after such a time.
func (x *runner) resumeHosts(after time.Duration) {
	if x.fleet != nil {
		x.fleet.Resume()
	}
	for _, h := range x.hosts {
		h.Continue()
	}
	for _, y := range x.brood.begun() {
		y.resumeHosts(after)
		x.brood.wait.Go(func() { // as pass does
			y.post(func(time.Time) { y.sup.paused(after) })
		})
	}
}

// paused is called when all of the job, and fitrun, have been stopped for so long, and go on.
// Nothing is due earlier for that.
func (s *supervisor) paused(d time.Duration) {
	for _, due := range []*time.Time{&s.timeout, &s.grace} {
		if !due.IsZero() {
			*due = due.Add(d)
		}
	}
	if s.asked != nil {
		s.asked.since, s.asked.until = s.asked.since.Add(d), s.asked.until.Add(d)
	}
}
