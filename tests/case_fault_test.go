package tests

import "github.com/fitmpi/fitmpi/mpi"

// Revoked communicators. What happens when ranks die needs jobs of its own: death_test.go.

var faultCases = []testCase{
	{name: "fault/revoke pending", section: "FitMPI", min: 2,
		sentence: "Revoke: pending operations on c end with an error of class ErrRevoked, at all ranks.",
		run:      revokePending},
	{name: "fault/revoke collective", section: "FitMPI", min: 2,
		sentence: "Revoke: pending operations on c end with an error of class ErrRevoked, at all ranks.",
		run:      revokeCollective},
	{name: "fault/revoke later", section: "FitMPI",
		sentence: "Revoke: and so does everything that is started on it from now on.",
		run:      revokeLater},
	{name: "fault/revoke local", section: "FitMPI",
		sentence: "Revoke: what is local works on, and Free.",
		run:      revokeLocal},
	{name: "fault/revoke messages", section: "FitMPI",
		sentence: "Revoke: messages on their way are dropped.",
		run:      revokeMessages},
	{name: "fault/revoke all", section: "FitMPI",
		sentence: "For a communicator that is revoked Revoke does nothing.",
		run:      revokeAll},
	{name: "fault/revoke new", section: "FitMPI", min: 2,
		sentence: "All that live learn of it: those too that do not have the communicator yet.",
		run:      revokeNew},
	{name: "fault/revoke inter", section: "FitMPI", min: 2,
		sentence: "Pending operations end with an error of class ErrRevoked, in both groups of an intercommunicator.",
		run:      revokeInter},
	{name: "fault/revoke request", section: "FitMPI",
		sentence: "Operations that were over before end without an error.",
		run:      revokeDone},
	{name: "fault/none failed", section: "FitMPI",
		sentence: "Failed: without failures it is GroupEmpty.",
		run:      noneFailed},
}

// dup is a communicator that may be revoked.
func (t *T) dup(c *mpi.Comm) *mpi.Comm {
	d, err := c.Dup(nil)
	t.must(err)
	return d
}

// pendings are operations between neighbours that no rank will complete.
func pendings(c *mpi.Comm) map[string]*mpi.Request {
	big := make([]int64, 1<<17)
	s := mpi.SsendInit(c, big[:3], right(c), 12)
	r := mpi.RecvInit(c, big[:3:3], mpi.AnySource, 13)
	p := mpi.PrecvInit(c, make([]int64, 4), 2, left(c), 14)
	q := mpi.PsendInit(c, make([]int64, 4), 2, right(c), 15)
	all := map[string]*mpi.Request{
		"Irecv":           mpi.Irecv(c, make([]int64, 1), left(c), 1),
		"Irecv any":       mpi.Irecv(c, make([]int64, 1), mpi.AnySource, 2),
		"IrecvNew":        mpi.IrecvNew[string](c, mpi.AnySource, 3).Request,
		"Isend long":      mpi.Isend(c, big, right(c), 4),
		"Issend":          mpi.Issend(c, big[:1], right(c), 5),
		"Issend long":     mpi.Issend(c, big, right(c), 6),
		"Issend objects":  mpi.Issend(c, []string{"a", "b"}, right(c), 7),
		"Isendrecv":       mpi.Isendrecv(c, big, right(c), 8, make([]int64, 1), left(c), 9),
		"persistent send": s, "persistent receive": r, "partitions in": p, "partitions out": q,
	}
	for _, x := range []*mpi.Request{s, r, p, q} {
		if err := x.Start(); err != nil {
			panic(err)
		}
	}
	return all
}

// revokePending: the last rank revokes what all wait in, in every way there is.
func revokePending(t *T, c *mpi.Comm) {
	d := t.dup(c)
	all := pendings(d)
	blocking := map[string]func() error{
		"Recv":     func() error { _, err := mpi.Recv(d, make([]int64, 1), left(d), 20); return err },
		"Recv any": func() error { _, err := mpi.Recv(d, make([]int64, 1), mpi.AnySource, 21); return err },
		"Ssend":    func() error { return mpi.Ssend(d, []int64{1}, right(d), 22) },
		"Probe":    func() error { _, err := mpi.Probe(d, mpi.AnySource, 23); return err },
		"Mprobe":   func() error { _, _, err := mpi.Mprobe(d, left(d), 24); return err },
		"Sendrecv": func() error {
			_, err := mpi.Sendrecv(d, []int64{1}, right(d), 25, make([]int64, 1), left(d), 26)
			return err
		},
	}
	var fs []func()
	for name, f := range blocking {
		fs = append(fs, func() { wantError(t, name, f(), mpi.ErrRevoked, "revoked") })
	}
	for name, r := range all {
		fs = append(fs, func() {
			_, err := r.Wait()
			wantError(t, name, err, mpi.ErrRevoked)
		})
	}
	if c.Rank() == c.Size()-1 {
		fs = append(fs, func() { t.must(d.Revoke()) })
	}
	t.must(mpi.Barrier(c))
	t.together(fs...)
	want(t, "revoked", d.IsRevoked(), true)
	want(t, "the parent revoked", c.IsRevoked(), false)
}

// revokeCollective: one rank revokes instead of taking part; collectives of all kinds are under
// way.
func revokeCollective(t *T, c *mpi.Comm) {
	d := t.dup(c)
	if c.Rank() == 0 {
		t.must(mpi.Barrier(c))
		t.must(d.Revoke())
		return
	}
	n := d.Size()
	in, out := make([]int64, 1<<16*n), make([]int64, 1<<16*n)
	rs := []*mpi.Request{
		mpi.Ibarrier(d), mpi.Ibcast(d, in[:5], 0), mpi.Iallreduce(d, in, out, mpi.Sum[int64]), mpi.Iallgather(d, in[:10], out[:10*n]),
		mpi.Ialltoall(d, in, make([]int64, len(in))),
	}
	t.must(mpi.Barrier(c))
	for i, r := range rs {
		_, err := r.Wait()
		wantError(t, "collective "+string(rune('0'+i)), err, mpi.ErrRevoked)
	}
}

// revokeLater: nothing begins on a revoked communicator.
func revokeLater(t *T, c *mpi.Comm) {
	d := t.dup(c)
	ready := mpi.RecvInit(d, make([]int64, 1), left(d), 1)
	bar := mpi.BarrierInit(d)
	t.must(d.Revoke())
	one, many := make([]int64, 1), make([]int64, d.Size())
	_, _, probed := mpi.Iprobe(d, mpi.AnySource, mpi.AnyTag)
	_, recv := mpi.Recv(d, one, mpi.ProcNull, 1)
	_, dup := d.Dup(nil)
	_, split := d.Split(0, 0)
	_, created := d.Create(d.Group())
	_, group := d.CreateGroup(d.Group(), 1)
	_, cart := d.CartCreate([]int{1}, []bool{false}, false)
	_, inter := d.IntercommCreate(0, c, 0, 1)
	_, irecv := mpi.Irecv(d, one, left(d), 1).Wait()
	_, isend := mpi.Isend(d, one, right(d), 1).Wait()
	_, iall := mpi.Iallgather(d, one, many).Wait()
	for name, err := range map[string]error{
		"Send": mpi.Send(d, one, right(d), 1), "Recv": recv, "Irecv": irecv, "Isend": isend, "Bsend": mpi.Bsend(d, one, right(d), 1), "Iprobe": probed,
		"Start": ready.Start(), "Start of a collective": bar.Start(), "Barrier": mpi.Barrier(d), "Bcast": mpi.Bcast(d, one, 0),
		"Allreduce": mpi.Allreduce(d, one, make([]int64, 1), mpi.Sum[int64]), "Iallgather": iall, "Dup": dup, "Split": split, "Create": created,
		"CreateGroup": group, "CartCreate": cart, "IntercommCreate": inter,
	} {
		wantError(t, name, err, mpi.ErrRevoked, "revoked")
	}
	t.must(mpi.Barrier(c), "the parent")
}

// revokeLocal: what does not communicate.
func revokeLocal(t *T, c *mpi.Comm) {
	d := t.dup(c)
	t.must(d.Revoke())
	t.must(d.SetName("broken"))
	want(t, "the name", d.Name(), "broken")
	want(t, "the size", d.Group().Size(), c.Size())
	g, err := d.Failed()
	t.must(err)
	want(t, "failed", g.Size(), 0)
	acked, err := d.AckFailed(0)
	t.must(err)
	want(t, "acknowledged", acked, 0)
	same, err := d.Compare(c)
	t.must(err)
	want(t, "compared", same, mpi.Congruent)
	t.must(d.Free())
	wantError(t, "Revoke of what is freed", d.Revoke(), mpi.ErrComm)
	t.must(mpi.Barrier(c))
}

// revokeMessages: messages of all kinds that no receive has taken, before and after the receiver
// learns. The parent's credit and order are as ever.
func revokeMessages(t *T, c *mpi.Comm) {
	for round := range 3 {
		d := t.dup(c)
		var rs []*mpi.Request
		for k, n := range lengths {
			rs = append(rs, mpi.Isend(d, ramp(n, k), right(d), k))
		}
		if round > 0 {
			t.must(mpi.Barrier(c)) // they have arrived, mostly
		}
		if round < 2 || c.Rank() == 0 {
			t.must(d.Revoke())
		}
		if _, err := mpi.WaitAll(rs...); err != nil {
			wantError(t, "Isend", err, mpi.ErrRevoked)
		}
		_, err := mpi.Recv(d, make([]int64, 1<<20), left(d), 0)
		if err != nil || round < 2 {
			wantError(t, "Recv", err, mpi.ErrRevoked)
		}
		for k, n := range lengths {
			in := make([]int64, n)
			_, err := mpi.Sendrecv(c, ramp(n, k), right(c), k, in, left(c), k)
			t.must(err)
			wantSlice(t, "the parent's message", in, ramp(n, k))
		}
	}
}

// revokeAll: every rank revokes, twice.
func revokeAll(t *T, c *mpi.Comm) {
	d := t.dup(c)
	e := t.dup(c)
	t.must(d.Revoke())
	t.must(d.Revoke())
	want(t, "revoked", d.IsRevoked(), true)
	want(t, "another revoked", e.IsRevoked(), false)
	t.must(mpi.Barrier(e))
	t.must(e.Free())
}

// revokeNew: rank 0 revokes as soon as it has the communicator; others learn of it while they make
// it.
func revokeNew(t *T, c *mpi.Comm) {
	for range 5 {
		d := t.dup(c)
		if c.Rank() == 0 {
			t.must(d.Revoke())
		}
		_, err := mpi.Recv(d, make([]int64, 1), left(d), 1)
		wantError(t, "Recv", err, mpi.ErrRevoked)
	}
}

// revokeInter: the first rank of one group revokes.
func revokeInter(t *T, c *mpi.Comm) {
	half, err := c.Split(c.Rank()%2, 0)
	t.must(err)
	x, err := half.IntercommCreate(0, c, 1-c.Rank()%2, 1)
	t.must(err)
	t.must(mpi.Barrier(c))
	r := mpi.Irecv(x, make([]int64, 1), 0, 1)
	var b *mpi.Request
	if c.Rank() == 0 {
		t.must(x.Revoke())
	} else {
		b = mpi.Ibarrier(x)
	}
	_, err = r.Wait()
	wantError(t, "Irecv", err, mpi.ErrRevoked)
	_, err = b.Wait()
	if c.Rank() > 0 {
		wantError(t, "Ibarrier", err, mpi.ErrRevoked)
	}
	_, err = x.Merge(false)
	wantError(t, "Merge", err, mpi.ErrRevoked)
	want(t, "the local communicator revoked", half.IsRevoked(), false)
	t.must(mpi.Barrier(half))
}

// revokeDone: requests that were complete stay so, with their data.
func revokeDone(t *T, c *mpi.Comm) {
	d := t.dup(c)
	in := make([]int64, 3)
	r, s := mpi.Irecv(d, in, left(d), 1), mpi.Isend(d, ramp(3, 1), right(d), 1)
	for done := false; !done; {
		var err error
		_, done, err = mpi.GetStatusAll(r, s)
		t.must(err)
	}
	t.must(mpi.Barrier(c))
	t.must(d.Revoke())
	_, err := mpi.WaitAll(r, s)
	t.must(err)
	wantSlice(t, "the message", in, ramp(3, 1))
}

func noneFailed(t *T, c *mpi.Comm) {
	g, err := c.Failed()
	t.must(err)
	want(t, "empty", g, mpi.GroupEmpty)
	n, err := c.AckFailed(c.Size())
	t.must(err)
	want(t, "acknowledged", n, 0)
	_, err = c.AckFailed(-1)
	wantError(t, "AckFailed(-1)", err, mpi.ErrArg)
	want(t, "revoked", c.IsRevoked(), false)
}
