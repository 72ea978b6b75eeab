//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/engine"

// Collective operations of a file take place in the order in which they are called, at every rank:
// a nonblocking one on a goroutine of the file, and what is called while it goes on behind it.
// Those of the communicator below are in the same order then.

// inTurn does do in the caller's goroutine, or, if other collective operations of f go on, waits
// until it has been done after them.
func (f *file) inTurn(op string, do func()) {
	f.mu.Lock()
	if !f.busy {
		f.busy = true
		f.mu.Unlock()
		do()
		f.next()
		return
	}
	f.mu.Unlock()
	f.laterInTurn(op, do, func() (Status, *Error) { return emptyStatus(), nil }).await()
}

// laterInTurn starts do on a goroutine of the file, after the collective operations that go on.
func (f *file) laterInTurn(op string, do func(), outcome func() (Status, *Error)) *Request {
	r := f.newRequest(op, outcome)
	m := r.m // r may be freed meanwhile
	f.mu.Lock()
	f.queue = append(f.queue, func() {
		do()
		f.comm.job.engine.Complete(m, nil)
	})
	idle := !f.busy
	f.busy = true
	f.mu.Unlock()
	if idle {
		f.next()
	}
	return r
}

// next lets the operations that wait for their turn follow the one that is over.
func (f *file) next() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		f.busy = false
		return
	}
	f.nonblockingFileAccess()
}

// nonblockingFileAccess starts a goroutine that works through the queue. It is what reports of
// hangs call what goes on there.
func (f *file) nonblockingFileAccess() {
	f.work.Go(func() { f.drain() })
}

// drain works through the queue until it is empty.
func (f *file) drain() {
	for {
		f.mu.Lock()
		if len(f.queue) == 0 {
			f.busy = false
			f.mu.Unlock()
			return
		}
		do := f.queue[0]
		f.queue[0] = nil
		f.queue = f.queue[1:]
		f.mu.Unlock()
		do()
	}
}

// later starts do, which is not collective, on a goroutine of its own.
func (f *file) later(op string, do func(), outcome func() (Status, *Error)) *Request {
	r := f.newRequest(op, outcome)
	m := r.m // r may be freed meanwhile
	f.independent.Go(func() {
		f.slots <- struct{}{}
		do()
		<-f.slots
		f.comm.job.engine.Complete(m, nil)
	})
	return r
}

// newRequest is a request that is complete when the engine is told so.
func (f *file) newRequest(op string, outcome func() (Status, *Error)) *Request {
	r := newRequest(f.comm, op)
	r.more().general = &general{own: outcome}
	r.mso().Kind = engine.KindGeneral
	r.m = r.mso()
	f.comm.job.engine.Post(r.m)
	return r
}

// onDisk does do, which uses the disk and nothing else. Meanwhile it says so to a goroutine that
// asks whether this rank can go on.
func (f *file) onDisk(do func() error) error {
	f.comm.job.diskUses.Add(1)
	defer f.comm.job.diskUses.Add(-1)
	return do()
}
