package trace

import "slices"

// message is what one end knows of a message: a key of those that are not complete.
type messageKey struct {
	peer int
	seq  uint32
}

// messages writes the messages that the rank has sent and received. A message is a slice at both
// ends: at its sender's from the call that posted it until its memory was free again, at its
// receiver's from its arrival, or that of its announcement, until it was received. The flow between
// them is the way of its header.
func (c *converter) messages(last int64) {
	sends := c.ends(Posted, Sent, last)
	arrivals := c.ends(Arrived, Received, last)
	c.lanes(sends, sendTrack, "sends", "send", false)
	c.lanes(arrivals, receiveTrack, "receives", "receive", false)
}

// ends pairs the events that begin and end the part of a message that one end sees.
func (c *converter) ends(begins, completes Kind, last int64) []span {
	var spans []span
	open := make(map[messageKey]int) // in spans
	for i := range c.rec.Events {
		e := &c.rec.Events[i]
		key := messageKey{e.Peer, e.Seq}
		switch e.Kind {
		case begins:
			s := c.messageSpan(e, last)
			if e.Track&Whole == 0 {
				open[key] = len(spans)
			} else {
				s.end = e.Time
			}
			spans = append(spans, s)
		case completes:
			if at, ok := open[key]; ok {
				delete(open, key)
				spans[at].end = e.Time
				if e.Track&Failed != 0 {
					spans[at].args.add("failed", true)
				}
			}
		}
	}
	for _, at := range open {
		spans[at].args.add("unfinished", true)
	}
	return spans
}

// messageSpan is the slice of a message that e begins.
func (c *converter) messageSpan(e *Event, last int64) span {
	s := span{begin: e.Time, end: max(last, e.Time)}
	p := pair{c.rec.Number(), e.Peer}
	s.flow = 's'
	word := "to "
	if e.Kind == Arrived {
		p = pair{e.Peer, c.rec.Number()}
		s.flow = 'f'
		word = "from "
	}
	s.name = word + c.nameOfRank(e.Peer)
	s.args.add("tag", e.Tag)
	s.args.add("bytes", e.Bytes)
	s.args.add("number", e.Seq)
	if name := c.rec.Name(e.Name); name != "" {
		s.args.add("communicator", name)
	}
	if e.Kind == Posted || e.Track&ofProtocol == ByRendezvous {
		s.args.add("protocol", [...]string{"short", "eager", "rendezvous", "unknown"}[e.Track&ofProtocol])
	}
	if e.Kind == Arrived {
		s.args.add("expected", e.Track&Expected != 0)
	}
	if e.Track&OfCollective != 0 {
		s.args.add("collective", true)
	}
	s.id = c.flowsOf(p).id<<32 | uint64(e.Seq)
	if !c.isFlow(p, e.Seq) {
		s.flow = 0
	} else if s.flow == 's' {
		c.sum.Flows++
	}
	return s
}

// numbers is a set of numbers that lie near each other, as those of messages that follow each other
// do.
type numbers struct {
	first uint32 // of bits
	bits  []uint64
	count int             // of add
	far   map[uint32]bool // what does not lie near them
}

// room is how many words of bits there may be: what a rank has written may be anything, and is to
// take no more memory than it has written.
func (n *numbers) room() uint32 { return uint32(64 + n.count) }

func (n *numbers) add(v uint32) {
	n.count++
	if n.bits == nil {
		n.first = v &^ 63
		n.bits = make([]uint64, 1)
	}
	if before := (n.first - v + 63) / 64; v < n.first && before+uint32(len(n.bits)) < n.room() { // noted a little later than another
		n.bits = slices.Insert(n.bits, 0, make([]uint64, before)...)
		n.first -= before * 64
	}
	at := (v - n.first) / 64
	if v < n.first || at >= max(n.room(), uint32(len(n.bits))) {
		if n.far == nil {
			n.far = make(map[uint32]bool)
		}
		n.far[v] = true
		return
	}
	for int(at) >= len(n.bits) {
		n.bits = append(n.bits, 0)
	}
	n.bits[at] |= 1 << (v % 64)
}

func (n *numbers) has(v uint32) bool {
	at := (v - n.first) / 64
	if v >= n.first && int(at) < len(n.bits) && n.bits[at]&(1<<(v%64)) != 0 {
		return true
	}
	return n.far[v] // also of a number that was far when it was added
}
