package calls

import (
	"math"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/mpi"
)

func getCount(c *call) error {
	st, d := at[status](c.need(0)), c.datatype(1)
	n := st.count()
	switch {
	case n == 0:
		c.set(2, 0)
	case d.size == 0 || n%d.size != 0:
		c.set(2, abi.Undefined)
	default:
		c.set(2, n/d.size)
	}
	return nil
}

// bytesStatus is a status of package mpi of so many bytes.
func bytesStatus(n int) (st mpi.Status) {
	if err := st.SetElements(byteType, n); err != nil {
		panic(failf(abi.ErrCount, "%v", err))
	}
	return st
}

func getElements(c *call) error {
	st, d := at[status](c.need(0)), c.datatype(1)
	n := st.count()
	if basic := d.basic(); basic > 0 {
		if n%basic != 0 {
			c.set(2, abi.Undefined)
		} else {
			c.set(2, n/basic)
		}
		return nil
	}
	if n = bytesStatus(n).GetElements(d.t); n == mpi.Undefined {
		n = abi.Undefined
	}
	c.set(2, n)
	return nil
}

// basic is the size of d's values if they are basic, else 0.
func (d *datatype) basic() int {
	if d.named && (d.ops == nil || !isPair(d.ops)) {
		return d.size
	}
	return 0
}

func statusSetElements(c *call) error {
	st, d, n := at[status](c.need(0)), c.datatype(1), c.count(2)
	if basic := d.basic(); basic > 0 && n <= math.MaxInt/basic {
		st.setBytes(n * basic)
		return nil
	}
	var s mpi.Status
	if err := s.SetElements(d.t, n); err != nil {
		return err
	}
	st.setBytes(s.GetCount(byteType))
	return nil
}
