//go:build linux

package quiesce

import (
	"context"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/internal/hang"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Rank is what is known of a rank besides its answers.
type Rank struct {
	Phase  hang.Phase
	Host   string
	PID    int       // of its process; 0 if it has none
	Since  time.Time // of Phase
	Pulsed time.Time // when its last answer came

	// StuckAt is Pulse.Activity when it was found that the rank can never go on, see FoundStuck; 0
	// if it was not.
	StuckAt uint64
}

// Viewer is what is looked at: a running job.
type Viewer interface {
	// Ranks returns what is known of every rank, nil before the job begins.
	Ranks() []Rank
	// Ask asks all ranks that take part, until ctx ends; an answer that does not come is nil.
	Ask(ctx context.Context, question string) []*telemetry.Report
	// AskSome is Ask of those ranks that which chooses.
	AskSome(ctx context.Context, question string, which func(rank int) bool) []*telemetry.Report
	// FoundStuck has Ranks say that a rank in a process can never go on, with what its pulse was.
	FoundStuck(rank, pid int, activity uint64)
}

// pulses is what ranks have said in one round.
type pulses struct {
	begun   time.Time
	ranks   []Rank
	reports []*telemetry.Report // by rank, nil of the dead
}

func ask(ctx context.Context, v Viewer, question string) *pulses {
	p := &pulses{begun: time.Now(), reports: v.Ask(ctx, question)}
	p.ranks = v.Ranks() // after the answers: a rank that left meanwhile is seen to have left
	for r := range p.reports {
		if p.ranks[r].isDead() {
			p.reports[r] = nil // it has died since
		}
	}
	return p
}

// haveJoined reports whether all ranks of a job take part, but for those without which it goes on;
// and whether there are any.
func haveJoined(ranks []Rank) bool {
	isIn := func(r Rank) bool { return r.Phase == hang.Inside }
	return slices.ContainsFunc(ranks, isIn) && !slices.ContainsFunc(ranks, func(r Rank) bool { return !isIn(r) && !r.isDead() })
}

func (r *Rank) isDead() bool { return r.Phase == hang.Dead }

// isOutside reports whether a rank has not come to Init.
func isOutside(r Rank) bool { return r.Phase == hang.Absent || r.Phase == hang.Outside }

// isWhole reports whether all ranks of the job take part and have answered, but for the dead.
func (p *pulses) isWhole() bool {
	if !haveJoined(p.ranks) || len(p.reports) != len(p.ranks) {
		return false
	}
	for r := range p.ranks {
		if p.reports[r] == nil && !p.ranks[r].isDead() {
			return false
		}
	}
	return true
}

// alive is how many ranks have answered.
func (p *pulses) alive() int {
	n := 0
	for _, r := range p.reports {
		if r != nil {
			n++
		}
	}
	return n
}

// isSame reports whether no rank has done anything between its answers in p and in q, of which both
// are whole.
func (p *pulses) isSame(q *pulses) bool {
	for r := range p.reports {
		a, b := p.reports[r], q.reports[r]
		if (a == nil) != (b == nil) || a != nil && a.Pulse.Activity != b.Pulse.Activity {
			return false
		}
	}
	return true
}

// underWay is how many frames were sent and have not been received, and how many bytes no socket or
// ring has taken yet.
func (p *pulses) underWay() (frames int64, unsent int) {
	for _, r := range p.reports {
		if r == nil {
			continue
		}
		frames += int64(r.Pulse.FramesOut) - int64(r.Pulse.FramesIn)
		unsent += r.Pulse.Unsent
	}
	return frames, unsent
}

func (p *pulses) isNothingUnderWay() bool {
	frames, unsent := p.underWay()
	return frames == 0 && unsent == 0
}

// blocked is how many ranks have a caller that waits in MPI.
func (p *pulses) blocked() int {
	n := 0
	for _, r := range p.reports {
		if r != nil && r.Pulse.Blocked+r.Pulse.Bounded > 0 {
			n++
		}
	}
	return n
}

// betweenLooks is between two looks at ranks that seem to wait for each other. A message between
// ranks that live takes less, on a busy machine too.
const betweenLooks = 500 * time.Millisecond

// Look asks the ranks what they do and explains it. For ranks that do not answer it waits twice as
// long as patience says, and as long again for those that are to collect garbage, at most until ctx
// ends; then what they do is not known. Source files below dir are named from there.
func Look(ctx context.Context, v Viewer, dir string, patience time.Duration) *hang.Explanation {
	if ranks := v.Ranks(); slices.ContainsFunc(ranks, isOutside) {
		return hang.Explain(jobOf(&pulses{ranks: ranks}, dir, false)) // the others are in Init, where they cannot answer
	}
	var first *pulses
	if within(ctx, patience, func(ctx context.Context) { first = ask(ctx, v, telemetry.AskPulse) }); !first.isWhole() {
		var pending *pulses
		within(ctx, patience, func(ctx context.Context) { pending = ask(ctx, v, telemetry.AskPending) })
		return lookAgain(ctx, v, dir, pending, patience)
	}
	var e *hang.Explanation
	var pending *pulses
	within(ctx, patience, func(ctx context.Context) { e, pending = look(ctx, v, dir, first, first) })
	if e.IsStuck() {
		within(ctx, patience, func(ctx context.Context) { confirm(ctx, v, e, pending) })
	}
	if !e.Settled {
		return lookAgain(ctx, v, dir, pending, patience)
	}
	return e
}

// within calls do with a context that ends after patience.
func within(ctx context.Context, patience time.Duration, do func(context.Context)) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	do(bounded)
}

// lookAgain explains what the ranks of a job that is not quiescent have said in pending. Where that
// looks as if some could not go on, the ranks are asked for their pulses once more, after a while,
// and only those count that have done nothing since. Ranks that pass messages to and fro, asked one
// after the other, say things that make circles.
func lookAgain(ctx context.Context, v Viewer, dir string, pending *pulses, patience time.Duration) *hang.Explanation {
	once := jobOf(pending, dir, false)
	suspected := *once
	suspected.Ranks = slices.Clone(once.Ranks)
	for r := range suspected.Ranks {
		suspected.Ranks[r].Still = true
	}
	if e := hang.Explain(&suspected); len(e.Stuck)+len(e.Mismatches) == 0 {
		return e
	}
	select {
	case <-time.After(betweenLooks):
	case <-ctx.Done():
		return hang.Explain(once)
	}
	within(ctx, patience, func(ctx context.Context) {
		pulse := v.AskSome(ctx, telemetry.AskPulse, pending.hasAnswered)
		for r := range min(len(pulse), len(pending.reports)) {
			once.Ranks[r].Still = pulse[r] != nil && pending.hasAnswered(r) && pulse[r].Pulse.Activity == pending.reports[r].Pulse.Activity
		}
	})
	return hang.Explain(once)
}

func (p *pulses) hasAnswered(r int) bool { return r < len(p.reports) && p.reports[r] != nil }

// look explains what the ranks do, and returns what they have said, after a round of pulses and
// another that was begun when that was answered. Without the first (it is the second then) the job
// can be quiescent as well, as the last round is another. What it calls stuck may still wait for
// the garbage collector: see confirm.
func look(ctx context.Context, v Viewer, dir string, first, second *pulses) (e *hang.Explanation, pending *pulses) {
	pending = ask(ctx, v, telemetry.AskPending)
	pending.leaveOutTimers()
	last := ask(ctx, v, telemetry.AskPulse)
	isSettled := pending.isWhole() && last.isWhole() && first.isSame(second) && second.isSame(pending) && pending.isSame(last) &&
		last.isNothingUnderWay()
	return hang.Explain(jobOf(pending, dir, isSettled)), pending
}

// leaveOutTimers leaves out the timers of ranks of which it is known that they can never go on: the
// runtime has set those, to give back the memory of the garbage that was collected then.
func (p *pulses) leaveOutTimers() {
	for r, a := range p.reports {
		if a != nil && a.Pending != nil && p.isKnown(r) {
			a.Pending.Timer = false
		}
	}
}

// isKnown reports whether it was found before that a rank can never go on.
func (p *pulses) isKnown(r int) bool {
	return p.ranks[r].StuckAt != 0 && p.reports[r] != nil && p.reports[r].Pulse.Activity == p.ranks[r].StuckAt
}

// confirm makes sure that the stuck ranks of e do not wait for functions that the garbage collector
// will start. The ranks are asked to collect garbage. e is settled no more if that has started any
// function, or if a rank does not answer before ctx ends. No other goroutine has seen e yet.
// pending is what e is made of.
func confirm(ctx context.Context, v Viewer, e *hang.Explanation, pending *pulses) {
	if !slices.ContainsFunc(e.Stuck, func(r int) bool { return !pending.isKnown(r) }) {
		return
	}
	stuck := make([]bool, len(pending.ranks))
	for _, r := range e.Stuck {
		stuck[r] = true
	}
	reports := v.AskSome(ctx, telemetry.AskCollect, func(r int) bool { return r < len(stuck) && stuck[r] })
	for _, r := range e.Stuck {
		a := pending.reports[r]
		if r >= len(reports) || reports[r] == nil || reports[r].Pulse.Activity != a.Pulse.Activity || reports[r].Functions != a.Functions {
			e.Settled = false
			return
		}
	}
	if e.IsDeadlock() { // not if a signal may still set timers
		for _, r := range e.Stuck {
			v.FoundStuck(r, pending.ranks[r].PID, pending.reports[r].Pulse.Activity)
		}
	}
}

// jobOf is what package hang wants to know.
func jobOf(p *pulses, dir string, isSettled bool) *hang.Job {
	type process struct {
		host string
		pid  int
	}
	j := &hang.Job{Settled: isSettled, Dir: dir}
	numbers := make(map[process]int)
	now := time.Now()
	for r := range p.ranks {
		rank := &p.ranks[r]
		at, ok := numbers[process{rank.Host, rank.PID}]
		if !ok || rank.PID == 0 {
			at = r
			numbers[process{rank.Host, rank.PID}] = r
		}
		h := hang.Rank{Phase: rank.Phase, Host: rank.Host, Process: at, Since: now.Sub(rank.Since)}
		if r < len(p.reports) {
			h.Report = p.reports[r]
		}
		j.Ranks = append(j.Ranks, h)
	}
	return j
}
