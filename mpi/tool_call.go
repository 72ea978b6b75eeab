package mpi

import (
	"context"
	"runtime/trace"
	"sync"
	"sync/atomic"
)

// Call is one call of this package by the user, for a [Tool]. It is valid until End returns, and
// must not be changed but for Value. A rank or tag that the call does not have is [Undefined].
type Call struct {
	Op   string // the name of the function or method, such as "Irecv" or "Split"
	Comm *Comm  // as the caller gave it, the first request's of a Wait of several; nil if there is none. Use Comm.WithoutTools

	Dest    int // rank that is sent to
	SendTag int
	Source  int // rank that is received from, or AnySource
	RecvTag int // or AnyTag
	Root    int // of a collective operation

	SendCount, RecvCount int // elements of the buffers given
	SendBytes, RecvBytes int // bytes that these hold as they travel; -1 if they are serialised

	Requests []*Request // those that the call completes, tests, starts, cancels or frees
	Request  *Request   // in End: the one that the call has returned
	Status   Status     // in End: the one that the call has returned, if it is one
	Done     bool       // in End of a call that tests, or probes, and does not wait: it has found what it looks for
	Made     *Comm      // in End: the communicator that the call has returned

	Value any // the tool's own, kept from Begin to End; every tool has its own

	tools  *toolchain
	values []any // by tool
	one    [1]*Request
	many   []*Request // room for Requests
	region *trace.Region
	noted  noted
	sent   *sentData // what a nonblocking call of a rank that is checked sends
}

// observedJobs is how many jobs of this process have tools.
var observedJobs atomic.Int32

// calls recycles Calls.
var calls = sync.Pool{New: func() any { return new(Call) }}

// isObserved reports whether a call may concern a tool, or the execution tracer: all that it costs
// if not.
func isObserved() bool { return observedJobs.Load() != 0 || trace.IsEnabled() }

// newCall is the call of an operation on c; nil if nothing wants to know.
func (c *Comm) newCall(op string) *Call {
	if c == nil || c.comm == nil || c.unobserved {
		return nil
	}
	k := c.job.tools.newCall(op)
	if k != nil {
		k.Comm = c
	}
	return k
}

// newCall is the call of an operation without a communicator.
func (ts *toolchain) newCall(op string) *Call {
	if ts == nil && !trace.IsEnabled() {
		return nil
	}
	k := calls.Get().(*Call)
	k.Op, k.tools = op, ts
	k.Dest, k.SendTag, k.Source, k.RecvTag, k.Root = Undefined, Undefined, Undefined, Undefined, Undefined
	return k
}

// begin tells that k begins, and returns it.
func (k *Call) begin() *Call {
	if k == nil {
		return nil
	}
	if trace.IsEnabled() {
		ctx := context.Background()
		if k.Comm != nil && k.Comm.ctx != nil {
			ctx = k.Comm.ctx
		}
		k.region = trace.StartRegion(ctx, "mpi."+k.Op)
	}
	if ts := k.tools; ts != nil {
		if ts.rec != nil {
			ts.rec.begin(k)
		}
		for len(k.values) < len(ts.tools) {
			k.values = append(k.values, nil)
		}
		for i := range ts.tools {
			ts.begin(i, k)
		}
	}
	return k
}

// finish tells that k ends with err, and recycles it.
func (k *Call) finish(err error) {
	if ts := k.tools; ts != nil {
		for i := len(ts.tools) - 1; i >= 0; i-- {
			ts.end(i, k, err)
		}
		if ts.rec != nil {
			ts.rec.end(k)
		}
	}
	if k.region != nil {
		k.region.End()
	}
	clear(k.values)
	clear(k.many)
	*k = Call{values: k.values, many: k.many}
	calls.Put(k)
}

// end tells that k, if it is not nil, ends with err, which it returns; so do all that follow, with
// what their operations return.
func (k *Call) end(err error) error {
	if k != nil {
		k.finish(err)
	}
	return err
}

// endAt is end of a deferred call, when err is a result.
func (k *Call) endAt(err *error) {
	if k != nil {
		k.finish(*err)
	}
}

// endMade is endAt of an operation that makes a communicator.
func (k *Call) endMade(c **Comm, err *error) {
	if k != nil {
		k.Made = *c
		k.finish(*err)
	}
}

// made is end of an operation that makes a communicator.
func (k *Call) made(c *Comm, err error) (*Comm, error) {
	k.endMade(&c, &err)
	return c, err
}

// creates is end of an operation that begins to make one.
func (k *Call) creates(r *Creation) *Creation {
	k.started(r.Request)
	return r
}

// endStatus is endAt of an operation that has a status.
func (k *Call) endStatus(st *Status, err *error) {
	if k != nil {
		k.Status = *st
		k.finish(*err)
	}
}

// endInit is end of a call that joins j, whose world End gets to see.
func (k *Call) endInit(j *job, err error) {
	if k != nil {
		if err == nil && k.Op != sessionInit {
			k.Made = j.world
		}
		k.finish(err)
	}
}

// endFound is endAt of an operation that does not wait, and may have found nothing.
func (k *Call) endFound(done *bool, err *error) {
	if k != nil {
		k.Done = *done
		k.finish(*err)
	}
}

// endTest is endFound of an operation that has a status.
func (k *Call) endTest(st *Status, done *bool, err *error) {
	if k != nil {
		k.Status, k.Done = *st, *done
		k.finish(*err)
	}
}

// started is end of an operation that returns a request.
func (k *Call) started(r *Request) *Request {
	if k != nil {
		k.endStarted(r)
	}
	return r
}

func (k *Call) endStarted(r *Request) {
	k.Request = r
	if k.tools != nil && k.tools.checks != nil {
		k.tools.checks.started(k, r)
	}
	k.finish(nil)
}

// received is end of an operation that returns a status.
func (k *Call) received(st Status, err error) (Status, error) {
	if k != nil {
		k.endReceived(st, err)
	}
	return st, err
}

func (k *Call) endReceived(st Status, err error) {
	k.Status = st
	k.finish(err)
}
