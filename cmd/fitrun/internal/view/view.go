//go:build linux

// Package view is fitrun's picture of a running job: what its ranks say of themselves, asked when a
// caller wants to know, and what the launcher knows of them. The live page, the metrics of the job,
// the summary and the watch for deadlocks read it. None of them talks to ranks itself.
//
// A View observes one job. If fitrun starts that job again, it observes the ranks that there are
// now. When no caller asks, ranks are not asked either.
package view

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Rank is what is known of a rank. What is in it is not changed afterwards.
type Rank struct {
	Rank    int
	Host    string
	Here    bool // on this machine
	Program string
	App     int
	Cores   int
	Bound   []int
	State   launch.State
	Since   time.Time // of State.Phase

	Pulse    *telemetry.Pulse    // the last, nil if none
	Counters *telemetry.Counters // the last, nil if none; they stay when the rank has died
	Pulsed   time.Time           // when Pulse came
	Counted  time.Time           // when Counters came
	Traffic  map[int]telemetry.Peer
	Wrong    error  // why its last answer was not understood
	Metrics  string // where it serves its own metrics, as it reported; "" if it does not

	// StuckAt is Pulse.Activity when it was found that the rank can never go on; 0 if it was not.
	// As long as it has done nothing since, that is so still.
	StuckAt uint64

	owes int       // questions since its last answer
	last time.Time // when it was asked last
}

// Event is something that happened.
type Event struct {
	Number int // from 0
	At     time.Time
	Rank   int // -1 if it is the job's
	Text   string
}

// keptEvents is how many events are kept at least.
const keptEvents = 1000

// View implements launch.Observer. Its methods may be called by any goroutine.
type View struct {
	begun chan struct{} // closed by Begin
	over  chan struct{} // closed by End

	mu       sync.Mutex
	job      *launch.Job    // guarded by mu, as all below; that of the last attempt
	to       launch.Control // likewise
	start    time.Time
	end      time.Time // zero while the job runs
	ranks    []Rank
	restarts int    // attempts before this one
	knot     string // why the job could not go on when that was found last, see Stuck; "" if it was not
	events   []Event
	nextEvt  int
	number   int            // of the last question
	rounds   map[int]*round // by number of the question
}

// round is a question to many ranks.
type round struct {
	missing map[int]bool
	reports []*telemetry.Report // by rank
	donec   chan struct{}       // closed when none is missing
}

// New makes the picture of a job that has not begun.
func New() *View {
	return &View{begun: make(chan struct{}), over: make(chan struct{}), rounds: make(map[int]*round)}
}

// Begun is closed when the job begins, Over when it is over.
func (v *View) Begun() <-chan struct{} { return v.begun }

// Over is closed when no rank runs any more. It never is if the job never begins.
func (v *View) Over() <-chan struct{} { return v.over }

// Begin implements launch.Observer. It is called once for each attempt at the job.
func (v *View) Begin(job *launch.Job, to launch.Control) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	isAgain := v.job != nil
	if isAgain {
		v.settleLocked()
		v.restarts++
		v.noteLocked(-1, "the job begins again")
	} else {
		v.start = now
	}
	v.job, v.to, v.knot = job, to, ""
	v.ranks = make([]Rank, len(job.Ranks))
	for i := range job.Processes {
		p := &job.Processes[i]
		for _, r := range p.Ranks {
			info := &job.Ranks[r].Info
			v.ranks[r] = Rank{
				Rank: r, Host: p.Host, Here: p.Here, Program: p.Path, App: info.AppNum, Cores: info.Cores, Bound: info.Bound,
				State: launch.State{Phase: launch.Waiting}, Since: now, Traffic: make(map[int]telemetry.Peer),
			}
		}
	}
	if !isAgain {
		close(v.begun)
	}
}

// settleLocked ends all questions: no rank answers them any more.
func (v *View) settleLocked() {
	for number := range v.rounds {
		for r := range v.ranks {
			v.arrivedLocked(number, r, nil)
		}
	}
}

// Changed implements launch.Observer.
func (v *View) Changed(rank int, to launch.State) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := &v.ranks[rank]
	if r.State.Phase != to.Phase {
		r.Since = time.Now()
		v.noteLocked(rank, string(to.Phase))
	}
	r.State = to
	if to.Phase == launch.Over || to.Phase == launch.Finalizing || to.Phase == launch.Idle {
		for number := range v.rounds {
			v.arrivedLocked(number, rank, nil)
		}
	}
}

// Answered implements launch.Observer.
func (v *View) Answered(rank, number int, data []byte) {
	report, err := telemetry.Decode(data)
	v.mu.Lock()
	defer v.mu.Unlock()
	r := &v.ranks[rank]
	r.owes = 0
	if r.Wrong = err; err == nil {
		now := time.Now()
		r.Pulse, r.Pulsed = &report.Pulse, now
		if c := report.Counters; c != nil && (c.Last || r.Counters == nil || !r.Counters.Last) {
			r.Counters, r.Counted = c, now
			r.addTraffic(c.Peers, len(v.ranks))
		}
	}
	v.arrivedLocked(number, rank, report)
}

// addTraffic notes what a rank says of its peers in a job of so many. The rank may say anything,
// but not fill our memory with peers that there are not. The map is another one: a caller may read
// the old.
func (r *Rank) addTraffic(peers []telemetry.Peer, ranks int) {
	traffic := make(map[int]telemetry.Peer, len(r.Traffic)+len(peers))
	maps.Copy(traffic, r.Traffic)
	for _, p := range peers {
		if p.Rank >= 0 && p.Rank < ranks {
			traffic[p.Rank] = p
		}
	}
	r.Traffic = traffic
}

// arrivedLocked notes an answer to a question, or that none will come.
func (v *View) arrivedLocked(number, rank int, report *telemetry.Report) {
	q := v.rounds[number]
	if q == nil || !q.missing[rank] {
		return
	}
	q.reports[rank] = report
	if delete(q.missing, rank); len(q.missing) == 0 {
		close(q.donec)
		delete(v.rounds, number)
	}
}

// Reported implements launch.Observer.
func (v *View) Reported(rank int, key, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if key == boot.MetricsKey {
		v.ranks[rank].Metrics = text
	}
}

// Said implements launch.Observer.
func (v *View) Said(text string) { v.Note(-1, text) }

// Note adds an event.
func (v *View) Note(rank int, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.noteLocked(rank, text)
}

func (v *View) noteLocked(rank int, text string) {
	if len(v.events) >= 2*keptEvents {
		v.events = slices.Clone(v.events[keptEvents:])
	}
	v.events = append(v.events, Event{v.nextEvt, time.Now(), rank, text})
	v.nextEvt++
}

// End implements launch.Observer.
func (v *View) End() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.end = time.Now()
	v.settleLocked()
	close(v.over)
}

// Ask asks all ranks that take part in the job a question and waits for their answers, for those
// that do not come until ctx ends. The reports are by rank, nil where there is none; there are none
// at all before the job begins.
//
// A rank that has left many questions unanswered is asked now and then only, and not waited for in
// between: questions that a stopped process does not read are kept for it.
func (v *View) Ask(ctx context.Context, question string) []*telemetry.Report {
	return v.AskSome(ctx, question, func(*Rank) bool { return true })
}

// AskSome is Ask of those ranks that which chooses. It must not call methods of v.
func (v *View) AskSome(ctx context.Context, question string, which func(*Rank) bool) []*telemetry.Report {
	q, number, ranks := v.newRound(which)
	if len(ranks) == 0 {
		return q.reports
	}
	v.control().Ask(ranks, number, question)
	select {
	case <-q.donec:
	case <-ctx.Done():
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.rounds, number)
	return slices.Clone(q.reports)
}

// mostOwed is how many questions a rank may leave unanswered before it is asked every askAgain
// only.
const (
	mostOwed = 16
	askAgain = 10 * time.Second
)

// mayAsk reports whether a rank is to be asked now.
func (r *Rank) mayAsk(now time.Time) bool {
	return r.State.Phase == launch.Joined && (r.owes < mostOwed || now.Sub(r.last) >= askAgain)
}

func (v *View) newRound(which func(*Rank) bool) (q *round, number int, ranks []int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	q = &round{missing: make(map[int]bool), reports: make([]*telemetry.Report, len(v.ranks)), donec: make(chan struct{})}
	now := time.Now()
	for r := range v.ranks {
		if to := &v.ranks[r]; to.mayAsk(now) && which(to) {
			to.owes, to.last = to.owes+1, now
			ranks = append(ranks, r)
			q.missing[r] = true
		}
	}
	v.number++
	if len(ranks) > 0 {
		v.rounds[v.number] = q
	}
	return q, v.number, ranks
}

// control is what the job can be told, nil before it has begun.
func (v *View) control() launch.Control {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.to
}

// FoundStuck notes that a rank can never go on, if it still is in the process pid: see
// Rank.StuckAt.
func (v *View) FoundStuck(rank, pid int, activity uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if rank < len(v.ranks) && v.ranks[rank].State.PID == pid {
		v.ranks[rank].StuckAt = activity
	}
}

// FoundKnot notes why the job cannot go on, once FoundStuck was called for the ranks that cannot.
func (v *View) FoundKnot(report string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.knot = report
}

// Stuck is why the job cannot go on, "" if it can for all that is known: as long as a rank that was
// found stuck has done nothing since.
func (v *View) Stuck() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.end.IsZero() && slices.ContainsFunc(v.ranks, func(r Rank) bool {
		return r.StuckAt != 0 && r.State.Phase != launch.Over && r.Pulse != nil && r.Pulse.Activity == r.StuckAt
	}) {
		return v.knot
	}
	return ""
}

// Control is what the job can be told.
//
// Preconditions:
//   - Begun is closed.
func (v *View) Control() launch.Control { return v.control() }

// Ranks returns what is known of every rank now, nil before the job begins. The caller may change
// the slice, not what is in it.
func (v *View) Ranks() []Rank {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.ranks)
}

// Times returns when the job began, and when it ended; zero if it has not.
func (v *View) Times() (start, end time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.start, v.end
}

// Restarts returns how often the job has begun again.
func (v *View) Restarts() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.restarts
}

// Events returns the events from number first on, as far as they are kept.
func (v *View) Events(first int) []Event {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, _ := slices.BinarySearchFunc(v.events, first, func(e Event, n int) int { return e.Number - n })
	return slices.Clone(v.events[at:])
}
