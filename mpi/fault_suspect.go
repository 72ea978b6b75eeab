package mpi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// suspect is told of a rank of which nothing is heard, and why that is held to mean that it is
// dead, or, with "", that it is heard again. It tells the launcher, or asks the kernel where there
// is none that could help. It reports whether either finds out.
func (j *job) suspect(peer engine.PeerID, why string) bool {
	if j.isForeign(peer) {
		return false // neither knows its process
	}
	why, answers := strings.CutSuffix(why, engine.Answers) // of no use to a launcher, which looks itself
	told, err := j.tellSuspect(peer, why)
	if told || err != nil {
		return told
	}
	return j.inquire(peer, why, answers)
}

// tellSuspect tells the launcher of a rank of which nothing is heard. If told, the launcher finds
// out, and says by boot.PeerFailed what came of it. It is not told if there is no launcher that
// could.
func (j *job) tellSuspect(peer engine.PeerID, why string) (told bool, err error) {
	if what, ok := strings.CutPrefix(why, engine.Unreachable); ok {
		why = boot.Unreachable + what
	}
	told, err = boot.Suspect(j.session, int(peer), why)
	if err != nil {
		j.logger.Debug("telling the launcher of a silent rank", "rank", j.engine.Rank(), "peer", peer, "err", err)
	}
	return told, err
}

// launchersWord is the cause of the failure of a rank of which the launcher has said that it
// failed.
type launchersWord struct{ text string }

func (w *launchersWord) Error() string { return w.text }

// awaitsWord reports whether a failure counts for agreements only when the launcher has said that
// it is one. Of two ranks that have lost each other one stays, and the launcher says which. Other
// ranks may hear of the failure of either from the other of the two. If they left out both, they
// would decide without the one that stays, and without telling it.
func (f *faults) awaitsWord(err *engine.PeerError) bool {
	if !f.worded || err.Left || errors.Is(err, engine.ErrStopped) {
		return false
	}
	_, said := errors.AsType[*launchersWord](err.Cause)
	return !said
}

// lostWait is how long the launcher has to say by itself why a connection broke: mostly because a
// process died.
const lostWait = time.Second

// lost sees to it that a peer which has failed for this rank fails for all. In a job that goes on
// without the dead no rank may be dead to some and alive to others. If the launcher does not soon
// say that the peer has failed, this rank tells the launcher.
func (j *job) reportLost(peer engine.PeerID, err *engine.PeerError) {
	if !j.faults.hasFT || err.Left || errors.Is(err, engine.ErrStopped) || j.isForeign(peer) {
		return
	}
	if _, ok := errors.AsType[*launchersWord](err.Cause); ok {
		return
	}
	if !j.faults.miss(peer, err.Cause) {
		return
	}
	time.AfterFunc(lostWait, func() { j.reportLoss(peer) })
}

// reportLoss tells the launcher of a rank that was lost, if it has neither said nor been told that
// by now.
func (j *job) reportLoss(peer engine.PeerID) {
	if cause, isNews := j.faults.claimMissed(peer); isNews && j.ctx.Err() == nil {
		_, _ = j.tellSuspect(peer, fmt.Sprint(boot.Lost, cause)) // an error is logged
	}
}

// reportLosses is for the end of this rank. The ranks that it has lost, and gone without, may live,
// or be stopped, and no other rank may be left that finds that. What is lost from now on is lost
// because all ranks go.
func (j *job) reportLosses() {
	f := &j.faults
	f.mu.Lock()
	f.parted = true
	missed := slices.Sorted(maps.Keys(f.missed))
	f.mu.Unlock()
	for _, peer := range missed {
		j.reportLoss(peer)
	}
}

// miss notes that a rank was lost. It reports false if that does not matter any more.
func (f *faults) miss(peer engine.PeerID, cause error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.parted {
		return false
	}
	if f.missed == nil {
		f.missed = make(map[engine.PeerID]error)
	}
	f.missed[peer] = cause
	return true
}

// claimMissed returns why a rank was lost, once, if the launcher has not said that it failed.
func (f *faults) claimMissed(peer engine.PeerID) (cause error, isNews bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cause, isNews = f.missed[peer]
	delete(f.missed, peer)
	return cause, isNews && !f.words[peer]
}

// said notes that the launcher has said that a rank failed.
func (f *faults) said(peer engine.PeerID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.words == nil {
		f.words = make(map[engine.PeerID]bool)
	}
	f.words[peer] = true
}
