package tests

import (
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

var probeCases = []testCase{
	{name: "probe/then receive", section: "3.8.1",
		sentence: "A subsequent receive executed with the same communicator, and the source and tag returned in status by MPI_IPROBE will " +
			"receive the message that was matched by the probe, if no other intervening receive occurs after the probe.",
		run: probeThenReceive},
	{name: "probe/any", section: "3.8.1",
		sentence: "The call matches the same message that would have been received by a call to MPI_RECV(..., source, tag, comm, status) " +
			"executed at the same point in the program.",
		run: probeAny},
	{name: "probe/iprobe", section: "3.8.1",
		sentence: "MPI_IPROBE returns flag = true if there is a message that can be received and that matches the pattern specified.",
		run:      iprobe},
	{name: "probe/eventually", section: "3.8.1",
		sentence: "If a call to MPI_PROBE has been issued by a process, and a send that matches the probe has been initiated by some " +
			"process, then the call to MPI_PROBE will return.",
		run: probeBlocks},
	{name: "probe/posted receive comes first", section: "3.8.1",
		sentence: "A message that a receive has matched is not there for a probe.",
		run:      probeAfterReceive},
	{name: "probe/mprobe", section: "3.8.2",
		sentence: "A message that is matched by a matching probe can be received only by a matched receive given its handle.",
		run:      mprobe},
	{name: "probe/mprobe by many", section: "3.8.2",
		sentence: "No other probe or receive operation may match the same message.",
		run:      mprobeByMany},
	{name: "probe/mrecv truncation", section: "3.8.3",
		sentence: "A matched receive reports a message longer than its buffer like any other.",
		run:      mrecvTruncates},
	{name: "probe/mrecv twice", section: "3.8.3",
		sentence: "On return from this function, the message handle is set to MPI_MESSAGE_NULL.",
		run:      mrecvTwice},
	{name: "probe/imrecv", section: "3.8.3",
		sentence: "MPI_IMRECV is the nonblocking variant of MPI_MRECV and starts a nonblocking receive of a matched message.",
		run:      imrecv},
}

func probeThenReceive(t *T, c *mpi.Comm) {
	for k, n := range append([]int{0}, lengths...) {
		r := mpi.Isend(c, ramp(n, k), right(c), 10+k)
		st, err := mpi.Probe(c, left(c), 10+k)
		t.must(err)
		want(t, "source", st.Source, left(c))
		want(t, "tag", st.Tag, 10+k)
		want(t, "bytes", st.Count, 8*n)
		want(t, "GetCount", mpi.GetCount[int64](st), n)
		in := make([]int64, n)
		st, err = mpi.Recv(c, in, st.Source, st.Tag)
		t.must(err)
		want(t, "count", st.Count, n)
		wantSlice(t, "message", in, ramp(n, k))
		_, err = r.Wait()
		t.must(err)
	}
}

func probeAny(t *T, c *mpi.Comm) {
	const n = 16
	var rs []*mpi.Request
	for k := range n {
		rs = append(rs, mpi.Isend(c, ramp(mixed(k), k), right(c), k))
	}
	for range n {
		st, err := mpi.Probe(c, mpi.AnySource, mpi.AnyTag)
		t.must(err)
		in := make([]int64, mpi.GetCount[int64](st))
		got, err := mpi.Recv(c, in, mpi.AnySource, mpi.AnyTag)
		t.must(err)
		want(t, "source", got.Source, st.Source)
		want(t, "tag", got.Tag, st.Tag)
		wantSlice(t, "message", in, ramp(mixed(st.Tag), st.Tag))
	}
	_, err := mpi.WaitAll(rs...)
	t.must(err)
}

func iprobe(t *T, c *mpi.Comm) {
	_, ok, err := mpi.Iprobe(c, left(c), 3)
	t.must(err)
	want(t, "Iprobe before the message", ok, false)
	_, ok, err = mpi.Iprobe(c, mpi.AnySource, mpi.AnyTag)
	t.must(err)
	want(t, "Iprobe of any before the message", ok, false)
	t.must(mpi.Barrier(c))
	r := mpi.Isend(c, ramp(9000, 1), right(c), 3)
	for end := time.Now().Add(failsafe); ; {
		st, ok, err := mpi.Iprobe(c, left(c), 3)
		t.must(err)
		if ok {
			want(t, "source", st.Source, left(c))
			want(t, "GetCount", mpi.GetCount[int64](st), 9000)
			break
		}
		if time.Now().After(end) {
			t.Fatalf("Iprobe never finds the message")
		}
	}
	_, ok, err = mpi.Iprobe(c, left(c), 4)
	t.must(err)
	want(t, "Iprobe with another tag", ok, false)
	st, ok, err := mpi.Iprobe(c, mpi.AnySource, mpi.AnyTag)
	t.must(err)
	want(t, "Iprobe of any", ok, true)
	want(t, "tag", st.Tag, 3)
	in := make([]int64, 9000)
	_, err = mpi.Recv(c, in, left(c), 3)
	t.must(err)
	_, ok, err = mpi.Iprobe(c, left(c), 3)
	t.must(err)
	want(t, "Iprobe after the message", ok, false)
	_, err = r.Wait()
	t.must(err)
}

// probeBlocks: the probe is there first.
func probeBlocks(t *T, c *mpi.Comm) {
	t.together(
		func() {
			st, err := mpi.Probe(c, mpi.AnySource, 6)
			t.must(err)
			want(t, "source", st.Source, left(c))
			_, err = mpi.Recv(c, make([]int64, 2), left(c), 6)
			t.must(err)
		},
		func() {
			t.must(mpi.Barrier(c))
			t.must(mpi.Ssend(c, ramp(2, 2), right(c), 6))
		})
}

func probeAfterReceive(t *T, c *mpi.Comm) {
	for k, n := range lengths {
		in := make([]int64, n)
		r := mpi.Irecv(c, in, left(c), 3)
		t.must(mpi.Barrier(c))
		t.must(mpi.Ssend(c, ramp(n, k), right(c), 3)) // matched, then
		t.must(mpi.Barrier(c))
		_, ok, err := mpi.Iprobe(c, mpi.AnySource, 3)
		t.must(err)
		want(t, "Iprobe finds the matched message", ok, false)
		t.must(mpi.Barrier(c))
		_, err = r.Wait()
		t.must(err)
		wantSlice(t, "message", in, ramp(n, k))
	}
}

func mprobe(t *T, c *mpi.Comm) {
	for k, n := range append([]int{0}, lengths...) {
		r := mpi.Isend(c, ramp(n, k), right(c), 3)
		s := mpi.Isend(c, ramp(n, k+1), right(c), 3)
		msg, st, err := mpi.Mprobe(c, left(c), mpi.AnyTag)
		t.must(err)
		want(t, "GetCount", mpi.GetCount[int64](st), n)
		in := make([]int64, n) // the second message overtakes the probed one: that is taken
		_, err = mpi.Recv(c, in, left(c), 3)
		t.must(err)
		wantSlice(t, "the second message", in, ramp(n, k+1))
		_, ok, err := mpi.Iprobe(c, mpi.AnySource, mpi.AnyTag)
		t.must(err)
		want(t, "Iprobe finds the taken message", ok, false)
		st, err = mpi.Mrecv(msg, in)
		t.must(err)
		want(t, "source", st.Source, left(c))
		want(t, "tag", st.Tag, 3)
		want(t, "count", st.Count, n)
		wantSlice(t, "the first message", in, ramp(n, k))
		_, err = mpi.WaitAll(r, s)
		t.must(err)
		t.must(mpi.Barrier(c)) // so that Iprobe does not find the next round's message
	}
	msg, _, err := mpi.Improbe(c, mpi.AnySource, mpi.AnyTag)
	t.must(err)
	want(t, "Improbe finds nothing", msg == nil, true)
}

// mprobeByMany: goroutines probe and receive side by side; every message goes to exactly one.
func mprobeByMany(t *T, c *mpi.Comm) {
	const n, probers = 48, 6
	var rs []*mpi.Request
	for k := range n {
		rs = append(rs, mpi.Isend(c, ramp(mixed(k), k), right(c), 3))
	}
	var left, seen atomic.Int64
	left.Store(n)
	t.each(probers, func(i int) {
		for left.Add(-1) >= 0 {
			var msg *mpi.Message
			var st mpi.Status
			var err error
			if i%2 == 0 {
				msg, st, err = mpi.Mprobe(c, mpi.AnySource, mpi.AnyTag)
			}
			for i%2 == 1 && msg == nil && err == nil {
				msg, st, err = mpi.Improbe(c, mpi.AnySource, mpi.AnyTag)
			}
			t.must(err)
			got, _, err := mpi.MrecvNew[int64](msg)
			t.must(err)
			want(t, "GetCount", mpi.GetCount[int64](st), len(got))
			k := int(got[0] >> 32)
			wantSlice(t, "message", got, ramp(mixed(k), k))
			seen.Add(int64(1) << k)
		}
	})
	want(t, "the set of messages", seen.Load(), int64(1)<<n-1)
	_, err := mpi.WaitAll(rs...)
	t.must(err)
}

func mrecvTruncates(t *T, c *mpi.Comm) {
	for k, n := range lengths[1:] {
		r := mpi.Isend(c, ramp(n, k), right(c), 3)
		msg, _, err := mpi.Mprobe(c, left(c), 3)
		t.must(err)
		in := make([]int64, n/2)
		_, err = mpi.Mrecv(msg, in)
		wantError(t, "Mrecv", err, mpi.ErrTruncate)
		_, err = r.Wait()
		t.must(err)
	}
}

func mrecvTwice(t *T, c *mpi.Comm) {
	r := mpi.Isend(c, ramp(2, 2), right(c), 3)
	msg, _, err := mpi.Mprobe(c, left(c), 3)
	t.must(err)
	in := make([]int64, 2)
	_, err = mpi.Mrecv(msg, in)
	t.must(err)
	_, err = mpi.Mrecv(msg, in)
	wantError(t, "a second Mrecv", err, mpi.ErrRequest, "received already")
	_, err = mpi.Imrecv(msg, in).Wait()
	wantError(t, "a second Imrecv", err, mpi.ErrRequest, "received already")
	_, err = mpi.Mrecv(nil, in)
	wantError(t, "Mrecv of nil", err, mpi.ErrRequest, "nil")
	_, err = r.Wait()
	t.must(err)
}

func imrecv(t *T, c *mpi.Comm) {
	r := mpi.Isend(c, ramp(40000, 2), right(c), 3)
	msg, _, err := mpi.Mprobe(c, left(c), 3)
	t.must(err)
	in := make([]int64, 40000)
	m := mpi.Imrecv(msg, in)
	_, err = mpi.WaitAll(r, m)
	t.must(err)
	wantSlice(t, "message", in, ramp(40000, 2))
}
