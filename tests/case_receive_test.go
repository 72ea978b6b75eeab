package tests

import (
	"errors"

	"github.com/fitmpi/fitmpi/mpi"
)

const overflow = "An overflow error occurs if all incoming data does not fit, without truncation, into the receive buffer."

var receiveCases = []testCase{
	{name: "truncate/posted", section: "3.2.4", sentence: overflow,
		run: func(t *T, c *mpi.Comm) { truncates(t, c, true) }},
	{name: "truncate/unexpected", section: "3.2.4", sentence: overflow,
		run: func(t *T, c *mpi.Comm) { truncates(t, c, false) }},
	{name: "truncate/other type", section: "3.2.4", sentence: overflow, run: truncatesBytes},
	{name: "receive/shorter", section: "3.2.4",
		sentence: "If a message that is shorter than the receive buffer arrives, then only those locations corresponding to the " +
			"(shorter) message are modified.",
		run: shorter},
	{name: "receive/status", section: "3.2.5",
		sentence: "The source or tag of a received message may not be known if wildcard values were used in the receive operation.",
		run:      statusTells},
	{name: "receive/count", section: "3.2.5",
		sentence: "If the number of bytes received is not a multiple of the size of the datatype, MPI_GET_COUNT returns MPI_UNDEFINED.",
		run:      counts},
	{name: "receive/wildcards lose nothing", section: "3.2.4",
		sentence: "The receiver may specify a wildcard MPI_ANY_SOURCE value for source, and/or a wildcard MPI_ANY_TAG value for tag, " +
			"indicating that any source and/or tag are acceptable.",
		run: wildcards},
	{name: "receive/zero length", section: "3.2.2",
		sentence: "The count may be zero, in which case the data part of the message is empty.",
		run:      zeroLength},
	{name: "receive/elements without size", section: "FitMPI",
		sentence: "A type without size, such as struct{}, travels as an empty message.",
		run:      zeroSize},
	{name: "receive/new", section: "FitMPI",
		sentence: "RecvNew receives a message of any length and returns its elements in a new slice.",
		run:      receiveNew},
	{name: "receive/value", section: "FitMPI",
		sentence: "SendValue sends one value of any type; RecvValue receives it, or a Send of one element.",
		run:      receiveValue},
	{name: "procnull", section: "3.10",
		sentence: "A communication with process MPI_PROC_NULL has no effect. A send to MPI_PROC_NULL succeeds and returns as soon as " +
			"possible. A receive from MPI_PROC_NULL succeeds and returns as soon as possible with no modifications to the receive buffer.",
		run: procNull},
	{name: "self/every mode and size", section: "3.2.4",
		sentence: "Source = destination is allowed, that is, a process can send a message to itself.",
		run:      toSelf},
	{name: "large", section: "3.2.2",
		sentence: "The length of a message is bounded by memory, not by the protocol.",
		min:      2, max: 2, world: true, run: large},
}

// truncates: in every protocol the error names both lengths, the memory behind the buffer and the
// next message are intact.
func truncates(t *T, c *mpi.Comm, posted bool) {
	for k, n := range lengths[1:] {
		room := n / 2
		buf := make([]int64, n)
		for i := range buf {
			buf[i] = -1
		}
		var in, out *mpi.Request
		if posted {
			in = mpi.Irecv(c, buf[:room], left(c), 3)
			t.must(mpi.Barrier(c))
			out = mpi.Isend(c, ramp(n, k), right(c), 3)
		} else {
			out = mpi.Isend(c, ramp(n, k), right(c), 3)
			t.must(mpi.Barrier(c))
			in = mpi.Irecv(c, buf[:room], left(c), 3)
		}
		next := mpi.Isend(c, ramp(n, 77), right(c), 3)
		_, err := in.Wait()
		wantError(t, "the receive", err, mpi.ErrTruncate)
		if e, ok := errors.AsType[*mpi.TruncateError](err); !ok || *e != (mpi.TruncateError{Message: n, Buffer: room}) {
			t.Errorf("the error is %v, want one that names %d and %d elements", err, n, room)
		}
		for i := room; i < n; i++ {
			if buf[i] != -1 {
				t.Fatalf("element %d behind the buffer of %d was written", i, room)
			}
		}
		st, err := mpi.Recv(c, buf, left(c), 3)
		t.must(err, "the message after")
		wantSlice(t, "the message after", buf[:st.Count], ramp(n, 77))
		_, err = mpi.WaitAll(out, next)
		t.must(err, "the sends") // "completes": truncation is the receiver's error
	}
}

// truncatesBytes: lengths are in bytes where the message is no whole number of elements.
func truncatesBytes(t *T, c *mpi.Comm) {
	r := mpi.Isend(c, make([]byte, 21), right(c), 0)
	_, err := mpi.Recv(c, make([]int64, 2), left(c), 0)
	wantError(t, "the receive", err, mpi.ErrTruncate, "21 bytes", "holds 16")
	_, err = r.Wait()
	t.must(err)
}

func shorter(t *T, c *mpi.Comm) {
	for _, n := range lengths {
		buf := make([]int64, n+5)
		for i := range buf {
			buf[i] = -1
		}
		r := mpi.Isend(c, ramp(n, 1), right(c), 0)
		st, err := mpi.Recv(c, buf, left(c), 0)
		t.must(err)
		want(t, "count", st.Count, n)
		wantSlice(t, "message", buf[:n], ramp(n, 1))
		wantSlice(t, "the rest", buf[n:], []int64{-1, -1, -1, -1, -1})
		_, err = r.Wait()
		t.must(err)
	}
}

func statusTells(t *T, c *mpi.Comm) {
	rs := []*mpi.Request{mpi.Isend(c, []int32{1, 2, 3}, right(c), 11+c.Rank())}
	st, err := mpi.Recv(c, make([]int32, 9), mpi.AnySource, mpi.AnyTag)
	t.must(err)
	want(t, "source", st.Source, left(c))
	want(t, "tag", st.Tag, 11+left(c))
	want(t, "count", st.Count, 3)
	want(t, "cancelled", st.Cancelled, false)
	_, err = mpi.WaitAll(rs...)
	t.must(err)
}

func counts(t *T, c *mpi.Comm) {
	r := mpi.Isend(c, make([]byte, 12), right(c), 0)
	st, err := mpi.Recv(c, make([]int64, 9), left(c), 0)
	t.must(err)
	want(t, "count", st.Count, mpi.Undefined)
	want(t, "GetCount[byte]", mpi.GetCount[byte](st), 12)
	want(t, "GetCount[int32]", mpi.GetCount[int32](st), 3)
	want(t, "GetCount[int64]", mpi.GetCount[int64](st), mpi.Undefined)
	want(t, "GetCount[string]", mpi.GetCount[string](st), mpi.Undefined)
	_, err = r.Wait()
	t.must(err)
}

// wildcards: every rank sends to rank 0, which takes whatever comes. Each sender's messages come in
// order, and all of them.
func wildcards(t *T, c *mpi.Comm) {
	const n = 30
	for _, mode := range []int{0, 1, 2} { // both, source, tag
		var rs []*mpi.Request
		for k := range n {
			tag := 1
			if mode != 1 {
				tag = 1 + k%3
			}
			rs = append(rs, mpi.Isend(c, ramp(mixed(k), k), 0, tag))
		}
		if c.Rank() == 0 {
			takeAll(t, c, mode, n)
		}
		_, err := mpi.WaitAll(rs...)
		t.must(err)
		t.must(mpi.Barrier(c))
	}
}

func takeAll(t *T, c *mpi.Comm, mode, n int) {
	next := make([]int, c.Size())
	buf := make([]int64, lengths[len(lengths)-1])
	for i := range n * c.Size() {
		source, tag := mpi.AnySource, mpi.AnyTag
		switch mode {
		case 1:
			tag = 1
		case 2:
			source = i % c.Size()
		}
		st, err := mpi.Recv(c, buf, source, tag)
		t.must(err)
		k := next[st.Source]
		next[st.Source]++
		wantSlice(t, "message", buf[:st.Count], ramp(mixed(k), k))
		if mode == 2 {
			want(t, "source", st.Source, source)
		}
	}
	for r, k := range next {
		if k != n {
			t.Errorf("%d messages of rank %d, want %d", k, r, n)
		}
	}
}

func zeroLength(t *T, c *mpi.Comm) {
	for _, send := range []func(*mpi.Comm, []int64, int, int) *mpi.Request{mpi.Isend[int64], mpi.Issend[int64]} {
		buf := []int64{-1}
		for _, early := range []bool{true, false} {
			var in *mpi.Request
			if early {
				in = mpi.Irecv(c, buf, left(c), 4)
			}
			t.must(mpi.Barrier(c))
			out := send(c, nil, right(c), 4)
			if !early {
				in = mpi.Irecv(c, buf, left(c), 4)
			}
			st, err := in.Wait()
			t.must(err)
			want(t, "count", st.Count, 0)
			want(t, "source", st.Source, left(c))
			want(t, "tag", st.Tag, 4)
			_, err = out.Wait()
			t.must(err)
		}
		want(t, "the buffer", buf[0], -1)
	}
}

func zeroSize(t *T, c *mpi.Comm) {
	r := mpi.Isend(c, make([]struct{}, 7), right(c), 0)
	st, err := mpi.Recv(c, make([]struct{}, 7), left(c), 0)
	t.must(err)
	want(t, "source", st.Source, left(c))
	want(t, "count", mpi.GetCount[struct{}](st), 0)
	_, err = r.Wait()
	t.must(err)
	s := mpi.Isend(c, make([]struct{}, 7), right(c), 0)
	got, _, err := mpi.RecvNew[struct{}](c, left(c), 0)
	t.must(err)
	want(t, "length", len(got), 0)
	_, err = s.Wait()
	t.must(err)
	v := mpi.Isend(c, make([]struct{}, 1), right(c), 0)
	_, _, err = mpi.RecvValue[struct{}](c, left(c), 0)
	t.must(err)
	_, err = v.Wait()
	t.must(err)
}

func receiveNew(t *T, c *mpi.Comm) {
	for _, n := range append([]int{0}, lengths...) {
		r := mpi.Isend(c, ramp(n, 6), right(c), 0)
		got, st, err := mpi.RecvNew[int64](c, left(c), 0)
		t.must(err)
		want(t, "count", st.Count, n)
		want(t, "nil", got == nil, false)
		wantSlice(t, "message", got, ramp(n, 6))
		in := mpi.IrecvNew[int64](c, mpi.AnySource, mpi.AnyTag)
		want(t, "data before the message", in.Data() == nil, true)
		t.must(mpi.Barrier(c))
		s := mpi.Isend(c, ramp(n, 8), right(c), 1)
		_, err = in.Wait()
		t.must(err)
		wantSlice(t, "message", in.Data(), ramp(n, 8))
		_, err = mpi.WaitAll(r, s)
		t.must(err)
	}
	r := mpi.Isend(c, make([]byte, 12), right(c), 0)
	_, _, err := mpi.RecvNew[int64](c, left(c), 0)
	wantError(t, "no whole number of elements", err, mpi.ErrType, "12 bytes", "int64")
	_, err = r.Wait()
	t.must(err)
}

func receiveValue(t *T, c *mpi.Comm) {
	type pair struct {
		A int32
		B float64
	}
	t.together(
		func() { t.must(mpi.SendValue(c, pair{3, 4.5}, right(c), 0)) },
		func() {
			v, st, err := mpi.RecvValue[pair](c, left(c), 0)
			t.must(err)
			want(t, "value", v, pair{3, 4.5})
			want(t, "source", st.Source, left(c))
		})
	t.together(
		func() { t.must(mpi.Send(c, []int{1, 2}, right(c), 0)) },
		func() {
			_, _, err := mpi.RecvValue[int](c, left(c), 0)
			wantError(t, "two values", err, mpi.ErrTruncate)
		})
	t.together(
		func() { t.must(mpi.Send[int](c, nil, right(c), 0)) },
		func() {
			_, _, err := mpi.RecvValue[int](c, left(c), 0)
			wantError(t, "no value", err, mpi.ErrCount, "0 values")
		})
}

// procNull: every operation with ProcNull.
func procNull(t *T, c *mpi.Comm) {
	const p = mpi.ProcNull
	b := []int{1, 2}
	for _, send := range []func(*mpi.Comm, []int, int, int) error{mpi.Send[int], mpi.Ssend[int], mpi.Rsend[int], mpi.Bsend[int]} {
		t.must(send(c, b, p, 0))
	}
	for _, send := range []func(*mpi.Comm, []int, int, int) *mpi.Request{mpi.Isend[int], mpi.Issend[int], mpi.Irsend[int], mpi.Ibsend[int]} {
		_, err := send(c, b, p, 0).Wait()
		t.must(err)
	}
	none := func(what string, st mpi.Status, err error) {
		t.must(err, what)
		want(t, what+": source", st.Source, p)
		want(t, what+": tag", st.Tag, mpi.AnyTag)
		want(t, what+": count", st.Count, 0)
		want(t, what+": GetCount", mpi.GetCount[int](st), 0)
	}
	st, err := mpi.Recv(c, b, p, 0)
	none("Recv", st, err)
	st, err = mpi.Irecv(c, b, p, mpi.AnyTag).Wait()
	none("Irecv", st, err)
	got, st, err := mpi.RecvNew[int](c, p, 0)
	none("RecvNew", st, err)
	want(t, "RecvNew: length", len(got), 0)
	_, st, err = mpi.RecvValue[int](c, p, 0)
	none("RecvValue", st, err)
	st, err = mpi.Probe(c, p, 0)
	none("Probe", st, err)
	st, ok, err := mpi.Iprobe(c, p, 0)
	none("Iprobe", st, err)
	want(t, "Iprobe", ok, true)
	msg, st, err := mpi.Mprobe(c, p, 0)
	none("Mprobe", st, err)
	want(t, "Mprobe: the message is MessageNoProc", msg == mpi.MessageNoProc, true)
	st, err = mpi.Mrecv(msg, b)
	none("Mrecv", st, err)
	msg, st, err = mpi.Improbe(c, p, 0)
	none("Improbe", st, err)
	st, err = mpi.Imrecv(msg, b).Wait()
	none("Imrecv", st, err)
	st, err = mpi.Sendrecv(c, b, p, 0, b, p, 0)
	none("Sendrecv", st, err)
	st, err = mpi.SendrecvReplace(c, b, p, 0, p, 0)
	none("SendrecvReplace", st, err)
	rp, sp := mpi.RecvInit(c, b, p, 0), mpi.SendInit(c, b, p, 0)
	for range 2 {
		t.must(mpi.StartAll(rp, sp))
		sts, err := mpi.WaitAll(rp, sp)
		none("persistent", sts[0], err)
	}
	wantSlice(t, "the buffer", b, []int{1, 2})

	// One side only: a shift that ends at the border.
	dest, source := c.Rank()+1, c.Rank()-1
	if dest == c.Size() {
		dest = p
	}
	if source < 0 {
		source = p
	}
	in := []int{-1}
	_, err = mpi.Sendrecv(c, []int{c.Rank()}, dest, 1, in, source, 1)
	t.must(err)
	want(t, "shift", in[0], c.Rank()-1)
}

func toSelf(t *T, c *mpi.Comm) {
	me := c.Rank()
	buf := make([]int64, lengths[len(lengths)-1])
	for k, n := range append([]int{0}, lengths...) {
		for m, send := range []func(*mpi.Comm, []int64, int, int) *mpi.Request{mpi.Isend[int64], mpi.Issend[int64], mpi.Irsend[int64]} {
			out := send(c, ramp(n, k), me, m)
			st, err := mpi.Recv(c, buf, me, m)
			t.must(err)
			wantSlice(t, "message", buf[:st.Count], ramp(n, k))
			in := mpi.Irecv(c, buf, mpi.AnySource, m)
			also := send(c, ramp(n, k+1), me, m)
			st, err = in.Wait()
			t.must(err)
			wantSlice(t, "message", buf[:st.Count], ramp(n, k+1))
			_, err = mpi.WaitAll(out, also)
			t.must(err)
		}
		for _, send := range []func(*mpi.Comm, []int64, int, int) error{mpi.Send[int64], mpi.Ssend[int64], mpi.Rsend[int64]} {
			in := mpi.Irecv(c, buf, me, 9)
			t.must(send(c, ramp(n, k), me, 9))
			st, err := in.Wait()
			t.must(err)
			wantSlice(t, "message", buf[:st.Count], ramp(n, k))
		}
		if t.Policy != "caller" { // our promise: a standard send is buffered
			b := ramp(n, k)
			t.must(mpi.Send(c, b, me, 9))
			clear(b)
			st, err := mpi.Recv(c, buf, me, 9)
			t.must(err)
			wantSlice(t, "buffered message", buf[:st.Count], ramp(n, k))
		}
	}
}

// large: beyond every buffer of the library, in both ways at once.
func large(t *T, c *mpi.Comm) {
	n := 9 << 20 // 72 MB
	if raceEnabled {
		n = 1 << 20
	}
	out, in := ramp(n, c.Rank()), make([]int64, n)
	_, err := mpi.Sendrecv(c, out, right(c), 0, in, left(c), 0)
	t.must(err)
	for i, v := range in {
		if v != int64(left(c))<<32|int64(i) {
			t.Fatalf("element %d is %x", i, v)
		}
	}
	var rs *mpi.Request // once more by Send, which is larger than what may be buffered
	if c.Rank() == 0 {
		rs = mpi.Irecv(c, in, 1, 1)
		_, err = rs.Wait()
		t.must(err)
		want(t, "the last element", in[n-1], 1<<32|int64(n-1))
		return
	}
	t.must(mpi.Send(c, out, 0, 1))
}
