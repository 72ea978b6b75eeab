package tests

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// Cases of partitioned messages whose partitions are laid out in memory; they are in the table
// partitionedCases.

// laid is a message of partitions that are laid out somehow in memory of float64.
type laid struct {
	name  string
	t     *mpi.Datatype // of a partition; nil: none
	parts int
	mem   int   // values in memory
	at    []int // where the values of the message lie, in their order
}

// lays returns layouts of a message of n values, a multiple of 24.
func lays(n int) []laid {
	f := mpi.TypeOf[float64]()
	const gap, blocks = 3, 12
	all := []laid{
		{name: "memory", parts: 6, mem: n},
		// A matrix of n/4 rows and 4 columns, by columns.
		{name: "columns", parts: 4, mem: n, t: mpi.Resized(mpi.Vector(n/4, 1, 4, f), 0, 8)},
		// The first values of each of 3 rows.
		{name: "rows", parts: 3, mem: 3 * (n/3 + gap), t: mpi.Resized(mpi.Contiguous(n/3, f), 0, 8*(n/3+gap))},
		// A block within each of n/6 planes.
		{name: "blocks", parts: 2, mem: n / 6 * 24, t: mpi.Contiguous(n/blocks, mpi.Subarray([]int{4, 6}, []int{2, 3}, []int{1, 2}, mpi.OrderC, f))},
		// Three values of seven, the last first.
		{name: "indexed", parts: 8, mem: n / 3 * 7, t: mpi.Contiguous(n/24, mpi.Resized(mpi.Indexed([]int{1, 2}, []int{5, 0}, f), 0, 8*7))},
	}
	for i := range n {
		for k, at := range []int{i, i%(n/4)*4 + i/(n/4), i/(n/3)*(n/3+gap) + i%(n/3),
			i/6*24 + (1+i%6/3)*6 + 2 + i%3, i/3*7 + []int{5, 0, 1}[i%3]} {
			all[k].at = append(all[k].at, at)
		}
	}
	return all
}

// scatter puts values where l has them, and fill everywhere else.
func (l *laid) scatter(values []float64, fill float64) []float64 {
	mem := slices.Repeat([]float64{fill}, l.mem)
	for i, v := range values {
		mem[l.at[i]] = v
	}
	return mem
}

// gather is the reverse, of the values from first to before end.
func (l *laid) gather(mem []float64, first, end int) []float64 {
	var values []float64
	for _, at := range l.at[first:end] {
		values = append(values, mem[at])
	}
	return values
}

// valuesOf is a message of n values.
func valuesOf(n, seed int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i) + float64(seed)/16
	}
	return values
}

func partitionedLayouts(t *T, c *mpi.Comm) {
	for _, n := range []int{24, 24 * 400} {
		for i, from := range lays(n) {
			for j, to := range lays(n) {
				if n > 24 && (i+j)%2 == 1 && !t.World {
					continue
				}
				laidExchange(t, c, from, to, i+j)
			}
		}
	}
}

// laidExchange sends rounds of a message from one layout into another.
func laidExchange(t *T, c *mpi.Comm, from, to laid, seed int) {
	const fill = -1
	n, what := len(from.at), fmt.Sprintf("%d values, %s to %s", len(from.at), from.name, to.name)
	out, in := make([]float64, from.mem), slices.Repeat([]float64{fill}, to.mem)
	s := mpi.PsendInit(c.WithTypes(from.t, nil), out, from.parts, right(c), 1)
	r := mpi.PrecvInit(c.WithTypes(nil, to.t), in, to.parts, left(c), 1)
	for round := range 2 {
		values := valuesOf(n, seed+round)
		copy(out, from.scatter(values, 99))
		t.must(mpi.StartAll(s, r))
		makeReady(t, s, from.parts, seed+round)
		for p := range to.parts {
			if round == 1 {
				arrives(t, r, p)
				wantSlice(t, what+": partition", to.gather(in, p*n/to.parts, (p+1)*n/to.parts), values[p*n/to.parts:(p+1)*n/to.parts])
			}
		}
		sts, err := mpi.WaitAll(s, r)
		t.must(err, what)
		want(t, what+": count", sts[1].Count, n)
		want(t, what+": GetCount", mpi.GetCount[float64](sts[1]), n)
		wantSlice(t, what+": memory", in, to.scatter(values, fill))
	}
}

// partitionedRanges: what is between a partition's beginning and its end in the stream arrives with
// it, and nothing else.
func partitionedRanges(t *T, c *mpi.Comm) {
	const n = 24 * 50
	all := lays(n)
	from, to := all[1], all[4] // columns, indexed
	in := slices.Repeat([]float64{-1}, to.mem)
	values := valuesOf(n, 3)
	r := mpi.PrecvInit(c.WithTypes(nil, to.t), in, to.parts, left(c), 1)
	s := mpi.PsendInit(c.WithTypes(from.t, nil), from.scatter(values, 99), from.parts, right(c), 1)
	t.must(mpi.StartAll(r, s))
	each := to.parts / from.parts
	for k, i := range []int{2, 0, 3, 1} {
		t.must(mpi.Barrier(c)) // no rank goes ahead
		t.must(s.Pready(i))
		for j := i * each; j < (i+1)*each; j++ {
			arrives(t, r, j)
			wantSlice(t, "partition", to.gather(in, j*n/to.parts, (j+1)*n/to.parts), values[j*n/to.parts:(j+1)*n/to.parts])
		}
		if k < 3 {
			ok, err := r.Parrived(each) // of the sender's partition 1, the last to be ready
			t.must(err)
			want(t, "a partition that was not sent is there", ok, false)
			wantSlice(t, "its memory", to.gather(in, each*n/to.parts, (each+1)*n/to.parts), slices.Repeat([]float64{-1}, n/to.parts))
		}
	}
	_, err := mpi.WaitAll(r, s)
	t.must(err)
	wantSlice(t, "memory", in, to.scatter(values, -1))
}

// isPadding says which bytes of a padded are none of its values.
func isPadding(i int) bool { return i >= 1 && i < 8 || i == 19 || i > 19 }

func partitionedPadding(t *T, c *mpi.Comm) {
	const size = 24
	for _, n := range []int{12, 12 * 300} {
		out := make([]padded, n)
		in := bytes.Repeat([]byte{0xaa}, size*n) // memory of which we see the padding
		for i := range out {
			out[i].A, out[i].B, out[i].C.D, out[i].C.E = byte(i), float64(i), int16(right(c)), byte(i/7)
		}
		one := mpi.TypeOf[padded]()
		s := mpi.PsendInit(c, out, 4, right(c), 1)
		r := mpi.PrecvInit(c.WithTypes(nil, mpi.Contiguous(n/6, one)), in, 6, left(c), 1)
		// And onwards: from memory with something in its padding into whole elements.
		next := make([]padded, n)
		s2 := mpi.PsendInit(c.WithTypes(mpi.Contiguous(n/3, one), nil), in, 3, right(c), 2)
		r2 := mpi.PrecvInit(c, next, 2, left(c), 2)
		for round := range 2 {
			t.must(mpi.StartAll(s, r))
			makeReady(t, s, 4, round)
			_, err := mpi.WaitAll(s, r)
			t.must(err)
			for i, b := range in {
				if isPadding(i%size) && b != 0xaa {
					t.Fatalf("byte %d of element %d is padding, and was written to", i%size, i/size)
				}
			}
			clear(next)
			t.must(mpi.StartAll(s2, r2))
			makeReady(t, s2, 3, round)
			sts, err := mpi.WaitAll(s2, r2)
			t.must(err)
			want(t, "count", sts[1].Count, n)
			want(t, "count by type", mpi.GetCount[padded](sts[1]), n)
			for i := range next {
				if next[i].A != byte(i) || next[i].B != float64(i) || int(next[i].C.D) != left(c) || next[i].C.E != byte(i/7) {
					t.Fatalf("element %d is %+v", i, next[i])
				}
			}
		}
	}
}

// partitionedStructs: the fields of structs and columns of other memory match, if their values are
// the same in order.
func partitionedStructs(t *T, c *mpi.Comm) {
	type particle struct {
		ID  int32
		Pos [3]float64
		Tag byte
	}
	const n, parts = 60, 5
	i32, f64, u8 := mpi.TypeOf[int32](), mpi.TypeOf[float64](), mpi.TypeOf[byte]()
	out := make([]particle, n)
	for i := range out {
		out[i] = particle{int32(i), [3]float64{float64(i), 2, float64(c.Rank())}, byte(i)}
	}
	// The same values packed tightly, in memory of bytes.
	tight := mpi.Struct([]int{1, 3, 1}, []int{0, 4, 28}, []*mpi.Datatype{i32, f64, u8})
	const size = 29
	in := bytes.Repeat([]byte{0xaa}, size*n)
	s := mpi.PsendInit(c, out, parts, right(c), 1)
	r := mpi.PrecvInit(c.WithTypes(nil, mpi.Contiguous(n/4, mpi.Resized(tight, 0, size))), in, 4, left(c), 1)
	back := make([]particle, n)
	s2 := mpi.PsendInit(c.WithTypes(mpi.Resized(tight, 0, size), nil), in, n, left(c), 2)
	r2 := mpi.PrecvInit(c, back, 3, right(c), 2)
	for range 2 {
		t.must(mpi.StartAll(s, r))
		t.must(s.PreadyRange(0, parts-1))
		_, err := mpi.WaitAll(s, r)
		t.must(err)
		t.must(mpi.StartAll(s2, r2))
		t.must(s2.PreadyRange(0, n-1))
		_, err = mpi.WaitAll(s2, r2)
		t.must(err)
		wantSlice(t, "there and back", back, out)
		clear(back)
	}
}

func partitionedMany(t *T, c *mpi.Comm) {
	const parts = 1 << 13
	values := valuesOf(2*parts, 5)
	in := make([]float64, 4*parts)
	every := mpi.Resized(mpi.Contiguous(2, mpi.Resized(mpi.TypeOf[float64](), 0, 16)), 0, 32)
	s := mpi.PsendInit(c, values, parts, right(c), 1)
	r := mpi.PrecvInit(c.WithTypes(nil, every), in, parts, left(c), 1)
	for round := range 2 {
		t.must(s.Start())
		for i := range parts {
			t.must(s.Pready((i*5 + 3) % parts)) // some before the receiver starts, most after
			if i == parts/8 {
				t.must(r.Start())
			}
		}
		_, err := mpi.WaitAll(s, r)
		t.must(err)
		for i, v := range values {
			if in[2*i] != v || in[2*i+1] != 0 {
				t.Fatalf("round %d: value %d is %v, and %v behind it", round, i, in[2*i], in[2*i+1])
			}
		}
		clear(in)
	}
}

func partitionedLaidWrong(t *T, c *mpi.Comm) {
	failed := func(what string, r *mpi.Request, class mpi.ErrorClass, parts ...string) {
		_, err := r.Wait()
		wantError(t, what, err, class, parts...)
		wantError(t, what+": Start", r.Start(), class)
	}
	f := mpi.TypeOf[float64]()
	column := c.WithType(mpi.Resized(mpi.Vector(10, 1, 4, f), 0, 8))
	buf := make([]float64, 40)
	failed("too many partitions", mpi.PsendInit(column, buf, 5, 0, 1), mpi.ErrBuffer, "5 of", "reach to byte 328", "320 bytes")
	failed("a short buffer", mpi.PrecvInit(column, buf[:36], 4, 0, 1), mpi.ErrBuffer, "288 bytes")
	failed("to nobody", mpi.PrecvInit(column, buf[:36], 4, mpi.ProcNull, 1), mpi.ErrBuffer, "288 bytes")
	failed("another type", mpi.PsendInit(column, make([]int32, 500), 4, 0, 1), mpi.ErrType, "float64", "int32")
	failed("objects", mpi.PrecvInit(column, make([]string, 40), 4, 0, 1), mpi.ErrType, "serialised", "WithType")
	failed("a bad type", mpi.PsendInit(c.WithType(mpi.Vector(-1, 1, 1, f)), buf, 1, 0, 1), mpi.ErrCount)
	failed("no partition", mpi.PsendInit(column, buf, 0, 0, 1), mpi.ErrArg, "0 partitions")

	// As many bytes of data are not as many bytes of memory.
	in := make([]float64, 40)
	s := mpi.PsendInit(column, buf, 4, right(c), 1)
	r := mpi.PrecvInit(column, in, 3, left(c), 1)
	for range 2 {
		t.must(mpi.StartAll(r, s))
		t.must(s.PreadyRange(0, 3))
		_, err := r.Wait()
		wantError(t, "Wait", err, mpi.ErrCount, "320 bytes", "240 bytes", "4 partitions", "receiver's 3")
		_, err = s.Wait()
		t.must(err)
		wantSlice(t, "the buffer", in, make([]float64, 40))
	}
}

// partitionedChecked: types are compared when FITMPI_CHECK=1, over the whole message. Without it
// the case shows what matches nevertheless: as many bytes.
func partitionedChecked(t *T, c *mpi.Comm) {
	const n = 24
	values := valuesOf(n, 1)
	type pair struct{ A, B float64 }
	exchange := func(what string, r *mpi.Request, isWrong bool, parts ...string) {
		s := mpi.PsendInit(c, values, 4, right(c), 1)
		for range 2 {
			t.must(mpi.StartAll(r, s))
			t.must(s.PreadyRange(0, 3))
			for {
				ok, err := r.Parrived(0)
				if isWrong && err != nil {
					wantError(t, what+": Parrived", err, mpi.ErrType, parts...)
				} else {
					t.must(err, what)
				}
				if ok || err != nil {
					break
				}
			}
			_, err := r.Wait()
			if isWrong {
				wantError(t, what, err, mpi.ErrType, append(parts, fmt.Sprint("rank ", left(c)))...)
			} else {
				t.must(err, what)
			}
			_, err = s.Wait()
			t.must(err)
		}
	}
	l := left(c)
	exchange("other numbers", mpi.PrecvInit(c, make([]int64, n), 3, l, 1), true, "float64", "int64", "tag 1")
	exchange("halves", mpi.PrecvInit(c, make([]float32, 2*n), 3, l, 1), true, "float64", "float32")
	exchange("bytes", mpi.PrecvInit(c, make([]byte, 8*n), 3, l, 1), false)
	exchange("structs of them", mpi.PrecvInit(c, make([]pair, n/2), 3, l, 1), false)
	every := mpi.Contiguous(n/3, mpi.Resized(mpi.TypeOf[float64](), 0, 16))
	exchange("every other one", mpi.PrecvInit(c.WithType(every), make([]float64, 2*n), 3, l, 1), false)
	mixed := mpi.Contiguous(n/6, mpi.Struct([]int{1, 1}, []int{0, 8}, []*mpi.Datatype{mpi.TypeOf[float64](), mpi.TypeOf[int64]()}))
	exchange("every other one another", mpi.PrecvInit(c.WithType(mixed), make([]byte, 8*n), 3, l, 1), isChecking(), "int64")
}
