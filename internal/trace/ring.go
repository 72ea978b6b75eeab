package trace

import (
	"encoding/binary"
	"errors"
	"maps"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// Ring is where a rank notes what it does. Its methods may be called by any goroutine, and take no
// lock but for a name that is new.
type Ring struct {
	// immutable after Open
	mem    []byte
	events *byte
	mask   uint64 // of indices of events
	next   *atomic.Uint64
	missed *atomic.Uint64
	base   int64 // of sys.Nanotime on the clock of events

	slots atomic.Uint64                     // bit i: slot i has an open call
	names atomic.Pointer[map[string]uint16] // replaced as a whole, with mu held

	mu   sync.Mutex
	used int // bytes of names; guarded by mu
}

// Open makes mem, zeroed memory of Size bytes, the ring of a rank.
func Open(mem []byte, rank, ranks int) (*Ring, error) {
	n := capacity(int64(len(mem)))
	if n == 0 || !isAligned(mem) {
		return nil, errors.New("trace: memory of a size that no recording has: use the fitrun of this program's FitMPI version")
	}
	r := &Ring{
		mem: mem, events: &mem[eventsAt], mask: n - 1,
		next: wordAt(mem, nextAt), missed: wordAt(mem, missedAt), base: sys.MonotonicBase(),
	}
	r.names.Store(&map[string]uint16{"": 0})
	o := binary.NativeEndian
	o.PutUint32(mem[versionAt:], version)
	o.PutUint32(mem[endianAt:], endian)
	o.PutUint32(mem[rankAt:], uint32(rank))
	o.PutUint32(mem[ranksAt:], uint32(ranks))
	o.PutUint64(mem[startAt:], uint64(r.Now()))
	copy(mem[magicAt:], magic)
	r.Name("(other)")
	return r, nil
}

// OfJob says which of the jobs of its launcher the rank is of, and the number of rank 0 of that,
// see boot.Kin. Without it, it is the first. To be called before anything is noted.
func (r *Ring) OfJob(name string, first int) {
	name = name[:min(len(name), maxJob)]
	binary.NativeEndian.PutUint32(r.mem[firstAt:], uint32(first))
	r.mem[jobAt] = byte(len(name))
	copy(r.mem[jobAt+1:], name)
}

// Note notes an event, and returns its number. It does not allocate.
func (r *Ring) Note(e *Event) uint64 {
	i := r.next.Add(1) - 1
	r.put(i, e)
	return i
}

// Amend changes event number i, which only its caller may do, and reports whether it was recent
// enough for that.
func (r *Ring) Amend(i uint64, e *Event) bool {
	if r.next.Load()-i > r.mask/2 {
		return false // others may be about to write there
	}
	r.put(i, e)
	return true
}

func (r *Ring) put(i uint64, e *Event) {
	head, time, a, b := e.words()
	s := slotAt(r.events, i&r.mask)
	s[1], s[2], s[3] = time, a, b
	s[0] = uint64(sum(head, time, a, b, i&^r.mask))<<32 | uint64(head)
}

// otherName is the name of what has none because there are too many.
const otherName = 1

// Name is the number by which events name a string; the first part of a string that is very long
// stands for it.
func (r *Ring) Name(s string) uint16 {
	if id, ok := (*r.names.Load())[s]; ok {
		return id
	}
	return r.newName(s)
}

func (r *Ring) newName(s string) uint16 {
	const most = 1 << 10
	text := s[:min(len(s), most)]
	r.mu.Lock()
	defer r.mu.Unlock()
	old := *r.names.Load()
	if id, ok := old[s]; ok {
		return id
	}
	id := len(old)
	if id >= MaxNames || r.used+2+len(text) > namesSize {
		return otherName
	}
	at := r.mem[headerSize+r.used:]
	binary.NativeEndian.PutUint16(at, uint16(len(text)))
	copy(at[2:], text)
	r.used += 2 + len(text)
	wordAt(r.mem, usedAt).Store(uint64(r.used)) // after the text
	names := maps.Clone(old)
	names[s] = uint16(id)
	r.names.Store(&names)
	return uint16(id)
}

// Now is the clock of events.
func (r *Ring) Now() int64 { return r.base + sys.Nanotime() }

// Base is what a time of sys.Nanotime lacks to be one of events.
func (r *Ring) Base() int64 { return r.base }

// OpenCall is a call that has begun.
type OpenCall struct {
	slot  int // -1: there was none
	since int64
}

// Begin notes that a call has begun; if the rank dies in it, that is known. peer is NoPeer if it is
// of none.
func (r *Ring) Begin(name uint16, peer int, bytes int64) OpenCall {
	c := OpenCall{slot: r.takeSlot(), since: r.Now()}
	if c.slot < 0 {
		r.missed.Add(1)
		return c
	}
	s := callSlotAt(r.mem, c.slot) // ours alone until End: atomic stores would cost half of what Begin does
	s[1], s[2] = uint64(name), partner(peer, bytes)
	s[0] = uint64(c.since)
	return c
}

// End notes that a call has ended, with what Begin was told, or what is known by now.
func (r *Ring) End(c OpenCall, name uint16, peer int, bytes int64) {
	if c.slot < 0 {
		return
	}
	r.Note(&Event{Kind: Call, Track: uint8(c.slot), Name: name, Time: c.since, Span: r.Now() - c.since, Peer: peer, Bytes: bytes})
	callSlotAt(r.mem, c.slot)[0] = 0
	r.slots.And(^(uint64(1) << c.slot))
}

// takeSlot takes the first free slot, -1 if there is none.
func (r *Ring) takeSlot() int {
	for {
		taken := r.slots.Load()
		i := bits.TrailingZeros64(^taken)
		if i >= Slots {
			return -1
		}
		if r.slots.CompareAndSwap(taken, taken|1<<i) {
			return i
		}
	}
}
