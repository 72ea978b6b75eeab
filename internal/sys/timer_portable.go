//go:build !linux || fitmpi_portable

package sys

import (
	"sync"
	"time"
)

// LongTimer is more than the timers that IsTimerSet looks for.
const LongTimer = 9 * 24 * time.Hour

// TellsTimers says that NextTimer never knows.
const TellsTimers = false

// IsTimerSet does not know: neither Go nor this system tells of timers.
func IsTimerSet() (set, known bool) { return false, false }

// NextTimer does not know.
func NextTimer() (until time.Duration, known bool) { return LongTimer, false }

// StirPoller has nothing to do.
func StirPoller() {}

// Pauser waits until it is ended, or for a while.
type Pauser struct {
	endc chan struct{} // closed by End
	once sync.Once
}

// NewPauser makes one. Close it.
func NewPauser() (*Pauser, error) { return &Pauser{endc: make(chan struct{})}, nil }

// Pause waits for d and reports whether End was called, which ends it sooner.
func (p *Pauser) Pause(d time.Duration) (ended bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.endc:
		return true
	case <-t.C:
		return false
	}
}

// End ends this Pause and all that follow. It may be called by any goroutine.
func (p *Pauser) End() { p.once.Do(func() { close(p.endc) }) }

// Close has nothing to give back.
func (p *Pauser) Close() error { return nil }
