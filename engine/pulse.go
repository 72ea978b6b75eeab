package engine

import "time"

// Signs of life, as plain values: what is known of one peer, and of the clock of the rank that
// looks. The driver's part is heart.go.

const (
	// DefaultHeartbeat is how often a rank shows that it lives, DefaultHeartbeatTimeout how long
	// another may show nothing.
	DefaultHeartbeat        = time.Second
	DefaultHeartbeatTimeout = 60 * time.Second

	// beatShare is the time between two heartbeats for each rank of the job, if the user has not
	// chosen another. A heartbeat sent and one received cost some 30 us together. So an idle rank
	// costs less than a thousandth of a core, however many ranks there are.
	beatShare = 30 * time.Millisecond

	// beatsPerTimeout is how many beats there are at least in the time after which a peer is
	// suspected.
	beatsPerTimeout = 4
	// moreOften is how often at least a rank that sends no beats looks for those of others, in that
	// time. A look that is late by one such part of it forgives.
	moreOften = 8
)

// metronome says when a rank looks after its peers.
//
// It looks at its own clock first: a rank that was stopped, or did not get to run, has heard
// nothing, which says nothing of others.
type metronome struct {
	// immutable
	every   int64 // nanoseconds between two looks, 0 if there are none
	timeout int64 // how long a peer may be silent, nanoseconds

	next int64 // when the next look is due
}

// newMetronome is for a rank that shows a sign of life every period, if that is above 0, and wants
// one within timeout.
func newMetronome(period, timeout time.Duration) metronome {
	if timeout <= 0 {
		return metronome{}
	}
	every := timeout / moreOften
	if period > 0 {
		every = min(period, timeout/beatsPerTimeout)
	}
	return metronome{every: int64(max(every, 1)), timeout: int64(timeout)}
}

// tick notes that the rank looks now. If the look is late by more than a period and a good part of
// the timeout, silence says nothing, and tick returns by how much it is late. Otherwise it returns
// 0. A rank that is a little late each time, on a machine with too much to do, must still find the
// dead.
func (m *metronome) tick(now int64) (late int64) {
	if late = now - m.next; late <= max(m.every, m.timeout/moreOften) {
		late = 0
	}
	m.next = now + m.every
	return late
}

// share is how much of n comes to each beat if all of it is to come within the timeout.
func (m *metronome) share(n int) int { return int((int64(n)*m.every + m.timeout - 1) / m.timeout) }

// patience is how long a peer may be silent that promises a beat every so often.
func (m *metronome) patience(promised int64) int64 { return max(m.timeout, beatsPerTimeout*promised) }

// pulse is what the looks have found of one peer.
type pulse struct {
	heard     uint64 // what the peer had shown at the last look, by a count that changes as it shows more
	heardAt   int64  // the look at which that was new, or at which we were late; 0 before the first
	since     int64  // heardAt, or the last look at which the peer was allowed to be silent
	suspected bool   // it was reported to another party that the peer is silent, and not yet that it is not
}

// finding is what a look says of a peer.
type finding uint8

const (
	seemsAlive finding = iota // or nothing can tell
	isSilent                  // for too long
	isBack                    // it was silent, and is not any more
)

// look compares what the peer has shown with the last look. With late, silence says nothing this
// time, and is counted anew; with excused it may be as long as it likes. quiet is how long nothing
// was heard.
func (p *pulse) look(now int64, heard uint64, late, excused bool, patience int64) (f finding, quiet time.Duration) {
	switch first := p.heardAt == 0; {
	case first || heard != p.heard:
		if p.suspected {
			p.suspected, f = false, isBack
		}
		p.heard, p.heardAt, p.since = heard, now, now
	case late:
		p.heardAt, p.since = now, now
	case excused:
		p.since = now
	case now-p.since >= patience:
		f = isSilent
	}
	return f, time.Duration(now - p.heardAt)
}

// allow lets the peer be silent for so much longer than the patience, once.
func (p *pulse) allow(more int64) { p.since += more }

// suspect notes that silence was reported. If nothing comes of that, it is reported again after as
// long.
func (p *pulse) suspect(now int64) {
	p.suspected = true
	p.since, p.heardAt = now, now
}
