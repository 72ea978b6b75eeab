package tests

import "github.com/fitmpi/fitmpi/mpi"

const eitherOr = "It is required that either the cancellation succeeds, or the communication succeeds, but not both."

var cancelCases = []testCase{
	{name: "cancel/receive unmatched", section: "3.8.4",
		sentence: "If a receive is marked for cancellation, then it must be the case that either the receive completes normally, or that " +
			"the receive is successfully cancelled, in which case no part of the receive buffer is altered.",
		run: cancelReceive},
	{name: "cancel/send unmatched", section: "3.8.4",
		sentence: "If a send is marked for cancellation, then it must be the case that either the send completes normally, or that the " +
			"send is successfully cancelled, in which case no part of the message was received at the destination.",
		run: cancelSend},
	{name: "cancel/race", section: "3.8.4", sentence: eitherOr, run: cancelRace},
	{name: "cancel/done", section: "3.8.4",
		sentence: "Cancelling a request that has completed does nothing.",
		run:      cancelDone},
	{name: "cancel/general", section: "3.8.4",
		sentence: "A call to MPI_CANCEL marks for cancellation a pending, nonblocking communication operation; the call returns immediately, " +
			"possibly before the communication is actually cancelled.",
		run: cancelMany},
}

func cancelReceive(t *T, c *mpi.Comm) {
	in := []int64{-1, -1}
	r := mpi.Irecv(c, in, left(c), 3)
	t.must(mpi.Barrier(c))
	t.must(r.Cancel())
	st, err := r.Wait()
	t.must(err)
	want(t, "cancelled", st.Cancelled, true)
	t.must(mpi.Barrier(c))
	s := mpi.Isend(c, ramp(2, 2), right(c), 3)
	t.must(mpi.Barrier(c))
	wantSlice(t, "the buffer of the cancelled receive", in, []int64{-1, -1})
	other := make([]int64, 2)
	_, err = mpi.Recv(c, other, left(c), 3)
	t.must(err)
	wantSlice(t, "the message after", other, ramp(2, 2))
	_, err = s.Wait()
	t.must(err)
	strings := make([]string, 1)
	r = mpi.Irecv(c, strings, mpi.AnySource, mpi.AnyTag)
	n := mpi.IrecvNew[string](c, mpi.AnySource, mpi.AnyTag)
	t.must(r.Cancel())
	t.must(n.Cancel())
	sts, err := mpi.WaitAll(r, n.Request)
	t.must(err)
	want(t, "a receive of objects cancelled", sts[0].Cancelled && sts[1].Cancelled, true)
	want(t, "data", n.Data() == nil, true)
}

// cancelSend: every rank withdraws a message that no rank has received; then nothing is there.
func cancelSend(t *T, c *mpi.Comm) {
	for k, n := range append([]int{0}, lengths...) {
		s := mpi.Issend(c, ramp(n, k), right(c), 3)
		if k%2 == 0 {
			t.must(mpi.Barrier(c))
		}
		t.must(s.Cancel())
		st, err := s.Wait()
		t.must(err)
		if !st.Cancelled {
			t.Fatalf("a send of %d elements that nobody has received was not cancelled", n)
		}
		t.must(mpi.Barrier(c))
		_, ok, err := mpi.Iprobe(c, mpi.AnySource, 3)
		t.must(err)
		want(t, "the cancelled message is there", ok, false)
		t.must(mpi.Barrier(c))
	}
	tell := mpi.Isend(c, ramp(100, 1), right(c), 3)
	got, _, err := mpi.RecvNew[int64](c, left(c), 3)
	t.must(err)
	wantSlice(t, "the message after", got, ramp(100, 1))
	_, err = tell.Wait()
	t.must(err)
}

// cancelRace: senders withdraw while receivers receive. The sender tells the receiver what came of
// it; that must be true.
func cancelRace(t *T, c *mpi.Comm) {
	for k := range 40 {
		n := mixed(k)
		in := make([]int64, n)
		r := mpi.Irecv(c, in, left(c), 10+k)
		send := mpi.Issend[int64]
		if k%2 == 1 {
			send = mpi.Isend[int64]
		}
		s := send(c, ramp(n, k), right(c), 10+k)
		if k%3 > 0 {
			s.Test()
		}
		t.must(s.Cancel())
		st, err := s.Wait()
		t.must(err)
		heard := make([]bool, 1)
		_, err = mpi.Sendrecv(c, []bool{st.Cancelled}, right(c), 4, heard, left(c), 4)
		t.must(err)
		was := heard[0]
		if was {
			t.must(r.Cancel())
		}
		got, err := r.Wait()
		t.must(err)
		switch {
		case got.Cancelled != was:
			t.Fatalf("round %d, %d elements: the send says cancelled: %v, the receive says cancelled: %v", k, n, was, got.Cancelled)
		case was:
			wantSlice(t, "the buffer of a message cancelled", in, make([]int64, n))
		default:
			wantSlice(t, "message", in, ramp(n, k))
		}
	}
}

func cancelDone(t *T, c *mpi.Comm) {
	s := mpi.Isend(c, ramp(3, 3), right(c), 3)
	got, _, err := mpi.RecvNew[int64](c, left(c), 3)
	t.must(err)
	wantSlice(t, "message", got, ramp(3, 3))
	_, err = s.Wait()
	t.must(err)
	t.must(s.Cancel())
	st, err := s.Wait()
	t.must(err)
	want(t, "cancelled", st.Cancelled, false)
	var none *mpi.Request
	t.must(none.Cancel())
}

// cancelMany: receives of every kind of wildcard, and of both parts of a Sendrecv, are withdrawn in
// any order.
func cancelMany(t *T, c *mpi.Comm) {
	var rs []*mpi.Request
	for k := range 30 {
		source, tag := left(c), 100+k%4
		if k%3 == 0 {
			source = mpi.AnySource
		}
		if k%5 == 0 {
			tag = mpi.AnyTag
		}
		rs = append(rs, mpi.Irecv(c, make([]int64, 1), source, tag))
	}
	for k := range rs {
		t.must(rs[k*7%len(rs)].Cancel())
	}
	sts, err := mpi.WaitAll(rs...)
	t.must(err)
	for _, st := range sts {
		want(t, "cancelled", st.Cancelled, true)
	}
}
