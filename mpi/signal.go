//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/engine"

// What engines tell each other beside messages, by what the context is for. The goroutine that
// makes progress calls these functions, so they must not wait.

// onSignal takes a signal of another rank.
func (j *job) onSignal(from engine.PeerID, ctx engine.ContextID, payload []byte) {
	if j.mute.Load() {
		return
	}
	switch ctx & purposes {
	case 0:
		j.hear(from, ctx, payload)
	case agreePurpose:
		j.accords.receive(j.engine, from, ctx, payload)
	}
}

// onPeerGone learns that a rank has failed, or has left.
func (j *job) onPeerGone(peer engine.PeerID, err *engine.PeerError) {
	if j.mute.Load() {
		return
	}
	j.answers(peer)
	j.lose(peer, err)
	j.lost(peer, err)
	if err.Left && j.finalized.Load() {
		return // all ranks go: nothing is left to agree on
	}
	if j.faults.awaitsWord(err) {
		return // watch hears it
	}
	j.accords.lose(j.engine, peer)
}
