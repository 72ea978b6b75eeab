package core

import (
	"errors"
	"fmt"
	"slices"
)

// A rank whose part of a collective fails while all ranks live, because what came has another
// length than it expects, or its operation panics, has an error at once. But others wait for what
// it would have sent, and for it to receive. So it sends the rest of its messages, in their order,
// empty and marked as PartFailed, and takes what still comes to it for nothing (sched_spoilt.go).
// The part of each rank that gets such a message fails likewise: the error goes as far as the data
// would have gone, and no rank waits for it in vain.
//
// What it sends are the messages of its own schedule. A rank that has chosen another algorithm,
// because its length is another, may wait for one that is not among them.
//
// Other libraries go on to the end with data that is wrong, and say so there. That keeps the
// buffers of the caller that has the error, and the caller itself, as long as the slowest rank
// takes.

// PartFailed to maxPartFailed, in the place of Elem, mark a message of a schedule whose part at the
// sender has failed. Which of them is the owner's business (Schedule.Reason). No schedule has one
// as its Elem. They are part of the wire protocol.
const (
	PartFailed    = 1
	maxPartFailed = 15
)

// PartError is the error of a step that has received a message marked as PartFailed.
type PartError struct {
	From   PeerID
	Reason uint8 // the mark
}

func (e *PartError) Error() string {
	return fmt.Sprintf("rank %d has found an error in its part: that error says what is wrong", e.From)
}

// FaultOf is the error of a step of s that has received a message whose Elem is got, not that of s;
// nil if there is none.
func (s *Schedule) FaultOf(got uint8, from PeerID) error {
	switch {
	case got >= PartFailed && got <= maxPartFailed:
		return &PartError{from, got}
	case s.Differ != nil:
		return s.Differ(s.Elem, got, from)
	}
	return nil
}

// failPart ends s with err, which a step of this rank has found. The other ranks are told, unless
// they learn of the cause by themselves.
func (c *Core) failPart(s *Schedule, err error) {
	c.failSched(s, err)
	if !errors.Is(err, ErrStopped) && c.refusal(s) == nil {
		c.tellPart(s, s.reasonOf(err))
	}
}

// reasonOf is the mark of what s sends after err.
func (s *Schedule) reasonOf(err error) uint8 {
	if s.Reason == nil {
		return PartFailed
	}
	return min(max(s.Reason(err), PartFailed), maxPartFailed)
}

// tellPart does what the other ranks wait for: each message that s has not begun to send is sent
// without its payload, marked, and what comes for s is taken for nothing. Posted receives have been
// withdrawn.
func (c *Core) tellPart(s *Schedule, reason uint8) {
	c.spoil(s)
	for i := range s.steps {
		st := &s.steps[i]
		if st.kind != stepSend || st.mso.State() != Idle || st.mso.Peer == c.cfg.Self {
			continue
		}
		d := c.carrier(st.mso, nil, ownUser)
		d.Elem = reason
		c.postLater(d)
	}
}

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

// refusal is why s cannot be completed, or be started; nil if nothing is known.
func (c *Core) refusal(s *Schedule) error {
	if err := c.IsShut(s.ctx); err != nil {
		return err
	}
	for _, p := range c.failed {
		if s.includes(p.ID) {
			return p.why()
		}
	}
	return nil
}

// IsHealthy reports whether no schedule would be refused. Anyone may ask.
func (c *Core) IsHealthy() bool { return !c.ill.Load() }

// includes reports whether the end of a peer is that of s.
func (s *Schedule) includes(id PeerID) bool {
	if s.Member != nil {
		return s.Member(id)
	}
	return slices.Contains(s.peer, id)
}
