// Package hang explains why a job does not go on. From what its ranks say of themselves
// ([telemetry.Pending]) it finds the ranks that can never go on again, and the circles in which
// they wait for each other. It finds the messages that nearly match the receives that miss them,
// and the collectives to which some rank has not come. It puts all that into words.
//
// It is pure: reports go in, an [Explanation] comes out. Its callers (package
// internal/hang/quiesce) ask the ranks, choose the time, and know whether the answers are of one
// moment at which the job was quiescent. They say so by Job.Settled.
//
// # Ranks that can never go on
//
// A rank goes on if one of its goroutines does: one that computes or waits for something outside,
// or one in a call for which enough of what it waits for can still come. What a call waits for
// comes from other ranks. A receive from a rank needs that rank, and one from any rank needs one of
// them. A collective needs all ranks with which it still has messages to exchange. A call that
// waits for several operations needs as many of them as it says. So "these ranks can never go on"
// is the largest set of ranks in which each needs others of the set, or ranks that are gone.
// [Explain] begins with all ranks, and takes out those that may go on until none is left to be
// taken out. That finds knots of wildcard receives, and of calls that wait for one of several
// operations, of which no single circle is the reason.
//
// All that is not known counts as able to go on: a rank that has not answered, or whose list of
// calls was too long to be reported. So does a rank that was asked only once, or had gone on when
// it was asked again. For ranks answer one after the other, and such answers of a job that is well
// show circles in which no two ranks ever waited at the same time. A signal for which a rank waits
// (signal.NotifyContext) may start something that no report shows. Such a rank counts as able to go
// on if there is a knot without it. If not, the ranks are stuck unless a signal comes, and
// [Explanation].Signals says which ranks wait for one.
//
// # Several jobs
//
// Ranks of jobs that have spawned each other (MPI 4.1, section 11.8) are ranks of one Job here, in
// one list, and reports name them by their places in it. So a circle through two jobs is one like
// any other. Words name a rank by its job too, unless that is the first.
package hang

import (
	"time"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Phase is how far a rank is.
type Phase uint8

const (
	// Absent: its process has not been started yet.
	Absent Phase = iota
	// Outside: its process runs, and has not called Init.
	Outside
	// Inside: it takes part in the job.
	Inside
	// Idle: all its sessions are finalized. It may open others.
	Idle
	// Gone: it has finalized or exited, so that nothing more comes from it.
	Gone
	// Dead: it has died, and the job goes on without it.
	Dead
	// Vacant: there is no rank in this place.
	Vacant
)

func (p Phase) String() string {
	switch p {
	case Absent:
		return "not started"
	case Outside:
		return "has not called mpi.Init"
	case Inside:
		return "takes part"
	case Idle:
		return "is idle"
	case Gone:
		return "finished"
	case Dead:
		return "dead"
	case Vacant:
		return "vacant"
	default:
		panic("hang: bug: unknown phase")
	}
}

// MarshalText makes a phase readable in JSON.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Rank is what is known of a rank.
type Rank struct {
	Job     string // its job, as of boot.Kin; "" is the first, whose ranks have the places of their numbers
	Rank    int    // in the world of its job, if that is another
	Phase   Phase
	Host    string
	Process int               // ranks of one process have the same number, of others another
	Since   time.Duration     // for how long it has been in Phase
	Report  *telemetry.Report // nil if it has not answered
	// Still says that it was asked twice, the second time when all had answered the first, and had
	// done nothing in between: what it said both times was true of it at one moment, the same for
	// all such ranks. In a settled job all are still.
	Still bool
}

// hasLeft reports whether nothing more comes from the rank.
func (r *Rank) hasLeft() bool { return r.Phase == Gone || r.Phase == Dead || r.Phase == Vacant }

// pending is what the rank has begun and not finished, nil if that is not known.
func (r *Rank) pending() *telemetry.Pending {
	if r.Report == nil || r.Phase != Inside {
		return nil
	}
	return r.Report.Pending
}

// Job is what is known of a job.
type Job struct {
	Ranks []Rank
	// Settled says that the reports are of one moment at which the job was quiescent. Nothing was
	// in flight, and no rank has done anything between its report and that moment. Nor is anything
	// left that the garbage collector would start. Only then can ranks be said to be deadlocked.
	Settled bool
	// Dir is a directory; source files below it are named from there. "" if none.
	Dir string
}

// isStill reports whether what a rank has said was true at the moment that is spoken of.
func (j *Job) isStill(r int) bool { return j.Settled || j.Ranks[r].Still }

// Explanation is why ranks wait. It does not change once made. Ranks are named by their places in
// Ranks.
type Explanation struct {
	// Stuck are the ranks that can never go on, if the job is settled; else those that are still
	// and wait for each other only: something may be on its way to them.
	Stuck   []int
	Settled bool
	// Signals are those of the stuck ranks that wait for signals as well, if only a signal to one
	// of them could let them go on.
	Signals []int `json:",omitempty"`
	// Knots are the ends of the chains in which stuck ranks wait for each other: the reasons.
	Knots []Knot `json:",omitempty"`
	// Mismatches are messages that a receive nearly matches.
	Mismatches []Mismatch `json:",omitempty"`
	// Unreceived are blocked sends for which no receive is posted, not even one that nearly
	// matches. There are none if the job is not settled: the receive may be posted, and its message
	// on its way.
	Unreceived []Unreceived `json:",omitempty"`
	// Collectives are those in which ranks wait.
	Collectives []Collective `json:",omitempty"`
	Ranks       []Situation

	job *Job
}

// Situation is what a rank is doing.
type Situation struct {
	Rank    int    // its place
	Name    string `json:",omitempty"` // "rank 0 of spawned 2", where its job is not the first
	Host    string
	Phase   Phase
	Stuck   bool
	Silent  bool               // it takes part, and has not answered
	Pending *telemetry.Pending `json:",omitempty"`
}

// IsDeadlock reports whether some ranks can never go on, for certain.
func (e *Explanation) IsDeadlock() bool { return e.IsStuck() && len(e.Signals) == 0 }

// IsStuck reports whether some ranks can never go on, for certain, unless a signal comes to one of
// Signals.
func (e *Explanation) IsStuck() bool { return e.Settled && len(e.Stuck) > 0 }

// Explain says why the ranks of j wait. Neither j nor the reports in it may be changed afterwards.
func Explain(j *Job) *Explanation {
	g := newGraph(j, true)
	e := &Explanation{Settled: j.Settled, Stuck: g.stuckRanks(), job: j}
	if len(e.Stuck) == 0 {
		g = newGraph(j, false)
		e.Stuck, e.Signals = g.stuckRanks(), g.waitForSignals()
	}
	e.Knots = g.knots()
	e.Collectives = collectives(j)
	e.Mismatches = mismatches(j, g)
	e.Unreceived = unreceived(j, e.Mismatches)
	for r := range j.Ranks {
		rank := &j.Ranks[r]
		name := ""
		if rank.Job != "" {
			name = j.name(r)
		}
		e.Ranks = append(e.Ranks, Situation{
			Rank: r, Name: name, Host: rank.Host, Phase: rank.Phase, Stuck: g.stuck[r], Pending: rank.pending(),
			Silent: rank.Phase == Inside && rank.pending() == nil,
		})
	}
	return e
}
