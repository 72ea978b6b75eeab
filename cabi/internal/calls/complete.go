package calls

import (
	"slices"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

func init() {
	register(procedure.Wait, wait)
	register(procedure.Test, test)
	register(procedure.Waitall, waitall)
	register(procedure.Testall, testall)
	register(procedure.Waitany, func(c *call) error { return c.any(2, -1, 3, mpi.WaitAny) })
	register(procedure.Testany, testany)
	register(procedure.Waitsome, func(c *call) error { return c.some(true) })
	register(procedure.Testsome, func(c *call) error { return c.some(false) })
	register(procedure.RequestGetStatus, getStatus)
	register(procedure.RequestGetStatusAll, getStatusAll)
	register(procedure.RequestGetStatusAny, getStatusAny)
	register(procedure.RequestGetStatusSome, getStatusSome)
	register(procedure.RequestFree, requestFreed)
	register(procedure.Cancel, cancel)
	register(procedure.Start, start)
	register(procedure.Startall, startall)
}

// finish ends the completion of the request q, whose handle is at p: st and err are its outcome. An
// error that is no object's goes to that of the request.
func (c *call) finish(p *handle, q *request, st mpi.Status, err error, to *status) error {
	if q == nil { // done before, or null
		if i := placeOf(*p); i >= 0 {
			to.copy(&shared.slot(i).status)
			drop(p)
		} else if to != nil {
			to.set(emptyStatus)
		}
		return nil
	}
	st, err = q.outcomeOf(st, err)
	if to != nil {
		to.set(st)
	}
	if q.done != nil && err == nil {
		err = q.done()
	}
	if q.asked != nil {
		to.copy(q.asked)
	}
	if !q.persistent {
		drop(p)
	}
	return err
}

// statusAt is the status at an address, or nil if it is ignored.
func statusAt(addr int64) *status { return at[status](addr) }

func wait(c *call) error {
	p := at[handle](c.need(0))
	q := findRequest(*p)
	if q == nil {
		return c.finish(p, nil, emptyStatus, nil, statusAt(c.args[1]))
	}
	c.on = q.on
	st, err := q.r.Wait()
	return c.finish(p, q, st, err, statusAt(c.args[1]))
}

func test(c *call) error {
	p := at[handle](c.need(0))
	q := findRequest(*p)
	c.setBool(1, true)
	if q == nil {
		return c.finish(p, nil, emptyStatus, nil, statusAt(c.args[2]))
	}
	c.on = q.on
	st, done, err := q.r.Test()
	if !done && err == nil {
		c.setBool(1, false)
		return nil
	}
	return c.finish(p, q, st, err, statusAt(c.args[2]))
}

// list is the requests of an array of n handles: nil for those that are null or done.
func (c *call) list(i, n int) (hs []handle, qs []*request, rs []*mpi.Request) {
	if n > 0 {
		c.need(i)
	}
	hs = view[handle](c.args[i], n)
	c.qs, c.rs = slices.Grow(c.qs[:0], n)[:n], slices.Grow(c.rs[:0], n)[:n]
	qs, rs = c.qs, c.rs
	for k, h := range hs {
		rs[k] = nil
		if qs[k] = findRequest(h); qs[k] != nil {
			rs[k] = qs[k].r
			if c.on == nil {
				c.on = qs[k].on
			}
		}
	}
	return hs, qs, rs
}

// statuses are the statuses of an array, nil if they are ignored.
func (c *call) statuses(i, n int) []status {
	if c.args[i] == 0 {
		return nil
	}
	return view[status](c.args[i], n)
}

// outcome is what a request has come to. It is asked for once: what is persistent is inactive then.
type outcome struct {
	st  mpi.Status
	err error
}

func waitall(c *call) error {
	hs, qs, rs := c.list(1, c.count(0))
	return c.completeThese(nil, hs, qs, c.waited(rs), c.statuses(2, len(hs)))
}

// waited waits for all of rs, also if some fail.
func (c *call) waited(rs []*mpi.Request) []outcome {
	c.out = slices.Grow(c.out[:0], len(rs))[:len(rs)]
	for k, r := range rs {
		c.out[k].st, c.out[k].err = r.Wait()
	}
	return c.out
}

// completeThese completes the requests at the places in done, or all of them if that is nil, and
// gathers their errors. Outcomes and statuses are in that order.
func (c *call) completeThese(done []int, hs []handle, qs []*request, out []outcome, sts []status) error {
	var failed *failure
	for i := range out {
		k := i
		if done != nil {
			k = done[i]
		}
		on := c.on
		if qs[k] != nil {
			on = qs[k].on
		}
		var to *status
		if sts != nil {
			to = &sts[i]
			to.code = abi.Success
		}
		err := c.finish(&hs[k], qs[k], out[i].st, out[i].err, to)
		if err == nil {
			continue
		}
		c.on = on
		failed = failf(abi.ErrInStatus, "request %d: %v", k, err)
		if to != nil {
			to.code = int32(codeOf(err))
		}
	}
	if failed == nil {
		return nil
	}
	return failed
}

func testall(c *call) error {
	hs, qs, rs := c.list(1, c.count(0))
	for _, r := range rs {
		if _, done, _ := r.GetStatus(); !done {
			c.setBool(2, false)
			return nil
		}
	}
	c.setBool(2, true)
	return c.completeThese(nil, hs, qs, c.waited(rs), c.statuses(3, len(hs)))
}

// doneBefore is the first of requests that were done when they were begun, or -1.
func doneBefore(hs []handle, qs []*request) int {
	for k, h := range hs {
		if qs[k] == nil && h != abi.RequestNull {
			return k
		}
	}
	return -1
}

// any completes one request of an array; the index, and the flag if there is one, and the status go
// to those arguments.
func (c *call) any(index, flag, to int, find func(...*mpi.Request) (int, mpi.Status, error)) error {
	hs, qs, rs := c.list(1, c.count(0))
	if flag >= 0 {
		c.setBool(flag, true)
	}
	if k := doneBefore(hs, qs); k >= 0 {
		c.setInt(index, k)
		return c.finish(&hs[k], nil, emptyStatus, nil, statusAt(c.args[to]))
	}
	k, st, err := find(rs...)
	if k == mpi.Undefined {
		c.setInt(index, abi.Undefined)
		c.empty(c.args[to])
		return err
	}
	c.on = qs[k].on
	c.setInt(index, k)
	return c.finish(&hs[k], qs[k], st, err, statusAt(c.args[to]))
}

func testany(c *call) error {
	_, qs, rs := c.list(1, c.count(0))
	if doneBefore(view[handle](c.args[1], c.count(0)), qs) < 0 {
		done := true
		k, st, err := mpi.Undefined, emptyStatus, error(nil)
		if k, st, done, err = mpi.TestAny(rs...); !done {
			c.setBool(3, false)
			c.setInt(2, abi.Undefined)
			return err
		}
		return c.any(2, 3, 4, func(...*mpi.Request) (int, mpi.Status, error) { return k, st, err })
	}
	return c.any(2, 3, 4, nil)
}

// requestFreed lets go of a request.
func requestFreed(c *call) error {
	p := at[handle](c.need(0))
	if *p == abi.RequestNull {
		return failf(abi.ErrRequest, "the request is null")
	}
	q := findRequest(*p)
	if q == nil {
		drop(p)
		return nil
	}
	c.on = q.on
	if err := q.r.Free(); err != nil {
		return err
	}
	drop(p)
	return nil
}

func cancel(c *call) error {
	p := at[handle](c.need(0))
	if *p == abi.RequestNull {
		return failf(abi.ErrRequest, "the request is null")
	}
	q := findRequest(*p)
	if q == nil {
		return nil
	}
	c.on = q.on
	if q.collective {
		return failf(abi.ErrRequest, "the request is of a collective operation, which cannot be cancelled")
	}
	return q.r.Cancel()
}

// startable is a request that Start may start.
func (c *call) startable(h handle) *request {
	if h == abi.RequestNull {
		panic(failf(abi.ErrRequest, "the request is null"))
	}
	q := findRequest(h)
	if q == nil || !q.persistent {
		panic(failf(abi.ErrRequest, "the request is not persistent: make it with MPI_Send_init or its like"))
	}
	c.on = q.on
	return q
}

func start(c *call) error { return c.startable(*at[handle](c.need(0))).r.Start() }

func startall(c *call) error {
	for _, h := range view[handle](c.args[1], c.count(0)) {
		if err := c.startable(h).r.Start(); err != nil {
			return err
		}
	}
	return nil
}
