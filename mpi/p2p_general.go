package mpi

import (
	"sync"

	"github.com/fitmpi/fitmpi/engine"
)

// GeneralCallbacks are the functions of a generalised request
// (MPI 4.1, section 13.2). Each may be nil.
type GeneralCallbacks struct {
	// Query gives the status and outcome, once complete: for Wait, Test and their family, and
	// GetStatus.
	Query func() (Status, error)
	// Free is called once: by what completes the request, after Query, or, if it is freed, by Free
	// or Complete, whichever comes last.
	Free func() error
	// Cancel is called by Request.Cancel, complete saying whether Complete was called.
	Cancel func(complete bool) error
}

// general is the user's part of a generalised request.
type general struct {
	f   GeneralCallbacks
	own func() (Status, *Error) // of an operation of the library's: its outcome, instead of f.Query; else nil

	mu       sync.Mutex
	let      bool // guarded by mu: Request.Free was called
	complete bool // guarded by mu: Complete was called
	released bool // guarded by mu: f.Free was called
}

// GrequestStart makes a request that the user completes with Complete, so that an operation of the
// user's can be waited for beside those of the library (MPI 4.1, section 13.2). f is what the
// library calls for it. Errors of the request go to the error handler of c. It does not block.
func (c *Comm) GrequestStart(f GeneralCallbacks) *Request {
	return c.begin("GrequestStart").started(c.grequestStart(f))
}

func (c *Comm) grequestStart(f GeneralCallbacks) *Request {
	if err := c.present("GrequestStart"); err != nil {
		return failedRequest(c, err)
	}
	r := newRequest(c, "GrequestStart")
	r.more().general = &general{f: f}
	r.mso().Kind = engine.KindGeneral
	r.m = r.mso()
	c.job.engine.Post(r.m, engine.Computes)
	return r
}

// Complete says that the operation of a generalised request is done (MPI 4.1, section 13.2). It
// does not wait. A second Complete of a request, and one of a request that is not of GrequestStart,
// are errors of class [ErrRequest].
func (r *Request) Complete() (err error) {
	defer r.begin("Complete").endAt(&err)
	const op = "Complete"
	switch {
	case r == nil:
		return opErrorf(ErrRequest, op, "the request is nil: make it with GrequestStart")
	case r.generalised() == nil || r.generalised().own != nil:
		return r.c.fail(opErrorf(ErrRequest, op, "the request is %s: need one of GrequestStart", r.maker()))
	case !r.rare.general.markComplete():
		return r.c.fail(opErrorf(ErrRequest, op, "the request is complete already: Complete was called before"))
	}
	r.c.job.engine.Complete(r.own, nil) // r.m is nil if the request was freed
	return r.rare.general.releaseIfLet()
}

// markComplete reports whether this was the first time.
func (g *general) markComplete() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	first := !g.complete
	g.complete = true
	return first
}

// query is the outcome of a request that is complete; it may be asked for more than once.
func (g *general) query(r *Request) (Status, *Error) {
	st, err := emptyStatus(), r.m.Err
	if g.own != nil && err == nil {
		return g.own()
	}
	if g.f.Query != nil && err == nil {
		st, err = g.f.Query()
	}
	if err != nil {
		return st, opError(ErrOther, r.op, err)
	}
	return st, nil
}

// result is the outcome for what completes the request, and lets go of it.
func (g *general) result(r *Request) (Status, *Error) {
	st, err := g.query(r)
	if ferr := g.release(); ferr != nil && err == nil {
		err = opError(ErrOther, r.op, ferr)
	}
	return st, err
}

func (g *general) cancel() error {
	if g.f.Cancel == nil {
		return nil
	}
	g.mu.Lock()
	complete, released := g.complete, g.released
	g.mu.Unlock()
	if released { // there is no request any more
		return nil
	}
	return g.f.Cancel(complete)
}

// free lets go of the request, at once if its operation is complete.
func (g *general) free() error {
	g.mu.Lock()
	g.let = true
	complete := g.complete
	g.mu.Unlock()
	if !complete {
		return nil
	}
	return g.release()
}

func (g *general) releaseIfLet() error {
	g.mu.Lock()
	let := g.let
	g.mu.Unlock()
	if !let {
		return nil
	}
	return g.release()
}

// release calls the user's Free, the first time.
func (g *general) release() error {
	g.mu.Lock()
	first := !g.released
	g.released = true
	g.mu.Unlock()
	if g.f.Free == nil || !first {
		return nil
	}
	return g.f.Free()
}
