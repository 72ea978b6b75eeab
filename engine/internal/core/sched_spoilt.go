package core

import (
	"maps"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// Messages may still come for a schedule whose part has failed here: those that its steps would
// have received, and others, from ranks whose lengths differ so much that they cut them into more
// messages, or choose another algorithm. Their senders must not wait for ever. So the core keeps
// the name of the schedule, and takes for nothing what has come under that name, and what comes: to
// a message that is announced it gives permission to send nothing.
//
// No rank can know that nothing more comes under a name. It is forgotten when its number comes
// again, as a schedule of that name starts or its owner says so (Forget), or when maxSpoilt others
// have failed since.

// maxSpoilt is of how many schedules that have failed the names are kept.
const maxSpoilt = 1 << 10

// schedName is what all messages of one schedule have in common.
type schedName struct {
	ctx ContextID
	tag Tag // without Config.Streams
}

// spoilt are the names of the schedules that have failed last.
type spoilt struct {
	at   map[schedName]int // where in ring they stand; nil as long as there was none
	ring []schedName       // as they were added, also those that were forgotten since
	next int               // of ring: the oldest, once it is full
}

func (s *spoilt) add(n schedName) {
	if s.at == nil {
		s.at = make(map[schedName]int)
	}
	if _, ok := s.at[n]; ok {
		return
	}
	if len(s.ring) < maxSpoilt {
		s.at[n] = len(s.ring)
		s.ring = append(s.ring, n)
		return
	}
	old := s.ring[s.next]
	if i, ok := s.at[old]; ok && i == s.next {
		delete(s.at, old)
	}
	s.at[n], s.ring[s.next] = s.next, n
	s.next = (s.next + 1) % maxSpoilt
}

func (c *Core) schedName(ctx ContextID, tag Tag) schedName {
	return schedName{ctx, tag &^ c.cfg.Streams}
}

// isSpoilt reports whether a message belongs to a schedule that has failed here.
func (c *Core) isSpoilt(ctx ContextID, tag Tag) bool {
	if len(c.spoilt.at) == 0 {
		return false
	}
	_, ok := c.spoilt.at[c.schedName(ctx, tag)]
	return ok
}

// isUnwanted reports whether a message goes nowhere, whatever is posted.
func (c *Core) isUnwanted(ctx ContextID, tag Tag) bool {
	return c.IsShut(ctx) != nil || c.isSpoilt(ctx, tag)
}

// spoil takes for nothing what has come for s, and what comes from now on.
func (c *Core) spoil(s *Schedule) {
	name := c.schedName(s.ctx, s.tag)
	c.spoilt.add(name)
	c.dropEvents(func(u *MSO) bool { return c.schedName(u.Ctx, u.Tag) == name })
}

// Forget says that new schedules in ctx will have the tags first to last: what comes under these is
// no longer taken for nothing.
func (c *Core) Forget(ctx ContextID, first, last Tag) {
	maps.DeleteFunc(c.spoilt.at, func(n schedName, _ int) bool {
		return n.ctx == ctx && n.tag >= first && n.tag <= last
	})
}

// decline answers the sender of a message that goes nowhere, and that waits for an answer: an
// announced one, or a synchronous one that has come.
func (c *Core) decline(p *Peer, k key, id uint64, announced bool) {
	switch {
	case c.IsShut(k.ctx) != nil || !c.isSpoilt(k.ctx, k.tag):
		c.refuse(p, id)
	case announced:
		c.control(p, &wire.Header{Kind: wire.KindCTS, ID: id})
	default:
		c.control(p, &wire.Header{Kind: wire.KindAck, ID: id})
	}
}
