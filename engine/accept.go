package engine

import (
	"errors"
	"fmt"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/netpoll"
)

// maxAccepts bounds the connections accepted at a listener in one turn: peers are served before
// there are more.
const maxAccepts = 16

// accept takes the connections that wait at the listeners.
func (d *driver) accept() {
	for _, l := range d.listeners {
		if !d.acceptAt(l) {
			d.pauseListening()
			return
		}
	}
}

// acceptAt takes the connections that wait at one listener; false if listening is to pause.
func (d *driver) acceptAt(l *netpoll.Listener) bool {
	now := sys.Nanotime()
	for range maxAccepts {
		if !d.mayGreet(now) {
			return false
		}
		s, err := l.Accept(d.options())
		switch {
		case err == nil:
			d.e.stats.accepts.Add(1)
			d.greet(s)
		case errors.Is(err, netpoll.ErrAgain):
			d.crowd.begun--
			return true
		default:
			d.refuse(err)
			return false
		}
	}
	return true
}

// refuse notes that a connection cannot be accepted. It waits where it is, and is asked for again
// soon.
func (d *driver) refuse(err error) {
	if netpoll.IsExhausted(err) {
		err = &filesError{sys.NoFile(), d.e.cfg.Size, err}
	}
	d.e.stats.acceptErrors.Add(1)
	d.warnOfStrangers("accept", "err", err)
}

// filesError says how many descriptors a rank needs where there are too few.
type filesError struct {
	limit uint64
	ranks int
	cause error
}

func (e *filesError) Error() string {
	return fmt.Sprintf("%v: this process may have %d descriptors open; a rank needs one for each rank that it reaches by TCP, at most %d here, and about %d more: raise the limit (ulimit -n)",
		e.cause, e.limit, e.ranks-1, ownFiles)
}

func (e *filesError) Unwrap() error { return e.cause }

// ownFiles is more than a rank has open beside its connections: its pollers and listeners, the
// launcher's, its memory, its files.
const ownFiles = 32
