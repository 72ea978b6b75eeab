package core

import "github.com/fitmpi/fitmpi/engine/internal/wire"

// Plan is how a send begins to leave.
type Plan uint8

// Plans.
const (
	PlanShort      Plan = iota // its payload is copied behind its header: the user's memory is free at once
	PlanEager                  // its payload follows its header from where it lies
	PlanRendezvous             // it is announced, and its payload waits for permission
	PlanStalled                // it is announced for want of credit
	PlanHeld                   // as PlanStalled; but no connection stands yet, and the peer may grant more: a blocking send waits for that
	PlanSelf                   // it stays in this rank
)

// plan decides how a send of n bytes to p begins to leave. packed says that the payload is not
// plain memory, ours that it does not lie in the user's memory.
func (c *Core) plan(p *Peer, n int, packed, ours bool) Plan {
	short := n <= c.cfg.ShortMax
	switch {
	case p.ID == c.cfg.Self:
		return PlanSelf
	case n > p.eager || packed && !short:
		return PlanRendezvous
	case short && p.credit >= n+wire.EagerCost:
		if ours || packed || n == 0 || c.hasChunk() { // an empty one is all header: nothing would be written for its span on the stream
			return PlanShort
		}
		return PlanEager
	case short && !p.up && !p.bye && p.gone == nil:
		return PlanHeld
	case short || p.credit < n+wire.EagerCost+p.spared:
		return PlanStalled
	}
	return PlanEager
}

// hasChunk reports whether there is room for one more chunk of the stream.
func (c *Core) hasChunk() bool { return c.pool.Used()+outChunk <= c.pool.Budget() }

// Plan is how a standard send of n bytes of plain memory to id would begin to leave.
func (c *Core) Plan(id PeerID, n int) Plan { return c.plan(c.peers[id], n, false, false) }
