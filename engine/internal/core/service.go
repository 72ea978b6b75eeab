package core

import (
	"slices"

	"github.com/fitmpi/fitmpi/buffer"
)

// Service takes the messages of one context, whatever their source and tag. The goroutine that
// makes progress here has them handled: no caller has to receive them. The windows of one-sided
// communication are served so.
//
// Messages are handled one at a time, in the order in which they arrived. One that arrives
// meanwhile waits where unexpected messages do, at the cost of its sender's credit. So do other
// events: the end of operations that the handler has posted, and of peers.
//
// A service is no operation: it keeps no goroutine awake, and no caller waits for it. What it waits
// for is not among what is pending.
type Service struct {
	// Immutable after Serve.
	Ctx    ContextID
	Buf    []byte // where messages are received; a longer one arrives cut
	Handle func(s *Service, ev *ServiceEvent)

	recv MSO // guarded by the mutex, as all that follows but for what says otherwise
	// ready says that recv waits for a message, and nothing is in waiting.
	ready   bool
	waiting fifo[MSO, *MSO] // messages that have arrived
	events  buffer.Ring[serviceNews]
	running bool         // a job handles now
	now     ServiceEvent // of that job
	over    bool

	// Owned by the job that runs: what its handler has posted.
	posts   []*MSO
	answers []answer
}

// ServiceEvent is what a service is called for.
type ServiceEvent struct {
	From    PeerID
	Tag     Tag
	Message []byte // of a message; valid during the call
	Op      *MSO   // an operation that the handler has posted and that is done; nil if it is not about one
	Gone    bool   // From has failed, or has left
	Err     error  // why a message did not arrive whole
}

// serviceNews is an event that waits.
type serviceNews struct {
	op   *MSO   // the service's own receive, or an operation of its handler's; nil if
	gone PeerID // is gone
}

// answer is a message that a handler sends and forgets.
type answer struct {
	to      PeerID
	ctx     ContextID
	tag     Tag
	payload []byte // the core's
}

// Post posts m, which must not be one that a caller waits for: the handler is called again when it
// is done. Only for the handler.
func (s *Service) Post(m *MSO) {
	m.service = s
	s.posts = append(s.posts, m)
}

// Answer sends payload, which the core keeps. The handler does not learn whether it arrives. Only
// for the handler.
func (s *Service) Answer(to PeerID, ctx ContextID, tag Tag, payload []byte) {
	s.answers = append(s.answers, answer{to, ctx, tag, payload})
}

// Serve begins s.
//
// Preconditions:
//   - no message of its context has arrived.
func (c *Core) Serve(s *Service) {
	if c.services == nil {
		c.services = make(map[ContextID]*Service)
	}
	c.services[s.Ctx] = s
	m := &s.recv
	m.Kind, m.Peer, m.Tag, m.Ctx, m.Buf, m.service = KindRecv, AnyPeer, AnyTag, s.Ctx, s.Buf, s
	c.rearm(s)
}

// EndService ends s: its handler is called no more, unless it just runs. Messages that arrive from
// now on are as those of any context.
func (c *Core) EndService(s *Service) {
	if s.over {
		return
	}
	s.over, s.ready = true, false
	delete(c.services, s.Ctx)
	for u := s.waiting.pop(); u != nil; u = s.waiting.pop() {
		c.dropUnwanted(u)
	}
}

// rearm makes s take the next message.
func (c *Core) rearm(s *Service) {
	m := &s.recv
	if s.over {
		return
	}
	m.Reset()
	m.setState(Queued)
	u := s.waiting.pop()
	if s.ready = u == nil; s.ready {
		return
	}
	if j, ok := c.take(m, u); ok {
		c.jobs.Push(j)
	}
}

// servedBy returns the receive of s for a message whose header has come, nil if it has to wait.
func (s *Service) servedBy() *MSO {
	if !s.ready {
		return nil
	}
	s.ready = false
	return &s.recv
}

// served takes note that m, of s, is done.
func (c *Core) served(s *Service, m *MSO) {
	if m == &s.recv {
		c.done-- // it was not counted when it began
	}
	if s.over {
		return
	}
	s.events.Push(serviceNews{op: m})
	c.pumpService(s)
}

// tellServices notifies all services that p is gone.
func (c *Core) tellServices(p *Peer) {
	for _, s := range c.services {
		s.events.Push(serviceNews{gone: p.ID})
		c.pumpService(s)
	}
}

// pumpService has the next event handled.
func (c *Core) pumpService(s *Service) {
	if s.running || s.over || s.events.Len() == 0 {
		return
	}
	n := *s.events.At(0)
	s.events.PopFront()
	switch m := n.op; {
	case m == nil:
		s.now = ServiceEvent{From: n.gone, Gone: true}
	case m == &s.recv:
		s.now = ServiceEvent{From: m.Source, Tag: m.GotTag, Message: s.Buf[:min(m.Length, len(s.Buf))], Err: m.Err}
	default:
		s.now = ServiceEvent{From: m.Peer, Tag: m.Tag, Op: m, Err: m.Err}
	}
	s.running = true
	c.jobs.Push(Job{kind: jobServe, service: s})
}

// handled takes note that the handler has returned.
func (c *Core) handled(s *Service) {
	s.running = false
	message := s.now.Op == nil && !s.now.Gone
	s.now = ServiceEvent{}
	for i := range s.answers {
		c.sendAnswer(&s.answers[i])
	}
	for _, m := range s.posts {
		c.postLater(m)
	}
	clear(s.answers)
	clear(s.posts)
	s.answers, s.posts = s.answers[:0], s.posts[:0]
	if message {
		c.rearm(s)
	}
	c.pumpService(s)
}

// sendAnswer sends a.
func (c *Core) sendAnswer(a *answer) {
	if !c.TryShort(&Message{Peer: a.to, Tag: a.tag, Ctx: a.ctx, Buf: a.payload}) {
		c.postLater(c.carrier(&MSO{Peer: a.to, Tag: a.tag, Ctx: a.ctx}, a.payload, ownUser))
	}
}

// shutServices ends the services of contexts that are shut.
func (c *Core) shutServices(in func(ContextID) bool) {
	var hit []ContextID
	for ctx := range c.services {
		if in(ctx) {
			hit = append(hit, ctx)
		}
	}
	slices.Sort(hit)
	for _, ctx := range hit {
		c.EndService(c.services[ctx])
	}
}

// stopServices ends them all, at the end of the engine.
func (c *Core) stopServices() {
	for _, s := range c.services {
		s.over, s.ready = true, false
		for u := s.waiting.pop(); u != nil; u = s.waiting.pop() {
			if u.partner == nil && u.State() == Queued {
				c.giveBack(u.Buf, u.own)
			}
			c.freeMSO(u)
		}
	}
	c.services = nil
}
