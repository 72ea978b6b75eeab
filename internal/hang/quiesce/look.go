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
	Job    string // as of hang.Rank
	Rank   int    // in the world of its job
	Number int    // another for every rank that there ever was: a place may become that of another rank
	Phase  hang.Phase
	Host   string
	PID    int       // of its process; 0 if it has none
	Since  time.Time // of Phase
	Pulsed time.Time // when its last answer came

	// StuckAt is Pulse.Activity when it was found that the rank can never go on, see FoundStuck; 0
	// if it was not.
	StuckAt uint64
}

// Viewer is what is looked at: a running job, and those that it has spawned. Each rank has a place
// in a list, and keeps it.
type Viewer interface {
	// Ranks returns what is known of every rank, by place, nil before the job begins.
	Ranks() []Rank
	// Ask asks all ranks that take part, until ctx ends; an answer that does not come is nil. In
	// reports ranks are named by their places.
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
	out     []bool              // by place: see areOut
	reports []*telemetry.Report // by place, nil of those that are out
}

func ask(ctx context.Context, v Viewer, question string) *pulses {
	return answered(v, time.Now(), v.Ask(ctx, question))
}

// answered is a round that was begun at some time and has had these answers.
func answered(v Viewer, begun time.Time, reports []*telemetry.Report) *pulses {
	p := &pulses{begun: begun, reports: reports}
	p.ranks = v.Ranks() // after the answers: a rank that left meanwhile is seen to have left
	p.reports = p.reports[:min(len(p.reports), len(p.ranks))]
	p.out = areOut(p.ranks)
	for r := range p.reports {
		if p.out[r] {
			p.reports[r] = nil // it has died since, or ended
		}
	}
	return p
}

// areOut says of which ranks nothing is expected: those without which their job goes on, and those
// of jobs that are over, beside which others may go on.
func areOut(ranks []Rank) []bool {
	goesOn := make(map[string]bool) // by job
	for _, r := range ranks {
		if !r.isDead() && r.Phase != hang.Gone && r.Phase != hang.Vacant {
			goesOn[r.Job] = true
		}
	}
	out := make([]bool, len(ranks))
	for i, r := range ranks {
		out[i] = r.isDead() || r.Phase == hang.Vacant || !goesOn[r.Job]
	}
	return out
}

// haveJoined reports whether all ranks take part of which something is expected, and whether there
// are any.
func haveJoined(ranks []Rank, out []bool) bool {
	some := false
	for i, r := range ranks {
		if !out[i] && r.Phase != hang.Inside {
			return false
		}
		some = some || !out[i]
	}
	return some
}

func (r *Rank) isDead() bool { return r.Phase == hang.Dead }

// isOutside reports whether a rank has not come to Init.
func isOutside(r Rank) bool { return r.Phase == hang.Absent || r.Phase == hang.Outside }

// isWhole reports whether all ranks take part and have answered, but for those that are out.
func (p *pulses) isWhole() bool {
	if !haveJoined(p.ranks, p.out) || len(p.reports) != len(p.ranks) {
		return false
	}
	for r := range p.ranks {
		if p.reports[r] == nil && !p.out[r] {
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
	if len(p.reports) != len(q.reports) {
		return false // there are more jobs by now
	}
	for r := range p.reports {
		a, b := p.reports[r], q.reports[r]
		if p.ranks[r].Number != q.ranks[r].Number || (a == nil) != (b == nil) || a != nil && a.Pulse.Activity != b.Pulse.Activity {
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
		return lookBeside(ctx, v, dir, ranks, patience)
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

// lookBeside is Look where some rank has not come to Init: the others of its job are in Init, where
// they cannot answer, but those of other jobs can.
func lookBeside(ctx context.Context, v Viewer, dir string, ranks []Rank, patience time.Duration) *hang.Explanation {
	begins := make(map[string]bool) // by job
	for _, r := range ranks {
		begins[r.Job] = begins[r.Job] || isOutside(r)
	}
	asks := func(at int) bool { return at >= len(ranks) || !begins[ranks[at].Job] }
	pending := &pulses{ranks: ranks}
	for at, r := range ranks {
		if r.Phase == hang.Inside && asks(at) {
			within(ctx, patience, func(ctx context.Context) {
				pending = answered(v, time.Now(), v.AskSome(ctx, telemetry.AskPending, asks))
			})
			break
		}
	}
	return lookAgain(ctx, v, dir, pending, patience)
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
		h := hang.Rank{Job: rank.Job, Rank: rank.Rank, Phase: rank.Phase, Host: rank.Host, Process: at, Since: now.Sub(rank.Since)}
		if r < len(p.reports) {
			h.Report = p.reports[r]
		}
		j.Ranks = append(j.Ranks, h)
	}
	return j
}
