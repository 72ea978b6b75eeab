//go:build linux

package tests

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// What the survivors of a job that goes on see when ranks die. Each case is a job of its own, over
// all policies and ways between the ranks; the dead are the first rank or the last.

// deathCase is one sentence and the program that shows it.
type deathCase struct {
	name     string
	sentence string
	min      int // ranks that it needs; 0 means 2
	run      func(t *T, c *mpi.Comm, victim int)
}

var deathCases = []deathCase{
	{name: "finalize", sentence: "Finalize waits for those that live.", run: deathFinalize},
	{name: "named", sentence: "Operations with a peer that has failed end with an error of class ErrProcFailed.", run: deathNamed},
	{name: "arrived", sentence: "Messages that arrived whole before the failure can still be received.", run: deathArrived},
	{name: "any source", sentence: "A receive from AnySource may wait beside failures that are acknowledged.", min: 3, run: deathAnySource},
	{name: "families", sentence: "The request stays active then, can be completed by a message of another rank, and is waited for again after AckFailed.", min: 3, run: deathFamilies},
	{name: "collectives", sentence: "Collectives fail, never hang, at every rank that cannot complete.", run: deathCollectives},
	{name: "collectives later", sentence: "A collective over a communicator with a member that is known to have failed fails.", run: deathCollectivesLater},
	{name: "long reduction", sentence: "Collectives fail, never hang: long ones, by segments, under way.", run: deathLong},
	{name: "making communicators", sentence: "What makes communicators fails as collectives do.", min: 3, run: deathMaking},
	{name: "others", sentence: "Communicators without the dead are as before.", min: 3, run: deathOthers},
	{name: "revoke", sentence: "A rank that has found out that c is broken frees the others from operations that wait for what will never come.", min: 3, run: deathRevoke},
	{name: "revoker", sentence: "All that live learn of it, even if the caller dies in the middle.", min: 3, run: deathRevoker},
	{name: "order", sentence: "Failed: a later answer begins with the members of an earlier one.", min: 4, run: deathOrder},
	{name: "storm", sentence: "Whoever dies at whatever moment of a stream of collectives: all that live find out, and go on without it.", min: 3, run: deathStorm},
}

// part lets the victim die once all others have come here.
func (t *T) part(c *mpi.Comm, victim int) {
	if t.meet(c, victim); c.Rank() == victim {
		c.Die()
	}
}

// meet makes the victim wait until all others have come here. (Of a barrier some might not be
// through when they learn of the death.)
func (t *T) meet(c *mpi.Comm, victim int) {
	const tag = 99
	if c.Rank() != victim {
		t.must(mpi.Send(c, []int64{1}, victim, tag))
		return
	}
	for range c.Size() - 1 {
		_, err := mpi.Recv(c, make([]int64, 1), mpi.AnySource, tag)
		t.must(err)
	}
}

// survive waits until the calling rank knows that n ranks of c have failed.
func (t *T) survive(c *mpi.Comm, n int) *mpi.Group {
	for stop := time.Now().Add(failsafe); ; {
		g, err := c.Failed()
		t.must(err)
		if g.Size() >= n {
			return g
		}
		if time.Now().After(stop) {
			t.Fatalf("%d ranks are known to have failed, want %d", g.Size(), n)
		}
		if _, _, err := mpi.Iprobe(c.Self(), 0, 0); err != nil { // under caller messages move in calls only
			t.Fatalf("%v", err)
		}
		time.Sleep(20 * time.Microsecond)
	}
}

func deathFinalize(t *T, c *mpi.Comm, victim int) {
	if c.Rank() == victim {
		c.Die()
	}
}

// wantDead checks an error that blames the victim.
func wantDead(t *T, what string, err error, victim int) {
	wantError(t, what, err, mpi.ErrProcFailed, fmt.Sprintf("world rank %d", victim))
	var e *mpi.Error
	if errors.As(err, &e) && e.Peer != victim {
		t.Errorf("%s: the error names rank %d, want %d", what, e.Peer, victim)
	}
}

func deathNamed(t *T, c *mpi.Comm, victim int) {
	t.part(c, victim)
	one, big := make([]int64, 1), make([]int64, 1<<18)
	early := map[string]*mpi.Request{
		"Irecv": mpi.Irecv(c, one, victim, 1), "Issend": mpi.Issend(c, one[:1:1], victim, 2), "Isend long": mpi.Isend(c, big, victim, 3),
		"IrecvNew": mpi.IrecvNew[string](c, victim, 4).Request,
	}
	_, err := mpi.Recv(c, make([]int64, 1), victim, 5)
	wantDead(t, "Recv", err, victim)
	for name, r := range early {
		_, err := r.Wait()
		wantDead(t, name, err, victim)
	}
	t.survive(c, 1)
	wantDead(t, "Send", mpi.Send(c, one, victim, 1), victim)
	wantDead(t, "Ssend", mpi.Ssend(c, one, victim, 1), victim)
	_, err = mpi.Probe(c, victim, 1)
	wantDead(t, "Probe", err, victim)
	_, _, err = mpi.Iprobe(c, victim, 1)
	wantDead(t, "Iprobe", err, victim)
	_, _, err = mpi.Mprobe(c, victim, 1)
	wantDead(t, "Mprobe", err, victim)
	_, _, err = mpi.Improbe(c, victim, 1)
	wantDead(t, "Improbe", err, victim)
	_, err = mpi.Sendrecv(c, one, victim, 1, big, victim, 1)
	wantDead(t, "Sendrecv", err, victim)
	for name, r := range map[string]*mpi.Request{
		"RecvInit": mpi.RecvInit(c, one, victim, 6), "SsendInit": mpi.SsendInit(c, one, victim, 6),
		"PrecvInit": mpi.PrecvInit(c, make([]int64, 2), 2, victim, 7), "PsendInit": mpi.PsendInit(c, make([]int64, 2), 2, victim, 8),
	} {
		t.must(r.Start())
		_, err := r.Wait()
		wantDead(t, name, err, victim)
	}
}

// deathArrived: the victim dies when its messages are with the others, which they know from an
// answer.
func deathArrived(t *T, c *mpi.Comm, victim int) {
	if c.Rank() == victim {
		for r := range c.Size() {
			if r != victim {
				t.must(mpi.Send(c, []int64{7, 8}, r, 1))
				t.must(mpi.Send(c, []int64{9}, r, 2))
			}
		}
		for r := range c.Size() {
			if r != victim {
				_, err := mpi.Recv(c, make([]int64, 1), r, 3)
				t.must(err)
			}
		}
		c.Die()
	}
	for _, err := mpi.Probe(c, victim, 2); ; { // of two messages of one sender the first is there too
		t.must(err)
		break
	}
	t.must(mpi.Send(c, []int64{0}, victim, 3))
	t.survive(c, 1)
	in := make([]int64, 2)
	_, err := mpi.Recv(c, in, mpi.AnySource, 1)
	t.must(err)
	wantSlice(t, "the first", in, []int64{7, 8})
	_, err = mpi.Recv(c, in[:1], victim, 2)
	t.must(err)
	want(t, "the second", in[0], 9)
	_, err = mpi.Recv(c, in[:1], victim, 2)
	wantDead(t, "a third", err, victim)
}

// deathAnySource: in every call that receives from any source.
func deathAnySource(t *T, c *mpi.Comm, victim int) {
	var live *mpi.Comm
	if c.Rank() != victim {
		var err error
		live, err = c.CreateGroup(survivors(c, victim), 1)
		t.must(err)
	}
	t.part(c, victim)
	in, later := make([]int64, 1), make([]int64, 1)
	r := mpi.Irecv(c, in, mpi.AnySource, 1)
	_, err := r.Wait()
	wantError(t, "Wait", err, mpi.ErrProcFailedPending, fmt.Sprintf("world rank %d", victim))
	_, done, err := r.Test()
	wantError(t, "Test", err, mpi.ErrProcFailedPending)
	want(t, "done", done, false)
	_, err = mpi.Recv(c, later, mpi.AnySource, 2)
	wantDead(t, "Recv", err, victim)
	_, err = mpi.Probe(c, mpi.AnySource, 2)
	wantDead(t, "Probe", err, victim)
	_, _, err = mpi.Iprobe(c, mpi.AnySource, 2)
	wantError(t, "Iprobe", err, mpi.ErrProcFailedPending)
	after := make([]int64, 1)
	q := mpi.Irecv(c, after, mpi.AnySource, 2)
	_, err = q.Wait()
	wantError(t, "Irecv afterwards", err, mpi.ErrProcFailedPending)
	p := mpi.RecvInit(c, later, mpi.AnySource, 3)
	t.must(p.Start())
	_, err = p.Wait()
	wantError(t, "persistent", err, mpi.ErrProcFailedPending)
	g, err := c.Failed()
	t.must(err)
	want(t, "failed", g.Size(), 1)
	acked, err := c.AckFailed(0)
	t.must(err)
	want(t, "acknowledged before", acked, 0)
	acked, err = c.AckFailed(5)
	t.must(err)
	want(t, "acknowledged", acked, 1)
	_, done, err = r.Test()
	t.must(err)
	want(t, "done", done, false)
	// A ring of the ranks that live.
	to, err := live.Group().TranslateRanks([]int{right(live)}, c.Group())
	t.must(err)
	t.must(mpi.Barrier(live))
	for tag := 1; tag <= 4; tag++ {
		t.must(mpi.Send(c, []int64{int64(tag)}, to[0], tag))
	}
	_, err = mpi.WaitAll(r, q, p)
	t.must(err)
	want(t, "received", in[0], 1)
	want(t, "received by the one that was begun beside the failure", after[0], 2)
	want(t, "received by the persistent one", later[0], 3)
	_, err = mpi.Recv(c, in, mpi.AnySource, 4)
	t.must(err, "Recv after AckFailed")
	want(t, "received after", in[0], 4)
}

// survivors is the group of c without one rank.
func survivors(c *mpi.Comm, victim int) *mpi.Group {
	g, err := c.Group().Excl(victim)
	if err != nil {
		panic(err)
	}
	return g
}

// deathFamilies: requests that wait beside a failure, among others, in the calls for many.
func deathFamilies(t *T, c *mpi.Comm, victim int) {
	t.part(c, victim)
	in := make([]int64, 1)
	r := mpi.Irecv(c, in, mpi.AnySource, 1)
	s := mpi.Irecv(c.Self(), make([]int64, 1), 0, 1)
	_, err := mpi.WaitAll(r)
	wantError(t, "WaitAll", err, mpi.ErrProcFailedPending)
	i, _, err := mpi.WaitAny(s, r)
	wantError(t, "WaitAny", err, mpi.ErrProcFailedPending)
	want(t, "index", i, 1)
	i, _, done, err := mpi.TestAny(s, r)
	wantError(t, "TestAny", err, mpi.ErrProcFailedPending)
	want(t, "index", i, 1)
	want(t, "done", done, false)
	_, done, err = mpi.TestAll(r)
	wantError(t, "TestAll", err, mpi.ErrProcFailedPending)
	want(t, "all done", done, false)
	is, _, err := mpi.WaitSome(s, r)
	wantError(t, "WaitSome", err, mpi.ErrProcFailedPending)
	wantSlice(t, "indices", is, []int{1})
	_, done, err = r.GetStatus()
	wantError(t, "GetStatus", err, mpi.ErrProcFailedPending)
	want(t, "status there", done, false)
	t.must(mpi.Send(c.Self(), []int64{1}, 0, 1))
	i, _, err = mpi.WaitAny(r, s)
	t.must(err)
	want(t, "the one that is done", i, 1)
	t.must(mpi.Send(c, []int64{5}, c.Rank(), 1)) // a message completes it, acknowledged or not
	_, err = r.Wait()
	t.must(err)
	want(t, "received", in[0], 5)
	again := mpi.Irecv(c, in, mpi.AnySource, 2)
	_, err = again.Wait()
	wantError(t, "Wait", err, mpi.ErrProcFailedPending)
	t.must(again.Cancel())
	st, err := again.Wait()
	t.must(err)
	want(t, "cancelled", st.Cancelled, true)
}

// collectivesBeside are collectives of all kinds; each call starts the next.
func collectivesBeside(c *mpi.Comm, root int) map[string]func() error {
	n := c.Size()
	one, many, big := []int64{1}, make([]int64, n), make([]int64, 5000*n)
	counts := make([]int, n)
	for i := range counts {
		counts[i] = 1
	}
	wait := func(r *mpi.Request) error { _, err := r.Wait(); return err }
	again := func(r *mpi.Request) error {
		if err := r.Start(); err != nil {
			return err
		}
		return wait(r)
	}
	sum := mpi.Sum[int64]
	return map[string]func() error{
		"Barrier": func() error { return mpi.Barrier(c) }, "Ibarrier": func() error { return wait(mpi.Ibarrier(c)) },
		"Bcast":     func() error { return mpi.Bcast(c, make([]int64, 5000), root) },
		"Ibcast":    func() error { return wait(mpi.Ibcast(c, make([]int64, 1), root)) },
		"Allreduce": func() error { return mpi.Allreduce(c, one, make([]int64, 1), sum) },
		"Reduce":    func() error { return mpi.Reduce(c, one, make([]int64, 1), sum, root) },
		"Scan":      func() error { return mpi.Scan(c, one, make([]int64, 1), sum) },
		"Gather":    func() error { return mpi.Gather(c, one, many, root) },
		"Scatter":   func() error { return mpi.Scatter(c, many, make([]int64, 1), root) },
		"Allgather": func() error { return mpi.Allgather(c, one, make([]int64, n)) },
		"Alltoall":  func() error { return mpi.Alltoall(c, big, make([]int64, len(big))) },
		"objects":   func() error { return mpi.Bcast(c, []string{"x"}, root) },
		"ReduceScatter": func() error {
			return mpi.ReduceScatter(c, many, make([]int64, 1), counts, sum)
		},
		"persistent": func() error { return again(mpi.AllreduceInit(c, one, make([]int64, 1), sum)) },
	}
}

// deathCollectives: the victim dies instead of taking part. A rank may complete a collective that
// needs nothing of the victim.
func deathCollectives(t *T, c *mpi.Comm, victim int) {
	var ds []*mpi.Comm
	fs := collectivesBeside(c, 0)
	names := slices.Sorted(maps.Keys(fs))
	for range names {
		ds = append(ds, t.dup(c))
	}
	t.part(c, victim)
	for i, name := range names {
		if err := collectivesBeside(ds[i], c.Size()-1-victim)[name](); err != nil {
			wantDead(t, name, err, victim)
		} else if name == "Barrier" || name == "Allreduce" || name == "Allgather" || name == "Alltoall" {
			t.Errorf("%s is done, without rank %d", name, victim)
		}
	}
}

// deathCollectivesLater: all know, and start one after the other on one communicator.
func deathCollectivesLater(t *T, c *mpi.Comm, victim int) {
	x, err := c.CartCreate([]int{c.Size()}, []bool{true}, false)
	t.must(err)
	t.part(c, victim)
	t.survive(c, 1)
	fs := collectivesBeside(c, victim)
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		wantDead(t, name, fs[name](), victim)
	}
	wantDead(t, "NeighborAllgather", mpi.NeighborAllgather(x, []int64{1}, make([]int64, 2)), victim)
}

// deathLong: the victim takes part in long reductions for a while.
func deathLong(t *T, c *mpi.Comm, victim int) {
	t.meet(c, victim)
	in, out := make([]int64, 1<<20), make([]int64, 1<<20)
	for round := 0; ; round++ {
		r := mpi.Iallreduce(c, in, out, mpi.Sum[int64])
		if c.Rank() == victim && round == 2 {
			c.Die()
		}
		if _, err := r.Wait(); err != nil {
			wantDead(t, "Iallreduce", err, victim)
			return
		}
		if round > 2 {
			t.Fatalf("round %d is done without rank %d", round, victim)
		}
	}
}

func deathMaking(t *T, c *mpi.Comm, victim int) {
	d := t.dup(c)
	t.part(c, victim)
	_, err := c.Split(0, 0)
	wantDead(t, "Split", err, victim)
	_, err = c.Dup(nil)
	wantDead(t, "Dup", err, victim)
	_, err = d.Create(survivors(c, victim))
	wantDead(t, "Create", err, victim)
	_, err = d.Idup(nil).Wait()
	wantDead(t, "Idup", err, victim)
	live, err := d.CreateGroup(survivors(c, victim), 3) // of which the dead is no part
	t.must(err, "CreateGroup")
	t.must(mpi.Barrier(live))
	all := make([]int64, live.Size())
	t.must(mpi.Allgather(live, []int64{int64(live.Rank())}, all))
	wantSlice(t, "gathered", all, ramp(live.Size(), 0))
}

func deathOthers(t *T, c *mpi.Comm, victim int) {
	color := 0
	if c.Rank() == victim {
		color = 1
	}
	d, err := c.Split(color, 0)
	t.must(err)
	t.meet(c, victim)
	for round := range 20 {
		if c.Rank() == victim {
			if round == 5 {
				c.Die()
			}
			continue
		}
		sum := make([]int64, 1)
		t.must(mpi.Allreduce(d, []int64{1}, sum, mpi.Sum[int64]))
		want(t, "the sum", sum[0], int64(d.Size()))
		in := make([]int64, 1)
		_, err := mpi.Sendrecv(d, []int64{int64(d.Rank())}, right(d), 1, in, left(d), 1)
		t.must(err)
		want(t, "received", in[0], int64(left(d)))
	}
	t.survive(c, 1)
	g, err := d.Failed()
	t.must(err)
	want(t, "failed there", g, mpi.GroupEmpty)
}

// deathRevoke: one survivor waits for the victim, the others for it in a ring.
func deathRevoke(t *T, c *mpi.Comm, victim int) {
	d := t.dup(c)
	t.part(c, victim)
	live := survivors(c, victim)
	me := live.Rank()
	if me == 0 {
		_, err := mpi.Recv(d, make([]int64, 1), victim, 1)
		wantDead(t, "Recv of the first", err, victim)
		t.must(d.Revoke())
		return
	}
	from, err := live.TranslateRanks([]int{me - 1}, c.Group())
	t.must(err)
	_, err = mpi.Recv(d, make([]int64, 1), from[0], 1)
	wantError(t, "Recv of the others", err, mpi.ErrRevoked)
}

// deathRevoker: the victim revokes and dies. If one hears of it all do.
func deathRevoker(t *T, c *mpi.Comm, victim int) {
	d := t.dup(c)
	live, err := c.CreateGroup(survivors(c, victim), 1)
	t.must(err)
	if t.meet(c, victim); c.Rank() == victim {
		t.must(d.Revoke())
		c.Die()
	}
	t.survive(c, 1)
	for stop := time.Now().Add(failsafe); ; {
		heard, most := []int64{0}, []int64{0}
		if d.IsRevoked() {
			heard[0] = 1
		}
		t.must(mpi.Allreduce(live, heard, most, mpi.Sum[int64]))
		if most[0] == 0 || most[0] == int64(live.Size()) {
			return
		}
		if time.Now().After(stop) {
			t.Fatalf("%d of %d survivors have heard that it is revoked", most[0], live.Size())
		}
	}
}

// deathOrder: two die, one after the other.
func deathOrder(t *T, c *mpi.Comm, victim int) {
	second := (victim + 1) % c.Size()
	if c.Rank() == victim {
		c.Die()
	}
	before := t.survive(c, 1)
	if c.Rank() == second {
		c.Die()
	}
	after := t.survive(c, 2)
	rs, err := after.TranslateRanks([]int{0, 1}, c.Group())
	t.must(err)
	if dead := slices.Sorted(slices.Values(rs)); !slices.Equal(dead, slices.Sorted(slices.Values([]int{victim, second}))) {
		t.Errorf("failed %v, want %d and %d", rs, victim, second)
	}
	known := min(before.Size(), 2)
	same, err := before.TranslateRanks([]int{0, 1}[:known], after)
	t.must(err)
	wantSlice(t, "those known before", same, []int{0, 1}[:known])
	n, err := c.AckFailed(1)
	t.must(err)
	want(t, "acknowledged", n, 1)
	_, err = mpi.Recv(c, make([]int64, 1), mpi.AnySource, 1)
	wantDead(t, "Recv beside the other", err, rs[1])
	n, err = c.AckFailed(2)
	t.must(err)
	want(t, "acknowledged", n, 2)
}

// deathStorm: a stream of messages and collectives, in which the victim dies at a moment of its
// own. The survivors make a communicator without it and go on.
func deathStorm(t *T, c *mpi.Comm, victim int) {
	d := t.dup(c)
	data := make([]int64, 3000)
	var err error
	for round := 0; err == nil; round++ {
		if c.Rank() == victim && round == 3+c.Size()*2 {
			go func() { mpi.Bcast(d.Self(), data[:1], 0) }() // others of its goroutines may be inside
			c.Die()
		}
		s := mpi.Isend(d, data, right(d), round)
		_, err = mpi.Recv(d, make([]int64, len(data)), left(d), round)
		if err == nil {
			err = mpi.Allreduce(d, data, make([]int64, len(data)), mpi.Sum[int64])
		}
		if _, e := s.Wait(); err == nil {
			err = e
		}
	}
	if !errors.Is(err, mpi.ErrProcFailed) && !errors.Is(err, mpi.ErrRevoked) {
		t.Fatalf("the stream ends with %v", err)
	}
	t.must(d.Revoke())
	t.survive(c, 1)
	live, err := c.CreateGroup(survivors(c, victim), 1)
	t.must(err)
	for round := range 10 {
		in := make([]int64, len(data))
		_, err := mpi.Sendrecv(live, data, right(live), round, in, left(live), round)
		t.must(err)
		t.must(mpi.Allreduce(live, data, in, mpi.Sum[int64]))
	}
}
