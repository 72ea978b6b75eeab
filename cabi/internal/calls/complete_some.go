package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/mpi"
)

// some completes all requests of an array that are done, after it has waited for one if that is
// asked for and none is.
func (c *call) some(waits bool) error {
	n := c.count(0)
	hs, qs, rs := c.list(1, n)
	early := doneBefore(hs, qs) >= 0
	if !early && isNoneActive(rs) {
		c.setInt(2, abi.Undefined)
		return nil
	}
	var done []int
	var out []outcome
	first := mpi.Undefined
	var of outcome
	if waits && !early {
		first, of.st, of.err = mpi.WaitAny(rs...)
	}
	for k, r := range rs {
		switch {
		case k == first:
			done, out = append(done, k), append(out, of)
		case qs[k] == nil:
			if hs[k] != abi.RequestNull {
				done, out = append(done, k), append(out, outcome{})
			}
		case isActive(r):
			if st, is, err := r.Test(); is {
				done, out = append(done, k), append(out, outcome{st, err})
			}
		}
	}
	c.setInt(2, len(done))
	c.setInts(3, done)
	return c.completeThese(done, hs, qs, out, c.statuses(4, n))
}

// isNoneActive reports whether there is nothing to wait for.
func isNoneActive(rs []*mpi.Request) bool {
	index, _, done, _ := mpi.GetStatusAny(rs...)
	return done && index == mpi.Undefined
}
