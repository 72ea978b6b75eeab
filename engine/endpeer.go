package engine

import (
	"errors"

	"github.com/fitmpi/fitmpi/engine/internal/core"
)

// How a peer ends, and with the engine all of them.

// failPeer ends all that needs the peer.
func (d *driver) failPeer(id PeerID, cause error) { d.endPeer(id, cause, false) }

func (d *driver) endPeer(id PeerID, cause error, left bool) {
	if !left && !d.e.gone(id) {
		d.e.stats.peersFailed.Add(1)
		d.e.stats.failedBy[failCauseOf(cause)].Add(1)
	}
	d.dropPeer(id, cause, left)
}

func (d *driver) dropPeer(id PeerID, cause error, left bool) {
	d.reached(id)
	if p := d.sessions[id]; p != nil {
		d.setBroke(p, 0)
	}
	d.e.mu.Lock()
	cut := d.e.core.Pending(id) > 0
	d.e.core.FailPeer(id, cause, left, d.sink(id))
	d.e.unlock()
	if c := d.conns[id]; c != nil {
		d.forget(c)
	}
	if l := d.e.laneTo(id); l != nil && !l.ended {
		d.e.local.drop(l)
		if cut || !l.saidBye {
			l.hangUp()
		}
	}
}

// abandonPeers ends every connection to a peer because the engine stops.
func (d *driver) abandonPeers() {
	for id, c := range d.conns {
		if c != nil {
			d.dropPeer(PeerID(id), core.ErrStopped, false)
		}
	}
	for id := range d.sessions {
		if d.isBroken(PeerID(id)) {
			d.dropPeer(PeerID(id), core.ErrStopped, false)
		}
	}
	if d.e.local != nil {
		for _, l := range d.e.local.inUse {
			d.dropPeer(l.peer, core.ErrStopped, false)
		}
	}
}

// close releases every descriptor.
func (d *driver) close() error {
	for _, s := range d.slots {
		if s.c != nil {
			d.forget(s.c)
		}
	}
	for id := range d.await {
		d.setAwait(PeerID(id), 0)
	}
	d.endAnswers()
	var err error
	if d.e.local != nil {
		err = d.e.local.close()
	}
	return errors.Join(err, d.hands.end(), d.closeListeners(), d.closePoller())
}

func (d *driver) closePoller() error {
	var err error
	if d.doze != nil {
		err = d.doze.Close()
	}
	return errors.Join(err, d.poller.Close())
}
