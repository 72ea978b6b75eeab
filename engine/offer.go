package engine

import (
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/shm"
)

// An offer lets the receiver of a long message fetch the payload from the sender's
// memory: by copying it if both are threads of one process, else by asking the kernel.
// Its state word holds the message's id and one of these:
//
//	         Offer                Fetch             end of Fetch
//	free ─────────────▶ open ───────────▶ busy ─────────────────▶ open
//	  ▲                  │ ▲ Renew: locked and back, also from busy if it must
//	  └──────────────────┘
//	        Withdraw
const (
	offerFree uint64 = iota
	offerOpen
	offerBusy   // the peer is fetching a part
	offerLocked // the owner is changing where the payload lies
	offerBits   = 2
)

// offerState is the state word. The id's generation loses its highest bits.
func offerState(id, s uint64) uint64 { return id<<offerBits | s }

// offers is what a rank lets its peers fetch. The place of an offer is the number of
// its message's id; a message whose number is beyond the table is not offered.
type offers struct {
	words *[shm.NumOffers]shm.Offer // immutable: of our block for other processes, in Go memory for threads
	// Payloads for peers of this process. Guarded by the state word: the owner writes
	// while it is free or locked, a peer reads while it is busy.
	bufs   [shm.NumOffers][]byte
	shares [maxShares]share
	shared atomic.Uint64 // bit i: shares[i] has parts for us to copy
}

var errNoOffer = errors.New("the offer is gone")

// open lets id's payload be fetched. It reports false if there is no place for it.
//
// Preconditions:
//   - the engine's mutex is held, as for renew and withdraw.
func (o *offers) open(id uint64, b []byte) bool {
	i := uint32(id)
	if i >= shm.NumOffers || len(b) == 0 {
		return false
	}
	o.bufs[i] = b
	w := &o.words[i]
	if i < maxShares {
		o.shares[i].claim.Store(shareNone)
	}
	w.Addr.Store(addressOf(b))
	w.Len.Store(uint64(len(b)))
	w.State.Store(offerState(id, offerOpen))
	return true
}

// renew changes where the payload lies; false: it is being fetched.
func (o *offers) renew(id uint64, b []byte) bool {
	i := uint32(id)
	w := &o.words[i]
	if !w.State.CompareAndSwap(offerState(id, offerOpen), offerState(id, offerLocked)) {
		return false
	}
	o.opened(id, b)
	return true
}

// move is renew that does not fail. A peer of this process that is copying a part is waited for;
// another process, which may have stopped, is not: it finds when it is done that it has read what
// may not be the payload any more.
func (o *offers) move(id uint64, b []byte, threads bool) {
	w := &o.words[uint32(id)]
	for !w.State.CompareAndSwap(offerState(id, offerOpen), offerState(id, offerLocked)) {
		if !threads && w.State.CompareAndSwap(offerState(id, offerBusy), offerState(id, offerLocked)) {
			break
		}
		runtime.Gosched()
	}
	o.opened(id, b)
}

// opened says where the payload of a locked offer lies now.
func (o *offers) opened(id uint64, b []byte) {
	i := uint32(id)
	o.bufs[i] = b
	w := &o.words[i]
	w.Addr.Store(addressOf(b))
	w.State.Store(offerState(id, offerOpen))
}

// withdraw ends an offer. A peer of this process that is copying a part is waited
// for; another process may fail, and reads nothing that could harm us.
func (o *offers) withdraw(id uint64, threads bool) {
	i := uint32(id)
	w := &o.words[i]
	for !w.State.CompareAndSwap(offerState(id, offerOpen), offerFree) {
		if !threads {
			w.State.Store(offerFree)
			break
		}
		runtime.Gosched()
	}
	o.bufs[i] = nil // it is the user's
	if i < maxShares {
		o.shares[i].withdraw()
	}
}

// isBusy reports whether the payload of id is being fetched just now.
func (o *offers) isBusy(id uint64) bool {
	i := uint32(id)
	return i < shm.NumOffers && o.words[i].State.Load() == offerState(id, offerBusy)
}

// beginFetch begins to copy a part of the payload of the message id, one of the offers of words.
// Without an error endFetch ends it.
func beginFetch(words *[shm.NumOffers]shm.Offer, id uint64) (*shm.Offer, error) {
	i := uint32(id)
	if i >= shm.NumOffers {
		return nil, errNoOffer
	}
	w := &words[i]
	if !w.State.CompareAndSwap(offerState(id, offerOpen), offerState(id, offerBusy)) {
		if w.State.Load()>>offerBits == offerState(id, 0)>>offerBits { // locked then, perhaps open again by now
			return nil, core.ErrMoving
		}
		return nil, errNoOffer
	}
	return w, nil
}

// endFetch ends what beginFetch has begun. moved says that the owner, in another process, has given
// the payload another place meanwhile, so that what was read may not be it. It may have withdrawn
// the offer, too: then it expects nothing of us.
func endFetch(w *shm.Offer, id uint64) (moved bool) {
	return !w.State.CompareAndSwap(offerState(id, offerBusy), offerState(id, offerOpen)) &&
		w.State.Load()>>offerBits == offerState(id, 0)>>offerBits
}
