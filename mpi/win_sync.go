package mpi

import (
	"errors"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/callsite"
	"github.com/fitmpi/fitmpi/mpi/internal/rma"
)

// Assert is what a program promises of a call that begins or ends an epoch; promises are joined by
// | (MPI 4.1, section 12.5.5). What is promised and not kept is an error that may not be found.
type Assert int

// The promises. 0 promises nothing.
const (
	NoCheck   Assert = 1 << iota // of Post and Start together: Post was called before; of Lock: no rank holds a conflicting lock
	NoStore                      // the caller has not written to its own memory since the last call
	NoPut                        // no rank will put to, or accumulate at, the caller's memory
	NoPrecede                    // of Fence, at all ranks: no operations were started since the last one
	NoSucceed                    // of Fence, at all ranks: none will be started before the next one
)

// LockType is how a target is locked (MPI 4.1, section 12.5.3).
type LockType int

// The types of locks.
const (
	LockExclusive LockType = iota + 1 // alone
	LockShared                        // beside others with a shared lock
)

func (w *Win) checkAssert(op string, a, allowed Assert) *Error {
	if a&^allowed != 0 {
		return opErrorf(ErrAssert, op, "the assertion %#x has bits that mean nothing here: need 0, or some of %#x", int(a), int(allowed))
	}
	return nil
}

// ready is the check that every call begins with that begins or ends an epoch: can says whether it
// may.
func (w *Win) ready(op string, a, allowed Assert, can func(*rma.Epochs) error) *Error {
	if err := w.usable(op); err != nil {
		return err
	}
	if err := w.checkAssert(op, a, allowed); err != nil {
		return err
	}
	return w.may(op, can)
}

func (w *win) may(op string, can func(*rma.Epochs) error) *Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := can(&w.epochs); err != nil {
		return opError(ErrRMASync, op, err)
	}
	return nil
}

// note changes the epochs.
func (w *win) note(f func(*rma.Epochs)) {
	w.mu.Lock()
	f(&w.epochs)
	w.mu.Unlock()
}

// Fence ends the epoch that the last Fence has begun and begins another, unless assert has
// NoSucceed: operations that were started are complete, at their targets too, when it returns, and
// those of others at the caller's memory as well. It returns when all ranks have called it.
// Collective (MPI 4.1, section 12.5.1).
func (w *Win) Fence(assert Assert) (err error) {
	defer w.begin("Fence").endAt(&err)
	const op = "Fence"
	if err := w.ready(op, assert, NoStore|NoPut|NoPrecede|NoSucceed, (*rma.Epochs).CanFence); err != nil {
		return w.fail(err)
	}
	failed := w.flush(op, rma.Flush, w.all())
	if err := done(ibarrier(w.comm, op)); err != nil {
		return err
	}
	w.note(func(e *rma.Epochs) { e.Fence(assert&NoSucceed != 0) })
	return w.outcome(failed)
}

// all are all ranks.
func (w *win) all() []int {
	rs := make([]int, len(w.ranks))
	for i := range rs {
		rs[i] = i
	}
	return rs
}

// Start begins an epoch of operations with the ranks of g. It waits until each has called Post,
// unless assert is NoCheck (MPI 4.1, section 12.5.2).
func (w *Win) Start(g *Group, assert Assert) (err error) {
	defer w.begin("Start").endAt(&err)
	const op = "Start"
	targets, opErr := w.startable(op, g, assert)
	if opErr != nil {
		return w.fail(opErr)
	}
	if assert&NoCheck == 0 {
		ms := w.tokens(targets, tagPost)
		w.await(ms)
		if opErr = w.tokenFailure(op, targets, ms); opErr != nil {
			return w.fail(opErr)
		}
	}
	w.mu.Lock()
	cause := w.epochs.Start(targets)
	w.mu.Unlock()
	if cause != nil {
		return w.fail(opError(ErrRMASync, op, cause))
	}
	return nil
}

func (w *Win) startable(op string, g *Group, assert Assert) ([]int, *Error) {
	if err := w.ready(op, assert, NoCheck, (*rma.Epochs).CanStart); err != nil {
		return nil, err
	}
	return w.ranksOf(op, g)
}

// Complete ends the epoch that Start has begun: operations that were started are complete, at their
// targets too, when it returns. It does not wait for the targets' calls of Wait (MPI 4.1, section
// 12.5.2).
func (w *Win) Complete() (err error) {
	defer w.begin("Complete").endAt(&err)
	const op = "Complete"
	if err := w.ready(op, 0, 0, (*rma.Epochs).CanComplete); err != nil {
		return w.fail(err)
	}
	w.mu.Lock()
	targets := w.epochs.Started()
	w.mu.Unlock()
	failed := w.flush(op, rma.Flush, targets)
	w.tell(targets, tagComplete)
	w.note((*rma.Epochs).Complete)
	return w.outcome(failed)
}

// Post begins an epoch in which the ranks of g, which call Start, may use the caller's memory. It
// does not wait (MPI 4.1, section 12.5.2).
func (w *Win) Post(g *Group, assert Assert) (err error) {
	defer w.begin("Post").endAt(&err)
	const op = "Post"
	if err := w.ready(op, assert, NoCheck|NoStore|NoPut, (*rma.Epochs).CanPost); err != nil {
		return w.fail(err)
	}
	origins, opErr := w.ranksOf(op, g)
	if opErr != nil {
		return w.fail(opErr)
	}
	ms := w.tokens(origins, tagComplete)
	w.mu.Lock()
	cause := w.epochs.Post()
	w.exposed = ms
	w.mu.Unlock()
	if cause != nil {
		return w.fail(opError(ErrRMASync, op, cause))
	}
	if assert&NoCheck == 0 {
		w.tell(origins, tagPost)
	}
	return nil
}

// tell sends each rank a message without data. It does not wait, not even for this rank's own
// receive, and no caller learns whether it arrives.
func (w *win) tell(ranks []int, tag engine.Tag) {
	c := w.comm
	for _, r := range ranks {
		if c.job.engine.Send(&engine.Message{Peer: c.peers[r], Tag: tag, Ctx: c.p2p}, engine.Returns) {
			continue
		}
		m := &engine.MSO{Kind: engine.KindSend, Peer: c.peers[r], Tag: tag, Ctx: c.p2p}
		callsite.Note(m.Origin[:])
		c.job.engine.Post(m, engine.Computes)
	}
}

// Wait ends the epoch that Post has begun: it returns when all ranks of its group have called
// Complete, and then what they did is in the caller's memory (MPI 4.1, section 12.5.2).
func (w *Win) Wait() (err error) {
	defer w.begin("Wait").endAt(&err)
	const op = "Wait"
	if err := w.ready(op, 0, 0, (*rma.Epochs).CanWait); err != nil {
		return w.fail(err)
	}
	ms := w.takeExposed()
	w.await(ms)
	return w.outcome(w.exposureEnds(op, ms))
}

// Test is Wait that does not wait: done says whether the epoch has ended (MPI 4.1, section 12.5.2).
func (w *Win) Test() (done bool, err error) {
	defer w.begin("Test").endFound(&done, &err)
	const op = "Test"
	if err := w.ready(op, 0, 0, (*rma.Epochs).CanWait); err != nil {
		return false, w.fail(err)
	}
	w.mu.Lock()
	ms := w.exposed
	w.mu.Unlock()
	for _, m := range ms {
		if !w.comm.job.engine.Test(m) {
			return false, nil
		}
	}
	w.takeExposed()
	return true, w.outcome(w.exposureEnds(op, ms))
}

func (w *win) takeExposed() []*engine.MSO {
	w.mu.Lock()
	defer w.mu.Unlock()
	ms := w.exposed
	w.exposed = nil
	return ms
}

func (w *Win) exposureEnds(op string, ms []*engine.MSO) *Error {
	w.note((*rma.Epochs).Wait)
	origins := make([]int, len(ms))
	for i, m := range ms {
		origins[i] = w.comm.rankOf(m.Peer)
	}
	return w.tokenFailure(op, origins, ms)
}

// tokens posts receives of messages without data, one from each rank.
func (w *win) tokens(ranks []int, tag engine.Tag) []*engine.MSO {
	ms := make([]*engine.MSO, len(ranks))
	for i, r := range ranks {
		m := &engine.MSO{Kind: engine.KindRecv, Peer: w.comm.peers[r], Tag: tag, Ctx: w.comm.p2p}
		callsite.Note(m.Origin[:])
		ms[i] = m
		w.comm.job.engine.Post(m, engine.Computes)
	}
	return ms
}

func (w *win) tokenFailure(op string, ranks []int, ms []*engine.MSO) *Error {
	for i, m := range ms {
		if m.Err != nil {
			return w.comm.engineError(op, m.Err, ranks[i], 0, 0)
		}
	}
	return nil
}

// await waits for ms. If the context of the window ends first, so do they; ended reports that this
// may still be under way.
func (w *win) await(ms []*engine.MSO) (ended bool) {
	c := w.comm
	if c.ctx == nil || c.ctx.Done() == nil {
		c.job.engine.WaitMany(len(ms), ms)
		return false
	}
	var stops []func() bool
	for _, m := range ms {
		if !m.IsDone() {
			stops = append(stops, c.job.endWith(c.ctx, m))
		}
	}
	if c.isBounded() {
		c.job.engine.WaitBounded(len(ms), ms)
	} else {
		c.job.engine.WaitMany(len(ms), ms)
	}
	for _, stop := range stops {
		ended = !stop() || ended
	}
	return ended
}

// flushed is one target of a flush.
type flushed struct {
	target int
	answer *engine.MSO
	open   []*engine.MSO
	again  []*engine.MSO // of requests
}

// flush asks targets to say when all that this rank has asked of them is done. It waits for that,
// and for what is under way at this end. It leaves out targets of which nothing was asked since,
// unless kind is Unlock, which gives locks back as well. It returns the first failure. A caller
// that asks no target serves its own window all the same, as a program that spins here may wait for
// what others are to do to it.
//
// Messages of requests belong to the goroutines that wait for these requests, perhaps just now. The
// messages are done, or nearly, when the target has said that it has done its part. So the target
// is asked once more until they are.
func (w *win) flush(op string, kind rma.Kind, targets []int) (failed *Error) {
	failed = w.lostMate(op, targets)
	w.flushing.Lock()
	defer w.flushing.Unlock()
	for len(targets) > 0 {
		fs, ms := w.askAll(kind, targets)
		if len(ms) == 0 {
			w.comm.job.engine.Poll()
			return failed
		}
		ended := w.await(ms)
		kind, targets = rma.Flush, nil
		for i := range fs {
			f := &fs[i]
			if err := w.verdict(op, f); err != nil && failed == nil {
				failed = err
			}
			if w.keepOpen(f) && f.answer.Err == nil {
				targets = append(targets, f.target)
			}
			if !ended {
				for _, m := range f.open {
					putMSO(m)
				}
			}
		}
	}
	return failed
}

// askAll sends what flush sends, and returns what it waits for.
func (w *win) askAll(kind rma.Kind, targets []int) (fs []flushed, ms []*engine.MSO) {
	for _, t := range targets {
		if f, some := w.takeOpen(t); some || kind == rma.Unlock {
			f.answer = w.question(t, kind)
			fs = append(fs, f)
		}
	}
	for i := range fs {
		more, _ := w.takeOpen(fs[i].target) // the question itself, if it has to wait
		fs[i].open = append(fs[i].open, more.open...)
		fs[i].again = append(fs[i].again, more.again...)
		ms = append(append(ms, fs[i].answer), fs[i].open...)
	}
	return fs, ms
}

// takeOpen takes what is under way to or from target. some says whether there is anything to be
// asked.
func (w *win) takeOpen(target int) (f flushed, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.targets[target]
	some = t.dirty || len(t.open) > 0
	f.target = target
	for _, m := range t.open {
		if m.User == nil {
			f.open = append(f.open, m)
		} else if !m.IsDone() {
			f.again = append(f.again, m)
		}
	}
	t.dirty, t.open = false, nil
	return f, some
}

// keepOpen keeps what belongs to requests and is not done. It reports whether there is any.
func (w *win) keepOpen(f *flushed) bool {
	some := false
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range f.again {
		if !m.IsDone() {
			t := &w.targets[f.target]
			t.open, some = append(t.open, m), true
		}
	}
	return some
}

// question sends a request that is answered, and returns the receive of the answer.
func (w *win) question(target int, kind rma.Kind) *engine.MSO {
	tag := w.nextTag()
	m := &engine.MSO{
		Kind: engine.KindRecv, Peer: w.comm.peers[target], Tag: wireTag(tag, tagAnswer), Ctx: w.comm.p2p, Buf: make([]byte, rma.AnswerLen),
	}
	w.comm.job.engine.Post(m, engine.Waits)
	w.ask(target, &rma.Request{Kind: kind, Tag: tag}, nil, 0, 0)
	return m
}

// verdict is what a target has said, or what has become of messages with it.
func (w *win) verdict(op string, f *flushed) *Error {
	if err := f.answer.Err; err != nil && !errors.Is(err, engine.ErrTruncated) {
		return w.comm.engineError(op, err, f.target, 0, 0)
	}
	if err := w.answered(op, f.target, f.answer); err != nil {
		return err
	}
	return w.failureOf(op, f.target, f.open)
}

// answered reads an answer.
func (w *win) answered(op string, target int, m *engine.MSO) *Error {
	a, ok := rma.ConsumeAnswer(m.Buf[:min(m.Length, len(m.Buf))])
	if !ok {
		return opErrorf(ErrIntern, op, "the target's answer makes no sense").with(target)
	}
	switch a.Verdict {
	case rma.Fine:
		return nil
	case rma.OutOfRange:
		return opErrorf(ErrRMARange, op, "an operation meant bytes %d to %d of the target's window, which it does not have", a.At, a.End-1).with(target)
	case rma.HolderDied:
		return opErrorf(ErrProcFailed, op, "rank %d, which held the lock, has failed: what it was doing to the memory is not known", a.Rank).with(a.Rank)
	case rma.NotHeld:
		return opErrorf(ErrRMASync, op, "the target knows of no lock").with(target)
	case rma.CutOff:
		return opErrorf(ErrIntern, op, "data did not reach the target whole").with(target)
	default:
		return opErrorf(ErrIntern, op, "the target could not make sense of an operation").with(target)
	}
}
