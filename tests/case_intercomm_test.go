package tests

import (
	"context"
	"errors"
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

var intercommCases = []testCase{
	{name: "intercomm/create", section: "7.6.2", min: 2,
		sentence: "This call creates an inter-communicator. It is collective over the union of the local and remote groups.",
		run:      interCreate},
	{name: "intercomm/point to point", section: "7.6", min: 2,
		sentence: "The target process is addressed by its rank in the remote group, both for sends and for receives.",
		run:      interMessages},
	{name: "intercomm/objects and unknown lengths", section: "7.6", min: 2,
		sentence: "The syntax of point-to-point and collective communication is the same for both inter- and intra-communication.",
		run:      interObjects},
	{name: "intercomm/arguments", section: "7.6", min: 2,
		sentence: "A rank argument of a communication with an intercommunicator is a rank of the remote group.",
		run:      interArguments},
	{name: "intercomm/peer undisturbed", section: "FitMPI", min: 2,
		sentence: "Making an intercommunicator does not interfere with messages of the peer communicator.",
		run:      interPeerUndisturbed},
	{name: "intercomm/merge", section: "7.6.2", min: 2,
		sentence: "If processes in one group provided the value high = false and processes in the other group provided the value high = true " +
			"then the union orders the low group before the high group.",
		run: interMerge},
	{name: "intercomm/merge inconsistently", section: "7.6.2", min: 3,
		sentence: "All processes should provide the same high value within each of the two groups.",
		run:      interMergeInconsistent},
	{name: "intercomm/dup", section: "7.4.2", min: 2,
		sentence: "MPI_COMM_DUP of an intercommunicator makes one of the same two groups with a context of its own.",
		run:      interDup},
	{name: "intercomm/split", section: "7.4.2", min: 2,
		sentence: "The result of MPI_COMM_SPLIT on an inter-communicator is that those processes on the left with the same color as those " +
			"processes on the right combine to create a new inter-communicator.",
		run: interSplit},
	{name: "intercomm/leaders", section: "7.6.2", min: 3,
		sentence: "The leaders need not be the ranks 0, and the arguments peer, remoteLeader and tag count at the leader only.",
		run:      interLeaders},
	{name: "intercomm/over an intercommunicator", section: "7.6.2", min: 2,
		sentence: "The peer communicator may be an intercommunicator.",
		run:      interOverInter},
	{name: "intercomm/side by side", section: "7.6.2", min: 2,
		sentence: "Creations in one peer communicator at the same time are told apart by their tags.",
		run:      interSideBySide},
	{name: "intercomm/disjoint", section: "7.6.2", min: 2,
		sentence: "All inter-communicator constructors require that the local and remote groups be disjoint.",
		run:      interDisjoint},
	{name: "intercomm/errors of the leaders", section: "FitMPI", min: 2,
		sentence: "What a leader finds wrong all ranks of its group get as an error.",
		run:      interLeaderErrors},
	{name: "intercomm/from groups", section: "7.6.2", min: 2,
		sentence: "MPI_INTERCOMM_CREATE_FROM_GROUPS creates an inter-communicator. Unlike MPI_INTERCOMM_CREATE, this function uses as input " +
			"previously defined, disjoint local and remote groups.",
		run: interFromGroups},
	{name: "intercomm/deadline", section: "FitMPI", min: 2,
		sentence: "A context bounds blocking calls on an intercommunicator, and the making of one.",
		run:      interDeadline},
}

// joinHalves makes an intercommunicator of the even and the odd ranks of c.
func joinHalves(t *T, c *mpi.Comm) *mpi.Comm {
	half, err := c.Split(c.Rank()%2, 0)
	t.must(err)
	inter, err := half.IntercommCreate(0, c, 1-c.Rank()%2, 3)
	t.must(err)
	return inter
}

// far is the rank in c of the remote rank r of what joinHalves made.
func far(c *mpi.Comm, r int) int { return 2*r + 1 - c.Rank()%2 }

// crossAround sends a message from each rank to each remote rank, with a tag that no call uses
// next, and says what does not arrive.
func crossAround(t *T, c, inter *mpi.Comm, tag int) {
	var rs []*mpi.Request
	for r := range inter.RemoteSize() {
		rs = append(rs, mpi.Isend(inter, []int{inter.Rank()*1000 + r}, r, tag))
	}
	for r := range inter.RemoteSize() {
		in := []int{0}
		st, err := mpi.Recv(inter, in, r, tag)
		t.must(err)
		want(t, "source", st.Source, r)
		want(t, "value", in[0], r*1000+inter.Rank())
	}
	_, err := mpi.WaitAll(rs...)
	t.must(err)
	if _, found, err := mpi.Iprobe(inter, mpi.AnySource, tag); found || err != nil {
		t.Errorf("a message too many: %v, %v", found, err)
	}
}

func interCreate(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	side := c.Rank() % 2
	want(t, "IsInter", inter.IsInter(), true)
	want(t, "IsInter of the parent", c.IsInter(), false)
	want(t, "rank", inter.Rank(), c.Rank()/2)
	want(t, "size", inter.Size(), (c.Size()+1-side)/2)
	want(t, "remote size", inter.RemoteSize(), (c.Size()+side)/2)
	want(t, "remote size of the parent", c.RemoteSize(), 0)
	want(t, "size of the local group", inter.Group().Size(), inter.Size())
	want(t, "rank in the local group", inter.Group().Rank(), inter.Rank())
	want(t, "size of the remote group", inter.RemoteGroup().Size(), inter.RemoteSize())
	want(t, "rank in the remote group", inter.RemoteGroup().Rank(), mpi.Undefined)
	want(t, "remote size of an intracommunicator", c.RemoteGroup().Size(), 0)
	want(t, "String", inter.String(), fmt.Sprintf("%s (rank %d of %d, %d remote)", inter.Name(), inter.Rank(), inter.Size(), inter.RemoteSize()))
	for r := range inter.RemoteSize() {
		want(t, "the way to a remote rank", inter.Transport(r), c.Transport(far(c, r)))
	}
	crossAround(t, c, inter, 1)
	t.must(inter.Free())
	wantError(t, "Send after Free", mpi.Send(inter, []int{1}, 0, 0), mpi.ErrComm, "freed")
}

func interMessages(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	crossAround(t, c, inter, 20)
	for k, n := range []int{0, 1, 700, 60_000} { // from rank 0 to rank 0: short to rendezvous, in all modes
		for m, send := range []func() error{
			func() error { return mpi.Send(inter, ramp(n, k), 0, k) },
			func() error { return mpi.Ssend(inter, ramp(n, k), 0, k) },
			func() error { _, err := mpi.Issend(inter, ramp(n, k), 0, k).Wait(); return err },
		} {
			if inter.Rank() != 0 {
				continue
			}
			r := mpi.IrecvNew[int64](inter, mpi.AnySource, mpi.AnyTag)
			t.must(send(), "mode", m)
			st, err := r.Wait()
			t.must(err)
			want(t, "source", st.Source, 0)
			want(t, "tag", st.Tag, k)
			wantSlice(t, "message", r.Data(), ramp(n, k))
		}
	}
	// A rank's own group is out of reach: the same number means another rank.
	in := []int{-1}
	if inter.Rank() < inter.RemoteSize() {
		st, err := mpi.Sendrecv(inter, []int{c.Rank()}, inter.Rank(), 9, in, inter.Rank(), 9)
		t.must(err)
		want(t, "source", st.Source, inter.Rank())
		want(t, "partner", in[0], far(c, inter.Rank()))
	}
}

func interObjects(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	if inter.Rank() > 0 {
		return
	}
	r := mpi.Isend(inter, []string{"from", fmt.Sprint(c.Rank())}, 0, 4)
	st, err := mpi.Probe(inter, mpi.AnySource, mpi.AnyTag)
	t.must(err)
	want(t, "source of the probe", st.Source, 0)
	msg, _, err := mpi.Mprobe(inter, 0, 4)
	t.must(err)
	got, st, err := mpi.MrecvNew[string](msg)
	t.must(err)
	want(t, "source", st.Source, 0)
	wantSlice(t, "message", got, []string{"from", fmt.Sprint(far(c, 0))})
	_, err = r.Wait()
	t.must(err)
	t.must(mpi.SendValue(inter, map[string]int{"rank": c.Rank()}, 0, 5))
	m, _, err := mpi.RecvValue[map[string]int](inter, 0, 5)
	t.must(err)
	want(t, "value", m["rank"], far(c, 0))
	out := mpi.SendInit(inter, []int{c.Rank()}, 0, 6)
	in := make([]int, 1)
	for range 3 {
		t.must(out.Start())
		_, err = mpi.Recv(inter, in, 0, 6)
		t.must(err)
		want(t, "persistent", in[0], far(c, 0))
		_, err = out.Wait()
		t.must(err)
	}
}

func interArguments(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	n := inter.RemoteSize()
	wantError(t, "Send too far", mpi.Send(inter, []int{1}, n, 0), mpi.ErrRank, fmt.Sprintf("destination %d", n))
	_, err := mpi.Recv(inter, []int{1}, n, 0)
	wantError(t, "Recv from too far", err, mpi.ErrRank, fmt.Sprintf("source %d", n))
	t.must(mpi.Send(inter, []int{1}, mpi.ProcNull, 0))
	st, err := mpi.Recv(inter, []int{1}, mpi.ProcNull, 0)
	t.must(err)
	want(t, "source", st.Source, mpi.ProcNull)
	want(t, "the way to a rank too far", inter.Transport(n), "")
	_, err = inter.IntercommCreate(0, c, 0, 0)
	wantError(t, "IntercommCreate of an intercommunicator", err, mpi.ErrComm, "intercommunicator")
	_, err = c.Merge(true)
	wantError(t, "Merge of an intracommunicator", err, mpi.ErrComm, "no intercommunicator")
	_, err = c.IntercommCreate(c.Size(), c, 0, 0)
	wantError(t, "a local leader out of range", err, mpi.ErrRank, fmt.Sprintf("local leader %d", c.Size()))
	_, err = inter.Split(-3, 0)
	wantError(t, "a negative color", err, mpi.ErrArg, "color -3")
	var seen error // errors of an intercommunicator come to its own handler
	inter.SetErrhandler(func(h *mpi.Comm, err *mpi.Error) error {
		want(t, "the communicator of the handler", h.Name(), inter.Name())
		seen = err
		return err
	})
	err = mpi.Send(inter, []int{1}, -9, 0)
	want(t, "what the handler saw", seen, err)
}

func interPeerUndisturbed(t *T, c *mpi.Comm) {
	in := []int{0}
	r := mpi.Irecv(c, in, mpi.AnySource, mpi.AnyTag)
	inter := joinHalves(t, c)
	s := mpi.Isend(c, []int{c.Rank()}, right(c), 3)
	st, err := r.Wait()
	t.must(err)
	want(t, "source", st.Source, left(c))
	want(t, "value", in[0], left(c))
	_, err = s.Wait()
	t.must(err)
	// The groups exchange messages there with the numbers of ranks and tags that c uses here.
	a, b := mpi.Irecv(c, in, left(c), 7), mpi.Isend(inter, []int{1}, 0, 7)
	s = mpi.Isend(c, []int{c.Rank()}, right(c), 7)
	if inter.Rank() == 0 {
		for range inter.RemoteSize() {
			v, _, err := mpi.RecvValue[int](inter, mpi.AnySource, 7)
			t.must(err)
			want(t, "value between the groups", v, 1)
		}
	}
	_, err = mpi.WaitAll(a, b, s)
	t.must(err)
	want(t, "value", in[0], left(c))
}

// orderOf says which rank of c each rank of d is.
func orderOf(t *T, c, d *mpi.Comm) []int {
	got := make([]int, d.Size())
	t.must(mpi.Allgather(d, []int{c.Rank()}, got))
	return got
}

func interMerge(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	sides := [2][]int{}
	for r := range c.Size() {
		sides[r%2] = append(sides[r%2], r)
	}
	for _, high := range []int{0, 1} {
		m, err := inter.Merge(c.Rank()%2 == high)
		t.must(err)
		want(t, "IsInter", m.IsInter(), false)
		wantSlice(t, "order", orderOf(t, c, m), append(append([]int(nil), sides[1-high]...), sides[high]...))
		pingAround(t, m, 1)
		t.must(m.Free())
	}
	for _, high := range []bool{false, true} {
		m, err := inter.Merge(high)
		t.must(err)
		got := orderOf(t, c, m)
		first := got[0] % 2
		wantSlice(t, "order", got, append(append([]int(nil), sides[first]...), sides[1-first]...))
		t.must(m.Free())
	}
	crossAround(t, c, inter, 2)
}

func interMergeInconsistent(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	m, err := inter.Merge(c.Rank() == 2) // rank 1 of the even group
	wantError(t, "Merge", err, mpi.ErrArg, "rank 1 says true")
	want(t, "the communicator is nil", m == nil, true)
	crossAround(t, c, inter, 2)
}

func interDup(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	d, err := inter.Dup(nil)
	t.must(err)
	want(t, "IsInter", d.IsInter(), true)
	want(t, "rank", d.Rank(), inter.Rank())
	want(t, "size", d.Size(), inter.Size())
	want(t, "remote size", d.RemoteSize(), inter.RemoteSize())
	s, s2 := mpi.Isend(inter, []int{1}, 0, 1), mpi.Isend(d, []int{2}, 0, 1)
	if d.Rank() == 0 {
		for r := range d.RemoteSize() {
			v, _, err := mpi.RecvValue[int](d, r, 1)
			t.must(err)
			want(t, "value in the copy", v, 2)
			v, _, err = mpi.RecvValue[int](inter, r, 1)
			t.must(err)
			want(t, "value in the original", v, 1)
		}
	}
	_, err = mpi.WaitAll(s, s2)
	t.must(err)
	t.must(inter.Free())
	crossAround(t, c, d, 2)
	r := d.Idup(nil)
	want(t, "the communicator before Wait is nil", r.Comm() == nil, true)
	_, err = r.Wait()
	t.must(err)
	crossAround(t, c, r.Comm(), 3)
	m, err := r.Comm().Merge(c.Rank()%2 == 0)
	t.must(err)
	pingAround(t, m, 4)
}

func interSplit(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	color := inter.Rank() % 2 // color 1 exists in both groups from 4 ranks
	d, err := inter.Split(color, -inter.Rank())
	t.must(err)
	count := func(n int) int { return (n + 1 - color) / 2 }
	if count(inter.RemoteSize()) == 0 {
		want(t, "the communicator of a color of one group is nil", d == nil, true)
	} else {
		want(t, "size", d.Size(), count(inter.Size()))
		want(t, "remote size", d.RemoteSize(), count(inter.RemoteSize()))
		want(t, "rank", d.Rank(), d.Size()-1-inter.Rank()/2)
		crossAround(t, c, d, 1)
		v, s := 0, mpi.Isend(d, []int{inter.Rank()}, 0, 2) // the order is the same in all eyes
		if d.Rank() == 0 {
			for r := range d.RemoteSize() {
				v, _, err = mpi.RecvValue[int](d, r, 2)
				t.must(err)
				want(t, "remote rank before the split", v, color+2*(d.RemoteSize()-1-r))
			}
		}
		_, err = s.Wait()
		t.must(err)
		m, err := d.Merge(false)
		t.must(err)
		pingAround(t, m, 3)
	}
	color = 0
	if c.Rank()%2 == 0 {
		color = mpi.Undefined
	}
	d, err = inter.Split(color, 0)
	t.must(err)
	want(t, "the communicator without a remote group is nil", d == nil, true)
}

func interLeaders(t *T, c *mpi.Comm) {
	half, err := c.Split(c.Rank()%2, 0)
	t.must(err)
	lead := half.Size() - 1 // of the even ranks: the last but one or the last of c
	var peer *mpi.Comm
	remote, tag := -77, -77
	if half.Rank() == lead {
		peer, tag = c, 5
		if remote = c.Size() - 1; c.Rank() == remote {
			remote--
		}
	}
	inter, err := half.IntercommCreate(lead, peer, remote, tag)
	t.must(err)
	crossAround(t, c, inter, 1)
}

func interOverInter(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	half, err := c.Split(c.Rank()%2, -c.Rank())
	t.must(err)
	r := mpi.Isend(inter, []int{c.Rank()}, 0, 3)
	second, err := half.IntercommCreate(half.Size()-1, inter, 0, 3)
	t.must(err)
	crossAround(t, c, second, 1)
	if inter.Rank() == 0 {
		for k := range inter.RemoteSize() {
			v, _, err := mpi.RecvValue[int](inter, k, 3)
			t.must(err)
			want(t, "value", v, far(c, k))
		}
	}
	_, err = r.Wait()
	t.must(err)
}

func interSideBySide(t *T, c *mpi.Comm) {
	const n = 4
	var halves, inters [n]*mpi.Comm
	for k := range n {
		var err error
		halves[k], err = c.Split(c.Rank()%2, 0)
		t.must(err)
	}
	t.each(n, func(k int) {
		k ^= c.Rank() % 2 // not in the same order
		var err error
		inters[k], err = halves[k].IntercommCreate(0, c, 1-c.Rank()%2, k)
		t.must(err)
	})
	var rs []*mpi.Request
	for k, d := range inters {
		rs = append(rs, mpi.Isend(d, []int{k}, 0, 1))
	}
	for k, d := range inters {
		if d.Rank() > 0 {
			continue
		}
		for r := range d.RemoteSize() {
			v, _, err := mpi.RecvValue[int](d, r, 1)
			t.must(err)
			want(t, "value", v, k)
		}
	}
	_, err := mpi.WaitAll(rs...)
	t.must(err)
}

func interDisjoint(t *T, c *mpi.Comm) {
	a, err := c.Dup(nil)
	t.must(err)
	b, err := c.Dup(nil)
	t.must(err)
	t.together(func() {
		_, err := a.IntercommCreate(0, c, 1, 1)
		wantError(t, "IntercommCreate", err, mpi.ErrComm, "rank 0", "in the remote group too")
	}, func() {
		_, err := b.IntercommCreate(1, c, 0, 1)
		wantError(t, "IntercommCreate", err, mpi.ErrComm, "rank 0", "in the remote group too")
	})
	pingAround(t, a, 1)
}

func interLeaderErrors(t *T, c *mpi.Comm) {
	half, err := c.Split(c.Rank()%2, 0)
	t.must(err)
	freed, err := c.Dup(nil)
	t.must(err)
	t.must(freed.Free())
	for _, test := range []struct {
		peer        *mpi.Comm
		remote, tag int
		class       mpi.ErrorClass
		says        string
	}{
		{c, c.Size(), 0, mpi.ErrRank, "remote leader"},
		{c, mpi.ProcNull, 0, mpi.ErrRank, "remote leader"},
		{c, c.Rank() % 2, 0, mpi.ErrRank, "is the local leader itself"},
		{c, 1 - c.Rank()%2, mpi.AnyTag, mpi.ErrTag, "tag -2"},
		{nil, 0, 0, mpi.ErrComm, "the peer communicator"},
		{freed, 1 - c.Rank()%2, 0, mpi.ErrComm, "the peer communicator"},
	} {
		d, err := half.IntercommCreate(0, test.peer, test.remote, test.tag)
		wantError(t, "IntercommCreate", err, test.class, test.says)
		want(t, "the communicator is nil", d == nil, true)
	}
	pingAround(t, half, 1)
}

func interDeadline(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	r := mpi.Irecv(inter.WithContext(ctx), []int{0}, 0, 1)
	cancel(cause)
	_, err := r.Wait()
	want(t, "the cause is that of the context", errors.Is(err, cause), true)
	_, err = inter.WithContext(ctx).Dup(nil)
	want(t, "the cause is that of the context", errors.Is(err, cause), true)
	crossAround(t, c, inter, 2)
}

func interFromGroups(t *T, c *mpi.Comm) {
	side := c.Rank() % 2
	var sides [2][]int
	for r := range c.Size() {
		sides[r%2] = append(sides[r%2], r)
	}
	local, remote := incl(t, c, sides[side]...), incl(t, c, sides[1-side]...)
	lead := []int{len(sides[0]) - 1, 0}
	info := mpi.InfoCreate()
	t.must(info.Set("mpi_assert_exact_length", "true"))
	var made [3]*mpi.Comm
	t.each(len(made), func(k int) {
		k = (k + side) % len(made) // not in the same order
		far, leader := remote, lead[1-side]
		if local.Rank() != lead[side] {
			far, leader = nil, -1 // count at the leader only
		}
		var err error
		made[k], err = mpi.IntercommCreateFromGroups(local, lead[side], far, leader, fmt.Sprint(k, " of ", c.Name()), info, mpi.ErrorsReturn)
		t.must(err)
	})
	for k, d := range made {
		want(t, "remote size", d.RemoteSize(), remote.Size())
		crossAround(t, c, d, k)
		v, _ := d.Info().Get("mpi_assert_exact_length")
		want(t, "the hint", v, "true")
	}
	text := "of " + c.Name()
	for _, test := range []struct {
		leader, remoteLeader int
		remote               *mpi.Group
		class                mpi.ErrorClass
		says                 string
	}{
		{local.Size(), 0, remote, mpi.ErrRank, "local leader"},
		{0, remote.Size(), remote, mpi.ErrRank, "ranks of the group"},
		{0, 0, nil, mpi.ErrGroup, "the group is nil"},
		{0, 0, local, mpi.ErrRank, "is the local leader itself"},
		{0, 0, incl(t, c, append([]int{1 - side}, side)...), mpi.ErrGroup, "the remote leader says that its group is"},
	} {
		_, err := mpi.IntercommCreateFromGroups(local, test.leader, test.remote, test.remoteLeader, text, nil, mpi.ErrorsReturn)
		wantError(t, "IntercommCreateFromGroups", err, test.class, test.says)
	}
	_, err := mpi.IntercommCreateFromGroups(remote, 0, local, 0, text, nil, mpi.ErrorsReturn)
	wantError(t, "a local group without the caller", err, mpi.ErrGroup, "the calling rank is not in")
}
