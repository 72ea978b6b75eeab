package mpi

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
)

// How ranks of several jobs part, and how they hear that one has died. The launcher tells its ranks
// which of them have died, and of jobs that it has started for them. Of a job that was met at a
// port it knows nothing. So each rank of a group that meets another watches some of that: it has a
// connection to each of them, whose end it notices. What it notices it tells the ranks of its own
// job that are in a communicator with that rank, and these tell it on as revocations are told on.

// watch connects this rank with those of another group that it is to watch: of n ranks the k-th has
// each n-th of them.
func (c *Comm) watch(others []identity) {
	for i := c.rank; i < len(others); i += c.Size() {
		if p, ok := c.job.peerOf(others[i]); ok && c.job.isForeign(p) {
			_ = c.job.engine.Signal(p, 0, []byte{saysNothing}) // that it is gone is heard
		}
	}
}

// foreignFailed is called when the launcher has said that a rank of another job failed. If this
// rank has never met it, that does not matter.
func (j *job) foreignFailed(who identity, why string) {
	p, ok := j.peerOf(who)
	if !ok || !j.isForeign(p) {
		return
	}
	j.engine.FailPeer(p, &launchersWord{why})
	j.accords.memberFailed(j.engine, p)
}

// foreignSaysLocked are the signals by which ranks of this job hear that one of another has failed.
//
// Preconditions:
//   - f.mu is held.
func (j *job) foreignSaysLocked(peer engine.PeerID, err *engine.PeerError) (out []outSignal) {
	if _, ok := errors.AsType[*launchersWord](err.Cause); ok {
		return nil // all have its word
	}
	who := j.processOf(peer)
	b := binary.AppendUvarint(append([]byte{saysForeign}, who.job...), uint64(who.rank))
	b = append(b, toldCause(err.Cause)...)
	for _, p := range successors(j.abroad.matesOf(j, peer), j.me(), j.faults.gone) {
		out = append(out, outSignal{p, 0, b})
	}
	return out
}

// hearForeign takes such a signal, what follows its first byte. It reports whether it is one.
func (j *job) hearForeign(payload []byte) bool {
	if len(payload) < jobLen {
		return false
	}
	rank, n := binary.Uvarint(payload[jobLen:])
	if n <= 0 || rank >= mostMembers {
		return false
	}
	if p, ok := j.peerOf(identity{string(payload[:jobLen]), int(rank)}); ok && j.isForeign(p) {
		j.engine.FailPeer(p, errors.New(string(payload[jobLen+n:])))
	}
	return true
}

// matesOf are the ranks of this job that are in a communicator with a rank of another, ascending.
func (a *abroad) matesOf(j *job, peer engine.PeerID) (mates []engine.PeerID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.comms {
		if !c.includes(peer) {
			continue
		}
		for _, p := range slices.Concat(c.group, c.peers) {
			if !j.isForeign(p) {
				mates = append(mates, p)
			}
		}
	}
	slices.Sort(mates)
	return slices.Compact(mates)
}

// note notes a communicator of the user's, if it has ranks of other jobs: this rank is connected
// with them until it is disconnected (MPI 4.1, section 11.10.4). That it is freed changes nothing:
// what was sent over it may still be on its way.
func (a *abroad) note(c *comm) {
	if !c.job.isMixed(c.group) && !c.job.isMixed(c.peers) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.comms, c) {
		a.comms = append(a.comms, c)
	}
}

// alone are the ranks of other jobs that are in c and in no other communicator that this rank has
// with them.
func (a *abroad) alone(c *comm) (peers []engine.PeerID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.aloneLocked(c)
}

func (a *abroad) aloneLocked(c *comm) (peers []engine.PeerID) {
	for _, id := range a.peers {
		if c.includes(id) && !slices.ContainsFunc(a.comms, func(d *comm) bool { return d != c && d.includes(id) }) {
			peers = append(peers, id)
		}
	}
	return peers
}

// forget takes a communicator out. It parts from those ranks of other jobs that are in no other,
// which are strangers again, so that they may be introduced anew.
func (a *abroad) forget(c *comm) {
	a.mu.Lock()
	alone := a.aloneLocked(c)
	a.comms = slices.DeleteFunc(a.comms, func(d *comm) bool { return d == c })
	maps.DeleteFunc(a.peers, func(_ identity, id engine.PeerID) bool { return slices.Contains(alone, id) })
	a.mu.Unlock()
	c.job.engine.Part(alone)
}

// meetAbroad waits until the ranks of other jobs that this rank is connected with have called
// Finalize, too (MPI 4.1, section 11.10.4), or are gone.
func (j *job) meetAbroad(ctx context.Context) {
	if !j.abroad.knows.Load() {
		return
	}
	j.abroad.mu.Lock()
	comms := slices.Clone(j.abroad.comms)
	j.abroad.mu.Unlock()
	var barriers []*Request
	for _, c := range comms {
		all := (&Comm{comm: c}).everyone()
		last := newComm(j, new(scope), all.Name(), all.rank, all.group, all.p2p)
		last.collSeq.Store(all.collSeq.Load())
		last.ctx = ctx
		last.SetErrhandler(ErrorsReturn)
		barriers = append(barriers, startBarrier(last, "Finalize"))
	}
	for _, r := range barriers {
		_, _ = r.wait() // of ranks that have failed nothing is awaited
	}
}
