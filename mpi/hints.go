//go:build linux

package mpi

import "sync/atomic"

// hintNames are the hints of communicators that the standard defines; all are false until
// they are set (MPI 4.1, section 7.4.4). They are promises by the program, which nothing
// here needs: messages are matched in the same way with and without.
var hintNames = [...]string{
	"mpi_assert_no_any_tag",
	"mpi_assert_no_any_source",
	"mpi_assert_exact_length",
	"mpi_assert_allow_overtaking",
	"mpi_assert_strict_persistent_collective_ordering",
}

// hints are those of one communicator: bit i says that of hintNames[i] is true.
type hints struct{ bits atomic.Uint32 }

// set takes over the hints of info that have a value that is known, and no others.
func (h *hints) set(info *Info) {
	for i, name := range hintNames {
		switch v, _ := info.Get(name); v {
		case "true":
			h.bits.Or(1 << i)
		case "false":
			h.bits.And(^uint32(1 << i))
		}
	}
}

// SetInfo gives c the hints of info; those that info does not have stay as they are, and
// keys and values that are not known are ignored. It is local, though all ranks of c must
// give the same. A nil info is an error of class ErrInfo
// (MPI 4.1, section 7.4.4, MPI_Comm_set_info).
func (c *Comm) SetInfo(info *Info) (outcome error) {
	defer c.begin("SetInfo").endAt(&outcome)
	const op = "SetInfo"
	if err := c.present(op); err != nil {
		return c.fail(err)
	}
	if info == nil {
		return c.fail(opErrorf(ErrInfo, op, "the info is nil: make one with InfoCreate"))
	}
	c.hints.set(info)
	return nil
}

// Info returns the hints of c, those that no call has set included. The result is the caller's own
// (MPI 4.1, section 7.4.4, MPI_Comm_get_info).
func (c *Comm) Info() *Info {
	info, bits := InfoCreate(), c.hints.bits.Load()
	for i, name := range hintNames {
		if bits&(1<<i) != 0 {
			info.setKnown(name, "true")
		} else {
			info.setKnown(name, "false")
		}
	}
	return info
}
