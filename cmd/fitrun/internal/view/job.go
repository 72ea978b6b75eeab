//go:build linux

package view

import (
	"math"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Job is one of the jobs of a View: the one that fitrun began with, or one that a rank has spawned.
// It implements launch.Observer.
type Job struct {
	view *View // immutable

	// guarded by view.mu
	plan   *launch.Job // that of the last attempt; nil before Begin
	to     launch.Control
	places []int // by rank: index in View.ranks
}

// Beyond stands in reports for the place of a rank that is in none: that of another fitrun, or of a
// job that is not shown any more.
const Beyond = math.MaxInt32

// keptRanks is how many ranks of spawned jobs that are over are shown still. A job that is over is
// shown at least until another is.
const keptRanks = 256

// isFirst reports whether fitrun began with the job.
func (j *Job) isFirst() bool { return j == j.view.Job }

// Begin implements launch.Observer. For the first job it is called once for each attempt at it.
func (j *Job) Begin(plan *launch.Job, to launch.Control) {
	v := j.view
	v.mu.Lock()
	defer v.mu.Unlock()
	isAgain := j.plan != nil
	if isAgain {
		v.settleLocked()
		v.restarts++
		v.noteLocked(-1, "the job begins again")
	} else if j.isFirst() {
		v.start = time.Now()
	}
	j.plan, j.to = plan, to
	if j.isFirst() {
		v.knot, v.ranks, v.jobs, v.ended, v.vacant, v.total = "", nil, nil, nil, nil, 0
	} else {
		v.spawned++
	}
	v.total += len(plan.Ranks)
	j.enterLocked()
	if j.isFirst() && !isAgain {
		close(v.begun)
	}
}

// enterLocked gives the ranks of a job their places.
func (j *Job) enterLocked() {
	v, now := j.view, time.Now()
	v.jobs = append(v.jobs, j)
	j.places = make([]int, len(j.plan.Ranks))
	for rank := range j.places {
		if len(v.vacant) > 0 {
			j.places[rank], v.vacant = v.vacant[0], v.vacant[1:]
		} else {
			j.places[rank] = len(v.ranks)
			v.ranks = append(v.ranks, Rank{})
		}
	}
	for i := range j.plan.Processes {
		p := &j.plan.Processes[i]
		for _, r := range p.Ranks {
			info := &j.plan.Ranks[r].Info
			v.ranks[j.places[r]] = Rank{
				Rank: r, Job: j.plan.Kin.Name, Number: j.plan.Number(r),
				Host: p.Host, Here: p.Here, Program: p.Path, App: info.AppNum, Cores: info.Cores, Bound: info.Bound,
				State: launch.State{Phase: launch.Waiting}, Since: now, Traffic: make(map[int]telemetry.Peer),
			}
		}
	}
}

// settleLocked ends all questions: no rank answers them any more.
func (v *View) settleLocked() {
	for number := range v.rounds {
		for at := range v.ranks {
			v.arrivedLocked(number, at, nil)
		}
	}
}

// Changed implements launch.Observer.
func (j *Job) Changed(rank int, to launch.State) {
	v := j.view
	v.mu.Lock()
	defer v.mu.Unlock()
	at := j.places[rank]
	r := &v.ranks[at]
	if r.State.Phase != to.Phase {
		r.Since = time.Now()
		v.noteLocked(at, string(to.Phase))
	}
	r.State = to
	if to.Phase == launch.Over || to.Phase == launch.Finalizing || to.Phase == launch.Idle {
		for number := range v.rounds {
			v.arrivedLocked(number, at, nil)
		}
	}
}

// Answered implements launch.Observer.
func (j *Job) Answered(rank, number int, data []byte) {
	report, err := telemetry.Decode(data)
	v := j.view
	v.mu.Lock()
	defer v.mu.Unlock()
	at := j.places[rank]
	r := &v.ranks[at]
	r.owes = 0
	if r.Wrong = err; err == nil {
		report.Renumber(v.placeLocked)
		now := time.Now()
		r.Pulse, r.Pulsed = &report.Pulse, now
		if c := report.Counters; c != nil && (c.Last || r.Counters == nil || !r.Counters.Last) {
			r.Counters, r.Counted = c, now
			r.addTraffic(c.Peers, len(v.ranks))
		}
	}
	v.arrivedLocked(number, at, report)
}

// placeLocked is the place of the rank with a number, Beyond if it is in none.
func (v *View) placeLocked(number int) int {
	for _, j := range v.jobs {
		if rank := number - j.plan.Kin.First; rank >= 0 && rank < len(j.places) {
			return j.places[rank]
		}
	}
	return Beyond
}

// Reported implements launch.Observer.
func (j *Job) Reported(rank int, key, text string) {
	v := j.view
	v.mu.Lock()
	defer v.mu.Unlock()
	if key == boot.MetricsKey {
		v.ranks[j.places[rank]].Metrics = text
	}
}

// Said implements launch.Observer.
func (j *Job) Said(text string) { j.view.Note(-1, text) }

// Spawned implements launch.Observer: what a job spawns is beside it.
func (j *Job) Spawned() launch.Observer { return &Job{view: j.view} }

// End implements launch.Observer.
func (j *Job) End() {
	v := j.view
	v.mu.Lock()
	defer v.mu.Unlock()
	if !j.isFirst() {
		v.retireLocked(j)
		return
	}
	v.end = time.Now()
	v.settleLocked()
	close(v.over)
}

// retireLocked notes that a spawned job is over: its ranks are shown until there are too many such.
func (v *View) retireLocked(j *Job) {
	for number := range v.rounds {
		for _, at := range j.places {
			v.arrivedLocked(number, at, nil)
		}
	}
	v.ended = append(v.ended, j)
	kept := 0
	for _, e := range v.ended {
		kept += len(e.places)
	}
	for len(v.ended) > 1 && kept > keptRanks {
		kept -= len(v.ended[0].places)
		v.forgetLocked(v.ended[0])
		v.ended = slices.Delete(v.ended, 0, 1)
	}
}

// forgetLocked makes the places of a job that is over vacant.
func (v *View) forgetLocked(j *Job) {
	v.jobs = slices.DeleteFunc(v.jobs, func(x *Job) bool { return x == j })
	left := make(map[int]bool, len(j.places))
	for _, at := range j.places {
		left[at] = true
		v.ranks[at] = Rank{Vacant: true, State: launch.State{Phase: launch.Over}}
	}
	v.vacant = append(v.vacant, j.places...)
	slices.Sort(v.vacant)
	for at := range v.ranks {
		v.ranks[at].forget(left)
	}
}

// forget takes out of r what it says of places that are vacant now. What a caller may hold is not
// changed.
func (r *Rank) forget(left map[int]bool) {
	traffic := make(map[int]telemetry.Peer, len(r.Traffic))
	for at, p := range r.Traffic {
		if !left[at] {
			traffic[at] = p
		}
	}
	if len(traffic) < len(r.Traffic) {
		r.Traffic = traffic
	}
	if r.Counters == nil || !slices.ContainsFunc(r.Counters.Sites, func(s telemetry.Site) bool { return left[s.Peer] }) {
		return
	}
	c := *r.Counters
	c.Sites = slices.Clone(c.Sites)
	for i := range c.Sites {
		if left[c.Sites[i].Peer] {
			c.Sites[i].Peer = -1
		}
	}
	r.Counters = &c
}
