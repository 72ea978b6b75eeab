package mpi

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// A rank without open sessions is idle. It tells its partners so and waits for their answers.
// Signals and messages of a pair arrive in order, so a partner that answers has all that the rank
// has sent. A partner that is idle itself need not answer: nothing of what it got matters to it any
// more. Under the policy caller it could not answer.

// idleAnswers knows which partners have yet to answer.
type idleAnswers struct {
	mu      sync.Mutex
	missing []engine.PeerID // guarded by mu
	all     *engine.MSO     // guarded by mu: ends when no answer is missing; nil if no goroutine waits
}

// idleLocked makes the rank idle.
//
// Preconditions:
//   - j.life.mu is held, and nothing is open.
//   - what the rank has sent has left it.
func (j *job) idleLocked(ctx context.Context) error {
	l := &j.life
	l.idle = true
	j.finalized.Store(true)
	l.told = j.engine.Partners()
	awaited := slices.DeleteFunc(slices.Clone(l.told), j.engine.IsExcused)
	j.awaitAnswers(awaited, func() {
		for _, p := range l.told {
			if err := j.engine.Signal(p, 0, []byte{saysIdle}); err != nil {
				j.answers(p)
			}
		}
	})
	j.reportLosses()
	j.countOut()
	err := boot.Idle(ctx, j.session)
	j.pushMetrics()
	return err
}

// awaitAnswers runs ask, and waits until all have answered or are gone, for closeTimeout at most:
// what a rank has sent whose partner is busy for longer, and makes progress inside calls only, is
// with that partner's kernel by then.
func (j *job) awaitAnswers(from []engine.PeerID, ask func()) {
	a := &j.life.answers
	var all engine.MSO
	all.Kind = engine.KindGeneral
	j.engine.Post(&all, engine.Computes)
	a.mu.Lock()
	a.missing, a.all = from, &all
	a.mu.Unlock()
	ask()
	j.answers(-1)
	timer := time.AfterFunc(closeTimeout, j.endWait)
	stop := context.AfterFunc(j.ctx, j.endWait)
	j.engine.Wait(&all)
	timer.Stop()
	stop()
}

// answers notes that a peer has answered, or is gone; none if p is negative.
func (j *job) answers(p engine.PeerID) {
	a := &j.life.answers
	a.mu.Lock()
	a.missing = slices.DeleteFunc(a.missing, func(q engine.PeerID) bool { return q == p })
	ready := len(a.missing) == 0
	a.mu.Unlock()
	if ready {
		j.endWait()
	}
}

// endWait ends the wait for answers, if a goroutine waits.
func (j *job) endWait() {
	a := &j.life.answers
	a.mu.Lock()
	all := a.all
	a.all = nil
	a.mu.Unlock()
	if all != nil {
		j.engine.Complete(all, nil)
	}
}

// wakeLocked makes an idle rank take part again.
//
// Preconditions:
//   - j.life.mu is held.
func (j *job) wakeLocked() {
	l := &j.life
	if !l.idle {
		return
	}
	l.idle = false
	j.finalized.Store(false)
	j.faults.unpart()
	for _, p := range l.told {
		_ = j.engine.Signal(p, 0, []byte{saysAwake}) // to a rank that is gone, of which we hear
	}
	l.told = nil
	if err := boot.Wake(j.session); err != nil {
		j.logger.Warn("telling the launcher that a rank takes part again", "rank", j.engine.Rank(), "err", err)
	}
}

// hearIdle takes a signal about idle ranks. It reports whether it was one.
func (j *job) hearIdle(from engine.PeerID, payload []byte) bool {
	if len(payload) != 1 {
		return false
	}
	switch payload[0] {
	case saysIdle:
		j.engine.Excuse(from, true)
		j.answers(from)
		_ = j.engine.Signal(from, 0, []byte{saysIdled}) // to a rank that is gone, of which we hear
	case saysIdled:
		j.answers(from)
	case saysAwake:
		j.engine.Excuse(from, false)
	default:
		return false
	}
	return true
}

// unpart takes back what reportLosses has noted: that ranks lost from now on are lost because all
// ranks go.
func (f *faults) unpart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parted = false
}
