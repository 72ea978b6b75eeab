package mpi

import (
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/callsite"
)

// work is what a request is about while that is under way. A user may keep a Request, so each is
// new memory; most need their work no longer when their results are collected, and then it serves
// another. So a Request is small: programs make millions of them, and what is allocated for them
// leaves the processor's caches before it is collected.
type work struct {
	// Immutable after the operation is started.
	op     string
	elem   *elem
	bufLen int         // elements of the receive buffer
	m      *engine.MSO // nil: nothing is pending (settled), or its results are collected
	own    *engine.MSO // the memory of m, mostly; see mso
	rare   *rare       // nil unless there is something in it; see more
	peer   int32       // rank argument, for errors
	brief  bool        // it is of works
	held   bool        // it cannot be freed while it is active

	mark uint64 // owned by the goroutine that waits: the last waitFor that saw it
}

// works recycles work, each with a message state object.
var works = sync.Pool{New: func() any { return &work{own: new(engine.MSO), brief: true} }}

// putWork gives w back, which waits for nothing. What it still says of the last operation keeps
// nothing of the user's.
//
// Preconditions:
//   - w is brief, and has no rare.
func putWork(w *work) {
	w.own.Clear()
	w.m = nil
	works.Put(w)
}

// rare is what few requests have.
type rare struct {
	// Immutable after the operation is started.
	finish  func(*Request) (Status, *Error) // delivers the result, in the thread that waits
	start   func() *Error                   // persistent: posts once more; nil otherwise
	extra   *engine.MSO                     // the send of an Isendrecv
	general *general                        // generalised request
	parts   *parts                          // partitioned
	checked *checked                        // of a rank that is checked
	sent    *sentData                       // of a collective of such a rank, until checked has it

	err error // owned by the goroutine that waits: goes with status
}

// more is where what few requests have is put.
func (r *Request) more() *rare {
	if r.rare == nil {
		r.rare = new(rare)
	}
	return r.rare
}

// extra is the send of an Isendrecv that is not collected, else nil.
func (r *Request) extra() *engine.MSO {
	if r.work == nil || r.rare == nil {
		return nil
	}
	return r.rare.extra
}

func (r *Request) generalised() *general {
	if r.work == nil || r.rare == nil {
		return nil
	}
	return r.rare.general
}

func (r *Request) isPersistent() bool { return r.work != nil && r.rare != nil && r.rare.start != nil }

// failure is the error that goes with status.
func (r *Request) failure() error {
	if r.work == nil || r.rare == nil {
		return nil
	}
	return r.rare.err
}

// maker says which operation r is of, for messages.
func (r *Request) maker() string {
	if r.work == nil || r.made == madeFreed {
		return r.made.String()
	}
	return "of " + r.op
}

// maker is which of the operations that make brief requests made one, so that its messages can say
// that when its work is gone.
type maker uint8

// Those of sends are their mode and 1; 0 is none of these.
const (
	madeIsend = maker(modeStandard) + 1
	madeIrecv = maker(modeReady) + 2
	madeFreed = madeIrecv + 1 // by any, and freed
)

// makerNames are the operations, by maker.
var makerNames = [...]string{"", "Isend", "Issend", "Ibsend", "Irsend", "Irecv"}

func (m maker) name() string { return makerNames[m] }

func (m maker) String() string {
	switch m {
	case 0:
		return "one that is over"
	case madeFreed:
		return "one that was freed"
	}
	return "of " + m.name()
}

// newRequest is a request in memory of its own, with its work.
func newRequest(c *Comm, op string) *Request {
	x := new(struct {
		r Request
		w work
	})
	x.r.c, x.r.work, x.w.op, x.w.peer = c, &x.w, op, -1
	return &x.r
}

// requestSlab is memory for some requests, so that one allocation serves them all. Each is used
// once: a user may keep it, and then keeps the others.
type requestSlab struct {
	taken atomic.Uint32
	rs    [15]Request
}

// briefRequest is newRequest of an operation whose request most users do not keep, and which holds
// on to nothing when its results are collected; but for one that a context may end, see recycle,
// which gets memory of its own.
func briefRequest(c *Comm, op string, made maker) *Request {
	r := freshRequest(c, op, made)
	r.engage(op)
	return r
}

// freshRequest is briefRequest without its work, unless it has memory of its own: the operation may
// be over before it needs any.
func freshRequest(c *Comm, op string, made maker) *Request {
	if c.mayEnd() {
		return newRequest(c, op)
	}
	r := c.job.takeRequest()
	r.c, r.made = c, made
	return r
}

// engage gives r the work that it has not yet.
func (r *Request) engage(op string) {
	if r.work != nil {
		return
	}
	w := works.Get().(*work)
	w.op, w.peer = op, -1
	callsite.Note(w.own.Origin[:])
	r.work = w
}

// overRequest is the request of an operation with ProcNull.
func overRequest(c *Comm, made maker) *Request {
	r := c.job.takeRequest()
	r.c, r.made, r.collected = c, made, true
	r.status.Source, r.status.Tag = ProcNull, AnyTag
	return r
}

// takeRequest returns a Request that no caller has had, for any goroutine.
func (j *job) takeRequest() *Request {
	if room := j.requests.Load(); room != nil {
		if i := room.taken.Add(1) - 1; i < uint32(len(room.rs)) {
			return &room.rs[i]
		}
	}
	room := new(requestSlab) // if another goroutine makes one too, the rest of one of them is given up
	room.taken.Store(1)
	j.requests.Store(room)
	return &room.rs[0]
}

// shortSlab is a requestSlab for messages that are over when their calls return. The engine has
// numbered those while it had its mutex. So a goroutine that takes a request here needs no locked
// instruction, of which a short message has few.
type shortSlab struct {
	first uint64 // the ordinal of the message that has rs[0]
	rs    [15]Request
}

// shortRequest returns the Request of the short message with an ordinal, for any goroutine.
func (j *job) shortRequest(ordinal uint64) *Request {
	if room := j.shorts.Load(); room != nil {
		if i := ordinal - room.first; i < uint64(len(room.rs)) {
			return &room.rs[i]
		}
	}
	room := &shortSlab{first: ordinal} // of two that goroutines make at once, one has some that are never used
	j.shorts.Store(room)
	return &room.rs[0]
}
