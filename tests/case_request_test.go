package tests

import (
	"errors"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

var requestCases = []testCase{
	{name: "request/wait", section: "3.7.3",
		sentence: "A call to MPI_WAIT returns when the operation identified by request is complete.",
		run:      waits},
	{name: "request/test", section: "3.7.3",
		sentence: "A call to MPI_TEST returns flag = true if the operation identified by request is complete.",
		run:      tests},
	{name: "request/waitany", section: "3.7.5",
		sentence: "Blocks until one of the operations associated with the active requests in the array has completed.",
		run:      waitAny},
	{name: "request/waitany of none", section: "3.7.5",
		sentence: "If the list contains no active handles (list has length zero or all entries are null or inactive), then the call returns " +
			"immediately with index = MPI_UNDEFINED, and an empty status.",
		run: waitNone},
	{name: "request/waitall", section: "3.7.5",
		sentence: "Blocks until all communication operations associated with active handles in the list complete, and return the status of " +
			"all these operations (this includes the case where no handle in the list is active).",
		run: waitAll},
	{name: "request/testall", section: "3.7.5",
		sentence: "Otherwise, flag = false is returned, no request is modified and the values of the status entries are undefined.",
		run:      testAll},
	{name: "request/waitsome", section: "3.7.5",
		sentence: "Waits until at least one of the operations associated with active handles in the list have completed.",
		run:      waitSome},
	{name: "request/failed among several", section: "3.7.5",
		sentence: "The function MPI_WAITALL will return in such case the error code MPI_ERR_IN_STATUS; a request neither failed nor " +
			"completed is pending, the others complete.",
		run: waitFailed},
	{name: "request/get status", section: "3.7.6",
		sentence: "Sets flag=true if the operation is complete, and, if so, returns in status the request status. However, unlike test or " +
			"wait, it does not deallocate or inactivate the request.",
		run: getStatus},
	{name: "request/free", section: "3.7.3",
		sentence: "An ongoing communication that is associated with the request will be allowed to complete.",
		run:      freeRequest},
	{name: "request/general", section: "13.2",
		sentence: "MPI_GREQUEST_COMPLETE informs MPI that the operations represented by the generalized request are complete.",
		run:      general},
	{name: "request/general among others", section: "13.2",
		sentence: "The user can mix generalized requests with other requests in the calls that wait for several.",
		run:      generalMixed},
	{name: "request/general frees once", section: "13.2",
		sentence: "The callback function is invoked to clean up user-allocated resources when the generalized request is freed, " +
			"whichever of its completion and its freeing occurs last.",
		run: generalFree},
}

func waits(t *T, c *mpi.Comm) {
	in := make([]int64, 9000)
	r := mpi.Irecv(c, in, left(c), 3)
	s := mpi.Isend(c, ramp(9000, 1), right(c), 3)
	st, err := r.Wait()
	t.must(err)
	want(t, "count", st.Count, 9000)
	again, err := r.Wait()
	t.must(err)
	want(t, "the status of a second Wait", again, st)
	_, err = s.Wait()
	t.must(err)
	var none *mpi.Request
	st, err = none.Wait()
	t.must(err)
	wantEmpty(t, "a nil request", st)
}

// wantEmpty: "a status which is set to return tag = MPI_ANY_TAG, source = MPI_ANY_SOURCE, error =
// MPI_SUCCESS, and is also internally configured so that calls to MPI_GET_COUNT return count = 0
// and MPI_TEST_CANCELLED returns false" (3.7.3).
func wantEmpty(t *T, what string, st mpi.Status) {
	want(t, what+": source", st.Source, mpi.AnySource)
	want(t, what+": tag", st.Tag, mpi.AnyTag)
	want(t, what+": count", st.Count, 0)
	want(t, what+": GetCount", mpi.GetCount[int](st), 0)
	want(t, what+": cancelled", st.Cancelled, false)
}

func tests(t *T, c *mpi.Comm) {
	in := make([]int64, 9000)
	r := mpi.Irecv(c, in, left(c), 3)
	_, done, err := r.Test()
	t.must(err)
	want(t, "done before the send", done, false)
	t.must(mpi.Barrier(c))
	s := mpi.Isend(c, ramp(9000, 1), right(c), 3)
	for !done {
		_, done, err = r.Test()
		t.must(err)
	}
	wantSlice(t, "message", in, ramp(9000, 1))
	for done = false; !done; {
		_, done, err = s.Test()
		t.must(err)
	}
	var none *mpi.Request
	st, done, err := none.Test()
	t.must(err)
	want(t, "a nil request is done", done, true)
	wantEmpty(t, "a nil request", st)
}

// fan starts receives of n messages, a nil request and one completed among them, and sends the
// messages.
func fan(t *T, c *mpi.Comm, n int) (rs []*mpi.Request, bufs [][]int64, finish func()) {
	bufs = make([][]int64, n)
	for k := range n {
		bufs[k] = make([]int64, mixed(k))
		rs = append(rs, mpi.Irecv(c, bufs[k], left(c), k))
	}
	old := mpi.Isend(c, []int{}, mpi.ProcNull, 0)
	_, err := old.Wait()
	t.must(err)
	rs = append(rs, nil, old)
	t.must(mpi.Barrier(c))
	var ss []*mpi.Request
	for k := range n {
		i := (k*5 + 3) % n
		ss = append(ss, mpi.Isend(c, ramp(mixed(i), i), right(c), i))
	}
	return rs, bufs, func() {
		_, err := mpi.WaitAll(ss...)
		t.must(err)
		for k, b := range bufs {
			wantSlice(t, "message", b, ramp(mixed(k), k))
		}
	}
}

func waitAny(t *T, c *mpi.Comm) {
	const n = 16
	for _, test := range []bool{false, true} {
		rs, _, finish := fan(t, c, n)
		seen := map[int]bool{}
		for len(seen) < n {
			var i int
			var st mpi.Status
			var err error
			done := true
			if test {
				i, st, done, err = mpi.TestAny(rs...)
			} else {
				i, st, err = mpi.WaitAny(rs...)
			}
			t.must(err)
			if !done {
				want(t, "the index when none is done", i, mpi.Undefined)
				continue
			}
			if i < 0 || i >= n || seen[i] {
				t.Fatalf("index %d: out of range, or given twice", i)
			}
			seen[i] = true
			want(t, "tag", st.Tag, i)
			want(t, "count", st.Count, mixed(i))
		}
		i, st, err := mpi.WaitAny(rs...)
		t.must(err)
		want(t, "the index when all are done", i, mpi.Undefined)
		wantEmpty(t, "when all are done", st)
		finish()
	}
}

func waitNone(t *T, c *mpi.Comm) {
	in := make([]int, 1)
	idle := mpi.RecvInit(c, in, left(c), 3)
	for _, rs := range [][]*mpi.Request{nil, {nil}, {nil, idle, nil}} {
		i, st, err := mpi.WaitAny(rs...)
		t.must(err)
		want(t, "WaitAny: index", i, mpi.Undefined)
		wantEmpty(t, "WaitAny", st)
		i, st, done, err := mpi.TestAny(rs...)
		t.must(err)
		want(t, "TestAny: done", done, true)
		want(t, "TestAny: index", i, mpi.Undefined)
		wantEmpty(t, "TestAny", st)
		is, sts, err := mpi.WaitSome(rs...)
		t.must(err)
		want(t, "WaitSome: indices", len(is)+len(sts), 0)
		is, _, err = mpi.TestSome(rs...)
		t.must(err)
		want(t, "TestSome: indices", len(is), 0)
		sts, err = mpi.WaitAll(rs...)
		t.must(err)
		want(t, "WaitAll: statuses", len(sts), len(rs))
		for _, st := range sts {
			wantEmpty(t, "WaitAll", st)
		}
		_, done, err = mpi.TestAll(rs...)
		t.must(err)
		want(t, "TestAll: done", done, true)
		i, _, done, err = mpi.GetStatusAny(rs...)
		t.must(err)
		want(t, "GetStatusAny: done", done, true)
		want(t, "GetStatusAny: index", i, mpi.Undefined)
		_, done, err = mpi.GetStatusAll(rs...)
		t.must(err)
		want(t, "GetStatusAll: done", done, true)
		is, _, err = mpi.GetStatusSome(rs...)
		t.must(err)
		want(t, "GetStatusSome: indices", len(is), 0)
	}
}

func waitAll(t *T, c *mpi.Comm) {
	rs, _, finish := fan(t, c, 16)
	rs = append(rs, rs[3], rs[0]) // twice in the list: no harm
	sts, err := mpi.WaitAll(rs...)
	t.must(err)
	for k := range 16 {
		want(t, "tag", sts[k].Tag, k)
		want(t, "count", sts[k].Count, mixed(k))
	}
	want(t, "the status of a duplicate", sts[18], sts[3])
	wantEmpty(t, "nil", sts[16])
	finish()
}

func testAll(t *T, c *mpi.Comm) {
	late := mpi.Irecv(c, make([]int64, 1), left(c), 99)
	rs, _, finish := fan(t, c, 8)
	rs = append(rs, late)
	for range 50 {
		sts, done, err := mpi.TestAll(rs...)
		t.must(err)
		if done || sts != nil {
			t.Fatalf("TestAll says all is done, though one message was not sent")
		}
	}
	t.must(mpi.Barrier(c))
	s := mpi.Isend(c, ramp(1, 1), right(c), 99)
	for {
		sts, done, err := mpi.TestAll(rs...)
		t.must(err)
		if done {
			want(t, "the last tag", sts[len(rs)-1].Tag, 99)
			break
		}
	}
	_, err := s.Wait()
	t.must(err)
	finish()
}

func waitSome(t *T, c *mpi.Comm) {
	const n = 16
	for _, test := range []bool{false, true} {
		rs, _, finish := fan(t, c, n)
		var seen []int
		for len(seen) < n {
			some := mpi.WaitSome
			if test {
				some = mpi.TestSome
			}
			is, sts, err := some(rs...)
			t.must(err)
			if !test && len(is) == 0 {
				t.Fatalf("WaitSome returns nothing though requests are active")
			}
			for k, i := range is {
				want(t, "tag", sts[k].Tag, i)
			}
			seen = append(seen, is...)
		}
		slices.Sort(seen)
		for i, k := range seen {
			want(t, "index", k, i)
		}
		is, _, err := mpi.WaitSome(rs...)
		t.must(err)
		want(t, "WaitSome when all are done", len(is), 0)
		finish()
	}
}

func waitFailed(t *T, c *mpi.Comm) {
	short := make([]int64, 2)
	in := make([]int64, 5)
	rs := []*mpi.Request{
		mpi.Irecv(c, in, left(c), 1),
		mpi.Irecv(c, short, left(c), 2),
		mpi.Isend(c, ramp(5, 1), right(c), 1),
		mpi.Isend(c, ramp(5, 2), right(c), 2),
		mpi.Isend(c, ramp(5, 2), c.Size(), 2), // no such rank
	}
	sts, err := mpi.WaitAll(rs...)
	wantError(t, "WaitAll", err, mpi.ErrTruncate, "5 elements arrived")
	wantError(t, "WaitAll", err, mpi.ErrRank)
	want(t, "the good status", sts[0].Count, 5)
	wantSlice(t, "the good message", in, ramp(5, 1))
	_, err = rs[1].Wait()
	wantError(t, "Wait once more", err, mpi.ErrTruncate)
	bad := mpi.Isend(c, ramp(5, 2), c.Size(), 2)
	i, _, err := mpi.WaitAny(nil, bad)
	want(t, "WaitAny: index", i, 1)
	wantError(t, "WaitAny", err, mpi.ErrRank)
	bad = mpi.Isend(c, ramp(5, 2), c.Size(), 2)
	is, _, err := mpi.WaitSome(nil, bad, nil)
	want(t, "WaitSome: indices", len(is), 1)
	wantError(t, "WaitSome", err, mpi.ErrRank)
	_, done, err := mpi.TestAll(bad)
	want(t, "TestAll: done", done, true)
	wantError(t, "TestAll", err, mpi.ErrRank)
}

func getStatus(t *T, c *mpi.Comm) {
	in := make([]int64, 5)
	r := mpi.Irecv(c, in, left(c), 1)
	_, done, err := r.GetStatus()
	t.must(err)
	want(t, "done before the send", done, false)
	_, done, err = mpi.GetStatusAll(r)
	t.must(err)
	want(t, "GetStatusAll before the send", done, false)
	_, _, done, err = mpi.GetStatusAny(r)
	t.must(err)
	want(t, "GetStatusAny before the send", done, false)
	want(t, "IsComplete before the send", r.IsComplete(), false)
	t.must(mpi.Barrier(c))
	s := mpi.Isend(c, ramp(5, 1), right(c), 1)
	var st mpi.Status
	for done = false; !done; {
		st, done, err = r.GetStatus()
		t.must(err)
	}
	want(t, "count", st.Count, 5)
	want(t, "IsComplete when GetStatus has said so", r.IsComplete(), true)
	is, sts, err := mpi.GetStatusSome(nil, r)
	t.must(err)
	wantSlice(t, "GetStatusSome", is, []int{1})
	want(t, "its status", sts[0].Count, 5)
	i, st, err := mpi.WaitAny(nil, r)
	t.must(err)
	want(t, "WaitAny finds it still", i, 1)
	want(t, "count", st.Count, 5)
	i, _, err = mpi.WaitAny(r)
	t.must(err)
	want(t, "and only once", i, mpi.Undefined)
	_, err = s.Wait()
	t.must(err)

	p := mpi.RecvInit(c, in, left(c), 1)
	t.must(p.Start())
	s = mpi.Isend(c, ramp(5, 2), right(c), 1)
	for done = false; !done; {
		_, done, err = p.GetStatus()
		t.must(err)
	}
	wantError(t, "Start of a request whose status was looked at", p.Start(), mpi.ErrRequest, "active")
	_, err = mpi.WaitAll(p, s)
	t.must(err)
	st, done, err = p.GetStatus()
	t.must(err)
	want(t, "an inactive request is done", done, true)
	want(t, "an inactive request is complete", p.IsComplete(), true)
	want(t, "no request is complete", (*mpi.Request)(nil).IsComplete(), true)
	wantEmpty(t, "an inactive request", st)
}

func freeRequest(t *T, c *mpi.Comm) {
	for k, n := range lengths {
		t.must(mpi.Isend(c, ramp(n, k), right(c), 1).Free())
		got, _, err := mpi.RecvNew[int64](c, left(c), 1)
		t.must(err)
		wantSlice(t, "message", got, ramp(n, k))
	}
	var none *mpi.Request
	t.must(none.Free())
}

func general(t *T, c *mpi.Comm) {
	cancelled := false
	r := c.GrequestStart(mpi.GeneralCallbacks{
		Query:  func() (mpi.Status, error) { return mpi.Status{Source: 7, Tag: 8, Count: 9}, nil },
		Cancel: func(complete bool) error { cancelled = !complete; return nil },
	})
	_, done, err := r.Test()
	t.must(err)
	want(t, "done before Complete", done, false)
	t.must(r.Cancel())
	want(t, "the cancel callback has run", cancelled, true)
	t.together(
		func() { t.must(r.Complete()) },
		func() {
			st, err := r.Wait()
			t.must(err)
			want(t, "status", st, mpi.Status{Source: 7, Tag: 8, Count: 9})
		})
	wantError(t, "a second Complete", r.Complete(), mpi.ErrRequest)
	var none *mpi.Request
	wantError(t, "Complete of nil", none.Complete(), mpi.ErrRequest)
	s := mpi.Isend(c, []int{}, mpi.ProcNull, 0)
	wantError(t, "Complete of a send", s.Complete(), mpi.ErrRequest)
	_, err = s.Wait()
	t.must(err)

	own := errors.New("the disk is full")
	r = c.GrequestStart(mpi.GeneralCallbacks{Query: func() (mpi.Status, error) { return mpi.Status{}, own }})
	t.must(r.Complete())
	_, err = r.Wait()
	want(t, "the user's error is the cause", errors.Is(err, own), true)
}

func generalMixed(t *T, c *mpi.Comm) {
	g := c.GrequestStart(mpi.GeneralCallbacks{})
	in := mpi.Irecv(c, make([]int64, 9000), left(c), 1)
	out := mpi.Isend(c, ramp(9000, 1), right(c), 1)
	t.together(
		func() {
			_, err := mpi.WaitAll(in, g, out)
			t.must(err)
		},
		func() { t.must(g.Complete()) })
	never := mpi.Irecv(c, make([]int64, 1), left(c), 1)
	for range 100 { // a completion may fall between any two steps of the waiting
		g = c.GrequestStart(mpi.GeneralCallbacks{})
		t.together(
			func() {
				i, _, err := mpi.WaitAny(never, g)
				t.must(err)
				want(t, "index", i, 1)
			},
			func() { t.must(g.Complete()) })
	}
	t.must(never.Cancel())
	_, err := never.Wait()
	t.must(err)
}

func generalFree(t *T, c *mpi.Comm) {
	frees, queries := 0, 0
	start := func() *mpi.Request {
		frees, queries = 0, 0
		return c.GrequestStart(mpi.GeneralCallbacks{
			Query: func() (mpi.Status, error) { queries++; return mpi.Status{Tag: 5}, nil },
			Free:  func() error { frees++; return nil },
		})
	}
	r := start()
	t.must(r.Complete())
	st, done, err := r.GetStatus()
	t.must(err)
	want(t, "GetStatus: done", done, true)
	want(t, "GetStatus: tag", st.Tag, 5)
	want(t, "Free has run in GetStatus", frees, 0)
	_, err = r.Wait()
	t.must(err)
	want(t, "Free has run in Wait", frees, 1)
	_, err = r.Wait()
	t.must(err)
	t.must(r.Free())
	want(t, "Free runs once", frees, 1)

	r = start()
	t.must(r.Free())
	want(t, "Free has run before the operation is complete", frees, 0)
	t.must(r.Complete())
	want(t, "Free has run at completion", frees, 1)

	r = start()
	t.must(r.Complete())
	t.must(r.Free())
	want(t, "Free has run when freed after completion", frees, 1)

	bad := errors.New("cannot free")
	r = c.GrequestStart(mpi.GeneralCallbacks{Free: func() error { return bad }})
	t.must(r.Complete())
	_, err = r.Wait()
	want(t, "the error of Free is that of Wait", errors.Is(err, bad), true)
}
