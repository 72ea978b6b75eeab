package tests

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

var partitionedCases = []testCase{
	{name: "partitioned/rounds", section: "4.2",
		sentence: "Partitions at the two ends may differ in number; what counts is that the whole is equally long, round after round.",
		run:      partitionedRounds},
	{name: "partitioned/as they become ready", section: "4.2.2",
		sentence: "Each partition arrives when it was made ready, while others are not.",
		run:      partitionedEarly},
	{name: "partitioned/without a call", section: "FitMPI", min: 2, world: true,
		sentence: "Partitions move although the receiver makes no call after Start, even if it started before the sender came to exist.",
		run:      partitionedAlone},
	{name: "partitioned/matching", section: "4.2.1",
		sentence: "Partitioned operations are matched once, by communicator, rank and tag, in the order in which they are initialised.",
		run:      partitionedMatching},
	{name: "partitioned/apart from other messages", section: "4.2",
		sentence: "Partitioned sends and receives match each other only, and no probe sees them.",
		run:      partitionedApart},
	{name: "partitioned/threads", section: "4.2.2",
		sentence: "Threads may make different partitions ready at once, and ask at once which have arrived.",
		run:      partitionedThreads},
	{name: "partitioned/ahead", section: "4.2", min: 2,
		sentence: "A sender may be rounds ahead of its receiver, which gets each round's message in turn.",
		run:      partitionedAhead},
	{name: "partitioned/inactive", section: "4.2.2",
		sentence: "Before the first round, and between rounds, Wait returns at once and every partition has arrived.",
		run:      partitionedInactive},
	{name: "partitioned/wrong calls", section: "4.2.2",
		sentence: "To make a partition ready twice in a round, or of a request that is not active, is an error.",
		run:      partitionedWrong},
	{name: "partitioned/arguments", section: "4.2.1",
		sentence: "No wildcards; partitions of equal length; each function to its own kind of request.",
		run:      partitionedArguments},
	{name: "partitioned/unequal", section: "4.2.1",
		sentence: "Ends that are not equally long fail at the receiver with both lengths, and the sender goes on.",
		run:      partitionedUnequal},
	{name: "partitioned/nobody", section: "3.10",
		sentence: "Partitioned communication with MPI_PROC_NULL does nothing, successfully.",
		run:      partitionedNull},
	{name: "partitioned/objects", section: "FitMPI",
		sentence: "Partitions of objects are serialised when they are made ready.",
		run:      partitionedObjects},
	{name: "partitioned/layouts", section: "4.2.1",
		sentence: "A partition is a value of the datatype; sender and receiver may have other layouts and other numbers of them, if all data are the same types in the same order.",
		run:      partitionedLayouts},
	{name: "partitioned/ranges", section: "4.2.2",
		sentence: "A partition of a layout arrives when all that is in its range of the data has been made ready, and what was not made ready does not.",
		run:      partitionedRanges},
	{name: "partitioned/padding", section: "FitMPI",
		sentence: "The padding of structs in partitions is neither sent nor trusted.",
		run:      partitionedPadding},
	{name: "partitioned/structs", section: "4.2.1",
		sentence: "Partitions of structs match a layout with the same values in the same order.",
		run:      partitionedStructs},
	{name: "partitioned/many", section: "4.2", max: 3,
		sentence: "A message may have thousands of partitions, ready in any order, some before the receiver starts.",
		run:      partitionedMany},
	{name: "partitioned/wrong layouts", section: "4.2.1", max: 3,
		sentence: "A layout that does not lie over the buffer, or whose data are not as long as the sender's, is an error.",
		run:      partitionedLaidWrong},
	{name: "partitioned/types compared", section: "3.3.1", max: 3,
		sentence: "type matching: a receive whose partitions in all have other types than the sender's fails and names both: kinds of numbers always, layouts with checking",
		run:      partitionedChecked},
	{name: "partitioned/deadline", section: "FitMPI",
		sentence: "A round that a context ends returns the cause; the request cannot be started again.",
		run:      partitionedDeadline},
}

// cuts are numbers of partitions at the sender and at the receiver of a message of a multiple of 24
// elements.
var cuts = [][2]int{{1, 1}, {4, 4}, {4, 3}, {2, 12}, {24, 1}, {1, 8}, {6, 4}}

// makeReady makes all of n partitions ready, in one of several ways.
func makeReady(t *T, s *mpi.Request, n, way int) {
	switch way % 4 {
	case 0:
		for i := range n {
			t.must(s.Pready(i))
		}
	case 1:
		for i := n - 1; i >= 0; i-- {
			t.must(s.Pready(i))
		}
	case 2:
		t.must(s.PreadyRange(0, n-1))
	case 3:
		var odd, even []int
		for i := range n {
			if i%2 == 1 {
				odd = append(odd, i)
			} else {
				even = append(even, i)
			}
		}
		t.must(s.PreadyList(odd...))
		t.must(s.PreadyList(even...))
	}
}

func partitionedRounds(t *T, c *mpi.Comm) {
	for k, n := range []int{0, 24, 240, 24 * 512, 24 * 3000} {
		for j, cut := range cuts {
			in, out := make([]int64, n), make([]int64, n)
			s := mpi.PsendInit(c, out, cut[0], right(c), 1)
			r := mpi.PrecvInit(c, in, cut[1], left(c), 1)
			for round := range 4 {
				copy(out, ramp(n, k+j+round))
				switch round {
				case 0:
					t.must(r.Start())
					t.must(s.Start())
					makeReady(t, s, cut[0], j)
				case 1:
					t.must(s.Start())
					makeReady(t, s, cut[0], j+round)
					t.must(r.Start())
				default:
					t.must(mpi.StartAll(s, r))
					makeReady(t, s, cut[0], j+round)
				}
				sts, err := mpi.WaitAll(s, r)
				t.must(err)
				want(t, "source", sts[1].Source, left(c))
				want(t, "tag", sts[1].Tag, 1)
				want(t, "count", sts[1].Count, n)
				want(t, "GetCount", mpi.GetCount[int64](sts[1]), n)
				wantEmpty(t, "the send", sts[0])
				wantSlice(t, fmt.Sprintf("message of %d in %v", n, cut), in, ramp(n, k+j+round))
			}
			t.must(s.Free())
			t.must(r.Free())
		}
	}
}

// arrives waits until a partition is there.
func arrives(t *T, r *mpi.Request, partition int) {
	for end := time.Now().Add(failsafe); time.Now().Before(end); runtime.Gosched() {
		ok, err := r.Parrived(partition)
		t.must(err)
		if ok {
			return
		}
	}
	t.Fatalf("partition %d does not arrive", partition)
}

func partitionedEarly(t *T, c *mpi.Comm) {
	for k, n := range []int{24, 24 * 4000} {
		for _, cut := range [][2]int{{4, 4}, {8, 2}, {2, 6}} {
			in, out := make([]int64, n), ramp(n, k)
			r := mpi.PrecvInit(c, in, cut[1], left(c), 2)
			s := mpi.PsendInit(c, out, cut[0], right(c), 2)
			t.must(mpi.StartAll(r, s))
			ready := 0
			for i := range cut[0] { // from the last to the first
				for j := range cut[1] {
					ok, err := r.Parrived(j)
					t.must(err)
					if first := (cut[1] - 1 - j) * cut[0]; ok && ready*cut[1] < first+cut[0] {
						t.Errorf("of %v, %d ready: partition %d is said to be there", cut, ready, j)
					}
				}
				_, done, err := s.Test()
				t.must(err)
				want(t, "the send is done", done, false)
				t.must(mpi.Barrier(c)) // no rank goes ahead
				t.must(s.Pready(cut[0] - 1 - i))
				ready++
				for j := range cut[1] { // what must be there by now
					if (cut[1]-j)*cut[0] <= ready*cut[1] {
						arrives(t, r, j)
						wantSlice(t, "partition", in[j*n/cut[1]:(j+1)*n/cut[1]], out[j*n/cut[1]:(j+1)*n/cut[1]])
					}
				}
				t.must(mpi.Barrier(c))
			}
			_, err := mpi.WaitAll(r, s)
			t.must(err)
			wantSlice(t, "message", in, out)
		}
	}
}

func partitionedAlone(t *T, c *mpi.Comm) {
	if t.Policy == "caller" || c.Rank() > 1 {
		return // whose messages move in calls only
	}
	const n, parts = 1 << 20, 4
	for round := range 2 {
		name := fmt.Sprintf("sent-%d", round)
		if c.Rank() == 0 {
			t.must(awaited(t, fmt.Sprintf("started-%d", round)))
			s := mpi.PsendInit(c, ramp(n, round), parts, 1, 3)
			t.must(s.Start())
			t.must(s.PreadyRange(0, parts-1))
			_, err := s.Wait()
			t.must(err)
			t.leave(name)
			continue
		}
		in := make([]int64, n)
		r := mpi.PrecvInit(c, in, parts, 0, 3)
		t.must(r.Start())
		t.leave(fmt.Sprintf("started-%d", round))
		t.must(awaited(t, name))
		_, err := r.Wait()
		t.must(err)
		wantSlice(t, "message", in, ramp(n, round))
	}
}

// awaited looks for what another rank leaves, without a call of MPI.
func awaited(t *T, name string) error {
	for end := time.Now().Add(failsafe); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if t.isThere(name) {
			return nil
		}
	}
	return errors.New("nothing moves: " + name + " is not there")
}

func partitionedMatching(t *T, c *mpi.Comm) {
	const n, pairs = 480, 3
	var in [2 * pairs][]int64
	var rs, ss []*mpi.Request
	sendInit := func() {
		for i := range 2 * pairs { // two tags, by turns
			ss = append(ss, mpi.PsendInit(c, ramp(n, i), 1+i, right(c), i%2))
		}
	}
	if c.Rank()%2 == 0 { // some ranks make their sends first
		sendInit()
	}
	for _, i := range []int{1, 3, 5, 0, 2, 4} { // in another order of tags, the same within each
		in[i] = make([]int64, n)
		rs = append(rs, mpi.PrecvInit(c, in[i], 2, left(c), i%2))
	}
	if c.Rank()%2 == 1 {
		sendInit()
	}
	for range 2 {
		for i := range in {
			clear(in[i])
		}
		for i := len(ss) - 1; i >= 0; i-- { // starting has no influence
			t.must(ss[i].Start())
			t.must(ss[i].PreadyRange(0, i))
			t.must(rs[i].Start())
		}
		_, err := mpi.WaitAll(append(rs, ss...)...)
		t.must(err)
		for i := range in {
			wantSlice(t, fmt.Sprint("message of pair ", i), in[i], ramp(n, i))
		}
	}
}

func partitionedApart(t *T, c *mpi.Comm) {
	part, plain := make([]int64, 8), make([]int64, 8)
	wild := mpi.Irecv(c, plain, mpi.AnySource, mpi.AnyTag)
	s, r := mpi.PsendInit(c, ramp(8, 1), 2, right(c), 5), mpi.PrecvInit(c, part, 4, left(c), 5)
	t.must(mpi.StartAll(s, r))
	t.must(s.PreadyRange(0, 1))
	_, err := mpi.WaitAll(s, r)
	t.must(err)
	_, done, err := wild.Test()
	t.must(err)
	want(t, "a partition is received by Irecv", done, false)
	t.must(mpi.Barrier(c))
	other := mpi.Isend(c, ramp(8, 2), right(c), 5)
	t.must(r.Start())
	_, err = mpi.WaitAll(wild, other)
	t.must(err)
	wantSlice(t, "the plain message", plain, ramp(8, 2))
	_, done, err = r.Test()
	t.must(err)
	want(t, "a plain message is received as partitions", done, false)
	t.must(mpi.Barrier(c))
	t.must(s.Start())
	t.must(s.PreadyList(1, 0))
	_, err = s.Wait()
	if c.Size() > 1 { // one that has left, but no receive of another kind wants it
		_, found, err := mpi.Iprobe(c, mpi.AnySource, mpi.AnyTag)
		t.must(err)
		want(t, "a probe finds a partition", found, false)
	}
	t.must(err)
	_, err = r.Wait()
	t.must(err)
	wantSlice(t, "the partitions", part, ramp(8, 1))
}

func partitionedThreads(t *T, c *mpi.Comm) {
	const parts, each, rounds = 32, 600, 6
	in, out := make([]int64, parts*each), make([]int64, parts*each)
	s, r := mpi.PsendInit(c, out, parts, right(c), 1), mpi.PrecvInit(c, in, parts/2, left(c), 1)
	for round := range rounds {
		t.must(mpi.StartAll(r, s))
		whole := ramp(parts*each, round)
		t.together(
			func() {
				t.each(8, func(g int) { // computes what it makes ready
					for i := g; i < parts; i += 8 {
						copy(out[i*each:(i+1)*each], whole[i*each:])
						t.must(s.Pready(i))
					}
				})
			},
			func() {
				t.each(4, func(g int) { // reads what has arrived
					for i := parts/2 - 1 - g; i >= 0; i -= 4 {
						arrives(t, r, i)
						wantSlice(t, "partition", in[2*i*each:2*(i+1)*each], whole[2*i*each:2*(i+1)*each])
					}
				})
			},
			func() {
				_, err := s.Wait()
				t.must(err)
			})
		_, err := r.Wait()
		t.must(err)
		wantSlice(t, "message", in, whole)
	}
}

func partitionedAhead(t *T, c *mpi.Comm) {
	const rounds, n = 6, 12
	out, in := make([]int64, n), make([]int64, n)
	s, r := mpi.PsendInit(c, out, 4, right(c), 1), mpi.PrecvInit(c, in, 3, left(c), 1)
	for round := range rounds {
		copy(out, ramp(n, round))
		t.must(s.Start())
		makeReady(t, s, 4, round)
		_, err := s.Wait()
		t.must(err)
	}
	t.must(mpi.Barrier(c))
	for round := range rounds {
		t.must(r.Start())
		_, err := r.Wait()
		t.must(err)
		wantSlice(t, "message", in, ramp(n, round))
	}
}

func partitionedInactive(t *T, c *mpi.Comm) {
	in := make([]int64, 4)
	s, r := mpi.PsendInit(c, ramp(4, 1), 2, right(c), 1), mpi.PrecvInit(c, in, 4, left(c), 1)
	idle := func() {
		for _, q := range []*mpi.Request{r, s} {
			st, err := q.Wait()
			t.must(err)
			wantEmpty(t, "Wait", st)
		}
		for i := range 4 {
			ok, err := r.Parrived(i)
			t.must(err)
			want(t, "Parrived of an inactive request", ok, true)
		}
		i, _, err := mpi.WaitAny(s, r)
		t.must(err)
		want(t, "WaitAny", i, mpi.Undefined)
	}
	idle()
	t.must(mpi.Barrier(c))
	idle()
	for range 2 {
		t.must(mpi.StartAll(r, s))
		t.must(s.PreadyRange(0, 1))
		_, err := mpi.WaitAll(r, s)
		t.must(err)
		idle()
	}
}

func partitionedWrong(t *T, c *mpi.Comm) {
	in := make([]int64, 4)
	s, r := mpi.PsendInit(c, ramp(4, 1), 4, right(c), 1), mpi.PrecvInit(c, in, 2, left(c), 1)
	wantError(t, "before the first Start", s.Pready(0), mpi.ErrRequest, "not active", "Start")
	for range 2 {
		t.must(mpi.StartAll(r, s))
		wantError(t, "a second Start", s.Start(), mpi.ErrRequest, "active")
		wantError(t, "a second Start", r.Start(), mpi.ErrRequest, "active")
		t.must(s.Pready(2))
		wantError(t, "twice", s.Pready(2), mpi.ErrRequest, "partition 2", "ready before")
		wantError(t, "twice in a range", s.PreadyRange(1, 3), mpi.ErrRequest, "partition 2", "ready before")
		wantError(t, "twice in a list", s.PreadyList(0, 2), mpi.ErrRequest, "partition 2", "ready before")
		for _, i := range []int{-1, 4} {
			wantError(t, "no such partition", s.Pready(i), mpi.ErrArg, fmt.Sprint("partition ", i), "0 to 3")
		}
		wantError(t, "beyond", s.PreadyRange(3, 4), mpi.ErrArg, "partition 4")
		wantError(t, "backwards", s.PreadyRange(1, 0), mpi.ErrArg, "1 to 0")
		_, err := r.Parrived(2)
		wantError(t, "no such partition", err, mpi.ErrArg, "partition 2", "0 to 1")
		t.must(s.PreadyList()) // none
		t.must(s.PreadyList(3, 0))
		t.must(s.Pready(1)) // not harmed by the failed range and list
		wantError(t, "after the last", s.Pready(1), mpi.ErrRequest, "ready before")
		_, err = mpi.WaitAll(r, s)
		t.must(err)
		wantSlice(t, "message", in, ramp(4, 1))
		wantError(t, "between rounds", s.Pready(0), mpi.ErrRequest, "not active", "Start")
	}
}

func partitionedArguments(t *T, c *mpi.Comm) {
	buf := make([]int64, 12)
	failed := func(what string, r *mpi.Request, class mpi.ErrorClass, parts ...string) {
		_, err := r.Wait()
		wantError(t, what, err, class, parts...)
		wantError(t, what+": Start", r.Start(), class)
		wantError(t, what+": Pready", r.Pready(0), mpi.ErrRequest)
	}
	failed("AnySource", mpi.PrecvInit(c, buf, 1, mpi.AnySource, 1), mpi.ErrRank, "source")
	failed("AnyTag", mpi.PrecvInit(c, buf, 1, 0, mpi.AnyTag), mpi.ErrTag)
	failed("rank", mpi.PsendInit(c, buf, 1, c.Size(), 1), mpi.ErrRank, "destination")
	failed("tag", mpi.PsendInit(c, buf, 1, 0, -7), mpi.ErrTag)
	failed("no partition", mpi.PsendInit(c, buf, 0, 0, 1), mpi.ErrArg, "0 partitions")
	failed("too many", mpi.PrecvInit(c, make([]int64, 0), 1<<30, 0, 1), mpi.ErrArg, "partitions")
	failed("unequal partitions", mpi.PrecvInit(c, buf, 5, 0, 1), mpi.ErrCount, "12 elements", "5 partitions")
	failed("type", mpi.PsendInit(c, make([]withFunc, 1), 1, 0, 1), mpi.ErrType, "Hook")

	plain := mpi.SendInit(c, buf, 0, 1)
	wantError(t, "Pready of SendInit", plain.Pready(0), mpi.ErrRequest, "SendInit", "PsendInit")
	var null *mpi.Request
	here, err := null.Parrived(3)
	t.must(err, "Parrived of a nil request")
	want(t, "Parrived of a nil request", here, true)
	freed := mpi.PrecvInit(c, make([]int, 2), 2, mpi.ProcNull, 0)
	t.must(freed.Free())
	here, err = freed.Parrived(0)
	t.must(err, "Parrived of a freed request")
	want(t, "Parrived of a freed request", here, true)
	_, err = plain.Parrived(0)
	wantError(t, "Parrived of SendInit", err, mpi.ErrRequest, "SendInit", "PrecvInit")
	var none *mpi.Request
	wantError(t, "Pready of nil", none.Pready(0), mpi.ErrRequest, "nil")
	wantError(t, "PreadyRange of nil", none.PreadyRange(1, 0), mpi.ErrArg)
	s, r := mpi.PsendInit(c, buf, 3, right(c), 1), mpi.PrecvInit(c, make([]int64, 12), 2, left(c), 1)
	_, err = s.Parrived(0)
	wantError(t, "Parrived of a send", err, mpi.ErrRequest, "PsendInit", "PrecvInit")
	wantError(t, "Pready of a receive", r.Pready(0), mpi.ErrRequest, "PrecvInit", "PsendInit")
	wantError(t, "PreadyList of a receive", r.PreadyList(0), mpi.ErrRequest, "PrecvInit", "PsendInit")
}

func partitionedUnequal(t *T, c *mpi.Comm) {
	const big = 100000
	for _, n := range []int{4, big} {
		for _, ours := range []int{n - 2, n + 2} {
			in := make([]int64, ours)
			s, r := mpi.PsendInit(c, ramp(n, 1), 4, right(c), 1), mpi.PrecvInit(c, in, 2, left(c), 1)
			for range 2 {
				t.must(mpi.StartAll(r, s))
				t.must(s.PreadyRange(0, 3))
				_, err := r.Wait()
				wantError(t, "Wait", err, mpi.ErrCount, fmt.Sprint(8*n, " bytes"), fmt.Sprint(8*ours, " bytes"), "4 partitions", "receiver's 2")
				_, err = s.Wait()
				t.must(err)
				wantSlice(t, "the buffer", in, make([]int64, ours))
			}
		}
	}
	words := make([]string, 4)
	s, r := mpi.PsendInit(c, ramp(4, 1), 2, right(c), 1), mpi.PrecvInit(c, words, 2, left(c), 1)
	t.must(mpi.StartAll(r, s))
	t.must(s.PreadyRange(0, 1))
	_, err := r.Wait()
	wantError(t, "memory into objects", err, mpi.ErrType, "32 bytes", "4 objects")
	_, err = s.Wait()
	t.must(err)
	t.must(mpi.Send(c.Self(), []int{1}, mpi.ProcNull, 0)) // nothing is broken
}

func partitionedNull(t *T, c *mpi.Comm) {
	buf := ramp(6, 1)
	s, r := mpi.PsendInit(c, buf, 3, mpi.ProcNull, 1), mpi.PrecvInit(c, buf, 2, mpi.ProcNull, 1)
	for range 3 {
		t.must(mpi.StartAll(s, r))
		t.must(s.Pready(1))
		wantError(t, "twice", s.Pready(1), mpi.ErrRequest, "ready before")
		_, done, err := s.Test()
		t.must(err)
		want(t, "a send is done before all is ready", done, false)
		t.must(s.PreadyList(2, 0))
		_, err = s.Wait()
		t.must(err)
		ok, err := r.Parrived(1)
		t.must(err)
		want(t, "Parrived", ok, true)
		st, err := r.Wait()
		t.must(err)
		want(t, "source", st.Source, mpi.ProcNull)
		want(t, "count", st.Count, 0)
	}
	wantSlice(t, "the buffer", buf, ramp(6, 1))
}

func partitionedObjects(t *T, c *mpi.Comm) {
	const n = 12
	long := strings.Repeat("x", 40000)
	for _, cut := range [][2]int{{3, 3}, {4, 3}, {1, 6}, {6, 1}} {
		out, in := make([]string, n), make([]string, n)
		s, r := mpi.PsendInit(c, out, cut[0], right(c), 1), mpi.PrecvInit(c, in, cut[1], left(c), 1)
		ok, err := r.Parrived(0)
		t.must(err)
		want(t, "Parrived of an inactive request", ok, true)
		for round := range 3 {
			for i := range out {
				out[i] = fmt.Sprint(round, "/", i) + long[:i*3000]
			}
			sent := append([]string(nil), out...)
			t.must(mpi.StartAll(r, s))
			makeReady(t, s, cut[0], round)
			for i := range out {
				out[i] = "changed afterwards"
			}
			t.each(2, func(int) {
				for j := range cut[1] {
					arrives(t, r, j)
					wantSlice(t, "partition", in[j*n/cut[1]:(j+1)*n/cut[1]], sent[j*n/cut[1]:(j+1)*n/cut[1]])
				}
			})
			sts, err := mpi.WaitAll(s, r)
			t.must(err)
			want(t, "count", sts[1].Count, n)
			want(t, "GetCount", mpi.GetCount[string](sts[1]), n)
			wantSlice(t, "message", in, sent)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := c.WithContext(ctx)
	bad, null := mpi.PsendInit(d, []shape{unregistered{}}, 1, right(c), 1), mpi.PrecvInit(d, make([]shape, 1), 1, left(c), 1)
	t.must(mpi.StartAll(bad, null))
	wantError(t, "what cannot be serialised", bad.Pready(0), mpi.ErrType, "unregistered")
	t.must(mpi.Barrier(c)) // all have found that
	cancel()               // neither can be completed otherwise; they do not disturb others
	for _, r := range []*mpi.Request{bad, null} {
		if _, err := r.Wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait: error is %v, want %v", err, context.Canceled)
		}
	}
}

func partitionedDeadline(t *T, c *mpi.Comm) {
	for _, n := range []int{4, 200000} {
		ctx, cancel := context.WithCancelCause(context.Background())
		d := c.WithContext(ctx)
		in := make([]int64, n)
		s, r := mpi.PsendInit(d, ramp(n, 1), 4, right(c), 1), mpi.PrecvInit(d, in, 4, left(c), 1)
		t.must(mpi.StartAll(s, r))
		t.must(s.PreadyList(3, 1))
		t.must(mpi.Barrier(c))
		enough := errors.New("enough is enough")
		time.AfterFunc(time.Millisecond, func() { cancel(enough) })
		for _, q := range []*mpi.Request{r, s} {
			if _, err := q.Wait(); !errors.Is(err, enough) {
				t.Errorf("Wait: error is %v, want %v", err, enough)
			}
		}
		wantError(t, "Pready afterwards", s.Pready(0), mpi.ErrRequest, "not active")
		wantError(t, "Start afterwards", r.Start(), mpi.ErrOther, "enough")
		t.must(mpi.Barrier(c))
	}
	// Requests without the context, of the same tag, are matched as if nothing had been.
	in := make([]int64, 8)
	s, r := mpi.PsendInit(c, ramp(8, 2), 4, right(c), 1), mpi.PrecvInit(c, in, 4, left(c), 1)
	t.must(mpi.StartAll(s, r))
	t.must(s.PreadyRange(0, 3))
	_, err := mpi.WaitAll(s, r)
	t.must(err)
	wantSlice(t, "message", in, ramp(8, 2))
}
