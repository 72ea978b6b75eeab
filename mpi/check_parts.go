//go:build linux

package mpi

import "sync"

// keptParts are what the partitions of a send held when they were made ready, by a rank that is
// checked. From then on they "should not be modified" until the request is complete (MPI 4.1,
// section 4.2.2); others may be.
type keptParts struct {
	mu   sync.Mutex
	then map[int][]byte // guarded by mu: of this round
}

// reset begins a round.
func (x *keptParts) reset() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.then)
}

// keep takes note of partition i of p, which is about to be made ready. One that was ready before
// stays as it was then.
func (x *keptParts) keep(p *parts, i int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.then[i]; ok {
		return
	}
	if x.then == nil {
		x.then = make(map[int][]byte)
	}
	x.then[i] = p.data(i)
}

// data is a copy of what is sent of partition i.
func (p *parts) data(i int) []byte {
	b := make([]byte, p.p.Total/p.count)
	if at := i * len(b); p.p.Layout != nil {
		p.p.Layout.Pack(b, at)
	} else {
		copy(b, p.p.Buf[at:])
	}
	return b
}

// partsChanged is the error of a send one of whose partitions is not what it was when it was made
// ready.
func (r *Request) partsChanged() *Error {
	p := r.rare.parts
	p.kept.mu.Lock()
	defer p.kept.mu.Unlock()
	for i := range p.count {
		then, ok := p.kept.then[i]
		if !ok {
			continue
		}
		if at := differAt(p.data(i), then); at >= 0 {
			x := r.rare.checked
			return opErrorf(ErrBuffer, r.op, "partition %d was changed, at byte %d of %d, after it was made ready and before the request was complete: "+
				"until Wait or Test says so it belongs to the request of %s at %s", i, at, len(then), x.op, x.site())
		}
	}
	return nil
}
