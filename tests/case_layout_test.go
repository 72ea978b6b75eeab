package tests

import (
	"math/rand/v2"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

var layoutCases = []testCase{
	{name: "layout/messages", section: "5.1.11", min: 1,
		sentence: "the type signature of the message sent must match that of the receive, the type maps need not",
		run:      layoutMessages},
	{name: "layout/modes", section: "3.4", min: 2, max: 3,
		sentence: "a layout may be given to every mode of send, and to persistent requests",
		run:      layoutModes},
	{name: "layout/truncated", section: "3.2.4", min: 2, max: 2,
		sentence: "an overflow error occurs if all incoming data does not fit, without truncation, into the receive buffer",
		run:      layoutTruncated},
	{name: "layout/padding", section: "FitMPI",
		sentence: "padding is neither sent nor trusted",
		run:      layoutPadding},
	{name: "layout/errors", section: "FitMPI", max: 1,
		sentence: "an operation that cannot use the layout says why",
		run:      layoutErrors},
}

// aColumn is the layout of one column of a matrix of rows and columns.
func aColumn(rows, cols int) *mpi.Datatype {
	return mpi.Vector(rows, 1, cols, mpi.TypeOf[float64]())
}

// numbered has the number r*1000+c+seed in row r, column c.
func numbered(rows, cols, seed int) []float64 {
	m := make([]float64, rows*cols)
	for i := range m {
		m[i] = float64(i/cols*1000 + i%cols + seed)
	}
	return m
}

// layoutMessages sends columns to the neighbour, as columns, rows, and blocks, of lengths for every
// protocol, and looks that what lies between is left alone.
func layoutMessages(t *T, c *mpi.Comm) {
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	for _, rows := range []int{0, 1, 3, 100, 2000, 50_000} {
		const cols = 3
		from, theirs := numbered(rows, cols, c.Rank()), numbered(rows, cols, left)
		column := aColumn(rows, cols)
		types := []struct {
			name       string
			send, recv *mpi.Datatype
		}{
			{"column to column", column, column}, {"column to memory", column, nil}, {"memory to column", nil, column},
		}
		for k, ty := range types {
			out := from[min(1, len(from)):]
			if ty.send == nil {
				out = columnOf(from, cols, 1)
			}
			in := make([]float64, rows*cols+1)
			into := in[min(2, len(in)-1):]
			if ty.recv == nil {
				in = make([]float64, rows)
				into = in
			}
			r := mpi.Irecv(c.WithTypes(nil, ty.recv), into, left, k)
			t.must(mpi.Send(c.WithTypes(ty.send, nil), out, right, k), ty.name)
			st, err := r.Wait()
			t.must(err, ty.name)
			expected := columnOf(theirs, cols, 1)
			if ty.recv != nil {
				sparse := make([]float64, rows*cols+1)
				for i, v := range expected {
					sparse[min(2, len(in)-1)+i*cols] = v
				}
				expected = sparse
			}
			want(t, ty.name+": count", st.Count, rows)
			wantSlice(t, ty.name, in, expected)
		}
	}
}

func columnOf(m []float64, cols, j int) []float64 {
	var v []float64
	for i := j; i < len(m); i += cols {
		v = append(v, m[i])
	}
	return v
}

// layoutModes: every way to send and to receive takes a layout.
func layoutModes(t *T, c *mpi.Comm) {
	const rows, cols = 700, 5
	tc := c.WithType(aColumn(rows, cols))
	if c.Rank() > 1 {
		return
	}
	peer := 1 - c.Rank()
	m := numbered(rows, cols, c.Rank())
	in := make([]float64, rows*cols)
	check := func(what string) {
		t0 := columnOf(numbered(rows, cols, peer), cols, 2)
		wantSlice(t, what, columnOf(in, cols, 0), t0)
		want(t, what+": between", in[1], 0)
		clear(in)
	}
	out := m[2:]
	attach := make([]byte, rows*8+mpi.BsendOverhead)
	t.must(c.AttachJobBuffer(attach))
	sends := map[string]func() error{
		"Send":  func() error { return mpi.Send(tc, out, peer, 1) },
		"Bsend": func() error { return mpi.Bsend(tc, out, peer, 1) },
		"Isend": func() error { _, err := mpi.Isend(tc, out, peer, 1).Wait(); return err },
		"Issend": func() error {
			_, err := mpi.Issend(tc, out, peer, 1).Wait()
			return err
		},
		"SendInit": func() error {
			r := mpi.SendInit(tc, out, peer, 1)
			t.must(r.Start())
			_, err := r.Wait()
			return err
		},
	}
	for _, name := range []string{"Send", "Bsend", "Isend", "Issend", "SendInit"} {
		r := mpi.Irecv(tc, in, peer, 1)
		t.must(sends[name](), name)
		_, err := r.Wait()
		t.must(err, name)
		check(name)
	}
	_, err := c.DetachJobBuffer()
	t.must(err)
	_, err = mpi.Sendrecv(tc, out, peer, 2, in, peer, 2)
	t.must(err)
	check("Sendrecv")

	r := mpi.Isend(tc, out, peer, 3)
	msg, _, err := mpi.Mprobe(tc, peer, 3)
	t.must(err)
	_, err = mpi.Mrecv(msg, in)
	t.must(err)
	_, err = r.Wait()
	t.must(err)
	check("Mrecv")

	recv := mpi.RecvInit(tc, in, peer, 4)
	for range 3 {
		t.must(recv.Start())
		t.must(mpi.Send(tc, out, peer, 4))
		_, err := recv.Wait()
		t.must(err)
		check("RecvInit")
	}
}

func layoutTruncated(t *T, c *mpi.Comm) {
	for _, rows := range []int{10, 5000, 100_000} {
		if c.Rank() == 0 {
			t.must(mpi.Send(c.WithType(aColumn(rows, 2)), numbered(rows, 2, 0), 1, 0))
			continue
		}
		in := make([]float64, rows)
		_, err := mpi.Recv(c.WithType(aColumn(rows/2, 2)), in, 0, 0)
		wantError(t, "a receive that is too short", err, mpi.ErrTruncate)
		want(t, "last", in[len(in)-1], 0)
	}
}

// padded has padding behind its first and its last field, and within.
type padded struct {
	A byte
	B float64
	C struct {
		D int16
		E byte
	}
}

// layoutPadding: what lies in the padding of the receiver's memory stays, whatever lay in the
// sender's.
func layoutPadding(t *T, c *mpi.Comm) {
	rng := rand.New(rand.NewPCG(1, uint64(c.Rank())))
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	for _, n := range []int{0, 1, 7, 400, 30_000} {
		out, in := make([]padded, n), make([]padded, n)
		for i := range out {
			out[i].A, out[i].B, out[i].C.D, out[i].C.E = byte(i), float64(i), int16(right), byte(rng.Uint32())
		}
		r := mpi.Irecv(c, in, left, 0)
		t.must(mpi.Send(c, out, right, 0))
		st, err := r.Wait()
		t.must(err)
		want(t, "count", st.Count, n)
		want(t, "count by type", mpi.GetCount[padded](st), n)
		for i := range in {
			if in[i].A != byte(i) || in[i].B != float64(i) || in[i].C.D != int16(c.Rank()) {
				t.Fatalf("element %d is %+v", i, in[i])
			}
		}
		s := mpi.Isend(c, out, c.Rank(), 1)
		again, _, err := mpi.RecvNew[padded](c, c.Rank(), 1)
		t.must(err)
		_, err = s.Wait()
		t.must(err)
		if !slices.Equal(again, out) {
			t.Errorf("%d values of unknown number arrived otherwise", n)
		}
	}
}

func layoutErrors(t *T, c *mpi.Comm) {
	col := c.WithType(aColumn(10, 10))
	err := mpi.Send(col, make([]float64, 50), mpi.ProcNull, 0)
	wantError(t, "a short buffer", err, mpi.ErrBuffer, "reach to byte 728", "400 bytes")
	err = mpi.Send(col, make([]int32, 500), mpi.ProcNull, 0)
	wantError(t, "another type", err, mpi.ErrType, "float64", "int32")
	err = mpi.Send(col, []string{"a"}, mpi.ProcNull, 0)
	wantError(t, "objects", err, mpi.ErrType, "serialised")
	_, _, err = mpi.RecvNew[float64](col, c.Rank(), 0)
	wantError(t, "a receive of any length", err, mpi.ErrType, "no layout")
	err = mpi.Send(c.WithType(mpi.Vector(-1, 1, 1, mpi.TypeOf[byte]())), []byte{1}, mpi.ProcNull, 0)
	wantError(t, "a bad type", err, mpi.ErrCount)
}
