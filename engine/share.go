package engine

import (
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine/internal/core"
)

// sharePart is the unit of what two threads share, in bytes; lane.FetchPart is whole units.
const sharePart = 32 << 10

// maxShares is how many payloads a rank may be asked to help with at a time: those of the first
// offers.
const maxShares = 64

// shareNone is the claim of a share without parts.
const shareNone = ^uint64(0)

// share lets the sender of a long message to a thread of its process copy some of its parts. The
// receiver takes parts from the front. A sender that would only wait takes them from the back.
type share struct {
	claim atomic.Uint64 // parts taken from the front << 32 | from the back, or shareNone
	back  atomic.Int64  // bytes that the sender has copied
	size  atomic.Int64  // of dst
	dst   []byte        // written by the receiver before it publishes the first claim; read by the sender that has taken a part, which drops it with the offer
}

func partsOf(n int) uint64 { return uint64(n+sharePart-1) / sharePart }

func (s *share) parts() uint64 { return partsOf(int(s.size.Load())) }

// withdraw ends the part of a payload that is offered no more.
func (s *share) withdraw() {
	s.claim.Store(shareNone)
	s.dst = nil // it is the user's
}

// publish lets the sender take part.
func (s *share) publish(dst []byte) {
	s.dst = dst
	s.size.Store(int64(len(dst)))
	s.back.Store(0)
	s.claim.Store(0)
}

// takeFront takes up to k parts and returns how many.
func (s *share) takeFront(k uint64) uint64 {
	for {
		c := s.claim.Load()
		k = min(k, s.parts()-c>>32-uint64(uint32(c)))
		if k == 0 || s.claim.CompareAndSwap(c, c+k<<32) {
			return k
		}
	}
}

// takeBack takes one part for the sender.
func (s *share) takeBack() (part uint64, ok bool) {
	for {
		c := s.claim.Load()
		if c == shareNone {
			return 0, false
		}
		all, back := s.parts(), uint64(uint32(c))
		if c>>32+back >= all {
			return 0, false
		}
		if s.claim.CompareAndSwap(c, c+1) {
			return all - back - 1, true
		}
	}
}

// end takes what is left, and waits for the part that the sender is just copying.
func (s *share) end() {
	c := s.claim.Swap(shareNone)
	if c == shareNone {
		return
	}
	all, back := s.parts(), uint64(uint32(c))
	want := int64(0)
	if back > 0 {
		want = s.size.Load() - int64(all-back)*sharePart
	}
	for s.back.Load() != want {
		runtime.Gosched()
	}
}

// fetch is lane.Fetch for a receiver that is a thread of this process; o is its sender's.
func (o *offers) fetch(id uint64, dst []byte, off, n int) error {
	w, err := beginFetch(o.words, id)
	if err != nil {
		return err
	}
	defer endFetch(w, id)
	i := uint32(id)
	src := o.bufs[i]
	switch {
	case len(dst) > len(src):
		return errNoOffer
	case i >= maxShares || len(dst) <= sharePart:
		copy(dst[off:off+n], src[off:])
	case o.fetchShared(i, dst, off, n):
		return core.ErrShared
	}
	return nil
}

// fetchShared copies those of n bytes that the sender has not taken; shared says that it has taken
// some, and that all is copied.
func (o *offers) fetchShared(i uint32, dst []byte, off, n int) (shared bool) {
	s := &o.shares[i]
	if off == 0 {
		s.publish(dst)
		o.shared.Or(1 << i)
	}
	got := min(int(s.takeFront(partsOf(n)))*sharePart, n)
	copy(dst[off:off+got], o.bufs[i][off:])
	if shared = got < n; shared || off+n == len(dst) {
		o.endShare(i)
	}
	return shared
}

func (o *offers) endShare(i uint32) {
	o.shares[i].end()
	o.shared.And(^(uint64(1) << i))
}

// endFetch gives up a fetch: nothing writes to its destination any more.
func (o *offers) endFetch(id uint64) {
	if i := uint32(id); i < uint32(len(o.shares)) && o.words[i].State.Load()>>offerBits == id&(1<<(64-offerBits)-1) {
		o.endShare(i)
	}
}

// help copies a part of a payload that a thread of this process is fetching from us. It
// reports whether there was one.
//
// Preconditions:
//   - the caller holds the progress right: our offers change under it only.
func (o *offers) help() bool {
	for set := o.shared.Load(); set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		s := &o.shares[i]
		part, ok := s.takeBack()
		if !ok {
			continue
		}
		off := int(part) * sharePart
		s.back.Add(int64(copy(s.dst[off:min(off+sharePart, len(s.dst))], o.bufs[i][off:])))
		return true
	}
	return false
}
