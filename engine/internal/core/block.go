package core

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// block is the message of one of the sender's partitions, at either end, while it is under way.
// Before that a partition is two bits. No receive is posted for it: when the message comes, its
// receiver finds the round by the range of its tags (recvList), and takes a block only then. So a
// hello, which says how many partitions there are, costs its receiver little. Whatever a message
// costs its receiver, the sender has sent something for.
type block struct {
	m    MSO    // User is the block
	part partOf // m.Layout, if it has one
	k    int    // which of the sender's partitions
	at   int    // its place in Parts.under
	next *block // in Parts.idle
}

// partOf is a range of a layout's stream.
type partOf struct {
	whole  Layout
	off, n int
}

func (o *partOf) Len() int                   { return o.n }
func (o *partOf) Pack(dst []byte, off int)   { o.whole.Pack(dst, o.off+off) }
func (o *partOf) Unpack(off int, src []byte) { o.whole.Unpack(o.off+off, src) }

// newBlock returns the MSO of partition k, ready to be posted or to take an arrival.
func (p *Parts) newBlock(k int) *MSO {
	b := p.idle
	if b == nil {
		b = p.makeBlock()
	} else {
		p.idle, b.next = b.next, nil
		b.m.Reset()
	}
	b.k, b.at = k, len(p.under)
	p.under = append(p.under, b)
	p.states.set(k, blockMoving)
	b.m.Tag = p.first + Tag(k)
	if !p.Object && p.wrong == nil {
		p.place(b)
	}
	return &b.m
}

// makeBlock returns a block with what is the same for all of p. If the ends do not fit it
// has no memory: the message is received to get rid of it, for the sender waits for that.
func (p *Parts) makeBlock() *block {
	b := new(block)
	m := &b.m
	m.Kind, m.Peer, m.Ctx, m.Object, m.Elem, m.parts, m.User = p.hello.Kind, p.Peer, p.Data, p.Object, p.Elem, p, b
	if p.Object && !p.Send && p.wrong == nil {
		m.Alloc = func(n int) []byte { return make([]byte, n) }
	}
	return b
}

// place says where the data of b lie.
func (p *Parts) place(b *block) {
	n := p.blockLen()
	off := b.k * n
	if p.Layout == nil {
		b.m.Buf = p.Buf[off : off+n : off+n]
		return
	}
	if b.m.Buf = p.Layout.Piece(off, n); b.m.Buf != nil {
		b.m.Layout = nil
		return
	}
	b.part = partOf{p.Layout, off, n}
	b.m.Layout = &b.part
}

// blockLen is how long each of the sender's partitions is.
func (p *Parts) blockLen() int { return p.Total / p.blocks }

// freeBlock puts away a block whose MSO is done.
func (p *Parts) freeBlock(b *block) {
	last := p.under[len(p.under)-1]
	p.under[b.at], last.at = last, b.at
	p.under[len(p.under)-1] = nil
	p.under = p.under[:len(p.under)-1]
	b.m.Buf = nil
	b.next, p.idle = p.idle, b
}

// blockState is the state of one of the sender's partitions in a round, at either end.
type blockState uint32

const (
	blockAwaited blockState = iota // not ready, or nothing of it has come: Ready or its header moves it on
	blockMoving                    // a block of Parts.under has it
	blockThere                     // it has left, or is in place
	blockFailed                    // Parts.bad says why
)

// blockStates is two bits for each partition. Only a holder of the engine's mutex writes them; any
// goroutine may read them.
type blockStates []atomic.Uint32

const statesInWord = 16

func newBlockStates(n int) blockStates {
	return make(blockStates, (n+statesInWord-1)/statesInWord)
}

func (s blockStates) get(k int) blockState {
	return blockState(s[k/statesInWord].Load() >> (k % statesInWord * 2) & 3)
}

func (s blockStates) set(k int, v blockState) {
	w, shift := &s[k/statesInWord], k%statesInWord*2
	w.Store(w.Load()&^(3<<shift) | uint32(v)<<shift)
}

func (s blockStates) clear() {
	for i := range s {
		s[i].Store(0)
	}
}

// recvList is the partitioned receives from one peer that are in a round, by context and
// first tag. No two have a tag in common, unless the peer lies.
type recvList []*Parts

// after is the place of the first that begins after the tag.
func (l recvList) after(ctx ContextID, tag Tag) int {
	i, _ := slices.BinarySearchFunc(l, tag, func(p *Parts, tag Tag) int {
		if d := cmp.Compare(p.Data, ctx); d != 0 {
			return d
		}
		if p.first <= tag {
			return -1
		}
		return 1
	})
	return i
}

// find returns the receive that has the tag among its partitions', nil if none has.
func (l recvList) find(ctx ContextID, tag Tag) *Parts {
	i := l.after(ctx, tag) - 1
	if i < 0 || l[i].Data != ctx || int(tag-l[i].first) >= l[i].blocks {
		return nil
	}
	return l[i]
}

func (l *recvList) add(p *Parts) { *l = slices.Insert(*l, l.after(p.Data, p.first), p) }

func (l *recvList) remove(p *Parts) {
	i := l.after(p.Data, p.first) - 1
	for (*l)[i] != p {
		i--
	}
	*l = slices.Delete(*l, i, i+1)
}

// match takes the receive that a message of p's fits: the first posted, or that of a
// partition.
func (c *Core) match(p *Peer, k key) *MSO {
	if len(c.services) > 0 {
		if s := c.services[k.ctx]; s != nil {
			return s.servedBy()
		}
	}
	if m := c.posted.match(k); m != nil || len(p.recvs) == 0 {
		if m != nil && m.Patient && m.IsStirred() {
			m.done.Store(wordOpen)
		}
		return m
	}
	r := p.recvs.find(k.ctx, k.tag)
	if r == nil || r.states.get(int(k.tag-r.first)) != blockAwaited {
		return nil
	}
	c.begun++
	return r.newBlock(int(k.tag - r.first))
}
