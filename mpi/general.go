package mpi

import (
	"github.com/fitmpi/fitmpi/engine"
)

// GeneralCallbacks are the functions of a generalised request
// (MPI 4.1, section 13.2). Each may be nil.
type GeneralCallbacks struct {
	Query  func() (Status, error)    // the status and outcome, once complete
	Free   func() error              // when the request is let go of
	Cancel func(complete bool) error // Cancel was called
}

// general is the user's part of a generalised request.
type general struct{ f GeneralCallbacks }

// GrequestStart makes a request that the user completes with Complete, so that
// an operation of the user's can be waited for beside those of the library
// (MPI 4.1, section 13.2).
func GrequestStart(c *Comm, f GeneralCallbacks) *Request {
	if err := c.usable("GrequestStart"); err != nil {
		return failedRequest(c, err)
	}
	r := newRequest(c, "GrequestStart")
	r.general = &general{f}
	r.own.Kind = engine.KindGeneral
	r.m = &r.own
	c.job.engine.Post(r.m)
	return r
}

// Complete says that the operation of a generalised request is done
// (MPI 4.1, section 13.2).
func (r *Request) Complete() error {
	if r == nil || r.general == nil || r.isDone() {
		return opErrorf(ErrRequest, "Complete", "the request is not a pending one of GrequestStart")
	}
	r.c.job.engine.Complete(r.m, nil)
	return nil
}

func (g *general) result(r *Request) (Status, *Error) {
	st, err := emptyStatus(), r.m.Err
	if g.f.Query != nil && err == nil {
		st, err = g.f.Query()
	}
	if ferr := g.release(); err == nil {
		err = ferr
	}
	if err != nil {
		return st, opError(ErrOther, r.op, err)
	}
	return st, nil
}

func (g *general) cancel(r *Request) error {
	if g.f.Cancel == nil {
		return nil
	}
	return g.f.Cancel(r.isDone())
}

func (g *general) release() error {
	if g.f.Free == nil {
		return nil
	}
	f := g.f.Free
	g.f.Free = nil
	return f()
}
