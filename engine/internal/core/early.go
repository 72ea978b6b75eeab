package core

import "github.com/fitmpi/fitmpi/engine/internal/wire"

// A message that is announced, and that no receive waits for, may be asked for at once, into memory
// of the core's (Config.Early; decision 0077). It stands on the event queue then as one that is on
// its way, or has come: a receive that is posted later copies it, instead of waiting for it. So the
// transfer is over while both ranks compute, though the receive is late.
//
// The receiver's answer is not the match that a synchronous send waits for, so its RTS says that it
// is one. What may be fetched from its sender's memory is left there: it is no farther than memory
// of the core's. Services give their messages memory of their own.

// askEarly asks for u, of which h is the announcement, if it may come early and there is memory
// for it. It reports whether it has.
func (c *Core) askEarly(p *Peer, u *MSO, h *wire.Header) bool {
	if c.early == nil || h.Flags&(wire.FlagSync|wire.FlagPull) != 0 || h.Length > uint64(c.cfg.Early) {
		return false
	}
	if u.Length <= c.cfg.ShortMax || c.services[u.Ctx] != nil {
		return false
	}
	block, ok := c.early.Get(u.Length)
	if !ok {
		return false
	}
	u.Buf, u.own, u.total = block, ownEarly, u.Length
	u.id = c.ids.add(u)
	c.stats.RendezvousReceives++
	c.stats.Early++
	u.setState(Moving)
	c.control(p, &wire.Header{Kind: wire.KindCTS, ID: u.remote, Context: u.id, Length: h.Length})
	return true
}
