package core

import (
	"errors"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// Local is what a peer of this host offers beyond the stream of frames: a ring into which a frame
// is put at once, and memory that its receiver may fetch for itself. Offers are made, changed and
// withdrawn with the mutex held.
type Local interface {
	// Put sends a frame if there is room for it. Called with the mutex held. (In
	// words: a pointer behind an interface would put every header on the heap.)
	Put(h wire.Words, payload []byte) bool
	// Offer lets the peer fetch b, the payload of message id. It reports false if
	// that is not possible: the message goes by CTS and Data then. So it does if that is faster,
	// where helps says that a caller with a core of its own waits for this message alone.
	Offer(id uint64, b []byte, helps bool) bool
	// Renew says that the payload lies in b now, a copy. While the peer is fetching it reports
	// false, unless must is set. Then a peer in another process fetches that part again, and a peer
	// of this process is waited for.
	Renew(id uint64, b []byte, must bool) bool
	// Withdraw ends the offer: when it returns the peer does not read the memory any more.
	Withdraw(id uint64)
	// Fetch copies what fs say, and says what became of each. Called by the holder of the progress
	// right, without the mutex.
	Fetch(fs []Fetch)
	// FetchPart is how many bytes one Fetch is to copy of a payload of total bytes; the last may
	// copy less. In between the sockets and rings are looked at, and other payloads have their
	// turn, unless this one is alone.
	FetchPart(total int, alone bool) int
	// FetchTogether is how many bytes of several payloads, each as a whole, one Fetch may be asked
	// for; 0 if that gains nothing.
	FetchTogether() int
	// EndFetch gives up: when it returns nothing writes to dst any more.
	EndFetch(id uint64)
}

// Fetch is a part of a payload to be fetched: bytes [Off, Off+N) of the peer's message ID. They go
// to the same place in Dst, which is for all of the message that is wanted.
type Fetch struct {
	ID     uint64
	Dst    []byte
	Off, N int
	Err    error

	m *MSO
}

// Outcomes of a Fetch other than success.
var (
	ErrMoving = errors.New("the sender is moving the payload")
	ErrShared = errors.New("the sender has copied the rest") // all from Off on: it had nothing better to do
)

// MaxTogether is how many payloads are fetched together at most.
const MaxTogether = 16

// SetLocal says that a peer is reached by n, and that payloads up to eager bytes go
// there without permission.
func (c *Core) SetLocal(id PeerID, n Local, eager int) {
	p := c.peers[id]
	p.local, p.eager = n, max(min(eager, c.cfg.EagerMax), c.cfg.ShortMax)
	c.posted.quietMax = min(c.posted.quietMax, p.eager)
}

// putNow sends a frame past the stream, which must be empty for that.
func (p *Peer) putNow(h wire.Words, payload []byte) bool {
	return p.local != nil && p.queued == 0 && p.local.Put(h, payload)
}

// offer lets the peer fetch the payload of m, if it can.
func (c *Core) offer(p *Peer, m *MSO, h *wire.Header) {
	if p.local != nil && m.Layout == nil && p.local.Offer(m.id, m.Buf, m.Stays && !c.awaitsLong()) {
		m.offered = true
		h.Flags |= wire.FlagPull
	}
}

// awaitsLong reports whether this rank has posted a receive of a long message, or gets one.
func (c *Core) awaitsLong() bool {
	return c.posted.len() != c.posted.quiet || c.stats.RendezvousReceives > 0
}

// withdrawOffer ends the offer of a send, if there is one.
func (c *Core) withdrawOffer(m *MSO) {
	if m.offered {
		m.offered = false
		c.peers[m.Peer].local.Withdraw(m.id)
	}
}

// renew changes the memory of a send whose owner leaves. It reports false while
// the peer is fetching it, unless it must.
func (c *Core) renew(m *MSO, b []byte, must bool) bool {
	return !m.offered || c.peers[m.Peer].local.Renew(m.id, b, must)
}

// Offered returns the id under which the peer may fetch m's payload, if it may. Only for the holder
// of the progress right, while it waits for m.
func (m *MSO) Offered() (id uint64, ok bool) { return m.id, m.offered }

// startFetch puts a receive whose payload we may fetch on the list.
func (c *Core) startFetch(m *MSO) {
	c.addReceive(m)
	m.moved = 0
	c.fetches.push(m)
}

// nextFetch is the job of the next chunk, or of several payloads of one peer.
func (c *Core) nextFetch() (Job, bool) {
	m := c.fetches.pop()
	if m == nil {
		return Job{}, false
	}
	near := c.peers[m.Source].local
	n := min(near.FetchPart(m.total, c.fetches.head == nil), m.total-m.moved)
	fs := append(c.fetching[:0], m.fetchPart(n))
	for most := near.FetchTogether() - m.total; len(fs) < MaxTogether; most -= n {
		if m = c.fetches.head; m == nil || m.total > most || m.moved > 0 || c.peers[m.Source].local != near {
			break
		}
		c.fetches.pop()
		n = m.total
		fs = append(fs, m.fetchPart(n))
	}
	return Job{kind: jobFetch, local: near, fetches: fs}, true
}

func (m *MSO) fetchPart(n int) Fetch {
	return Fetch{ID: m.remote, Dst: m.Buf[:m.total], Off: m.moved, N: n, m: m}
}

// fetchedAll takes note of what the job has fetched.
func (c *Core) fetchedAll(j *Job) {
	for i := range j.fetches {
		c.fetched(&j.fetches[i])
	}
	clear(j.fetches) // some of it is the users'
}

// fetched takes note of a chunk. What cannot be fetched is asked for.
func (c *Core) fetched(f *Fetch) {
	m := f.m
	switch p := c.peers[m.Source]; {
	case f.Err != nil && !errors.Is(f.Err, ErrShared) && m.ended:
		c.returnOffer(p, m, errors.Is(f.Err, ErrMoving))
	case errors.Is(f.Err, ErrMoving):
		c.fetches.push(m)
	case errors.Is(f.Err, ErrShared):
		c.stats.FetchedBytes += uint64(m.total - m.moved)
		m.moved = m.total
		c.fetchDone(p, m)
	case f.Err != nil:
		c.stats.FetchesRefused++
		p.local.EndFetch(m.remote)
		c.dropID(m)
		m.fetch, m.moved = false, 0
		c.sendCTS(m)
	default:
		c.stats.FetchedBytes += uint64(f.N)
		if m.moved += f.N; m.moved < m.total {
			c.fetches.push(m)
			return
		}
		c.fetchDone(p, m)
	}
}

func (c *Core) fetchDone(p *Peer, m *MSO) {
	if m.ended { // its owner has what it wanted to leave without
		m.ended, m.Err = false, nil
	}
	c.control(p, &wire.Header{Kind: wire.KindFin, ID: m.remote, Length: uint64(m.total)})
	c.recvDone(m)
}

// MayTake reports whether the message whose header is w is the one that r would get if it were
// posted now, and may be fetched at once. When the caller has then fetched it, it calls Took; until
// then nothing has happened.
//
// Preconditions:
//   - w is the header of an offer, as for Took.
//   - while the caller fetches without the mutex it holds the progress right: so nothing arrives.
func (c *Core) MayTake(r *Message, w wire.Words) bool {
	return c.cfg.Observer == nil && w.Length > 0 && c.isFor(r, w) && c.peers[r.Peer].gone == nil
}

// Took says that r has its message.
func (c *Core) Took(r *Message, w wire.Words) {
	p := c.peers[r.Peer]
	c.stats.FetchedBytes += w.Length
	p.countReceived(Announced, int(w.Length))
	c.control(p, &wire.Header{Kind: wire.KindFin, ID: w.ID, Length: w.Length})
	c.took(r, w)
}

// dropFetch takes m off the list because its peer is gone.
func (c *Core) dropFetch(p *Peer, m *MSO) {
	c.fetches.remove(m)
	p.local.EndFetch(m.remote)
}

// endFetch takes m off the list and lets its sender go.
func (c *Core) endFetch(m *MSO) {
	p := c.peers[m.Source]
	c.dropFetch(p, m)
	m.fetch = false
	c.control(p, &wire.Header{Kind: wire.KindFin, ID: m.remote, Length: uint64(m.moved)})
}

// onFin: the receiver has fetched the payload.
func (c *Core) onFin(p *Peer, h *wire.Header) error {
	m := c.ids.get(h.ID)
	if m == nil || m.Peer != p.ID || !m.offered {
		return &ProtocolError{p.ID, "Fin for no offer of ours"}
	}
	if h.Length > uint64(len(m.Buf)) {
		return &ProtocolError{p.ID, "Fin for more than the message"}
	}
	c.sendDone(m, nil)
	return nil
}
