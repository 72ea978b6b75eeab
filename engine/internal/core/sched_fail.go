package core

import "slices"

// A collective does not go on when a member of its communicator has failed, whether this rank waits
// for that member or for others, which may have given up because of it. Nor does it begin.

// failScheds ends the schedules that peer p takes part in.
func (c *Core) failScheds(p *Peer) {
	var hit []*Schedule
	for _, s := range c.running {
		if s.failed == nil && s.includes(p.ID) {
			hit = append(hit, s)
		}
	}
	for _, s := range hit {
		if s.failed == nil && !s.over {
			c.failSched(s, p.why())
			c.maybeEndFailed(s)
		}
	}
}

// refuseSched makes s, which has just been started, one that has failed if it cannot be completed.
func (c *Core) refuseSched(s *Schedule) {
	if s.failed = c.IsShut(s.ctx); s.failed != nil {
		return
	}
	for _, p := range c.failed {
		if s.includes(p.ID) {
			s.failed = p.why()
			return
		}
	}
}

// IsHealthy reports whether no schedule would be refused.
func (c *Core) IsHealthy() bool { return len(c.failed) == 0 && len(c.shut) == 0 }

// includes reports whether the end of a peer is that of s.
func (s *Schedule) includes(id PeerID) bool {
	if s.Member != nil {
		return s.Member(id)
	}
	return slices.Contains(s.peer, id)
}
