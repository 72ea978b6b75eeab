package core

import "math/bits"

// key is what messages are matched by. In an index a field may be a wildcard.
type key struct {
	ctx  ContextID
	peer PeerID
	tag  Tag
}

// hash spreads keys, but those whose tags follow each other stand in one cache line of buckets.
// Many messages that wait mostly have such tags, and are asked for in that order.
func (k key) hash() uint64 {
	const line = 64/8 - 1
	tag := uint64(uint32(k.tag))
	hi, lo := bits.Mul64(uint64(k.ctx)^0x9e3779b97f4a7c15, uint64(uint32(k.peer))<<32^tag&^line^0xd6e8feb86659fd93)
	h := hi ^ lo
	return h&^line | (h+tag)&line
}

// link is a place in one queue.
type link struct {
	q          *queue
	prev, next *MSO
}

// queue is a FIFO of MSOs with one key, in one table.
type queue struct {
	key        key
	head, tail *MSO
	chain      *queue // next in the bucket, or in the free list
}

// table is a hash table of queues. Queues exist only while they hold something,
// so that tags used once cost nothing later. slot names the link of an MSO that
// this table uses. Nothing is allocated once the table has seen its peak.
type table struct {
	slot    int
	buckets []*queue // a power of two
	queues  int      // queues in use
	n       int      // MSOs in all queues
	free    *queue
}

func newTable(slot int) table { return table{slot: slot, buckets: make([]*queue, 64)} }

func (t *table) find(k key) *queue {
	q := t.buckets[k.hash()&uint64(len(t.buckets)-1)]
	for q != nil && q.key != k {
		q = q.chain
	}
	return q
}

func (t *table) head(k key) *MSO {
	if t.n == 0 {
		return nil
	}
	if q := t.find(k); q != nil {
		return q.head
	}
	return nil
}

func (t *table) push(k key, m *MSO) {
	q := t.find(k)
	if q == nil {
		q = t.newQueue(k)
	}
	l := &m.links[t.slot]
	*l = link{q: q, prev: q.tail}
	if q.tail == nil {
		q.head = m
	} else {
		q.tail.links[t.slot].next = m
	}
	q.tail = m
	t.n++
}

// insert is push of an MSO that may stand before others: it goes where its number belongs.
func (t *table) insert(k key, m *MSO) {
	q := t.find(k)
	if q == nil || q.tail.seq < m.seq {
		t.push(k, m)
		return
	}
	after := q.head
	for after.seq < m.seq {
		after = after.links[t.slot].next
	}
	l := &after.links[t.slot]
	m.links[t.slot] = link{q: q, prev: l.prev, next: after}
	if l.prev == nil {
		q.head = m
	} else {
		l.prev.links[t.slot].next = m
	}
	l.prev = m
	t.n++
}

func (t *table) newQueue(k key) *queue {
	if t.queues == len(t.buckets) {
		t.grow()
	}
	q := t.free
	if q == nil {
		q = new(queue)
	} else {
		t.free = q.chain
	}
	b := &t.buckets[k.hash()&uint64(len(t.buckets)-1)]
	q.key, q.chain = k, *b
	*b = q
	t.queues++
	return q
}

func (t *table) grow() {
	old := t.buckets
	t.buckets = make([]*queue, 2*len(old))
	for _, q := range old {
		for q != nil {
			next := q.chain
			b := &t.buckets[q.key.hash()&uint64(len(t.buckets)-1)]
			q.chain, *b = *b, q
			q = next
		}
	}
}

// remove takes m out; it does nothing if m is not in this table.
func (t *table) remove(m *MSO) {
	l := &m.links[t.slot]
	q := l.q
	if q == nil {
		return
	}
	if l.prev == nil {
		q.head = l.next
	} else {
		l.prev.links[t.slot].next = l.next
	}
	if l.next == nil {
		q.tail = l.prev
	} else {
		l.next.links[t.slot].prev = l.prev
	}
	*l = link{}
	t.n--
	if q.head == nil {
		t.dropQueue(q)
	}
}

func (t *table) dropQueue(q *queue) {
	b := &t.buckets[q.key.hash()&uint64(len(t.buckets)-1)]
	for *b != q {
		b = &(*b).chain
	}
	*b = q.chain
	q.chain, t.free = t.free, q
	t.queues--
}

// all calls f for every MSO; f may remove the one it is given.
func (t *table) all(f func(*MSO)) {
	for _, q := range t.buckets {
		for q != nil {
			chain := q.chain
			for m := q.head; m != nil; {
				next := m.links[t.slot].next
				f(m)
				m = next
			}
			q = chain
		}
	}
}

// posted is the request queue's receives. A receive stands in one queue, under
// the key it was posted with, wildcards included; an arriving message looks at
// the heads of the (up to) four queues that could hold its match and takes the
// one posted first. So a match costs four look-ups at any depth, and one as
// long as no wildcard is posted.
type posted struct {
	one      *MSO // the only receive that is posted: it costs no hashing. The table is empty then
	t        table
	wild     int    // receives with a wildcard
	quiet    int    // receives that are quiet; see MSO.isQuiet
	quietMax int    // see there
	seq      uint64 // of the last post

	searches uint64 // for messages that arrived
}

func (p *posted) add(m *MSO) {
	p.seq++
	m.seq = p.seq
	if m.Peer == AnyPeer || m.Tag == AnyTag {
		p.wild++
	}
	if m.isQuiet(p.quietMax) {
		p.quiet++
	}
	if p.one == nil && p.t.n == 0 {
		p.one = m
		return
	}
	if o := p.one; o != nil {
		p.one = nil
		p.t.push(key{o.Ctx, o.Peer, o.Tag}, o)
	}
	p.t.push(key{m.Ctx, m.Peer, m.Tag}, m)
}

func (p *posted) remove(m *MSO) {
	if m != p.one && m.links[p.t.slot].q == nil {
		return
	}
	if m.Peer == AnyPeer || m.Tag == AnyTag {
		p.wild--
	}
	if m.isQuiet(p.quietMax) {
		p.quiet--
	}
	if m == p.one {
		p.one = nil
	} else {
		p.t.remove(m)
	}
}

// isQuiet reports whether the message that a receive waits for needs no answer, as it is no longer
// than what comes without permission: it may lie where it arrives until it is asked for.
func (m *MSO) isQuiet(most int) bool { return m.Alloc == nil && m.Size() <= most }

func (p *posted) len() int {
	if p.one != nil {
		return 1
	}
	return p.t.n
}

// all calls f for every receive; f may remove the one it is given.
func (p *posted) all(f func(*MSO)) {
	if p.one != nil {
		f(p.one)
	}
	p.t.all(f)
}

// mayMatch reports whether a receive may be posted that fits the envelope: if several
// are, without a look at them.
func (p *posted) mayMatch(k key) bool {
	return p.t.n > 0 || p.one != nil && p.one.fits(k)
}

// awaits reports whether a receive is posted that fits the envelope.
func (p *posted) awaits(k key) bool {
	if p.one != nil {
		return p.one.fits(k)
	}
	return p.t.n > 0 && (p.t.head(k) != nil || p.wild > 0 && (p.t.head(key{k.ctx, AnyPeer, k.tag}) != nil ||
		p.t.head(key{k.ctx, k.peer, AnyTag}) != nil || p.t.head(key{k.ctx, AnyPeer, AnyTag}) != nil))
}

// fits reports whether a receive or a probe matches the envelope.
func (m *MSO) fits(k key) bool {
	return m.Ctx == k.ctx && (m.Peer == k.peer || m.Peer == AnyPeer) && (m.Tag == k.tag || m.Tag == AnyTag)
}

// match takes the first receive posted that fits the envelope.
func (p *posted) match(k key) *MSO {
	p.searches++
	if m := p.one; m != nil {
		if !m.fits(k) {
			return nil
		}
		p.remove(m)
		return m
	}
	m := p.t.head(k)
	if p.wild > 0 {
		m = first(m, p.t.head(key{k.ctx, AnyPeer, k.tag}))
		m = first(m, p.t.head(key{k.ctx, k.peer, AnyTag}))
		m = first(m, p.t.head(key{k.ctx, AnyPeer, AnyTag}))
	}
	if m != nil {
		p.remove(m)
	}
	return m
}

func first(a, b *MSO) *MSO {
	if a == nil || b != nil && b.seq < a.seq {
		return b
	}
	return a
}

// events is the event queue: messages that arrived before a receive. Each is
// indexed by its exact envelope; the three indexes with wildcards are built
// when the first wildcard looks, and kept from then on.
type events struct {
	t    [4]table // exact; any peer; any tag; any peer and tag
	wild bool
	seq  uint64 // of the last message that arrived

	searches uint64 // by receives and probes
}

func newEvents() events {
	return events{t: [4]table{newTable(0), newTable(1), newTable(2), newTable(3)}}
}

func (e *events) len() int { return e.t[0].n }

// next numbers a message that arrives.
func (e *events) next() uint64 {
	e.seq++
	return e.seq
}

// add queues m, which has its number.
func (e *events) add(m *MSO) {
	e.t[0].insert(key{m.Ctx, m.Peer, m.Tag}, m)
	if e.wild {
		e.indexWild(m)
	}
}

func (e *events) indexWild(m *MSO) {
	e.t[1].insert(key{m.Ctx, AnyPeer, m.Tag}, m)
	e.t[2].insert(key{m.Ctx, m.Peer, AnyTag}, m)
	e.t[3].insert(key{m.Ctx, AnyPeer, AnyTag}, m)
}

func (e *events) remove(m *MSO) {
	e.t[0].remove(m)
	if e.wild {
		for i := 1; i < len(e.t); i++ {
			e.t[i].remove(m)
		}
	}
}

// find returns the first message that arrived and fits k, leaving it queued.
func (e *events) find(k key) *MSO {
	e.searches++
	if e.t[0].n == 0 {
		return nil
	}
	return e.search(k)
}

func (e *events) search(k key) *MSO {
	i := 0
	if k.peer == AnyPeer {
		i |= 1
	}
	if k.tag == AnyTag {
		i |= 2
	}
	if i != 0 && !e.wild {
		e.buildWild()
	}
	return e.t[i].head(k)
}

// buildWild indexes what is queued, in order of arrival.
func (e *events) buildWild() {
	e.wild = true
	all := make([]*MSO, 0, e.t[0].n)
	e.t[0].all(func(m *MSO) { all = append(all, m) })
	sortBySeq(all)
	for _, m := range all {
		e.indexWild(m)
	}
}
