package quiesce

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/internal/hang"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

const (
	// leastPause is between two rounds of pulses, and rankPause for each rank if that is more: a
	// rank is asked in some microseconds, and fitrun in some more.
	leastPause = 2 * time.Second
	rankPause  = 20 * time.Millisecond
	// stallRounds is how many rounds what is under way may stay so without a byte moving before
	// that is worth a word. At the least pause they take ten seconds.
	stallRounds = 5
	// busyRounds is after how many rounds without any sign of it a job is looked into of which some
	// ranks wait in no MPI call: most likely they compute.
	busyRounds = 10
	// mostRounds is between two looks into a job that is quiescent, and not deadlocked as far as is
	// seen. They become rarer from one to the next.
	mostRounds = 32
	// lostRounds is after how many rounds a rank that has not answered is asked again.
	lostRounds = 15
	// collectTime is how long ranks may take to collect garbage.
	collectTime = 30 * time.Second
)

// Watch notices that a job can never go on. It asks the ranks every now and then for their pulses,
// which costs them microseconds, and only if the job seems quiescent what they wait for.
type Watch struct {
	View Viewer
	Dir  string // source files below it are named from there
	// Pause is between two rounds; 0 is two seconds, or more in jobs of more than a hundred ranks.
	Pause time.Duration
	// AtOnce says that the ranks answer while they are asked, so that nothing bounds that: ranks of
	// this process, which would take what sets a bound for a timer of the program's.
	AtOnce bool
	// Deadlocked is called with every deadlock, once; again if it has become another. It may be one
	// unless a signal comes.
	Deadlocked func(*hang.Explanation)
	// Stalled is called, once each time, when nothing goes on although something is under way; text
	// says what.
	Stalled func(text string)

	state state
}

// state is what a Watch remembers. It is owned by the caller of Run or Round.
type state struct {
	last     *pulses // whole; nil if the last round was not
	quiet    int     // rounds without any activity
	next     int     // at how many of them to look
	stalled  bool    // it was said
	reported []uint64
	missing  time.Time // when a question was asked that a rank has not answered; zero if none
	skipped  int       // rounds since then
}

// Run watches until ctx ends, and calls w's functions.
func (w *Watch) Run(ctx context.Context) {
	for w.pause(ctx) {
		w.Round(ctx)
	}
}

// Round is one round of Run, for callers that have a clock of their own: two that follow each other
// at once are enough to see that a job is quiescent.
func (w *Watch) Round(ctx context.Context) { w.round(ctx, &w.state) }

// bound is ctx that ends after d at the latest.
func (w *Watch) bound(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if w.AtOnce {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// pause waits for the next round; false if there is none.
func (w *Watch) pause(ctx context.Context) bool {
	select {
	case <-time.After(w.interval()):
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *Watch) interval() time.Duration {
	if w.Pause > 0 {
		return w.Pause
	}
	return max(leastPause, time.Duration(len(w.View.Ranks()))*rankPause)
}

// round is one round: a question at least, if the job is one of ranks that have all joined.
func (w *Watch) round(ctx context.Context, s *state) {
	if !w.isAskable(s) {
		s.last = nil
		return
	}
	bounded, cancel := w.bound(ctx, max(w.interval(), time.Second))
	defer cancel()
	p := ask(bounded, w.View, telemetry.AskPulse)
	if ctx.Err() != nil {
		return
	}
	last := s.last
	if s.last = nil; !p.isWhole() {
		s.missing, s.skipped = p.begun, 0
		return
	}
	s.last = p
	if last == nil || !last.isSame(p) {
		s.quiet, s.next, s.stalled = 0, 0, false
		return
	}
	s.quiet++
	if p.isNothingUnderWay() {
		w.lookQuiescent(ctx, s, last, p)
	} else {
		w.stall(s, p)
	}
}

// isAskable reports whether it makes sense to ask. Ranks that have not answered the last question
// are not asked again before they do, for lostRounds: they may be stopped, and would find hundreds
// of questions.
// Where a rank has not come to Init, the others cannot answer. Where one has finished, all have
// been in Finalize, and no rank waits for messages any more. Dead ranks are left out, as the job
// goes on without them, and so are jobs that are over, as others may go on.
func (w *Watch) isAskable(s *state) bool {
	ranks := w.View.Ranks()
	out := areOut(ranks)
	joined := haveJoined(ranks, out)
	if !joined || s.missing.IsZero() {
		return joined
	}
	s.skipped++
	for r := range ranks {
		if !out[r] && ranks[r].Pulsed.Before(s.missing) && s.skipped < lostRounds {
			return false
		}
	}
	s.missing = time.Time{}
	return true
}

// lookQuiescent looks into a job in which nothing moves.
func (w *Watch) lookQuiescent(ctx context.Context, s *state, last, p *pulses) {
	if s.next == 0 {
		s.next = 1
		if p.blocked() < p.alive() {
			s.next = busyRounds
		}
	}
	if p.blocked() == 0 || s.quiet < s.next {
		return
	}
	s.next = s.quiet + min(s.quiet, mostRounds)
	bounded, cancel := w.bound(ctx, max(2*w.interval(), 2*time.Second))
	defer cancel()
	e, pending := look(bounded, w.View, w.Dir, last, p)
	if ctx.Err() != nil || !e.IsStuck() {
		return
	}
	now := situation(e, p)
	if slices.Equal(s.reported, now) {
		return
	}
	patient, done := w.bound(ctx, collectTime)
	defer done()
	if confirm(patient, w.View, e, pending); e.IsStuck() && ctx.Err() == nil {
		s.reported = now
		w.Deadlocked(e)
	}
}

// situation is a number for each stuck rank and for what it has done so far.
func situation(e *hang.Explanation, p *pulses) []uint64 {
	var ns []uint64
	for _, r := range e.Stuck {
		ns = append(ns, uint64(r), p.reports[r].Pulse.Activity)
	}
	return ns
}

// stall speaks of what is under way and does not move.
func (w *Watch) stall(s *state, p *pulses) {
	if s.stalled || s.quiet < stallRounds || p.blocked() < p.alive() {
		return
	}
	s.stalled = true
	frames, unsent := p.underWay()
	var ranks []int
	for r := range p.reports {
		if p.reports[r] != nil && p.reports[r].Pulse.Unsent > 0 {
			ranks = append(ranks, r)
		}
	}
	text := fmt.Sprintf("no rank has gone on for %v, and nothing has moved, although %d messages or parts of them are under way",
		(time.Duration(s.quiet) * w.interval()).Round(time.Second), max(frames, 0))
	if unsent > 0 {
		text += fmt.Sprintf(", and %d bytes of %s wait to be sent", unsent, jobOf(p, w.Dir, false).Names(ranks))
	}
	w.Stalled(text + ". This is no deadlock: the network is slow or interrupted, or a peer does not read")
}
