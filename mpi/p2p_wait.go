package mpi

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
)

// waits numbers the rounds of waitFor.
var waits atomic.Uint64

// waitLists recycles the lists of waits for many requests.
var waitLists = sync.Pool{New: func() any { return new(make([]*engine.MSO, 0, 64)) }}

// waitFor returns when need of rs are done.
func waitFor(need int, rs []*Request) { waitAs(need, rs, false) }

// waitBounded is waitFor by a goroutine of the library's. Its rank is not blocked: another
// goroutine may do what the requests wait for.
func waitBounded(need int, rs []*Request) { waitAs(need, rs, true) }

func waitAs(need int, rs []*Request, bounded bool) {
	refuseCallbacks()
	if len(rs) > 4 {
		room := waitLists.Get().(*[]*engine.MSO)
		*room = waitIn((*room)[:0], need, rs, bounded)
		clear((*room)[:cap(*room)])
		waitLists.Put(room)
		return
	}
	var room [8]*engine.MSO
	waitIn(room[:0], need, rs, bounded)
}

// waitIn is waitAs with room for a list; it returns the room, or what had to replace it.
func waitIn(room []*engine.MSO, need int, rs []*Request, always bool) []*engine.MSO {
	for {
		ms, e, stop, done, bounded := room[:0], (*engine.Engine)(nil), []func() bool(nil), 0, 0
		round := waits.Add(1)
		for _, r := range rs {
			switch open := r.open(need == len(rs), ms); {
			case len(open) == len(ms): // done by now: nothing will wake the caller for it
				done++
			case r.mark == round: // the same request may stand there twice
			default:
				r.mark, e = round, r.c.job.engine
				for _, m := range open[len(ms):] {
					stop = r.bound(stop, m)
				}
				if r.c.isBounded() {
					bounded += len(open) - len(ms)
				}
				ms = open
			}
		}
		room = ms[:0]
		switch n := least(need == len(rs), len(ms)); {
		case done >= need:
		case always || bounded >= n:
			e.WaitBounded(n, ms)
		default:
			e.WaitMany(n, ms)
		}
		for _, f := range stop {
			f()
		}
		if done >= need {
			return room
		}
	}
}

// least is how many of n operations to wait for.
func least(all bool, n int) int {
	if all {
		return n
	}
	return 1
}

// open appends what r still waits for: of two operations the second only when both are wanted, or
// the first is done.
func (r *Request) open(both bool, ms []*engine.MSO) []*engine.MSO {
	if r == nil || r.work == nil {
		return ms
	}
	first := r.m != nil && !r.m.IsOver()
	if first {
		ms = append(ms, r.m)
	}
	if x := r.extra(); x != nil && (both || !first) && !x.IsOver() {
		ms = append(ms, x)
	}
	return ms
}

// bound ends m with the context of the communicator, if it has one.
func (r *Request) bound(stop []func() bool, m *engine.MSO) []func() bool {
	if r.c.mayEnd() {
		stop = append(stop, r.c.job.endWith(r.c.ctx, m))
	}
	return stop
}

// count is the number of requests that are done.
func count(rs []*Request) int {
	n := 0
	for _, r := range rs {
		if r.isOver() {
			n++
		}
	}
	return n
}

// active reports whether r takes part in the waiting of a family: nil, and a
// request whose completion the user has seen, do not.
func (r *Request) active() bool {
	return r != nil && !r.delivered
}

// WaitAll waits for all of rs, also if some fail (MPI 4.1, section 3.7.5). The error joins those of
// the requests; errors.Is finds each class. The statuses are in the order of rs.
func WaitAll(rs ...*Request) (sts []Status, err error) {
	told := beginRequests("WaitAll", rs)
	sts = make([]Status, len(rs))
	n := collectOver(sts, rs)
	if n < len(rs) {
		waitFor(len(rs)-n, rs[n:])
		err = collectAll(sts[n:], rs[n:])
	}
	told.endAt(&err)
	return sts, err
}

// collectOver collects the first of rs, as many as are over and hold no more than their status, and
// returns how many.
func collectOver(sts []Status, rs []*Request) int {
	sts = sts[:len(rs)]
	for i, r := range rs {
		if r == nil || r.work != nil {
			return i
		}
		r.delivered = true
		sts[i] = r.status // where it is: a result of collect would be made, and then copied twice
	}
	return len(rs)
}

// collectAll collects rs, which are done.
func collectAll(sts []Status, rs []*Request) error {
	var errs []error
	for {
		n := collectOver(sts, rs)
		if n == len(rs) {
			return errors.Join(errs...)
		}
		st, err := rs[n].collect()
		if sts[n] = st; err != nil {
			errs = append(errs, err)
		}
		sts, rs = sts[n+1:], rs[n+1:]
	}
}

// TestAll is WaitAll that does not wait: all or nothing (MPI 4.1, section 3.7.5).
func TestAll(rs ...*Request) (sts []Status, done bool, err error) {
	defer beginRequests("TestAll", rs).endFound(&done, &err)
	poke(rs)
	if count(rs) < len(rs) {
		return nil, false, nil
	}
	if err := pendingErrors(rs); err != nil {
		return nil, false, err
	}
	sts = make([]Status, len(rs))
	return sts, true, collectAll(sts, rs)
}

// poke lets messages move where that happens only in calls.
func poke(rs []*Request) {
	for _, r := range rs {
		if !r.isOver() {
			refuseCallbacks()
			r.c.job.engine.Test(r.pending())
			return
		}
	}
}

// actives returns the requests that a family waits for, and where they stand.
func actives(rs []*Request) (act []*Request, at []int) {
	for i, r := range rs {
		if r.active() {
			act, at = append(act, r), append(at, i)
		}
	}
	return act, at
}

// WaitAny waits for one of rs and returns its index, status and error (MPI 4.1, section 3.7.5). A
// request that it, or Wait or Test, has returned before does not count again; if none is left the
// index is Undefined. Of several that are complete it returns the one that was left most often. So
// among n of them none is left n times, though others are started again at once: what the standard
// asks of WaitSome only.
func WaitAny(rs ...*Request) (index int, st Status, err error) {
	defer beginRequests("WaitAny", rs).endStatus(&st, &err)
	act, at := actives(rs)
	if len(act) == 0 {
		return Undefined, emptyStatus(), nil
	}
	waitFor(1, act)
	return firstDone(act, at)
}

// firstDone collects one that is done or, if there is none, has one say why it is not: the first of
// those that were left most often.
func firstDone(act []*Request, at []int) (int, Status, error) {
	for _, over := range []func(*Request) bool{(*Request).isDone, (*Request).isOver} {
		first := -1
		for i, r := range act {
			switch {
			case !over(r):
				continue
			case first < 0:
				first = i
			case r.left > act[first].left:
				act[first].left++
				first = i
			default:
				r.left++
			}
		}
		if first >= 0 {
			act[first].left = 0
			st, err := act[first].collect()
			return at[first], st, err
		}
	}
	return Undefined, emptyStatus(), nil
}

// TestAny is WaitAny that does not wait. With no active request done is true
// and the index Undefined (MPI 4.1, section 3.7.5).
func TestAny(rs ...*Request) (index int, st Status, done bool, err error) {
	defer beginRequests("TestAny", rs).endTest(&st, &done, &err)
	act, at := actives(rs)
	if len(act) == 0 {
		return Undefined, emptyStatus(), true, nil
	}
	poke(act)
	if count(act) == 0 {
		return Undefined, Status{}, false, nil
	}
	index, st, err = firstDone(act, at)
	return index, st, !isStirred(rs, index), err
}

// isStirred reports whether the request at an index, which may be Undefined, has said no more than
// why it is not complete.
func isStirred(rs []*Request, index int) bool { return index >= 0 && rs[index].isStirred() }

// pendingErrors joins what is said by requests that wait beside failures.
func pendingErrors(rs []*Request) error {
	var errs []error
	for _, r := range rs {
		if r.isStirred() {
			errs = append(errs, r.pendingError())
		}
	}
	return errors.Join(errs...)
}

// WaitSome waits until at least one of rs is done and returns the indices and statuses of all that
// are (MPI 4.1, section 3.7.5). It returns no index if none was active. The error joins those of
// the requests returned.
func WaitSome(rs ...*Request) (indices []int, sts []Status, err error) {
	defer beginRequests("WaitSome", rs).endAt(&err)
	act, at := actives(rs)
	if len(act) == 0 {
		return nil, nil, nil
	}
	waitFor(1, act)
	return collectDone(act, at)
}

// TestSome is WaitSome that does not wait: it may return no index
// (MPI 4.1, section 3.7.5).
func TestSome(rs ...*Request) (indices []int, sts []Status, err error) {
	defer beginRequests("TestSome", rs).endAt(&err)
	act, at := actives(rs)
	poke(act)
	return collectDone(act, at)
}

func collectDone(act []*Request, at []int) (indices []int, sts []Status, _ error) {
	var errs []error
	for i, r := range act {
		if !r.isOver() {
			continue
		}
		st, err := r.collect()
		indices, sts = append(indices, at[i]), append(sts, st)
		if err != nil {
			errs = append(errs, err)
		}
	}
	return indices, sts, errors.Join(errs...)
}

// GetStatusAll is TestAll that leaves the requests as they are (MPI 4.1, section 3.7.6).
func GetStatusAll(rs ...*Request) (sts []Status, done bool, err error) {
	defer beginRequests("GetStatusAll", rs).endFound(&done, &err)
	poke(rs)
	if count(rs) < len(rs) {
		return nil, false, nil
	}
	if err := pendingErrors(rs); err != nil {
		return nil, false, err
	}
	var errs []error
	for _, r := range rs {
		st, _, err := r.getStatus()
		if sts = append(sts, st); err != nil {
			errs = append(errs, err)
		}
	}
	return sts, true, errors.Join(errs...)
}

// GetStatusAny is TestAny that leaves the requests as they are (MPI 4.1, section 3.7.6).
func GetStatusAny(rs ...*Request) (index int, st Status, done bool, err error) {
	defer beginRequests("GetStatusAny", rs).endTest(&st, &done, &err)
	act, at := actives(rs)
	if len(act) == 0 {
		return Undefined, emptyStatus(), true, nil
	}
	poke(act)
	for i, r := range act {
		if r.isOver() {
			st, done, err = r.getStatus()
			return at[i], st, done, err
		}
	}
	return Undefined, Status{}, false, nil
}

// GetStatusSome is TestSome that leaves the requests as they are (MPI 4.1, section 3.7.6).
func GetStatusSome(rs ...*Request) (indices []int, sts []Status, err error) {
	defer beginRequests("GetStatusSome", rs).endAt(&err)
	act, at := actives(rs)
	poke(act)
	var errs []error
	for i, r := range act {
		if !r.isOver() {
			continue
		}
		st, _, err := r.getStatus()
		indices, sts = append(indices, at[i]), append(sts, st)
		if err != nil {
			errs = append(errs, err)
		}
	}
	return indices, sts, errors.Join(errs...)
}
