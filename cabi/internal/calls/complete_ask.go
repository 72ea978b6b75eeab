package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/mpi"
)

func getStatus(c *call) error {
	h := handle(c.args[0])
	q := findRequest(h)
	c.setBool(1, true)
	to := statusAt(c.args[2])
	if q == nil {
		if i := placeOf(h); i >= 0 {
			to.copy(&shared.slot(i).status)
		} else {
			c.empty(c.args[2])
		}
		return nil
	}
	c.on = q.on
	st, done, err := q.r.GetStatus()
	if !done {
		c.setBool(1, false)
		return err
	}
	st, err = q.outcomeOf(st, err)
	if to != nil {
		to.set(st)
	}
	if q.asked != nil {
		to.copy(q.asked)
	}
	return err
}

// peek is getStatus of one of an array; it reports whether it is done.
func (c *call) peek(h handle, to int64) (bool, error) {
	var flag int32
	one := call{id: c.id, args: &[maxArgs]int64{int64(h), address(heap(&flag)), to}}
	err := getStatus(&one)
	if one.on != nil {
		c.on = one.on
	}
	return flag != 0, err
}

func getStatusAll(c *call) error {
	hs, _, rs := c.list(1, c.count(0))
	for _, r := range rs {
		if _, done, _ := r.GetStatus(); !done {
			c.setBool(2, false)
			return nil
		}
	}
	c.setBool(2, true)
	for k, h := range hs {
		if _, err := c.peek(h, entry(c.args[3], k)); err != nil {
			return err
		}
	}
	return nil
}

// entry is the address of an entry of an array of statuses, 0 if they are ignored.
func entry(addr int64, k int) int64 {
	if addr == 0 {
		return 0
	}
	return addr + int64(k*sizeOf[status]())
}

func getStatusAny(c *call) error {
	hs, qs, rs := c.list(1, c.count(0))
	c.setBool(3, true)
	if k := doneBefore(hs, qs); k >= 0 {
		c.setInt(2, k)
		_, err := c.peek(hs[k], c.args[4])
		return err
	}
	k, _, done, err := mpi.GetStatusAny(rs...)
	switch {
	case !done:
		c.setBool(3, false)
		c.setInt(2, abi.Undefined)
		return err
	case k == mpi.Undefined:
		c.setInt(2, abi.Undefined)
		c.empty(c.args[4])
		return err
	}
	c.setInt(2, k)
	_, err = c.peek(hs[k], c.args[4])
	return err
}

func getStatusSome(c *call) error {
	n := c.count(0)
	hs, qs, rs := c.list(1, n)
	if doneBefore(hs, qs) < 0 && isNoneActive(rs) {
		c.setInt(2, abi.Undefined)
		return nil
	}
	var found []int
	for k, h := range hs {
		if h == abi.RequestNull || qs[k] != nil && !isActive(rs[k]) {
			continue
		}
		done, err := c.peek(h, entry(c.args[4], len(found)))
		if err != nil {
			return err
		}
		if done {
			found = append(found, k)
		}
	}
	c.setInt(2, len(found))
	c.setInts(3, found)
	return nil
}

// isActive reports whether a request is one that is waited for.
func isActive(r *mpi.Request) bool {
	index, _, done, _ := mpi.GetStatusAny(r)
	return !done || index != mpi.Undefined
}
