package tests

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

var persistentCollCases = []testCase{
	{name: "persistent collective/rounds", section: "6.13",
		sentence: "A persistent collective request is inactive after it is made; each start carries out the collective with what the operands hold then.",
		run:      persistentCollRounds},
	{name: "persistent collective/in place", section: "6.13",
		sentence: "The in place option means for a persistent collective what it means for the blocking one, in every round.",
		run:      persistentCollInPlace},
	{name: "persistent collective/any order", section: "6.13",
		sentence: "Persistent collectives are made in the same order at all ranks; they may be started in any, beside other collectives.",
		run:      persistentCollOrder},
	{name: "persistent collective/no barrier", section: "6.13",
		sentence: "Making a persistent collective is a local matter until it is started: a rank may make and start it before the others have made it.",
		loose:    true, run: persistentCollEarly},
	{name: "persistent collective/inactive", section: "6.13",
		sentence: "An inactive request is done with an empty status; one that is active cannot be started.",
		run:      persistentCollInactive},
	{name: "persistent collective/wait family", section: "6.13",
		sentence: "All completion calls are possible for persistent collectives, which are inactive afterwards.",
		run:      persistentCollFamily},
	{name: "persistent collective/arguments", section: "6.13",
		sentence: "An argument that is wrong is an error of making the request, which starting it repeats.",
		run:      persistentCollArguments},
	{name: "persistent collective/broken", section: "FitMPI",
		sentence: "A persistent collective whose round failed while messages moved says so when it is started again.",
		min:      2, world: true, run: persistentCollBroken},
}

// someForms is every collective over a few element types and sizes, fewer off the world.
func someForms(t *T, c *mpi.Comm, root int, inPlace bool) []form {
	names, sizes := []string{"matrix", "string"}, []int{0, 7}
	if t.World {
		names, sizes = append(names, "float64", "map", "struct"), append(sizes, 1)
	}
	var fs []form
	for _, name := range names {
		for _, n := range sizes {
			fs = append(fs, elementKinds[name].(formed).forms(t, c, n, root, inPlace)...)
		}
	}
	if t.World {
		fs = append(fs, elementKinds["matrix"].(formed).forms(t, c, 2000, root, inPlace)...)
	}
	return fs
}

func persistentCollRounds(t *T, c *mpi.Comm)  { persistentRoundsOf(t, c, false) }
func persistentCollInPlace(t *T, c *mpi.Comm) { persistentRoundsOf(t, c, true) }

func persistentRoundsOf(t *T, c *mpi.Comm, inPlace bool) {
	for _, f := range someForms(t, c, c.Size()-1, inPlace) {
		r := f.init()
		for k := range 3 {
			f.set(k)
			t.must(r.Start(), f.name+"Init: Start")
			_, err := r.Wait()
			t.must(err, f.name+"Init: Wait")
			f.check(fmt.Sprint(f.name, "Init, round ", k), k)
		}
		t.must(r.Free())
	}
}

// persistentCollOrder keeps all kinds active at once, started in an order of each rank's own,
// between collectives of the other kinds.
func persistentCollOrder(t *T, c *mpi.Comm) {
	var fs []form
	for _, name := range []string{"float64", "string", "matrix"} {
		for _, n := range []int{3, 2000} {
			if name == "string" {
				n = min(n, 5)
			}
			fs = append(fs, elementKinds[name].(formed).forms(t, c, n, 0, false)...)
		}
	}
	rs := make([]*mpi.Request, len(fs))
	for i, f := range fs {
		rs[i] = f.init()
	}
	order := make([]int, len(fs))
	for i := range order {
		order[i] = i
	}
	for k := range 3 {
		slices.SortFunc(order, func(a, b int) int { return (a*31+c.Rank()*7+k*5)%len(fs) - (b*31+c.Rank()*7+k*5)%len(fs) })
		sum, all := []int{0}, make([]int64, 9*c.Size())
		during := mpi.Iallgather(c, ramp(9, c.Rank()), all)
		for i, at := range order {
			fs[at].set(k)
			t.must(rs[at].Start(), "Start of", fs[at].name)
			if i == len(order)/2 {
				t.must(mpi.Allreduce(c, []int{1}, sum, mpi.Sum), "a collective between starts")
				want(t, "the sum between starts", sum[0], c.Size())
			}
		}
		_, err := mpi.WaitAll(append(rs[:len(rs):len(rs)], during)...)
		t.must(err, "WaitAll")
		for _, f := range fs {
			f.check(fmt.Sprint(f.name, " in another order, round ", k), k)
		}
		for r := range c.Size() {
			wantSlice(t, "Iallgather beside", all[r*9:(r+1)*9], ramp(9, r))
		}
	}
}

// persistentCollEarly: rank 0 has made, started and completed what only needs it before the others
// make theirs.
func persistentCollEarly(t *T, c *mpi.Comm) {
	b := ramp(10, 1)
	if c.Rank() > 0 {
		hear(t, c, 0)
		clear(b)
	}
	r := mpi.BcastInit(c, b, 0)
	t.must(r.Start())
	_, err := r.Wait()
	t.must(err)
	wantSlice(t, "BcastInit", b, ramp(10, 1))
	if c.Rank() == 0 {
		for k := 1; k < c.Size(); k++ {
			tell(t, c, k)
		}
	}
}

func persistentCollInactive(t *T, c *mpi.Comm) {
	in, out := ramp(5, 1), make([]int64, 5)
	r := mpi.AllreduceInit(c, in, out, mpi.Max)
	idle := func() {
		st, err := r.Wait()
		t.must(err)
		wantEmpty(t, "Wait", st)
		st, done, err := r.Test()
		t.must(err)
		want(t, "Test: done", done, true)
		wantEmpty(t, "Test", st)
		i, _, err := mpi.WaitAny(r)
		t.must(err)
		want(t, "WaitAny", i, mpi.Undefined)
	}
	idle()
	t.must(r.Start())
	wantError(t, "Start of an active request", r.Start(), mpi.ErrRequest, "AllreduceInit", "active")
	_, err := r.Wait()
	t.must(err)
	wantSlice(t, "AllreduceInit", out, in)
	idle()
	plain := mpi.Ibarrier(c)
	_, err = plain.Wait()
	t.must(err)
	wantError(t, "Start of an Ibarrier", plain.Start(), mpi.ErrRequest, "not persistent")
}

func persistentCollFamily(t *T, c *mpi.Comm) {
	fs := elementKinds["float64"].(formed).forms(t, c, 4, 0, false)
	rs := make([]*mpi.Request, len(fs))
	for i, f := range fs {
		rs[i] = f.init()
	}
	ways := []func(){
		func() {
			for range rs {
				_, _, err := mpi.WaitAny(rs...)
				t.must(err, "WaitAny")
			}
		},
		func() {
			for left := len(rs); left > 0; {
				done, _, err := mpi.WaitSome(rs...)
				t.must(err, "WaitSome")
				left -= len(done)
			}
		},
		func() {
			for done := false; !done; {
				var err error
				_, done, err = mpi.TestAll(rs...)
				t.must(err, "TestAll")
			}
		},
		func() {
			for _, r := range rs {
				for done := false; !done; {
					_, seen, err := r.GetStatus()
					t.must(err, "GetStatus")
					if seen {
						_, done, err = r.Test()
						t.must(err, "Test")
						want(t, "Test after GetStatus", done, true)
					}
				}
			}
		},
	}
	for k, wait := range ways {
		for _, f := range fs {
			f.set(k)
		}
		t.must(mpi.StartAll(rs...))
		wait()
		for _, f := range fs {
			f.check(fmt.Sprint(f.name, ", way ", k), k)
		}
		i, _, err := mpi.WaitAny(rs...)
		t.must(err)
		want(t, "WaitAny when all are inactive", i, mpi.Undefined)
	}
}

func persistentCollArguments(t *T, c *mpi.Comm) {
	b := make([]int64, 4)
	for what, r := range map[string]*mpi.Request{
		"BcastInit": mpi.BcastInit(c, b, c.Size()), "ReduceInit": mpi.ReduceInit(c, b, b, mpi.Sum, -1),
		"GatherInit": mpi.GatherInit(c, b, b, c.Size()),
	} {
		wantError(t, what, r.Start(), mpi.ErrRoot, what, "root")
	}
	wantError(t, "AllgatherInit", mpi.AllgatherInit(c, b, b[:0]).Start(), mpi.ErrCount, "AllgatherInit", "out holds 0")
	wantError(t, "ScanInit", mpi.ScanInit(c, b, b, nil).Start(), mpi.ErrOp, "ScanInit", "operation is nil")
}

func persistentCollBroken(t *T, c *mpi.Comm) {
	m := 20000
	if c.Rank() == c.Size()-1 {
		m++
	}
	in, out := make([]int64, m), make([]int64, m)
	doomed(t, c, "AllreduceInit", mpi.ErrTruncate, func(c *mpi.Comm) error {
		r := mpi.AllreduceInit(c, in, out, mpi.Sum)
		t.must(r.Start())
		_, err := r.Wait()
		if err != nil && !isRelease(err) {
			wantError(t, "Start after a failure", r.Start(), mpi.ErrRequest, "an earlier round failed", "anew")
		}
		return err
	})
}
