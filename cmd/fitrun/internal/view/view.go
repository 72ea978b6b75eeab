//go:build linux

// Package view is fitrun's picture of a running job: what its ranks say of themselves, asked when a
// caller wants to know, and what the launcher knows of them. The live page, the metrics of the job,
// the summary and the watch for deadlocks read it. None of them talks to ranks itself.
//
// A View observes one job, and those that its ranks spawn, each by a [Job]. Ranks of all of them
// are in one list, in which each has its place for as long as it is shown: the first job's begin
// it. In what ranks say, each is named by that place. If fitrun starts the first job again, the
// view is of the ranks that there are now. When no caller asks, ranks are not asked either.
package view

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Rank is what is known of a rank. What is in it is not changed afterwards.
type Rank struct {
	Rank    int    // in the world of its job
	Job     string // name of that, as of boot.Kin; "" of the job that fitrun began with
	Number  int    // among the ranks of all jobs, see boot.Kin
	Vacant  bool   // there is no rank in this place: its job was over, and is not shown any more
	Host    string
	Here    bool // on this machine
	Program string
	App     int
	Cores   int
	Bound   []int
	State   launch.State
	Since   time.Time // of State.Phase

	Pulse    *telemetry.Pulse       // the last, nil if none
	Counters *telemetry.Counters    // the last, nil if none; they stay when the rank has died
	Pulsed   time.Time              // when Pulse came
	Counted  time.Time              // when Counters came
	Traffic  map[int]telemetry.Peer // by place
	Wrong    error                  // why its last answer was not understood
	Metrics  string                 // where it serves its own metrics, as it reported; "" if it does not

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
	Rank   int    // place of the rank; -1 if it is of no rank
	Job    string // of the rank, as Rank.Job
	World  int    // Rank.Rank of the rank
	Text   string
}

// keptEvents is how many events are kept at least.
const keptEvents = 1000

// View is the picture. As a launch.Observer it is that of the job that fitrun begins with. Its
// methods may be called by any goroutine.
type View struct {
	*Job                // that fitrun begins with
	begun chan struct{} // closed by Begin
	over  chan struct{} // closed by End

	mu       sync.Mutex
	start    time.Time // guarded by mu, as all below
	end      time.Time // zero while the job runs
	ranks    []Rank    // by place
	jobs     []*Job    // that have begun and are shown
	ended    []*Job    // those of them that were spawned and are over, in that order
	vacant   []int     // places without a rank, ascending
	spawned  int       // jobs that ranks have spawned
	total    int       // ranks that there ever were, in this attempt
	restarts int       // attempts before this one
	knot     string    // why the job could not go on when that was found last, see Stuck; "" if it was not
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
	v := &View{begun: make(chan struct{}), over: make(chan struct{}), rounds: make(map[int]*round)}
	v.Job = &Job{view: v}
	return v
}

// Begun is closed when the job begins, Over when it is over.
func (v *View) Begun() <-chan struct{} { return v.begun }

// Over is closed when no rank runs any more. It never is if the job never begins.
func (v *View) Over() <-chan struct{} { return v.over }

// addTraffic notes what a rank says of its peers, of so many places. The rank may say anything, but
// not fill our memory with peers that there are not. The map is another one: a caller may read the
// old.
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
	e := Event{Number: v.nextEvt, At: time.Now(), Rank: rank, Text: text}
	if rank >= 0 {
		e.Job, e.World = v.ranks[rank].Job, v.ranks[rank].Rank
	}
	v.events = append(v.events, e)
	v.nextEvt++
}

// Ask asks all ranks that take part in the job a question and waits for their answers, for those
// that do not come until ctx ends. The reports are by place, nil where there is none; there are
// none at all before the job begins.
//
// A rank that has left many questions unanswered is asked now and then only, and not waited for in
// between: questions that a stopped process does not read are kept for it.
func (v *View) Ask(ctx context.Context, question string) []*telemetry.Report {
	return v.AskSome(ctx, question, func(*Rank) bool { return true })
}

// AskSome is Ask of those ranks that which chooses. It must not call methods of v.
func (v *View) AskSome(ctx context.Context, question string, which func(*Rank) bool) []*telemetry.Report {
	q, number, asked := v.newRound(which)
	if len(asked) == 0 {
		return q.reports
	}
	for to, ranks := range asked {
		to.Ask(ranks, number, question)
	}
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

// newRound chooses the ranks of a round: those of each job, by what tells them.
func (v *View) newRound(which func(*Rank) bool) (q *round, number int, asked map[launch.Control][]int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	q = &round{missing: make(map[int]bool), reports: make([]*telemetry.Report, len(v.ranks)), donec: make(chan struct{})}
	asked = make(map[launch.Control][]int)
	now := time.Now()
	for _, j := range v.jobs {
		for rank, at := range j.places {
			if to := &v.ranks[at]; to.mayAsk(now) && which(to) {
				to.owes, to.last = to.owes+1, now
				asked[j.to] = append(asked[j.to], rank)
				q.missing[at] = true
			}
		}
	}
	v.number++
	if len(asked) > 0 {
		v.rounds[v.number] = q
	}
	return q, v.number, asked
}

// control is what the job can be told, nil before it has begun.
func (v *View) control() launch.Control {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.to
}

// FoundStuck notes that the rank in a place can never go on, if it still is in the process pid: see
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

// Ranks returns what is known of every rank now, by place, nil before the job begins. The caller
// may change the slice, not what is in it.
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

// Totals returns how many jobs ranks have spawned, and how many ranks there have been in this
// attempt, those of jobs that are not shown any more among them.
func (v *View) Totals() (spawned, ranks int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.spawned, v.total
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
