package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/jobtls"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// Ranks of several jobs reach each other once they have met: MPI 4.1, chapter 11, and
// docs/decisions/0071. A meeting has a name, a secret and numbers of its own for those that take
// part. By these they prove themselves in the handshake, as the ranks of one job do by the job's.

// Meeting is ranks of several jobs that are to reach each other.
type Meeting struct {
	Job    [16]byte // its public name, which no job and no other meeting has
	Secret []byte   // that they share; 32 bytes
	Rank   int      // of this rank in the meeting
	Size   int      // how many take part
}

// realm is ranks that share a secret: those of a job, or those of a meeting.
type realm struct {
	// Immutable, peers since introduce.
	Meeting
	peers    []PeerID         // by rank; noPeer where this rank was not introduced to the other. nil: peers have the numbers of their ranks
	identity *jobtls.Identity // nil unless connections are encrypted
}

// peer is the peer with a rank in r, noPeer if there is none.
func (r *realm) peer(rank uint32) PeerID {
	switch {
	case r.peers == nil:
		return PeerID(rank)
	case int(rank) < len(r.peers):
		return r.peers[rank]
	}
	return noPeer
}

// origin is as which rank of which realm a peer is known.
type origin struct {
	realm  *realm
	rank   int
	parted bool // goodbye is said to it. Changed with the progress right and the mutex held
	counts bool // Introduced.Counted; immutable
}

func newRealm(m Meeting, encrypted bool) (*realm, error) {
	r := &realm{Meeting: m}
	if !encrypted {
		return r, nil
	}
	var err error
	r.identity, err = jobtls.NewIdentity(m.Job, m.Secret, m.Rank, m.Size)
	return r, err
}

// originOf is as which rank of which realm a peer is known.
//
// Preconditions:
//   - the caller holds the progress right or the mutex.
func (d *driver) originOf(id PeerID) origin {
	if n := d.e.cfg.Size; int(id) >= n {
		return d.origins[int(id)-n]
	}
	return origin{realm: d.home, rank: int(id)}
}

// wins reports whether the connection that this rank dials to a peer stays, where both dial.
func (d *driver) wins(id PeerID) bool {
	o := d.originOf(id)
	return wire.DialWins(uint32(o.realm.Rank), uint32(o.rank))
}

// identityIn is the TLS identity of this rank in the realm with a name; nil if it is in none such.
// Any goroutine may call it.
func (d *driver) identityIn(name string) *jobtls.Identity {
	d.e.mu.Lock()
	defer d.e.mu.Unlock()
	if r := d.realmNamed(name); r != nil {
		return r.identity
	}
	return nil
}

// realmNamed is the realm whose TLS identity has the name; nil if there is none.
//
// Preconditions: those of originOf.
func (d *driver) realmNamed(name string) *realm {
	for _, r := range d.realms {
		if r.identity != nil && r.identity.Name() == name {
			return r
		}
	}
	return nil
}

// Introduced is a peer of a meeting.
type Introduced struct {
	Rank    int  // in the meeting
	Counted bool // what it counts is known where this rank's counts go: see Stats.LiveFrames
	PeerInfo
}

// introduction is peers to be entered by the holder of the progress right.
type introduction struct {
	realm   *realm
	peers   []Introduced
	ids     []PeerID      // of the peers, once entered has a value
	entered chan struct{} // capacity 1
}

// Introduce enters peers of another job into the bridge table and returns their numbers, which
// follow those of all peers that this rank had before. From then on each is a peer as the ranks of
// the job are, reached by TCP. A peer that was introduced before, in another meeting, becomes a
// second one. It fails if m or a peer's rank is impossible, if the meeting was entered before, and
// with ErrStopped when the engine stops. It waits for the goroutine that makes progress.
func (e *Engine) Introduce(m Meeting, peers []Introduced) ([]PeerID, error) {
	if err := m.check(peers); err != nil {
		return nil, err
	}
	r, err := newRealm(m, e.cfg.TLS)
	if err != nil {
		return nil, err
	}
	r.peers = slices.Repeat([]PeerID{noPeer}, m.Size)
	in := &introduction{realm: r, peers: peers, entered: make(chan struct{}, 1)}
	e.mu.Lock()
	for _, other := range e.drv.realms {
		if other.Job == m.Job {
			e.unlock()
			return nil, fmt.Errorf("engine: the meeting %x was entered before", m.Job)
		}
	}
	e.unlock()
	e.command(command{kind: cmdIntroduce, intro: in})
	for !e.pause(in.entered, time.Now().Add(drainTick)) {
		select {
		case <-in.entered: // by this goroutine, as there is no worker
			return in.ids, nil
		default:
		}
		if e.stopping.Load() {
			return nil, ErrStopped
		}
	}
	return in.ids, nil
}

func (m *Meeting) check(peers []Introduced) error {
	if len(m.Secret) < minSecret {
		return fmt.Errorf("engine: the secret of a meeting has %d bytes, need at least %d", len(m.Secret), minSecret)
	}
	seen := make(map[int]bool, len(peers)+1)
	seen[m.Rank] = true
	if m.Rank < 0 || m.Rank >= m.Size {
		return fmt.Errorf("engine: rank %d of a meeting of %d", m.Rank, m.Size)
	}
	for _, p := range peers {
		if p.Rank < 0 || p.Rank >= m.Size || seen[p.Rank] || p.Way != TCP {
			return fmt.Errorf("engine: rank %d cannot be introduced in a meeting of %d, by %v", p.Rank, m.Size, p.Way)
		}
		seen[p.Rank] = true
	}
	return nil
}

// introduce enters peers.
//
// Preconditions:
//   - the caller holds the progress right.
func (d *driver) introduce(in *introduction) {
	e, n := d.e, len(in.peers)
	e.mu.Lock()
	for _, p := range in.peers {
		id := PeerID(len(d.bridge))
		in.realm.peers[p.Rank] = id
		in.ids = append(in.ids, id)
		d.bridge = append(d.bridge, p.PeerInfo)
		d.origins = append(d.origins, origin{realm: in.realm, rank: p.Rank, counts: p.Counted})
	}
	d.realms = append(d.realms, in.realm)
	e.core.AddPeers(n)
	e.waits.byPeer = append(e.waits.byPeer, make([]PeerWait, n)...)
	e.counts.framesIn = append(e.counts.framesIn, make([]uint64, n)...)
	e.unlock()
	d.conns = append(d.conns, make([]*conn, n)...)
	d.sessions = append(d.sessions, make([]*peerSession, n)...)
	d.await = append(d.await, make([]int64, n)...)
	in.entered <- struct{}{}
}

// DrainTo waits until nothing is under way between this rank and some peers: what was sent to them
// has left, and what they have announced is here. It makes progress if nothing else does. It fails
// with the cause of ctx when that ends first, and with ErrStopped when the engine stops.
func (e *Engine) DrainTo(ctx context.Context, ids []PeerID) error {
	for {
		e.mu.Lock()
		owes := slices.ContainsFunc(ids, e.core.Owes)
		e.unlock()
		switch {
		case !owes:
			return nil
		case e.stopping.Load():
			return ErrStopped
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		e.pause(nil, time.Now().Add(drainTick))
	}
}

// Part says goodbye to peers that were introduced, and hears theirs: nothing more is to be sent to
// them or received from them. It does not wait. A peer of the job itself is left as it is.
//
// Preconditions:
//   - nothing is under way between this rank and those peers, as after DrainTo at both.
func (e *Engine) Part(ids []PeerID) {
	for _, id := range ids {
		if int(id) >= e.cfg.Size {
			e.command(command{kind: cmdPart, peer: id})
		}
	}
}

// part is Part of one peer by the holder of the progress right.
func (d *driver) part(id PeerID) {
	d.e.mu.Lock()
	d.origins[int(id)-d.e.cfg.Size].parted = true
	d.e.mu.Unlock()
	switch c := d.conns[id]; {
	case c != nil && c.state == connOpen:
		c.sayBye()
		d.flush(id)
	case c != nil && !d.isOwed(c):
		d.forget(c)
		d.setAwait(id, 0)
	}
}

// isParting reports whether goodbye is said to a peer as soon as there is a connection.
func (d *driver) isParting(id PeerID) bool {
	return d.saying.Load() || d.originOf(id).parted
}
