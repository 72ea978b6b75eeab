package tests

import (
	"fmt"
	"reflect"

	"github.com/fitmpi/fitmpi/mpi"
)

// The reference of every collective is naive: each rank computes what all ranks gave, and from that
// what it must get.

// sizes of blocks: around the borders of algorithms and protocols.
var sizes = []int{0, 1, 7, 8, 1023, 1024}

type mixedStruct struct {
	A int32
	B float64
	C [3]int8
}

// elements are the collectives of one element type, so that a table can run over types.
type elements interface {
	move(t *T, c *mpi.Comm, n int)    // Bcast, Gather, Scatter, Allgather, Alltoall
	vectors(t *T, c *mpi.Comm, n int) // the v forms
	reduce(t *T, c *mpi.Comm, n int)  // Reduce, Allreduce, Scan, Exscan
}

// of makes elements of T: at gives rank r's element i, add combines, sum is the operation under
// test.
type of[V any] struct {
	at  func(r, i int) V
	add func(a, b V) V
	op  mpi.Op[V]
}

var elementKinds = map[string]elements{
	"int8":       of[int8]{func(r, i int) int8 { return int8(r*31 + i) }, func(a, b int8) int8 { return a + b }, mpi.Sum[int8]},
	"float64":    of[float64]{func(r, i int) float64 { return float64(r*1000 + i) }, func(a, b float64) float64 { return a + b }, mpi.Sum[float64]},
	"complex128": of[complex128]{func(r, i int) complex128 { return complex(float64(r), float64(i)) }, func(a, b complex128) complex128 { return a + b }, mpi.Sum[complex128]},
	"uint16 max": of[uint16]{func(r, i int) uint16 { return uint16(i*7919 + r*104729) }, func(a, b uint16) uint16 { return max(a, b) }, mpi.Max[uint16]},
	"struct": of[mixedStruct]{
		func(r, i int) mixedStruct { return mixedStruct{int32(r), float64(i), [3]int8{int8(r), int8(i), 3}} },
		addStructs, func(acc, in []mixedStruct) {
			for i := range acc {
				acc[i] = addStructs(acc[i], in[i])
			}
		}},
	"string": of[string]{func(r, i int) string { return fmt.Sprint(r, ",", i, ";") }, func(a, b string) string { return a + b }, mpi.Sum[string]},
	"map":    of[map[string]int]{func(r, i int) map[string]int { return map[string]int{fmt.Sprint("r", r): i, "all": 1} }, mergeMaps, mergeAll},
	"matrix": of[matrix]{matrixOf, matrix.times, func(acc, in []matrix) {
		for i := range acc {
			acc[i] = acc[i].times(in[i])
		}
	}},
}

func addStructs(a, b mixedStruct) mixedStruct {
	a.A, a.B = a.A+b.A, a.B+b.B
	for i := range a.C {
		a.C[i] += b.C[i]
	}
	return a
}

func mergeMaps(a, b map[string]int) map[string]int {
	m := map[string]int{}
	for _, x := range []map[string]int{a, b} {
		for k, v := range x {
			m[k] += v
		}
	}
	return m
}

func mergeAll(acc, in []map[string]int) {
	for i := range acc {
		acc[i] = mergeMaps(acc[i], in[i])
	}
}

// matrix is 2 by 2 modulo a prime: a product of them depends on the order.
type matrix [4]uint64

const prime = 65521

func matrixOf(r, i int) matrix {
	return matrix{uint64(r+2) % prime, uint64(i+1) % prime, uint64(3*r+1) % prime, uint64(i*r+5) % prime}
}

func (a matrix) times(b matrix) matrix {
	return matrix{
		(a[0]*b[0] + a[1]*b[2]) % prime, (a[0]*b[1] + a[1]*b[3]) % prime,
		(a[2]*b[0] + a[3]*b[2]) % prime, (a[2]*b[1] + a[3]*b[3]) % prime,
	}
}

// all runs f over types and sizes: all of them on the world.
func all(t *T, f func(e elements, n int)) {
	names, sizes := []string{"int8", "float64", "complex128", "uint16 max", "struct", "matrix"}, sizes
	if !t.World {
		names, sizes = []string{"float64", "matrix"}, []int{0, 7, 1024}
	}
	for _, name := range names {
		for _, n := range sizes {
			f(elementKinds[name], n)
		}
	}
	for _, name := range []string{"string", "map"} {
		for _, n := range []int{0, 1, 7} {
			f(elementKinds[name], n)
		}
	}
}

func (o of[V]) fill(r, n int) []V {
	b := make([]V, n)
	for i := range b {
		b[i] = o.at(r, i)
	}
	return b
}

func (o of[V]) check(t *T, what string, n int, got, want []V) {
	if len(got) == len(want) && (len(got) == 0 || reflect.DeepEqual(got, want)) {
		return
	}
	if len(got) == len(want) {
		for i := range got {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("%s of %d %T: element %d is %v, want %v", what, n, got[i], i, got[i], want[i])
				return
			}
		}
	}
	t.Errorf("%s of %d: %d elements, want %d", what, n, len(got), len(want))
}

// both runs the blocking form, then the nonblocking one.
func both(t *T, what string, blocking error, start func() *mpi.Request, verify func(what string), reset func()) {
	t.must(blocking, what)
	verify(what)
	reset()
	_, err := start().Wait()
	t.must(err, "I"+what)
	verify("I" + what)
	reset()
}

func (o of[V]) move(t *T, c *mpi.Comm, n int) {
	p, me := c.Size(), c.Rank()
	mine := o.fill(me, n)
	var everyone []V
	for r := range p {
		everyone = append(everyone, o.fill(r, n)...)
	}
	for root := range p {
		if n > 1024 && root > 0 {
			break
		}
		buf := make([]V, n)
		reset := func() {
			clear(buf)
			if me == root {
				copy(buf, mine)
			}
		}
		reset()
		both(t, "Bcast", mpi.Bcast(c, buf, root), func() *mpi.Request { return mpi.Ibcast(c, buf, root) },
			func(what string) { o.check(t, what, n, buf, o.fill(root, n)) }, reset)

		var out []V // at the root only
		if me == root {
			out = make([]V, n*p)
		}
		both(t, "Gather", mpi.Gather(c, mine, out, root), func() *mpi.Request { return mpi.Igather(c, mine, out, root) },
			func(what string) {
				if me == root {
					o.check(t, what, n, out, everyone)
				}
			}, func() { clear(out) })

		var in []V
		if me == root {
			in = everyone
		}
		got := make([]V, n)
		both(t, "Scatter", mpi.Scatter(c, in, got, root), func() *mpi.Request { return mpi.Iscatter(c, in, got, root) },
			func(what string) { o.check(t, what, n, got, mine) }, func() { clear(got) })
	}
	out := make([]V, n*p)
	both(t, "Allgather", mpi.Allgather(c, mine, out), func() *mpi.Request { return mpi.Iallgather(c, mine, out) },
		func(what string) { o.check(t, what, n, out, everyone) }, func() { clear(out) })

	// Alltoall: the block from r to s is rank r+10*s's.
	var blocks, wanted []V
	for r := range p {
		blocks = append(blocks, o.fill(me+10*r, n)...)
		wanted = append(wanted, o.fill(r+10*me, n)...)
	}
	both(t, "Alltoall", mpi.Alltoall(c, blocks, out), func() *mpi.Request { return mpi.Ialltoall(c, blocks, out) },
		func(what string) { o.check(t, what, n, out, wanted) }, func() { clear(out) })
	o.check(t, "the input", n, mine, o.fill(me, n))
}

// vectors: rank r's block has n+r elements (none for rank 1), and gaps of two elements between
// blocks.
func (o of[V]) vectors(t *T, c *mpi.Comm, n int) {
	p, me := c.Size(), c.Rank()
	count := func(r int) int {
		if r == 1 {
			return 0
		}
		return n + r
	}
	counts, displs, total := make([]int, p), make([]int, p), 0
	for r := range p {
		counts[r] = count(r)
		displs[r] = total + 2
		total += counts[r] + 2
	}
	mine := o.fill(me, counts[me])
	spread := make([]V, total) // with zeros in the gaps
	var packed []V
	for r := range p {
		copy(spread[displs[r]:], o.fill(r, counts[r]))
		packed = append(packed, o.fill(r, counts[r])...)
	}
	out, tight := make([]V, total), make([]V, len(packed))
	for root := range p {
		both(t, "Gatherv", mpi.Gatherv(c, mine, out, counts, displs, root),
			func() *mpi.Request { return mpi.Igatherv(c, mine, out, counts, displs, root) },
			func(what string) {
				if me == root {
					o.check(t, what, n, out, spread)
				}
			}, func() { clear(out) })
		got := make([]V, counts[me])
		both(t, "Scatterv", mpi.Scatterv(c, spread, counts, displs, got, root),
			func() *mpi.Request { return mpi.Iscatterv(c, packed, counts, nil, got, root) },
			func(what string) { o.check(t, what, n, got, mine) }, func() { clear(got) })
	}
	both(t, "Allgatherv", mpi.Allgatherv(c, mine, out, counts, displs),
		func() *mpi.Request { return mpi.Iallgatherv(c, mine, out, counts, displs) },
		func(what string) { o.check(t, what, n, out, spread) }, func() { clear(out) })
	t.must(mpi.Allgatherv(c, mine, tight, counts, nil))
	o.check(t, "Allgatherv without gaps", n, tight, packed)

	// Alltoallv: r sends s a block of (r+s)%3+n elements, the last n missing for s == r+1.
	between := func(r, s int) int {
		if s == r+1 {
			return (r + s) % 3
		}
		return n + (r+s)%3
	}
	sc, rc := make([]int, p), make([]int, p)
	var send, wanted []V
	for r := range p {
		sc[r], rc[r] = between(me, r), between(r, me)
		send = append(send, o.fill(me+10*r, sc[r])...)
		wanted = append(wanted, o.fill(r+10*me, rc[r])...)
	}
	recv := make([]V, len(wanted))
	both(t, "Alltoallv", mpi.Alltoallv(c, send, sc, nil, recv, rc, nil),
		func() *mpi.Request { return mpi.Ialltoallv(c, send, sc, nil, recv, rc, nil) },
		func(what string) { o.check(t, what, n, recv, wanted) }, func() { clear(recv) })
}

// reduce compares with the fold in the order of ranks; that is what the library promises for every
// operation.
func (o of[V]) reduce(t *T, c *mpi.Comm, n int) {
	p, me := c.Size(), c.Rank()
	fold := func(ranks int) []V {
		acc := o.fill(0, n)
		for r := 1; r < ranks; r++ {
			for i, v := range o.fill(r, n) {
				acc[i] = o.add(acc[i], v)
			}
		}
		return acc
	}
	total, mine, out := fold(p), o.fill(me, n), make([]V, n)
	clean := func() { clear(out) }
	for root := range p {
		if n > 1024 && root > 0 {
			break
		}
		both(t, "Reduce", mpi.Reduce(c, mine, out, o.op, root), func() *mpi.Request { return mpi.Ireduce(c, mine, out, o.op, root) },
			func(what string) {
				if me == root {
					o.check(t, what, n, out, total)
				} else {
					o.check(t, what+": out of another rank", n, out, make([]V, n))
				}
			}, clean)
	}
	both(t, "Allreduce", mpi.Allreduce(c, mine, out, o.op), func() *mpi.Request { return mpi.Iallreduce(c, mine, out, o.op) },
		func(what string) { o.check(t, what, n, out, total) }, clean)
	both(t, "Scan", mpi.Scan(c, mine, out, o.op), func() *mpi.Request { return mpi.Iscan(c, mine, out, o.op) },
		func(what string) { o.check(t, what, n, out, fold(me+1)) }, clean)
	both(t, "Exscan", mpi.Exscan(c, mine, out, o.op), func() *mpi.Request { return mpi.Iexscan(c, mine, out, o.op) },
		func(what string) {
			if me > 0 {
				o.check(t, what, n, out, fold(me))
			} else {
				o.check(t, what+": out of rank 0", n, out, make([]V, n))
			}
		}, clean)
	o.check(t, "the input", n, mine, o.fill(me, n))

	// In place: the same slice for both. "The MPI_IN_PLACE option": input is taken from the output
	// buffer.
	same := o.fill(me, n)
	t.must(mpi.Allreduce(c, same, same, o.op))
	o.check(t, "Allreduce in place", n, same, total)
	same = o.fill(me, n)
	t.must(mpi.Reduce(c, same, same, o.op, p-1))
	if me == p-1 {
		o.check(t, "Reduce in place", n, same, total)
	}
	same = o.fill(me, n)
	t.must(mpi.Scan(c, same, same, o.op))
	o.check(t, "Scan in place", n, same, fold(me+1))
	same = o.fill(me, n)
	t.must(mpi.Exscan(c, same, same, o.op))
	if me > 0 {
		o.check(t, "Exscan in place", n, same, fold(me))
	}
}

var collectiveCases = []testCase{
	{name: "collective/barrier", section: "6.3",
		sentence: "MPI_BARRIER blocks the caller until all group members have called it.",
		run:      barrier},
	{name: "collective/blocks", section: "6.4-6.8",
		sentence: "The block of data sent from the j-th process is received by every process and placed in the j-th block of the buffer recvbuf.",
		run:      func(t *T, c *mpi.Comm) { all(t, func(e elements, n int) { e.move(t, c, n) }) }},
	{name: "collective/vectors", section: "6.5-6.8",
		sentence: "MPI_GATHERV extends the functionality of MPI_GATHER by allowing a varying count of data from each process.",
		run: func(t *T, c *mpi.Comm) {
			all(t, func(e elements, n int) {
				if n <= 8 || n == 1024 {
					e.vectors(t, c, n)
				}
			})
		}},
	{name: "collective/far blocks", section: "6.4-6.8",
		sentence: "The amount of data is bounded by memory only.",
		world:    true, min: 2,
		run: func(t *T, c *mpi.Comm) {
			elementKinds["int8"].move(t, c, farSize)
			elementKinds["float64"].move(t, c, farSize/4)
			elementKinds["struct"].vectors(t, c, farSize/50)
		}},
}

// barrier: no rank leaves before every rank has come. Ranks say by a file that they have come.
func barrier(t *T, c *mpi.Comm) {
	for k := range 4 {
		t.leave(fmt.Sprint("come", k, c.Rank()))
		if k%2 == 0 {
			t.must(mpi.Barrier(c))
		} else {
			_, err := mpi.Ibarrier(c).Wait()
			t.must(err)
		}
		for r := range c.Size() {
			if !t.isThere(fmt.Sprint("come", k, r)) {
				t.Errorf("round %d: the barrier is over though rank %d has not come", k, r)
			}
		}
	}
}

var reductionCases = []testCase{
	{name: "reduction/all types", section: "6.9",
		sentence: "It is strongly recommended that MPI_REDUCE be implemented so that the same result be obtained whenever the function is " +
			"applied on the same arguments, appearing in the same order; a non-commutative operation is applied in the order of ranks.",
		run: func(t *T, c *mpi.Comm) { all(t, func(e elements, n int) { e.reduce(t, c, n) }) }},
	{name: "reduction/far", section: "6.9",
		sentence: "Long vectors are reduced element by element like short ones.",
		world:    true, dear: true, min: 2,
		run: func(t *T, c *mpi.Comm) {
			elementKinds["int8"].reduce(t, c, farSize)
			elementKinds["float64"].reduce(t, c, farSize)
			elementKinds["matrix"].reduce(t, c, farSize/4)
		}},
	{name: "reduction/same bits everywhere", section: "6.9.6",
		sentence: "All processes in the group receive identical results.",
		run:      sameBits},
	{name: "reduction/predefined", section: "6.9.2",
		sentence: "MPI_MAX maximum, MPI_MIN minimum, MPI_SUM sum, MPI_PROD product, MPI_LAND logical and, MPI_BAND bit-wise and, ...",
		run:      predefined},
	{name: "reduction/location", section: "6.9.4",
		sentence: "The operator MPI_MINLOC is used to compute a global minimum and also an index attached to the minimum value; equal " +
			"values give the lowest index.",
		run: locations},
}

func sameBits(t *T, c *mpi.Comm) {
	for _, n := range []int{1, 9, 1000, 20000, 40000} {
		in, out := make([]float64, n), make([]float64, n)
		for i := range in {
			in[i] = 1 / float64(3+c.Rank()*7+i)
		}
		t.must(mpi.Allreduce(c, in, out, mpi.Sum))
		all := make([]float64, n*c.Size())
		t.must(mpi.Allgather(c, out, all))
		for r := range c.Size() {
			wantSlice(t, fmt.Sprint("the sum at rank ", r), all[r*n:(r+1)*n], out)
		}
	}
}

func predefined(t *T, c *mpi.Comm) {
	p, me := c.Size(), c.Rank()
	one := func(what string, op mpi.Op[uint32], in, expect uint32) {
		out := []uint32{0}
		t.must(mpi.Allreduce(c, []uint32{in}, out, op))
		want(t, what, out[0], expect)
	}
	product, or, xor := uint32(1), uint32(0), uint32(0)
	for r := range p {
		product *= uint32(r + 1)
		or |= 1 << r
		xor ^= uint32(r + 5)
	}
	one("Prod", mpi.Prod[uint32], uint32(me+1), product)
	one("Max", mpi.Max[uint32], uint32(me), uint32(p-1))
	one("Min", mpi.Min[uint32], uint32(me+3), 3)
	one("BOr", mpi.BOr[uint32], 1<<me, or)
	one("BAnd", mpi.BAnd[uint32], ^uint32(1<<me), ^or)
	one("BXor", mpi.BXor[uint32], uint32(me+5), xor)
	one("LAnd", mpi.LAnd[uint32], uint32(me), 0)
	one("LOr", mpi.LOr[uint32], uint32(me+1), 1)
	one("LXor", mpi.LXor[uint32], 1, uint32(p%2))
	b := []bool{false}
	t.must(mpi.Allreduce(c, []bool{me == 0}, b, mpi.LOr))
	want(t, "LOr of bool", b[0], true)
}

func locations(t *T, c *mpi.Comm) {
	in := []mpi.Loc[float64]{{Value: float64(c.Rank() / 2), Index: int64(c.Rank())}, {Value: 4, Index: int64(c.Rank())}}
	out := make([]mpi.Loc[float64], 2)
	t.must(mpi.Allreduce(c, in, out, mpi.MinLoc))
	wantSlice(t, "MinLoc", out, []mpi.Loc[float64]{{Value: 0, Index: 0}, {Value: 4, Index: 0}})
	t.must(mpi.Allreduce(c, in, out, mpi.MaxLoc))
	last := (c.Size() - 1) / 2
	wantSlice(t, "MaxLoc", out, []mpi.Loc[float64]{{Value: float64(last), Index: int64(2 * last)}, {Value: 4, Index: 0}})
}
