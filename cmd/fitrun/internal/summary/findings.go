//go:build linux

package summary

import (
	"cmp"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/engine"
)

// Kind is what would make a job faster.
type Kind string

// The kinds of findings.
const (
	LateSender    Kind = "late sender"   // ranks wait for messages of one that computes instead of sending
	LateReceiver  Kind = "late receiver" // ranks wait until one that computes receives
	Imbalance     Kind = "imbalance"     // ranks wait in collectives for those that have more to do
	TinyMessages  Kind = "tiny messages" // handling messages takes longer than what is in them is worth
	Oversubscribe Kind = "too few cores" // messages wait until a thread that would move them gets a core
	FullBuffer    Kind = "full buffer"   // senders wait for room in the library's send buffer
	Unexpected    Kind = "unexpected"    // messages come before their receives, and are copied once more
	Waiting       Kind = "waiting"       // much waiting, and no rank of which it could be said that it is late
)

// Finding is something that would make the job faster.
type Finding struct {
	Kind    Kind
	Ranks   []int   // whose fault it is, in order
	Victims []int   `json:",omitempty"` // the ranks that wait for them, in order
	Seconds float64 // lost, of all ranks together
	Share   float64 // of the time of all ranks
	Op      string  `json:",omitempty"` // the MPI call in which most of it is lost
	At      string  `json:",omitempty"` // where that is called, file:line
	Text    string  // the evidence, a sentence
	Advice  string  // what to do
}

const (
	// notable is the least share of the ranks' time that is worth a word.
	notable = 0.05
	// mostFindings is how many are named.
	mostFindings = 3
	// shortest is for how many seconds a job must run: before that it makes connections and warms
	// up.
	shortest = 0.1
	// muchWaiting is how much the ranks must wait for it to be named although no rank is late.
	muchWaiting = 0.3
	// accomplice is how much must be lost for a rank, as a share of what is for the worst, for it
	// to be named beside that one.
	accomplice = 0.25
)

// rank is one that has reported something.
type rank struct {
	*view.Rank
	time    float64 // seconds
	waiting float64 // of them
}

// collective is the seconds in which it waited in collectives.
func (r *rank) collective() float64 {
	in := r.Counters.Stats.Waits[engine.WaitCollective].Time
	open := time.Duration(0) // of one that has not finished: a wait that is not over is known by its place only
	for i := 0; i < len(r.Counters.Sites) && !r.Counters.Last; i++ {
		if s := &r.Counters.Sites[i]; s.Kind == engine.WaitCollective {
			open += s.Time
		}
	}
	return min(max(in, open).Seconds(), r.waiting)
}

// messageShare is the part of its time in which it waited for single messages.
func (r *rank) messageShare() float64 { return share(r.waiting-r.collective(), r.time) }

// job is the ranks that have reported something.
type job struct {
	ranks []*rank       // in order
	by    map[int]*rank // by number
	time  float64       // of all of them
}

func newJob(all []view.Rank) *job {
	j := &job{by: make(map[int]*rank)}
	for i := range all {
		c := all[i].Counters
		if c == nil || c.Elapsed <= 0 {
			continue
		}
		r := &rank{Rank: &all[i], time: c.Elapsed.Seconds(), waiting: c.Stats.Waited.Seconds()}
		j.ranks, j.by[r.Rank.Rank] = append(j.ranks, r), r
		j.time += r.time
	}
	return j
}

// advise finds what would make the job faster. The note says why nothing was found.
func advise(all []view.Rank) (found []Finding, note string) {
	j := newJob(all)
	if len(j.ranks) == 0 {
		return nil, "No rank has reported anything: none has joined the job, or all have ended at once."
	}
	longest := slices.MaxFunc(j.ranks, func(a, b *rank) int { return cmp.Compare(a.time, b.time) }).time
	if longest < shortest {
		return nil, "The job was too short to give advice."
	}
	for _, look := range []func() *Finding{
		func() *Finding { return j.late(sending) }, func() *Finding { return j.late(receiving) },
		j.imbalance, j.tinyMessages, j.tooFewCores, j.fullBuffer, j.unexpected,
	} {
		if f := look(); f != nil && f.Share >= notable {
			found = append(found, *f)
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.Share, a.Share) })
	found = found[:min(len(found), mostFindings)]
	if f := j.muchWaiting(); len(found) == 0 && f != nil {
		found = append(found, *f)
	}
	if len(found) == 0 {
		note = "Nothing stands out: " + Percent(1-j.waitingShare()) + " computing."
	}
	return found, note
}

// waitingShare is the part of the time of all ranks in which they wait.
func (j *job) waitingShare() float64 {
	waiting := 0.0
	for _, r := range j.ranks {
		waiting += min(r.waiting, r.time)
	}
	return share(waiting, j.time)
}

// numbers is the numbers of ranks.
func numbers(ranks []*rank) []int {
	ns := make([]int, len(ranks))
	for i, r := range ranks {
		ns[i] = r.Rank.Rank
	}
	slices.Sort(ns)
	return ns
}

// worst is the ranks for which most is lost, and all for which nearly as much is.
func (j *job) worst(lost map[int]float64) (ranks []*rank, all float64) {
	most := 0.0
	for _, l := range lost {
		most = max(most, l)
	}
	for _, r := range j.ranks {
		if l := lost[r.Rank.Rank]; l > 0 && l >= accomplice*most {
			ranks, all = append(ranks, r), all+l
		}
	}
	return ranks, all
}
