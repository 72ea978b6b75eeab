package mpi

import (
	"errors"
	"fmt"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
)

// Pready says that a partition of a send made by PsendInit holds what is to be sent in this round
// (MPI 4.1, section 4.2.2). It leaves now, and belongs to the request until Wait. Pready does not
// wait; goroutines may make different partitions ready at once, also while another waits for the
// request. The error is of class [ErrRequest] if the request is not active, or the partition is
// ready already, and of class [ErrArg] if there is no such partition.
func (r *Request) Pready(partition int) (err error) {
	defer r.begin("Pready").endAt(&err)
	const op = "Pready"
	return r.preadyRange(op, partition, partition)
}

// PreadyRange is Pready of the partitions from low to high, both included, at less cost (MPI 4.1,
// section 4.2.2). A low above high is an error of class [ErrArg].
func (r *Request) PreadyRange(low, high int) (err error) {
	defer r.begin("PreadyRange").endAt(&err)
	const op = "PreadyRange"
	if low > high {
		return r.partFail(opErrorf(ErrArg, op, "partitions %d to %d: the first is after the last", low, high))
	}
	return r.preadyRange(op, low, high)
}

func (r *Request) preadyRange(op string, low, high int) error {
	if err := r.checkPart(op, true, low, high); err != nil {
		return r.partFail(err)
	}
	return r.ready(op, high-low+1, func(i int) int { return low + i })
}

// PreadyList is Pready of each partition in the list, at less cost (MPI 4.1, section 4.2.2).
func (r *Request) PreadyList(partitions ...int) (err error) {
	defer r.begin("PreadyList").endAt(&err)
	const op = "PreadyList"
	for _, i := range partitions {
		if err := r.checkPart(op, true, i, i); err != nil {
			return r.partFail(err)
		}
	}
	return r.ready(op, len(partitions), func(i int) int { return partitions[i] })
}

// ready makes n partitions ready, those that at names.
func (r *Request) ready(op string, n int, at func(int) int) error {
	if r.rare.parts.encode != nil {
		return r.readyObjects(op, n, at)
	}
	if r.rare.checked != nil {
		for k := range n {
			r.rare.parts.kept.keep(r.rare.parts, at(k))
		}
	}
	i, err := r.c.job.engine.Ready(r.rare.parts.p, n, at)
	if err != nil {
		return r.partFail(r.readyError(op, i, err))
	}
	return nil
}

// readyObjects serialises each partition, in the caller's thread.
func (r *Request) readyObjects(op string, n int, at func(int) int) error {
	for k := range n {
		b, serr := r.rare.parts.encode(at(k))
		if serr != nil {
			return r.partFail(serr.with(int(r.peer)))
		}
		if err := r.c.job.engine.ReadyObject(r.rare.parts.p, at(k), b); err != nil {
			return r.partFail(r.readyError(op, at(k), err))
		}
	}
	return nil
}

// readyError says why a partition cannot be made ready.
func (r *Request) readyError(op string, partition int, err error) *Error {
	switch {
	case errors.Is(err, engine.ErrInactive) || r.rare.parts.told.Load():
		return opErrorf(ErrRequest, op, "partition %d: the request is not active: call Start first", partition).with(int(r.peer))
	case errors.Is(err, engine.ErrReadyAlready):
		return opErrorf(ErrRequest, op, "partition %d was made ready before in this round", partition).with(int(r.peer))
	}
	return r.c.partsError(op, fmt.Errorf("partition %d: %w", partition, err), int(r.peer))
}

// Parrived reports whether a partition of a receive made by PrecvInit is there
// (MPI 4.1, section 4.2.2): its elements may be read from then on, until the next
// Start. It does not wait and does not complete the request; goroutines may ask at
// once. Of a request that is null, as nil or one that was freed, or not active every
// partition is there. An error says that the partition will not come.
func (r *Request) Parrived(partition int) (here bool, err error) {
	defer r.begin("Parrived").endFound(&here, &err)
	const op = "Parrived"
	if r == nil || r.made == madeFreed {
		return true, nil // "If request is a null or inactive request, then flag = true is returned"
	}
	if err := r.checkPart(op, false, partition, partition); err != nil {
		return false, r.partFail(err)
	}
	p := r.rare.parts.p
	if p == nil {
		return true, nil
	}
	ok, err := r.c.job.engine.Arrived(p, partition)
	if err != nil {
		return false, r.partFail(r.c.partsError(op, err, int(r.peer)))
	}
	if err := r.partsMismatch(op); ok && err != nil {
		return false, r.partFail(err)
	}
	if in := r.rare.parts.objects; ok && in != nil && p.IsKnown() {
		if err := in.decode(p.Overlap(partition)); err != nil {
			return false, r.partFail(opError(ErrType, op, err).with(int(r.peer)))
		}
	}
	return ok, nil
}

// checkPart says that r has no partitions low to high to send, or to receive.
func (r *Request) checkPart(op string, send bool, low, high int) *Error {
	maker := "PrecvInit"
	if send {
		maker = "PsendInit"
	}
	switch {
	case r == nil:
		return opErrorf(ErrRequest, op, "the request is nil")
	case r.work == nil || r.rare == nil || r.rare.parts == nil || r.rare.parts.send != send:
		return opErrorf(ErrRequest, op, "the request is %s, need one of %s", r.maker(), maker)
	case low < 0 || high >= r.rare.parts.count:
		bad := low
		if low >= 0 {
			bad = high
		}
		return opErrorf(ErrArg, op, "partition %d: need 0 to %d", bad, r.rare.parts.count-1)
	}
	return nil
}

// partFail is fail, for requests that may be nil.
func (r *Request) partFail(err *Error) error {
	if r == nil {
		return err
	}
	return r.c.fail(err)
}

// incomingObjects deserialises the sender's partitions of a receive of objects, each once in a
// round, when a caller asks for it.
type incomingObjects struct {
	// Immutable.
	p    *engine.Parts
	take func(k int) (b []byte, ok bool)      // the k-th of the sender's partitions, once in a round
	into func(b []byte, first, end int) error // elements of the buffer
	n    int                                  // elements of the buffer

	mu  sync.Mutex
	bad map[int]error // guarded by mu: why partitions of this round cannot be deserialised
}

func newIncomingObjects[T any](e *engine.Engine, p *engine.Parts, buf []T) *incomingObjects {
	in := &incomingObjects{p: p, n: len(buf), bad: make(map[int]error)}
	in.take = func(k int) ([]byte, bool) { return e.TakePayload(p, k) }
	in.into = func(b []byte, first, end int) error {
		n, err := decodeObjects(b, buf[first:end])
		if err == nil && n < end-first {
			err = fmt.Errorf("a partition of %d elements arrived with %d", end-first, n)
		}
		return err
	}
	return in
}

// reset begins a round.
func (in *incomingObjects) reset() {
	in.mu.Lock()
	defer in.mu.Unlock()
	clear(in.bad)
}

// decode makes sure that the sender's partitions first to before end are in the buffer,
// if a round was ever started.
//
// Preconditions:
//   - they have arrived.
func (in *incomingObjects) decode(first, end int) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	each := in.n / in.p.Blocks()
	for k := first; k < end; k++ {
		if b, ok := in.take(k); ok {
			if err := in.into(b, k*each, (k+1)*each); err != nil {
				in.bad[k] = err
			}
		}
		if err := in.bad[k]; err != nil {
			return err
		}
	}
	return nil
}
