package calls

import (
	"sync"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// Datatypes of Fortran that a program asks for by digits and range (MPI 5.0, section 19.1.9). They
// are predefined, in that they are not freed; the same arguments give the same one.

// f90Key says what was asked for.
type f90Key struct{ combiner, p, r int }

var f90 struct {
	mu   sync.Mutex
	made map[f90Key]handle // guarded by mu
}

// f90Kinds are the kinds of each, the smallest first: digits and range that they have.
var f90Kinds = map[int][]struct {
	p, r int
	h    handle
}{
	abi.CombinerF90Real:    {{6, 37, abi.Real4}, {15, 307, abi.Real8}, {33, 4931, abi.Real16}},
	abi.CombinerF90Complex: {{6, 37, abi.Complex8}, {15, 307, abi.Complex16}, {33, 4931, abi.Complex32}},
	abi.CombinerF90Integer: {{0, 2, abi.Integer1}, {0, 4, abi.Integer2}, {0, 9, abi.Integer4}, {0, 18, abi.Integer8}, {0, 38, abi.Integer16}},
}

func init() {
	register(procedure.TypeCreateF90Real, func(c *call) error { return typeF90(c, abi.CombinerF90Real, c.int(0), c.int(1), 2) })
	register(procedure.TypeCreateF90Complex, func(c *call) error { return typeF90(c, abi.CombinerF90Complex, c.int(0), c.int(1), 2) })
	register(procedure.TypeCreateF90Integer, func(c *call) error { return typeF90(c, abi.CombinerF90Integer, abi.Undefined, c.int(0), 1) })
}

// typeF90 gives a datatype with p digits and a range of r at least, either of which may be
// MPI_UNDEFINED.
func typeF90(c *call, combiner, p, r, to int) error {
	f90.mu.Lock()
	defer f90.mu.Unlock()
	key := f90Key{combiner, p, r}
	if h, ok := f90.made[key]; ok {
		c.setHandle(to, h)
		return nil
	}
	for _, k := range f90Kinds[combiner] {
		if (p == abi.Undefined || p <= k.p) && (r == abi.Undefined || r <= k.r) {
			c.setHandle(to, makeF90(key, k.h))
			return nil
		}
	}
	return failf(abi.ErrArg, "no kind has %d digits and a range of %d", p, r)
}

// makeF90 makes a datatype that is as a predefined one. f90.mu is held.
func makeF90(key f90Key, h handle) handle {
	from := datatypes.find(h)
	ints := []int{key.p, key.r}
	if key.combiner == abi.CombinerF90Integer {
		ints = []int{key.r}
	}
	d := newDatatype(mpi.Contiguous(1, from.t), contents{combiner: key.combiner, ints: ints})
	d.named, d.ops, d.flat, d.per, d.k = true, from.ops, from.flat, from.per, from.k
	d.name.Store(from.name.Load())
	d.committed.Store(true)
	d.h = datatypes.add(d)
	if f90.made == nil {
		f90.made = map[f90Key]handle{}
	}
	f90.made[key] = d.h
	return d.h
}
