package mpi

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// What is done about a silent peer where no launcher can look at its process. A rank of the same
// machine that numbers processes in the same way asks the kernel, as a crew does. A process that
// the kernel runs is alive and is left alone, and so is one that is held in a debugger; if it stays
// silent the kernel is asked again after the next timeout. A process that is stopped, has not run
// or is gone has failed. Of a peer elsewhere nothing can be asked. If its host acknowledges what it
// is sent, its process is there. Then it counts as failed for its silence only if the user has said
// after which time it does, by FITMPI_HEARTBEAT_TIMEOUT: a job that is well is not ended by
// default.

// inquiries are those about the silent peers of a rank.
type inquiries struct {
	procs []procID // of each rank of which the kernel can be asked, zero of others; immutable after connect

	mu    sync.Mutex
	open  map[engine.PeerID]context.CancelFunc // ends an inquiry without a verdict; guarded by mu
	said  map[engine.PeerID]bool               // it was said why the peer is not taken for dead; guarded by mu
	ended bool                                 // nothing is asked any more; guarded by mu
}

// procID is a process as the kernel knows it.
type procID struct {
	pid   int
	began string // as sys.StartOf: another process may have the number of one that is gone
}

// procsOf are the processes of the ranks of which the rank me can ask the kernel, zero of others.
func procsOf(cards []card, me int) []procID {
	procs := make([]procID, len(cards))
	for r := range cards {
		if c := &cards[r]; c.PIDs != "" && c.Began != "" && c.PIDs == cards[me].PIDs && c.Place == cards[me].Place {
			procs[r] = procID{c.PID, c.Began}
		}
	}
	return procs
}

// inquire finds out whether a silent peer is dead; with an empty text it is heard again. answers
// says that its host does. It reports false if the silence is all that counts.
func (j *job) inquire(peer engine.PeerID, why string, answers bool) bool {
	q := &j.asked
	switch {
	case why == "", strings.HasPrefix(why, engine.Unreachable), q.procs == nil:
		q.withdraw(peer) // if the way to it is lost, it does not help that its process may run
		return false
	case q.procs[peer].pid == 0:
		j.decideUnasked(peer, why, answers)
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, isOpen := q.open[peer]; isOpen || q.ended {
		return true
	}
	if q.open == nil {
		q.open = make(map[engine.PeerID]context.CancelFunc)
	}
	ctx, cancel := context.WithCancel(j.ctx)
	q.open[peer] = cancel
	j.events.Go(func() { // stopped by withdraw or end
		lives, what := askKernel(ctx, q.procs[peer], cmp.Or(j.set.HeartbeatTimeout, engine.DefaultHeartbeatTimeout))
		switch counts, isNews := q.conclude(ctx, peer, lives); {
		case !counts:
		case !lives:
			j.silent(peer, fmt.Sprintf("%s, and its process (pid %d) %s", why, q.procs[peer].pid, what))
		case isNews:
			j.logger.Warn(fmt.Sprintf("rank %d: %s; %s, so it is not taken for dead", peer, why, what), "rank", j.engine.Rank())
		}
	})
	return true
}

// decideUnasked decides about a silent peer of which the kernel cannot be asked here.
func (j *job) decideUnasked(peer engine.PeerID, why string, answers bool) {
	text := unasked(why, answers)
	switch {
	case !answers || j.set.HeartbeatTimeout != 0: // the user has given one
		j.silent(peer, text+", and FITMPI_HEARTBEAT_TIMEOUT says how long a rank may be silent")
	case j.asked.isNews(peer):
		j.logger.Warn(fmt.Sprintf("rank %d: %s, so it is not taken for dead; FITMPI_HEARTBEAT_TIMEOUT=%v takes such a rank for dead after that time",
			peer, text, engine.DefaultHeartbeatTimeout), "rank", j.engine.Rank())
	}
}

// silent says that a peer has failed, for its silence.
func (j *job) silent(peer engine.PeerID, why string) {
	j.engine.FailPeer(peer, &engine.SilentError{Host: j.engine.Peer(peer).Host, Why: why})
}

// unasked is what is known of a peer that is silent, and of which the kernel cannot be asked here.
func unasked(why string, answers bool) string {
	if answers {
		why += engine.Answers
	}
	return why + ": its process may be stopped, or its runtime may let nothing run (a loop without calls with GODEBUG=asyncpreemptoff=1, a long step of a reduction); " +
		"no launcher looks at it"
}

// isNews reports whether it is the first time that a peer is not taken for dead.
func (q *inquiries) isNews(peer engine.PeerID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	isNews := !q.said[peer]
	q.saidOf(peer)
	return isNews
}

// saidOf notes that it was said of a peer why it is not taken for dead.
//
// Preconditions:
//   - q.mu is held.
func (q *inquiries) saidOf(peer engine.PeerID) {
	if q.said == nil {
		q.said = make(map[engine.PeerID]bool)
	}
	q.said[peer] = true
}

// conclude ends an inquiry. It reports whether its verdict counts, and whether it is the first that
// the peer lives.
func (q *inquiries) conclude(ctx context.Context, peer engine.PeerID, lives bool) (counts, isNews bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ctx.Err() != nil {
		return false, false
	}
	q.open[peer]()
	delete(q.open, peer)
	if isNews = lives && !q.said[peer]; isNews {
		q.saidOf(peer)
	}
	return true, isNews
}

// withdraw ends the inquiry about a peer that is heard again.
func (q *inquiries) withdraw(peer engine.PeerID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if cancel := q.open[peer]; cancel != nil {
		cancel()
		delete(q.open, peer)
	}
}

// end ends all inquiries, for good.
func (q *inquiries) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	for _, cancel := range q.open {
		cancel()
	}
	clear(q.open)
}

// inquiryLooks is how often an inquiry looks at a process in the time for which a rank may be
// silent. A process that has not run for half of that time has missed two beats at the least.
const inquiryLooks = 8

// askKernel finds out whether a process lives, and what it does. It takes half of the timeout at
// most, and an eighth for a process that runs. The answer means nothing once ctx has ended.
func askKernel(ctx context.Context, p procID, timeout time.Duration) (lives bool, what string) {
	var v sys.Vigil
	every := max(timeout/inquiryLooks, 1)
	t := time.NewTicker(every)
	defer t.Stop()
	last := time.Now()
	for first, passed := true, time.Duration(0); ; first = false {
		switch s := sys.StateOf(p.pid); {
		case s.Gone, sys.StartOf(p.pid) != p.began:
			return false, "is gone"
		case s.Tracer != 0:
			return true, fmt.Sprintf("process %d traces it", s.Tracer)
		case s.Stopped:
			return false, "is stopped by a signal"
		}
		switch idle := v.Look([]int{p.pid}, passed); {
		case idle == 0 && !first:
			return true, "its process runs"
		case idle >= timeout/2 && !first:
			return false, fmt.Sprintf("has not run for %v", idle.Round(time.Millisecond))
		}
		select {
		case <-ctx.Done():
			return false, ""
		case <-t.C:
		}
		now := time.Now()
		passed = min(now.Sub(last), 2*every) // a rank that looks late was stopped too
		last = now
	}
}
