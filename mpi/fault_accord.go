package mpi

import (
	"errors"
	"slices"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
	"github.com/fitmpi/fitmpi/mpi/internal/agree"
)

// The agreements of a rank: mpi/internal/agree decides, and signals carry what its machines say.
// The goroutine that makes progress runs the machines, so that agreements go on while the user
// computes.

// accords are the agreements of this rank, by communicator. The mutex is held for computing only,
// never in a call of the engine, which might run the machines of another rank of this process that
// speaks to this one.
type accords struct {
	mu        sync.Mutex
	instances map[engine.ContextID]*instance     // guarded by mu
	early     map[engine.ContextID][]earlySignal // guarded by mu: for communicators on which this rank has begun nothing
	ahead     map[engine.PeerID]int              // guarded by mu: in early, by sender; at most maxAhead
	gone      []engine.PeerID                    // guarded by mu: failed or left
	over      bool                               // guarded by mu: nothing is decided any more
}

// maxAhead is on how many communicators a rank may have begun to agree before this one begins
// there: 4 MiB of signals at most.
const maxAhead = 1024

// room is where the ranks of one communicator agree. It is kept when the communicator is freed:
// others may still ask what was decided last.
type instance struct {
	ctx     engine.ContextID
	members []engine.PeerID // of both groups of an intercommunicator, the low one first
	ranks   ranking         // of members
	machine *agree.Machine
	begun   []*accord // that are not decided, in order
}

// accord is one agreement in which this rank takes part.
type accord struct {
	mso     engine.MSO // done when it is decided
	outcome agree.Value
}

// earlySignal is a signal for a room that is not there yet.
type earlySignal struct {
	from    engine.PeerID
	payload []byte
}

// said is what is to be done for machines once the mutex is released.
type said struct {
	signals []outSignal
	decided []*accord
}

// begin contributes v to the next agreement of c's ranks.
func (a *accords) begin(c *Comm, m *accord, v agree.Value) {
	e := c.job.engine
	m.mso.Kind, m.mso.Ctx = engine.KindGeneral, c.p2p|agreePurpose
	e.Post(&m.mso, engine.Computes)
	var s said
	a.mu.Lock()
	if a.over {
		a.mu.Unlock()
		e.Complete(&m.mso, engine.ErrStopped)
		return
	}
	r := a.instanceLocked(c, &s)
	r.begun = append(r.begun, m)
	r.machine.Start(v)
	r.take(&s)
	a.mu.Unlock()
	s.do(e)
}

// instanceLocked is the room of c's ranks. A new one hears at once what was said before.
func (a *accords) instanceLocked(c *Comm, s *said) *instance {
	ctx := c.p2p | agreePurpose
	if r := a.instances[ctx]; r != nil {
		return r
	}
	all := c.everyone()
	r := &instance{ctx: ctx, members: all.group, ranks: all.ranks, machine: agree.New(all.rank, len(all.group))}
	if a.instances == nil {
		a.instances = make(map[engine.ContextID]*instance)
	}
	a.instances[ctx] = r
	early := a.early[ctx]
	delete(a.early, ctx)
	for _, e := range early {
		a.ahead[e.from]--
		r.hear(e.from, e.payload, s)
	}
	for _, p := range a.gone {
		if i := r.ranks.of(p); i >= 0 {
			r.machine.Fail(i)
		}
	}
	return r
}

// receive takes a signal.
func (a *accords) receive(e *engine.Engine, from engine.PeerID, ctx engine.ContextID, payload []byte) {
	var s said
	a.mu.Lock()
	ok := true
	if r := a.instances[ctx]; r != nil {
		ok = r.hear(from, payload, &s)
	} else {
		ok = a.keepLocked(from, ctx, payload)
	}
	a.mu.Unlock()
	if !ok {
		e.FailPeer(from, errors.New("it has sent a signal that no agreement has, or agrees on more than a thousand communicators that this rank does not: the ranks are of different versions, or its memory is corrupt"))
	}
	s.do(e)
}

// keepLocked keeps a signal for a room that is not there yet. No rank says more there than what it
// contributes to the first agreement, and says it again if a failure makes it do so. So the last
// signal of each is all that matters. ok is false if from is too far ahead.
func (a *accords) keepLocked(from engine.PeerID, ctx engine.ContextID, payload []byte) (ok bool) {
	if a.early == nil {
		a.early, a.ahead = make(map[engine.ContextID][]earlySignal), make(map[engine.PeerID]int)
	}
	list := a.early[ctx]
	for i := range list {
		if list[i].from == from {
			list[i].payload = append(list[i].payload[:0], payload...)
			return true
		}
	}
	if a.ahead[from] == maxAhead {
		return false
	}
	a.ahead[from]++
	a.early[ctx] = append(list, earlySignal{from, append([]byte(nil), payload...)})
	return true
}

// lose learns that a rank is gone, perhaps once more.
func (a *accords) memberFailed(e *engine.Engine, peer engine.PeerID) {
	var s said
	a.mu.Lock()
	if slices.Contains(a.gone, peer) {
		a.mu.Unlock()
		return
	}
	a.gone = append(a.gone, peer)
	for _, r := range a.instances {
		if i := r.ranks.of(peer); i >= 0 {
			r.machine.Fail(i)
			r.take(&s)
		}
	}
	a.mu.Unlock()
	s.do(e)
}

// stop ends what is not decided, once the engine has stopped.
func (a *accords) stop(e *engine.Engine) {
	var undecided []*accord
	a.mu.Lock()
	a.over = true
	for _, r := range a.instances {
		undecided = append(undecided, r.begun...)
		r.begun = nil
	}
	a.mu.Unlock()
	for _, m := range undecided {
		e.Complete(&m.mso, engine.ErrStopped)
	}
}

// hear gives a signal to the machine. It reports whether the signal is one.
func (r *instance) hear(from engine.PeerID, payload []byte, s *said) bool {
	m, ok := agree.Consume(payload, len(r.members))
	if !ok || !r.machine.Receive(r.ranks.of(from), &m) {
		return false
	}
	r.take(s)
	return true
}

// take moves what the machine has to say to s.
func (r *instance) take(s *said) {
	letters, decisions := r.machine.Take()
	for i := range letters {
		l := &letters[i]
		s.signals = append(s.signals, outSignal{r.members[l.To], r.ctx, l.Append(nil)})
	}
	for _, d := range decisions {
		if len(r.begun) > 0 { // else all was stopped
			m := r.begun[0]
			r.begun = r.begun[1:]
			m.outcome = d.Value
			s.decided = append(s.decided, m)
		}
	}
}

// do sends the signals, and completes what is decided.
func (s *said) do(e *engine.Engine) {
	for _, o := range s.signals {
		_ = e.Signal(o.to, o.ctx, o.payload) // to a rank that is gone, of which the machine hears
	}
	for _, m := range s.decided {
		e.Complete(&m.mso, nil)
	}
}

// describe says of an operation of KindGeneral that it is an agreement, if it is one, and for which
// ranks it waits.
func (a *accords) describe(j *job, o *engine.Operation, t *telemetry.Operation) {
	if o.Ctx&purposes != agreePurpose {
		return
	}
	t.Kind, t.Comm = telemetry.Agreement, uint64(o.Ctx&^purposes)
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.instances[o.Ctx]; r != nil {
		var from []engine.PeerID
		for _, i := range r.machine.Awaited(nil) {
			from = append(from, r.members[i])
		}
		t.From = j.partners(from)
	}
}
