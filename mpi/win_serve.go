package mpi

import (
	"slices"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/rma"
)

// What a window does for others, as its service has it done. docs/PROTOCOL.md says what ranks say
// to each other.

// The low bits of the tags of messages between two ranks of a window, in the context of messages
// between two ranks; the others are the tag of the request.
const (
	tagData     = 0 // the data of a PutLong
	tagAnswer   = 1 // what a request asks for
	tagPost     = 2 // an exposure epoch begins
	tagComplete = 3 // an access epoch has ended

	tagShift = 2
)

// wireTag is the tag of a message of a request.
func wireTag(tag uint32, what engine.Tag) engine.Tag { return engine.Tag(tag)<<tagShift | what }

// servedContext is the context of requests.
func (w *win) servedContext() engine.ContextID { return w.comm.p2p | partitionedPurpose }

// exposure is what a rank lets the others do.
type exposure struct {
	memory regions
	atomic sync.Mutex // held while values are read and changed in one step

	// Owned by the service's handler.
	locks   rma.Locks
	origins map[int]*originState // by rank
	request rma.Request          // room
	room    []byte               // for values that are not aligned
}

// originState is what the service knows of one origin.
type originState struct {
	wrong rma.Answer  // what is to be told of it next
	queue []*underway // in order of their requests; the first is not done
	steps map[*engine.MSO]*underway
}

// underway is a request that is not done, or one that is to be answered when those before it are.
type underway struct {
	done   bool
	answer bool
	unlock bool
	tag    uint32
}

// serve begins to serve mem; a window that is dynamic has none yet.
func (w *win) serve(mem []byte) {
	w.served.origins = make(map[int]*originState)
	if len(mem) > 0 {
		w.served.memory.list = []region{{mem: mem}}
	}
	w.service.Ctx, w.service.Buf = w.servedContext(), make([]byte, rma.MaxMessage)
	w.service.Handle = w.handle
	w.comm.job.engine.Serve(&w.service)
}

// handle does what an event of the service calls for. It runs on the thread that makes progress.
func (w *win) handle(s *engine.Service, ev *engine.ServiceEvent) {
	from := w.comm.rankOf(ev.From)
	switch {
	case from < 0:
	case ev.Gone:
		w.dropOrigin(s, from)
	case ev.Op != nil:
		w.stepDone(s, from, ev.Op)
	case ev.Err != nil:
		w.origin(from).note(rma.Answer{Verdict: rma.Malformed})
	default:
		r := &w.served.request
		if data, ok := rma.ConsumeRequest(ev.Message, r); ok {
			w.request(s, from, r, data)
		} else {
			w.origin(from).note(rma.Answer{Verdict: rma.Malformed})
		}
	}
}

func (w *win) origin(rank int) *originState {
	o := w.served.origins[rank]
	if o == nil {
		o = &originState{}
		w.served.origins[rank] = o
	}
	return o
}

// note keeps the first of what goes wrong.
func (o *originState) note(a rma.Answer) {
	if o.wrong.Verdict == rma.Fine {
		o.wrong = a
	}
}

func (w *win) request(s *engine.Service, from int, r *rma.Request, data []byte) {
	o := w.origin(from)
	switch r.Kind {
	case rma.Flush, rma.Unlock:
		o.queue = append(o.queue, &underway{answer: true, unlock: r.Kind == rma.Unlock, tag: r.Tag})
		w.settle(s, from, o)
	case rma.LockShared, rma.LockExclusive:
		w.grant(s, w.served.locks.Acquire(rma.Waiter{Rank: from, Tag: r.Tag, Exclusive: r.Kind == rma.LockExclusive}))
	default:
		w.access(s, from, o, r, data)
	}
}

// settle answers what waits for requests that are done by now.
func (w *win) settle(s *engine.Service, from int, o *originState) {
	for len(o.queue) > 0 {
		u := o.queue[0]
		if !u.done && !u.answer {
			return
		}
		o.queue = o.queue[1:]
		if !u.answer {
			continue
		}
		if u.unlock {
			granted, ok := w.served.locks.Release(from)
			if !ok {
				o.note(rma.Answer{Verdict: rma.NotHeld})
			}
			w.grant(s, granted)
		}
		w.answer(s, from, u.tag, o.wrong)
		o.wrong = rma.Answer{}
	}
	o.queue = nil
}

func (w *win) grant(s *engine.Service, granted []rma.Waiter) {
	for _, g := range granted {
		w.answer(s, g.Rank, g.Tag, rma.Answer{})
	}
}

func (w *win) answer(s *engine.Service, to int, tag uint32, a rma.Answer) {
	w.reply(s, to, tag, rma.AppendAnswer(make([]byte, 0, rma.AnswerLen), a))
}

// reply sends payload, which is not used any more, to an origin.
func (w *win) reply(s *engine.Service, to int, tag uint32, payload []byte) {
	s.Answer(w.comm.peers[to], w.comm.p2p, wireTag(tag, tagAnswer), payload)
}

// dropOrigin forgets a rank that is gone.
func (w *win) dropOrigin(s *engine.Service, rank int) {
	refused, granted := w.served.locks.Drop(rank)
	for _, x := range refused {
		w.answer(s, x.Rank, x.Tag, rma.Answer{Verdict: rma.HolderDied, Rank: rank})
	}
	w.grant(s, granted)
}

// stepDone takes note that an operation which access has posted is done.
func (w *win) stepDone(s *engine.Service, from int, m *engine.MSO) {
	o := w.origin(from)
	u := o.steps[m]
	if u == nil {
		return
	}
	delete(o.steps, m)
	if m.Err != nil || m.Kind == engine.KindRecv && m.Length != m.Size() {
		o.note(rma.Answer{Verdict: rma.CutOff})
	}
	u.done = true
	w.settle(s, from, o)
}

// post posts m as a step of a request that is not done before m is.
func (w *win) post(s *engine.Service, o *originState, m *engine.MSO) {
	u := &underway{}
	o.queue = append(o.queue, u)
	if o.steps == nil {
		o.steps = make(map[*engine.MSO]*underway)
	}
	o.steps[m] = u
	s.Post(m)
}

// access reads or writes the window's memory.
func (w *win) access(s *engine.Service, from int, o *originState, r *rma.Request, data []byte) {
	lo, hi := rma.Bounds(r.Blocks)
	mem, at, ok := w.served.memory.find(lo, hi)
	if !ok {
		o.note(rma.Answer{Verdict: rma.OutOfRange, At: lo, End: hi})
		w.refuse(s, from, o, r)
		return
	}
	region := &rma.Region{Mem: mem, Blocks: r.Blocks, Size: rma.Size(r.Blocks)}
	for i := range region.Blocks {
		region.Blocks[i].Off -= at
	}
	switch r.Kind {
	case rma.Put:
		region.Unpack(0, data)
	case rma.PutLong:
		w.post(s, o, w.transfer(engine.KindRecv, from, wireTag(r.Tag, tagData), region))
	case rma.Get:
		w.send(s, from, o, r.Tag, region)
	case rma.Accumulate:
		if !w.accumulate(region, r, data) {
			o.note(rma.Answer{Verdict: rma.Malformed})
		}
	case rma.GetAccumulate:
		old := make([]byte, region.Size)
		if !w.fetch(region, r, old, data) {
			o.note(rma.Answer{Verdict: rma.Malformed})
			old = nil
		}
		w.reply(s, from, r.Tag, old)
	case rma.CompareAndSwap:
		old := make([]byte, region.Size)
		w.swap(region, old, data)
		w.reply(s, from, r.Tag, old)
	}
}

// refuse does what the origin waits for of a request that is not obeyed.
func (w *win) refuse(s *engine.Service, from int, o *originState, r *rma.Request) {
	switch r.Kind {
	case rma.PutLong:
		w.post(s, o, w.transfer(engine.KindRecv, from, wireTag(r.Tag, tagData), &rma.Region{}))
	case rma.Get, rma.GetAccumulate, rma.CompareAndSwap:
		w.reply(s, from, r.Tag, nil)
	}
}

// send sends what lies in region: at once if that is short, else from where it lies.
func (w *win) send(s *engine.Service, to int, o *originState, tag uint32, region *rma.Region) {
	if region.Size <= rma.MaxMessage {
		b := make([]byte, region.Size)
		region.Pack(b, 0)
		w.reply(s, to, tag, b)
		return
	}
	w.post(s, o, w.transfer(engine.KindSend, to, wireTag(tag, tagAnswer), region))
}

// transfer is a message from or to region.
func (w *win) transfer(kind engine.Kind, rank int, tag engine.Tag, region *rma.Region) *engine.MSO {
	m := &engine.MSO{Kind: kind, Peer: w.comm.peers[rank], Tag: tag, Ctx: w.comm.p2p}
	if m.Buf = region.Piece(); m.Buf == nil && region.Size > 0 {
		own := *region
		own.Blocks = append([]rma.Block(nil), region.Blocks...) // those of a request are used again
		m.Layout = &own
	}
	return m
}

// regions are the memory of a window. Safe for concurrent use.
type regions struct {
	mu   sync.Mutex
	list []region // guarded by mu
}

// region is memory that others may use by displacements from at on.
type region struct {
	at  int
	mem []byte
}

// find is the memory that bytes [lo, hi) lie in, and the displacement of its first byte. Regions
// that lie side by side are one.
func (r *regions) find(lo, hi int) (mem []byte, at int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		x := &r.list[i]
		switch end := x.at + len(x.mem); {
		case x.at <= lo && hi <= end:
			return x.mem, x.at, true
		case x.at <= lo && lo < end:
			if end = r.reachLocked(end); hi <= end {
				return joined(x.mem, end-x.at), x.at, true
			}
		}
	}
	return nil, 0, false
}

// reachLocked is where the regions end that follow each other from end on.
func (r *regions) reachLocked(end int) int {
	for {
		i := slices.IndexFunc(r.list, func(x region) bool { return x.at == end && len(x.mem) > 0 })
		if i < 0 {
			return end
		}
		end += len(r.list[i].mem)
	}
}
