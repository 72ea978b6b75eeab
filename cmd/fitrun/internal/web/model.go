//go:build linux

package web

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// picture is the job as the page shows it at one moment. It is immutable once made: browsers of
// different speed compare different pictures.
type picture struct {
	job    jobRow
	ranks  []rankRow // by place, at most shownRanks
	matrix matrix
	sizes  sizes
	states map[string]int // how many ranks are in which state, of all
	events []view.Event   // ascending by number
	pace   time.Duration  // for how long the ranks are left alone now
}

// shownRanks is how many ranks have rows of their own. What is shown of more is their number by
// state, and the matrix.
const shownRanks = 1024

// The states of a rank on the page.
const (
	stateWaiting    = "not started"
	stateStarted    = "starting"
	stateRunning    = "running" // it takes part, and has not said yet whether it waits
	stateComputing  = "computing"
	stateBlocked    = "waiting" // at least one of its goroutines is in an MPI call that cannot go on
	stateIdle       = "idle"
	stateFinalizing = "finalizing"
	stateExited     = "exited"
	stateFailed     = "failed"
	stateEnded      = "ended" // with the job, by no fault of its own
	stateVacant     = ""      // there is no rank in this place: none is shown
)

// The phases of the job on the page.
const (
	jobPreparing = "preparing"
	jobRunning   = "running"
	jobOver      = "over"
)

// jobRow is what the page says of the job.
type jobRow struct {
	Phase   string   `json:"phase"`
	Program string   `json:"program"` // of rank 0, without its directory; more says how many others there are
	More    int      `json:"more,omitempty"`
	Size    int      `json:"size"`   // ranks
	Places  int      `json:"places"` // in which ranks are, or were
	Hosts   []string `json:"hosts"`
	Start   int64    `json:"start"`   // Unix time in milliseconds, 0 before the job begins
	Elapsed int64    `json:"elapsed"` // milliseconds, until the end
	Group   int      `json:"group"`   // ranks of one row of the matrix
	Failure string   `json:"failure,omitempty"`
	Stuck   string   `json:"stuck,omitempty"` // why it does not go on
}

// rankRow is what the page says of a rank. It is comparable: what has not changed is not sent.
type rankRow struct {
	Place int    `json:"r"`             // index in picture.ranks
	Rank  int    `json:"rank"`          // in the world of its job
	Job   string `json:"job,omitempty"` // as view.Rank has it
	State string `json:"state"`
	Why   string `json:"why,omitempty"` // what it failed of; where it waits
	Since int64  `json:"since"`         // when it came into its phase, milliseconds after the start of the job
	Stale int64  `json:"stale,omitempty"`
	Host  int    `json:"host"` // index in jobRow.Hosts
	App   string `json:"app"`
	Cores int    `json:"cores"`
	Bound string `json:"bound,omitempty"` // processors, such as 0-3
	PID   int    `json:"pid,omitempty"`

	Known bool   `json:"known"` // it has given counters, from which follows all below
	Total period `json:"total"`
	Last  period `json:"last"` // between its last two answers; zero if there are no two
	Queue queues `json:"queue"`

	at     time.Duration // of its last counters, since it joined the job
	number int           // of the rank: another in the same place has another
}

// period is what a rank did in some time. Times are in milliseconds.
type period struct {
	Time     float64 `json:"time"`
	Waited   float64 `json:"waited"` // at least one of its goroutines waited
	Flight   float64 `json:"flight"` // of all operations together
	Hidden   float64 `json:"hidden"` // the part of it in which no goroutine waited
	Sent     uint64  `json:"sent"`   // bytes of payload
	Received uint64  `json:"received"`
	Messages uint64  `json:"messages"` // sent
}

// queues are what is queued at a rank at the moment of its last answer.
type queues struct {
	Requests   int `json:"requests"` // receives that are posted and not matched
	Events     int `json:"events"`   // messages that have arrived and no receive has asked for
	Active     int `json:"active"`   // operations that are posted and not complete
	Rendezvous int `json:"rendezvous"`
	Unsent     int `json:"unsent"` // bytes
	Used       int `json:"used"`   // bytes of the send buffer
	High       int `json:"high"`
	Budget     int `json:"budget"`
}

// input is what a picture is made from.
type input struct {
	ranks      []view.Rank
	start, end time.Time // zero if not yet
	now        time.Time
	events     []view.Event // all that are kept
	stuck      string       // why the job cannot go on, "" if it can
}

// draw makes a picture. What happened between two answers of a rank follows from prev, which may be
// nil.
func draw(in input, prev *picture) *picture {
	lines := 0
	for i := range in.ranks {
		lines += len(in.ranks[i].Traffic)
	}
	p := &picture{states: make(map[string]int), events: in.events, pace: pace(len(in.ranks), lines)}
	hosts := make(map[string]int)
	programs := make(map[string]bool)
	for i := range in.ranks {
		r := &in.ranks[i]
		if r.Vacant {
			if i < shownRanks {
				p.ranks = append(p.ranks, rankRow{Place: i, State: stateVacant, number: -1})
			}
			continue
		}
		p.job.Size++
		if _, ok := hosts[r.Host]; !ok {
			hosts[r.Host] = len(hosts)
			p.job.Hosts = append(p.job.Hosts, r.Host)
		}
		programs[r.Program] = true
		row := drawRank(r, &in, p.pace)
		row.Place, row.Host = i, hosts[r.Host]
		p.states[row.State]++
		if i < shownRanks {
			if prev != nil && i < len(prev.ranks) {
				row.compare(&prev.ranks[i])
			}
			p.ranks = append(p.ranks, row)
		}
		p.sizes.add(r)
	}
	p.job.fill(in, len(programs))
	p.matrix = drawMatrix(in.ranks)
	p.job.Group = p.matrix.group
	return p
}

func (j *jobRow) fill(in input, programs int) {
	j.Places, j.Phase = len(in.ranks), jobPreparing
	if len(in.ranks) == 0 {
		return
	}
	j.Phase, j.Start = jobRunning, in.start.UnixMilli()
	until := in.now
	if !in.end.IsZero() {
		j.Phase, until = jobOver, in.end
	}
	j.Elapsed = until.Sub(in.start).Milliseconds()
	j.Program, j.More = filepath.Base(in.ranks[0].Program), programs-1
	j.Failure, j.Stuck = failure(in.ranks), in.stuck
}

// failure names the rank that failed first, of those whose failure ends the job.
func failure(ranks []view.Rank) string {
	var first *view.Rank
	for i := range ranks {
		if r := &ranks[i]; r.State.Code != 0 && !r.State.Dead && (first == nil || r.Since.Before(first.Since)) {
			first = r
		}
	}
	if first == nil {
		return ""
	}
	return rankName(first.Rank, first.Job) + " " + cmp.Or(first.State.Why, "failed with code "+itoa(first.State.Code))
}

// rankName is what a rank is called.
func rankName(rank int, job string) string {
	if job == "" {
		return "rank " + itoa(rank)
	}
	return "rank " + itoa(rank) + " of spawned " + job
}

func drawRank(r *view.Rank, in *input, pace time.Duration) rankRow {
	row := rankRow{
		Rank: r.Rank, Job: r.Job, number: r.Number, App: filepath.Base(r.Program), Cores: r.Cores, Bound: intervals(r.Bound), PID: r.State.PID,
		Since: r.Since.Sub(in.start).Milliseconds(),
	}
	row.State, row.Why = stateOf(r)
	if silent := in.now.Sub(r.Pulsed); r.State.Phase == launch.Joined && r.Pulse != nil && silent > 3*pace {
		row.Stale = silent.Truncate(time.Second).Milliseconds()
	}
	if r.Counters != nil {
		row.Known, row.at = true, r.Counters.Elapsed
		row.count(r)
	}
	return row
}

// stateOf puts the state of a rank for people, and why it is in it.
func stateOf(r *view.Rank) (state, why string) {
	switch r.State.Phase {
	case launch.Waiting:
		return stateWaiting, ""
	case launch.Started:
		return stateStarted, ""
	case launch.Joined:
		return working(r)
	case launch.Idle:
		return stateIdle, ""
	case launch.Finalizing:
		return stateFinalizing, ""
	case launch.Over:
		switch {
		case r.State.Code != 0:
			return stateFailed, cmp.Or(r.State.Why, "failed with code "+itoa(r.State.Code))
		case r.State.Why != "":
			return stateEnded, r.State.Why
		}
		return stateExited, ""
	default:
		panic("web: bug: phase " + string(r.State.Phase))
	}
}

// working is the state of a rank that takes part.
func working(r *view.Rank) (state, why string) {
	switch {
	case r.State.Code != 0: // it is about to exit
		return stateFailed, r.State.Why
	case r.Pulse == nil:
		return stateRunning, ""
	case r.Pulse.Blocked+r.Pulse.Bounded > 0:
		return stateBlocked, where(r.Counters)
	}
	return stateComputing, ""
}

// where names the call that has waited longest, if it is known: "Recv at main.go:40 for 12 s and 2
// more".
func where(c *telemetry.Counters) string {
	if c == nil || len(c.Calls) == 0 || c.Calls[0].Op == "" {
		return ""
	}
	first := &c.Calls[0]
	text := first.Op
	if first.At != "" {
		text += " at " + filepath.Base(first.At)
	}
	if first.Since >= longWait {
		text += " for " + first.Since.Truncate(time.Second).String()
	}
	if more := len(c.Calls) - 1; more > 0 {
		text += " and " + itoa(more) + " more"
	}
	return text
}

// longWait is how long a call waits before the page says for how long.
const longWait = 2 * time.Second

// count fills in what follows from the counters.
func (row *rankRow) count(r *view.Rank) {
	s := &r.Counters.Stats
	row.Queue = queues{
		Requests: s.Posted, Events: s.EventQueue, Active: s.Active, Rendezvous: s.RendezvousSends + s.RendezvousReceives,
		Unsent: s.Unsent, Used: s.BufferUsed, High: s.BufferHighWater, Budget: s.BufferBudget,
	}
	t := &row.Total
	t.Time = millis(max(r.Counters.Elapsed, s.Waited))
	t.Waited, t.Flight, t.Hidden = millis(s.Waited), millis(s.Flights.Flight), millis(s.Flights.Hidden)
	t.Sent, t.Messages, t.Received = s.Self.Bytes, s.Self.Messages, s.SelfReceived.Bytes
	for _, w := range s.Ways {
		for _, x := range w.Sent {
			t.Sent += x.Bytes
			t.Messages += x.Messages
		}
		for _, x := range w.Received {
			t.Received += x.Bytes
		}
	}
}

// compare fills in what happened since the answer that prev shows.
func (row *rankRow) compare(prev *rankRow) {
	if !row.Known || !prev.Known || row.number != prev.number {
		return
	}
	if row.at == prev.at { // it has not answered since
		row.Last = prev.Last
		return
	}
	a, b := &prev.Total, &row.Total
	took := millis(row.at - prev.at)
	row.Last = period{
		Time: took, Waited: min(max(b.Waited-a.Waited, 0), took), Flight: max(b.Flight-a.Flight, 0), Hidden: max(b.Hidden-a.Hidden, 0),
		Sent: b.Sent - min(a.Sent, b.Sent), Received: b.Received - min(a.Received, b.Received), Messages: b.Messages - min(a.Messages, b.Messages),
	}
	if row.State == stateExited || row.State == stateEnded || row.State == stateFailed {
		row.Last = period{} // it does nothing any more
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// intervals puts ascending numbers for people: "0-2,5".
func intervals(ns []int) string {
	var b []byte
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		if b = append(b, itoa(ns[i])...); j > i {
			b = append(append(b, '-'), itoa(ns[j])...)
		}
		i = j + 1
	}
	return string(b)
}

// eventsSince are the events with numbers from first on.
func (p *picture) eventsSince(first int) []view.Event {
	at, _ := slices.BinarySearchFunc(p.events, first, func(e view.Event, n int) int { return e.Number - n })
	return p.events[at:]
}
