//go:build linux

package launch

import (
	"fmt"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/plain"
)

// Observer watches a job. Its methods are called one at a time, but for Said and Spawned, which any
// goroutine calls at any time. None may block, and none may call Control's before Begin has
// returned.
type Observer interface {
	// Begin is called before the first process starts. The job is immutable. A job that is started
	// again begins again.
	Begin(job *Job, to Control)
	// Changed says that a rank is in another state.
	Changed(rank int, to State)
	// Answered is a rank's answer, JSON, to the question with a number. Whether it is sound is for
	// the observer to check.
	Answered(rank, number int, data []byte)
	// Reported is a fact that a rank tells of itself, such as boot.MetricsKey and an address.
	Reported(rank int, key, text string)
	// Said is a message that fitrun shows.
	Said(text string)
	// Spawned is what watches a job that a rank of this one has spawned; nil is nothing. That job
	// ends before this one does, and its Job.Kin says which it is.
	Spawned() Observer
	// End is called when no rank runs any more, and nothing else after it.
	End()
}

// Control is what an observer may do. Its methods may be called by any goroutine. They wait for the
// loop of the job at most, so they must not be called by the methods of the observer; when the job
// is over they do nothing.
type Control interface {
	// Ask asks ranks a question; those that do not run, or have not joined the job, are left out.
	Ask(ranks []int, number int, question string)
	// Say shows a message of fitrun.
	Say(text string)
	// Abort ends the job with an exit code and shows why.
	Abort(code int, why string)
}

// Phase is how far a rank is.
type Phase string

// The phases, in the order in which a rank passes through them; it may leave some out.
const (
	Waiting    Phase = "waiting"    // its process is not started yet
	Started    Phase = "started"    // its process runs, and has not joined the job
	Joined     Phase = "joined"     // it takes part
	Idle       Phase = "idle"       // it takes no part for now: all its sessions are finalized. It may take part again
	Finalizing Phase = "finalizing" // it is done with the others
	Over       Phase = "over"       // it has exited, or was never started
)

// State is what is known of a rank.
type State struct {
	Phase Phase
	PID   int // of its process; 0 until started
	Code  int // exit code of its own failure; 0 if it has not failed
	// Why says what it failed of, or that it was ended with the job: "was killed by signal 9
	// (killed)". Else "".
	Why string
	// Dead says that the job goes on without it: see Request.FT.
	Dead bool
}

var phases = [...]Phase{memberWaiting: Waiting, memberStarted: Started, memberJoined: Joined, memberIdle: Idle, memberFinalizing: Finalizing, memberOver: Over}

// changed, answered and reported are hands of the supervisor.

func (x *runner) changed(rank int) {
	if o := x.cfg.Observer; o != nil {
		m := &x.sup.members[rank]
		o.Changed(rank, State{phases[m.state], m.pid, m.code, plain.Line(m.why), m.dead})
	}
}

func (x *runner) answered(rank, number int, data []byte) {
	if o := x.cfg.Observer; o != nil {
		o.Answered(rank, number, data)
	}
}

func (x *runner) reported(rank int, key, text string) {
	if o := x.cfg.Observer; o != nil {
		o.Reported(rank, plain.Line(key), plain.Line(text))
	}
}

// control is the Control of a runner.
type control struct{ x *runner }

func (c control) Ask(ranks []int, number int, question string) {
	c.x.post(func(time.Time) {
		for _, r := range ranks {
			if c.x.sup.members[r].state == memberJoined {
				c.x.tell(r, boot.Event{Kind: boot.Asked, Rank: -1, Code: number, Message: question})
			}
		}
	})
}

func (c control) Say(text string) { c.x.post(func(time.Time) { c.x.say(text) }) }

func (c control) Abort(code int, why string) {
	c.x.post(func(now time.Time) { c.x.sup.abort(now, code, why) })
}

// abort ends the job by the word of its observer.
func (s *supervisor) abort(now time.Time, code int, why string) {
	if s.state != jobRunning {
		return
	}
	s.do.say(fmt.Sprintf("%s; the job was ended", why))
	s.code = code
	s.end(now, failGrace, boot.Event{Kind: boot.JobAborted, Rank: -1, Message: why, Code: code})
}
