package engine

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/netpoll"
)

const (
	// laneRecords is how many records of one peer are handled with the mutex held, and in one turn.
	laneRecords = 64
	// ringMax is the bytes up to which a payload goes through the ring where longer ones are
	// fetched. The ring copies it twice. A fetch copies it once, and costs an answer.
	ringMax = 4 << 10
	// inRow is how many frames a rank puts that may be about to wait for an answer. Where more
	// follow each other there are more to come.
	inRow = 2
)

// lane is the way to one peer of this host: a ring each way, in the memory of the process if the
// peer is a thread of it, else in the segment. The rings carry the same stream of
// frames as a connection; a frame that finds the stream empty goes into the ring at once.
//
// A ring is in use from the first frame that its writer puts, and until both have said goodbye.
type lane struct {
	n      *local     // ours; immutable
	peer   PeerID     // immutable
	index  int        // of the peer among the ranks of its host; immutable
	thread *Engine    // the peer's, if it is a thread of this process; immutable
	block  *shm.Block // the peer's; immutable
	most   int        // bytes up to which payloads beyond ringMax are offered, to be fetched, also where their senders would help; 0: none is; immutable after Start

	// Guarded by the engine's mutex. While the stream to the peer is not empty the
	// writer belongs to the holder of the progress right, without the mutex.
	w      *shm.Writer
	opened bool // w was tried to be made
	row    int  // frames put since the last came from the peer
	run    int  // messages that callers have taken since the last frame was put, or a wait for one was in vain; see recvThere

	// Owned by the holder of the progress right.
	r       *shm.Reader // nil until the peer has begun to write
	rx      input
	queued  bool // messages may lie in the event queue, of this peer perhaps
	used    bool // on the list of lanes in use
	ended   bool // goodbyes are said, or the peer failed
	blocked bool // the ring is full: there is more to write when there is room
	pulse   pulse
	saidBye bool // our goodbye is in the ring, or behind what waits for room in it

	bell   atomic.Pointer[netpoll.Bell] // of a peer in another process; nil until the launcher has given it
	flows  atomic.Bool                  // takeRun of them, or more, were taken in the row that goes on or in the one before; written with the mutex held
	vain   atomic.Uint32                // looks of recvThere in a row that found nothing, and those left out after enough; written by callers
	asked  atomic.Bool                  // for the bell
	missed atomic.Bool                  // it was to be rung before it had come
}

// Put implements core.Local.
func (l *lane) Put(h wire.Words, payload []byte) bool {
	if l.w == nil && !l.openLocked() {
		return false
	}
	if wire.HeaderLen+len(payload) > l.w.MaxRecord() {
		return false
	}
	if !l.w.PutHeaded(shm.Head{A: h.First, B: h.Context, C: h.Length, D: h.ID}, payload) {
		return false
	}
	if l.row++; l.row > inRow {
		l.w.Expect()
	}
	l.rowLocked(0, l.run >= takeRun)
	l.n.tellLocked(l)
	return true
}

// Offer implements core.Local.
func (l *lane) Offer(id uint64, b []byte, helps bool) bool {
	return (len(b) <= l.most || l.most > 0 && !helps) && l.offers().open(id, b)
}

// Renew implements core.Local.
func (l *lane) Renew(id uint64, b []byte, must bool) bool {
	if must {
		l.offers().move(id, b, l.thread != nil)
		return true
	}
	return l.offers().renew(id, b)
}

// Withdraw implements core.Local.
func (l *lane) Withdraw(id uint64) { l.offers().withdraw(id, l.thread != nil) }

// offers are those of ours that the peer may fetch.
func (l *lane) offers() *offers {
	if l.thread != nil {
		return &l.n.offers
	}
	return &l.n.offersAbroad
}

// openLocked begins to use the ring to the peer.
func (l *lane) openLocked() bool {
	if l.opened {
		return false
	}
	l.opened = true
	w, err := shm.NewWriter(l.n.ring(l, true))
	if err != nil {
		panic("engine: " + err.Error()) // its length was checked with the segment
	}
	l.w = w
	l.n.e.cmds = append(l.n.e.cmds, command{kind: cmdUseLane, lane: l})
	l.block.Opened[l.n.index/64].Or(1 << (l.n.index % 64))
	return true
}

// attach begins to read what the peer writes.
func (l *lane) attach() {
	r, err := shm.NewReader(l.n.ring(l, false))
	if err != nil {
		panic("engine: " + err.Error())
	}
	l.r, l.rx.peer = r, l.peer
	l.n.use(l)
}

// receive handles the records that are there, up to a bound. It reports whether that
// left something to run or to write.
//
// Preconditions:
//   - the caller holds the progress right.
func (l *lane) receive() (work bool) {
	e := l.n.e
	var bye, room bool
	var err error
	in := 0
	e.mu.Lock()
	l.row = 0
	for k := 0; k < laneRecords && err == nil && !bye; k++ {
		head, rest, ok := l.r.Next()
		if !ok {
			err = l.r.Err()
			break
		}
		in += len(head) + len(rest)
		fin := wire.KindOf(head) == wire.KindFin
		bye, err = l.rx.record(e, head, rest)
		room = l.r.Release() || room
		if fin && !e.core.IsBusy() {
			break // a caller waited for it alone, and takes what comes next from the ring itself: see Recv
		}
	}
	if room {
		l.n.tellLocked(l)
	}
	e.counts.ringIn += uint64(in)
	work, l.queued = e.core.HasJobs() || e.core.HasOutput(), e.core.HasArrivals()
	e.unlock()
	if e.deliver() {
		work = true
	}
	if err != nil || bye {
		l.end(err)
		return true
	}
	return work
}

// end ends a lane whose peer has said goodbye, or has broken the protocol.
func (l *lane) end(err error) {
	if err != nil {
		l.broken(err)
	} else {
		l.peerBye()
	}
}

// write moves the stream to the peer into the ring, as much as there is room for.
//
// Preconditions:
//   - the caller holds the progress right.
func (l *lane) write() {
	e := l.n.e
	for range maxWrites {
		e.mu.Lock()
		bufs := e.core.Gather(l.peer, e.drv.bufs[:0])
		if len(bufs) == 0 || l.w == nil && !l.openLocked() {
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
		n, full := l.put(bufs)
		clear(bufs) // some are the users'
		e.mu.Lock()
		e.drv.sent += uint64(n)
		e.core.Wrote(l.peer, n)
		if n > 0 {
			l.n.tellLocked(l)
		}
		e.unlock()
		if full && !l.w.Block() {
			l.blocked = true
			l.n.blocked++
			if err := l.w.Err(); err != nil {
				l.broken(err)
			}
			return
		}
	}
}

// put writes spans; full says that the ring took no more.
func (l *lane) put(bufs [][]byte) (n int, full bool) {
	for _, b := range bufs {
		k := l.w.Write(b)
		if n += k; k < len(b) {
			return n, true
		}
	}
	return n, false
}

// unblock goes on with a lane that was full, if there is room.
func (l *lane) unblock() bool {
	if !l.w.Block() {
		return false
	}
	l.blocked = false
	l.n.blocked--
	l.write()
	return true
}

func (l *lane) broken(cause error) {
	d := l.n.e.drv
	d.e.cfg.Logger.Info("peer failed", "rank", d.e.cfg.Rank, "peer", l.peer, "host", d.bridge[l.peer].Host, "err", cause)
	d.failPeer(l.peer, fmt.Errorf("shared memory of %s: %w", d.bridge[l.peer].Host, cause))
}

// sayBye puts the frame that ends our side behind what is still to be written.
func (l *lane) sayBye() {
	if l.saidBye || l.ended {
		return
	}
	l.saidBye = true
	e := l.n.e
	e.mu.Lock()
	e.core.Bye(l.peer)
	e.unlock()
}

// peerBye handles the peer's goodbye: it sends nothing more and receives nothing
// more. It waits for ours.
func (l *lane) peerBye() {
	l.sayBye()
	l.n.e.drv.endPeer(l.peer, nil, true)
}

// hangUp notifies the peer that the lane is ended, where no goodbye of ours will. Either the peer
// failed, or it is closing, and what waits for room in the ring, a part of a frame perhaps, is
// dropped. hangUp is what closing a connection is elsewhere, so a rank that closes hears from every
// peer that still runs.
func (l *lane) hangUp() {
	if l.n.e.stopping.Load() {
		return // local.close notifies all
	}
	l.block.Ended[l.n.index/64].Or(1 << (l.n.index % 64))
	if l.used || l.hasOpened() {
		l.alarm()
	}
}

// hasOpened reports whether the peer has begun to write.
func (l *lane) hasOpened() bool { return l.n.block.Opened[l.index/64].Load()>>(l.index%64)&1 != 0 }

// isHungUp reports whether the peer uses the rings no more; what it has put before may not be
// handled yet.
func (l *lane) isHungUp() bool {
	return l.block.Closed.Load() != 0 || l.n.block.Ended[l.index/64].Load()>>(l.index%64)&1 != 0
}

// hungUp ends a lane whose peer has hung up. If our goodbye is said that is an answer.
func (l *lane) hungUp() {
	if cause := errors.New("the rank ended without a goodbye"); l.saidBye || l.n.e.IsExcused(l.peer) {
		l.n.e.drv.endPeer(l.peer, cause, true)
	} else {
		l.broken(cause)
	}
}

var _ core.Local = (*lane)(nil)
