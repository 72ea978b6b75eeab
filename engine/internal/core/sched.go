package core

import (
	"errors"
	"slices"
)

// Schedule is a collective operation in progress: a graph of sends, receives
// and local steps. A step starts when the steps it comes after are complete;
// steps that become ready together start in order of creation. At most one
// local step of a schedule runs at a time.
//
// The owner builds it (Send, Recv, SendFrom, RecvInto, Do), then the engine
// starts it; from then on the mutex guards it. Its MSO is done when the last
// step is, or when a step fails.
type Schedule struct {
	MSO    MSO        // Kind is KindSched
	Op     string     // the owner's: what it is called
	Origin [12]uint32 // as that of an MSO; the ways to a collective are longer
	Elem   uint8      // in the frame of each message, as that of an MSO; 0 = none
	// Differ is the error of a step that has received a message whose Elem is got, not the
	// schedule's own; nil if there is none. It is called with the mutex held, and may be nil.
	Differ func(own, got uint8, from PeerID) error
	// Reason is the mark, from PartFailed on, that tells others of an error of this rank's part. It
	// is called as Differ is; nil: always PartFailed.
	Reason func(error) uint8
	Broken error // the owner's: why this rank cannot do its part; nil if it can. It fails with that as it starts
	Began  int64 // the observer's
	// Foreign says that local steps call functions that are not the library's, and may end the
	// goroutine that runs them: see Job.IsForeign.
	Foreign bool

	ctx    ContextID
	tag    Tag
	peer   []PeerID          // of each rank of the communicator
	Member func(PeerID) bool // whose failure ends it; nil = that of any of peer
	at     int               // its place in Core.running

	steps   []step
	msos    []*MSO  // of the steps, and spare ones
	used    int     // of msos
	preds   []int32 // predecessors, grouped by step
	count   []int32 // room for link
	edges   []int32 // successors, grouped by step after link
	left    int     // steps not complete
	running bool    // a local step is queued or runs
	ready   []int32 // steps whose predecessors are complete, in order of becoming ready
	local   []int32 // local steps that are ready, in order
	pumping bool    // pump is on the stack: what becomes ready waits for its turn
	failed  error
	over    bool // MSO is done; its owner may have reset it since
	flying  int  // communication steps in progress
	largest int  // bytes of the longest message, as far as known at the start
}

type step struct {
	kind  stepKind
	mso   *MSO
	from  *[]byte // SendFrom, RecvInto
	do    func() error
	after []int32
	need  int32 // predecessors not complete
	first int32 // its successors are edges[first:last]
	last  int32
}

type stepKind uint8

const (
	stepSend stepKind = iota
	stepRecv
	stepDo
)

type stepRef struct {
	sched *Schedule
	i     int32
}

// NewSchedule returns an empty schedule over the communicator whose ranks are
// peers, in the collective context ctx; tag is the number of the collective.
func NewSchedule(ctx ContextID, tag Tag, peers []PeerID) *Schedule {
	s := new(Schedule)
	s.Renew(ctx, tag, peers)
	return s
}

// Renew makes s an empty schedule as NewSchedule does, in the memory that it has.
//
// Preconditions:
//   - s is new, or Cleared.
func (s *Schedule) Renew(ctx ContextID, tag Tag, peers []PeerID) {
	s.MSO.Kind, s.MSO.User = KindSched, s
	s.ctx, s.tag, s.peer = ctx, tag, peers
}

// Clear makes s hold on to nothing of its owner's.
//
// Preconditions:
//   - s is done, and has not failed: none of its steps is with the engine.
func (s *Schedule) Clear() {
	for _, m := range s.msos[:s.used] {
		m.Clear()
	}
	s.MSO.Clear()
	s.Origin[0] = 0
	s.Foreign, s.Broken = false, nil
	clear(s.steps)
	s.steps, s.used, s.preds, s.peer, s.largest, s.Member, s.Elem = s.steps[:0], 0, s.preds[:0], nil, 0, nil, 0
}

// Retag makes tag that of the messages of steps that are added from now on.
func (s *Schedule) Retag(tag Tag) { s.tag = tag }

func (s *Schedule) add(st step, after []int32) int32 {
	i, n := int32(len(s.steps)), len(s.preds)
	s.preds = append(s.preds, after...)
	st.after = s.preds[n:len(s.preds):len(s.preds)]
	s.steps = append(s.steps, st)
	return i
}

func (s *Schedule) message(k Kind, rank int, b []byte) *MSO {
	if s.used == len(s.msos) {
		s.msos = append(s.msos, new(MSO))
	}
	m := s.msos[s.used]
	s.used++
	m.Kind, m.Peer, m.Ctx, m.Tag, m.Buf, m.Elem = k, s.peer[rank], s.ctx, s.tag, b, s.Elem
	return m
}

// Send adds a step that sends data to rank.
func (s *Schedule) Send(rank int, data []byte, after ...int32) int32 {
	return s.add(step{kind: stepSend, mso: s.message(KindSend, rank, data)}, after)
}

// Recv adds a step that receives len(buf) bytes from rank.
func (s *Schedule) Recv(rank int, buf []byte, after ...int32) int32 {
	return s.add(step{kind: stepRecv, mso: s.message(KindRecv, rank, buf)}, after)
}

// SendLayout is Send of a payload that is not one piece of memory.
func (s *Schedule) SendLayout(rank int, l Layout, after ...int32) int32 {
	m := s.message(KindSend, rank, nil)
	m.Layout = l
	return s.add(step{kind: stepSend, mso: m}, after)
}

// RecvLayout is Recv into what is not one piece of memory.
func (s *Schedule) RecvLayout(rank int, l Layout, after ...int32) int32 {
	m := s.message(KindRecv, rank, nil)
	m.Layout = l
	return s.add(step{kind: stepRecv, mso: m}, after)
}

// SendFrom is Send of what *data is when the step starts.
func (s *Schedule) SendFrom(rank int, data *[]byte, after ...int32) int32 {
	return s.add(step{kind: stepSend, mso: s.message(KindSend, rank, nil), from: data}, after)
}

// RecvInto receives a message of any length into new memory and sets *data to it.
func (s *Schedule) RecvInto(rank int, data *[]byte, after ...int32) int32 {
	m := s.message(KindRecv, rank, nil)
	m.Alloc = func(n int) []byte { return make([]byte, n) }
	return s.add(step{kind: stepRecv, mso: m, from: data}, after)
}

// Do adds local work. It runs without the engine's mutex, on the thread that makes progress;
// it must not communicate. If it calls what may end its goroutine s is Foreign.
func (s *Schedule) Do(f func() error, after ...int32) int32 {
	return s.add(step{kind: stepDo, do: f}, after)
}

// Stay says that a caller with a core of its own waits for s, which is about to start. If all that
// s does is one send, nothing else needs that core.
func (s *Schedule) Stay() {
	if len(s.steps) == 1 && s.steps[0].kind == stepSend {
		s.steps[0].mso.Stays = true
	}
}

// StartSchedule starts s: its MSO is posted.
func (c *Core) StartSchedule(s *Schedule) {
	c.begun++
	c.observeSched(s, false)
	s.link()
	s.left, s.running, s.failed, s.over, s.flying = len(s.steps), false, nil, false, 0
	s.ready, s.local = s.ready[:0], s.local[:0]
	s.MSO.setState(Moving)
	for i := range s.steps {
		if len(s.steps[i].after) == 0 {
			s.ready = append(s.ready, int32(i))
		}
	}
	s.at = len(c.running)
	c.running = append(c.running, s)
	if len(c.spoilt.at) > 0 {
		delete(c.spoilt.at, c.schedName(s.ctx, s.tag))
	}
	if !c.IsHealthy() {
		s.failed = c.refusal(s)
	}
	if s.Broken != nil && s.failed == nil {
		c.failPart(s, s.Broken)
	}
	c.pump(s)
}

// pump starts what is ready, then ends the schedule if nothing is left. Steps
// that complete while they are started only add to the list: so the order of
// starting is that of becoming ready, and the stack stays flat.
func (c *Core) pump(s *Schedule) {
	if s.pumping {
		return
	}
	s.pumping = true
	for k := 0; k < len(s.ready) && s.failed == nil; k++ {
		c.startStep(s, s.ready[k])
	}
	s.ready = s.ready[:0]
	s.pumping = false
	c.pumpLocal(s)
	switch {
	case s.failed != nil:
		c.maybeEndFailed(s)
	case s.left == 0:
		c.endSched(s)
	}
}

// link turns the predecessor lists into successor lists.
func (s *Schedule) link() {
	s.count = slices.Grow(s.count[:0], len(s.steps)+1)[:len(s.steps)+1]
	count := s.count
	clear(count)
	for i := range s.steps {
		st := &s.steps[i]
		st.need = int32(len(st.after))
		if st.mso != nil {
			s.largest = max(s.largest, st.mso.Size())
			st.mso.Reset()
			st.mso.step = stepRef{s, int32(i)}
		}
		for _, a := range st.after {
			count[a+1]++
		}
	}
	for i := 1; i < len(count); i++ {
		count[i] += count[i-1]
	}
	n := int(count[len(count)-1])
	s.edges = slices.Grow(s.edges[:0], n)[:n]
	for i := range s.steps {
		s.steps[i].first, s.steps[i].last = count[i], count[i]
	}
	for i := range s.steps {
		for _, a := range s.steps[i].after {
			p := &s.steps[a]
			s.edges[p.last] = int32(i)
			p.last++
		}
	}
}

func (c *Core) startStep(s *Schedule, i int32) {
	st := &s.steps[i]
	if st.kind == stepDo {
		s.local = append(s.local, i)
		return
	}
	if st.kind == stepSend && st.from != nil {
		st.mso.Buf = *st.from
	}
	s.flying++
	c.postLater(st.mso)
}

// pumpLocal queues the next local step, one at a time.
func (c *Core) pumpLocal(s *Schedule) {
	if s.running || len(s.local) == 0 || s.failed != nil {
		return
	}
	i := s.local[0]
	s.local = append(s.local[:0], s.local[1:]...)
	s.running = true
	c.jobs.Push(Job{kind: jobStep, do: s.steps[i].do, step: stepRef{s, i}})
}

func (c *Core) localDone(r stepRef, err error) {
	r.sched.running = false
	c.advance(r, err)
}

// stepDone is called when the MSO of a communication step completes.
func (c *Core) stepDone(r stepRef, err error) {
	s := r.sched
	st := &s.steps[r.i]
	s.flying--
	if st.kind == stepRecv && st.mso.GotElem != s.Elem && (err == nil || errors.Is(err, ErrTruncated)) {
		if fault := s.FaultOf(st.mso.GotElem, st.mso.Source); fault != nil {
			err = fault // and that the lengths differ follows from it
		}
	}
	if m := st.mso; st.kind == stepRecv && err == nil {
		if st.from != nil {
			*st.from = m.Buf
		} else if n := m.Size(); m.Length != n {
			err = &TruncateError{Message: m.Length, Buffer: n}
		}
	}
	c.advance(r, err)
}

// advance starts what became ready, or ends the schedule.
func (c *Core) advance(r stepRef, err error) {
	s := r.sched
	if s.over {
		return
	}
	if err != nil && s.failed == nil {
		c.failPart(s, err)
	}
	st := &s.steps[r.i]
	s.left--
	for _, k := range s.edges[st.first:st.last] {
		if s.steps[k].need--; s.steps[k].need == 0 {
			s.ready = append(s.ready, k)
		}
	}
	c.pump(s)
}

// failSched withdraws the receives that are posted and leaves sends that are not
// matched to themselves; payloads under way end by themselves, and the schedule
// with the last of them.
func (c *Core) failSched(s *Schedule, err error) {
	s.failed = err
	for i := range s.steps {
		switch m := s.steps[i].mso; {
		case m == nil:
		case m.Kind == KindRecv && m.State() == Queued:
			c.withdraw(m)
		case m.Kind == KindSend && m.State() == Awaiting && m.wants == 0: // nothing but an RTS is on the stream
			c.abandonSend(m, err)
		}
	}
}

func (c *Core) maybeEndFailed(s *Schedule) {
	if s.flying == 0 && !s.running && !s.pumping {
		c.endSched(s)
	}
}

func (c *Core) endSched(s *Schedule) {
	if !s.over {
		s.over = true
		last := c.running[len(c.running)-1]
		c.running[s.at], last.at = last, s.at
		c.running[len(c.running)-1] = nil
		c.running = c.running[:len(c.running)-1]
		c.observeSched(s, true)
		c.complete(&s.MSO, s.failed)
	}
}

// abandonSched ends a schedule on its owner's wish: a local step that runs is
// waited for, nothing else is.
func (c *Core) abandonSched(m *MSO, err error, sinks func(PeerID) *Sink) {
	s, ok := m.User.(*Schedule)
	if !ok {
		panic("core: schedule without its MSO: a bug of ours")
	}
	if s.failed == nil {
		c.failSched(s, err)
	}
	for i := range s.steps {
		if x := s.steps[i].mso; x != nil && !s.over {
			c.Abandon(x, err, sinks)
		}
	}
	if !s.over {
		c.maybeEndFailed(s)
	}
}
