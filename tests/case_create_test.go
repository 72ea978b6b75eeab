package tests

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

var createCases = []testCase{
	{name: "create/compare", section: "7.4.1",
		sentence: "MPI_CONGRUENT results if the underlying groups are identical in constituents and rank order; these communicators differ only " +
			"by context.",
		run: compareComms},
	{name: "create/compare intercommunicators", section: "7.6.1", min: 2,
		sentence: "In particular, it is possible for MPI_SIMILAR to result because either the local or remote groups were similar but not identical.",
		run:      compareInter},
	{name: "create/group", section: "7.4.2",
		sentence: "If comm is an intra-communicator, this function returns a new communicator newcomm with communication group defined by the " +
			"group argument.",
		run: createFromGroup},
	{name: "create/disjoint groups", section: "7.4.2",
		sentence: "The processes may specify different values for the group argument. If a process calls with a nonempty group then all " +
			"processes in that group must call the function with the same group as argument, that is the same processes in the same order.",
		run: createDisjoint},
	{name: "create/errors", section: "7.4.2",
		sentence: "Each process must call MPI_COMM_CREATE with a group argument that is a subgroup of the group associated with comm.",
		run:      createErrors},
	{name: "create/of an intercommunicator", section: "7.4.2", min: 2,
		sentence: "If comm is an inter-communicator, then the output communicator is also an inter-communicator where the local group consists " +
			"only of those processes contained in group.",
		run: createInter},
	{name: "create/by members alone", section: "7.4.2", min: 2,
		sentence: "MPI_COMM_CREATE_GROUP must be called by all processes in group, which is a subgroup of the group of comm.",
		run:      createByMembers},
	{name: "create/by members side by side", section: "7.4.2",
		sentence: "If multiple threads at a given process perform concurrent MPI_COMM_CREATE_GROUP operations, the user must distinguish these " +
			"operations by providing different tag or comm arguments.",
		run: createByMembersSideBySide},
	{name: "create/by members again and again", section: "FitMPI",
		sentence: "Creations with one tag, over groups that overlap, follow each other.",
		run:      createByMembersAgain},
	{name: "create/from a group", section: "7.4.2",
		sentence: "MPI_COMM_CREATE_FROM_GROUP is similar to MPI_COMM_CREATE_GROUP except that the set of MPI processes involved in the creation " +
			"of the new intra-communicator is specified by a group argument, rather than the group associated with a pre-existing communicator.",
		run: createFromGroupAlone},
	{name: "create/side by side", section: "FitMPI",
		sentence: "Goroutines may make communicators of every kind side by side, of different parents; no two get the same context.",
		run:      createSideBySide},
	{name: "create/idup", section: "7.4.2",
		sentence: "With the exception of its nonblocking behavior, the semantics of MPI_COMM_IDUP are as if MPI_COMM_DUP was executed at the time " +
			"that MPI_COMM_IDUP is called.",
		run: idup},
	{name: "create/idup with a deadline", section: "FitMPI", min: 2,
		sentence: "Of an Idup that fails there is no communicator.",
		run:      idupFails},
	{name: "create/free", section: "7.4.3",
		sentence: "The communicators that a job begins with cannot be freed.",
		run: func(t *T, c *mpi.Comm) {
			wantError(t, "Free", c.World().Free(), mpi.ErrComm, "is of the job")
			wantError(t, "Free", c.Self().Free(), mpi.ErrComm, "is of the job")
			pingAround(t, c, 1)
		}},
	{name: "create/inherit", section: "FitMPI",
		sentence: "A new communicator has the error handler of its parent.",
		run:      createInherits},
	{name: "create/names", section: "7.8",
		sentence: "MPI_COMM_SET_NAME allows a user to associate a name string with a communicator.",
		run:      commNames},
	{name: "create/split shared", section: "7.4.2",
		sentence: "MPI_COMM_TYPE_SHARED: all MPI processes in the group of newcomm are part of the same shared memory domain and can create a " +
			"shared memory segment.",
		run: splitShared},
	{name: "create/split by hardware", section: "7.4.2",
		sentence: "MPI_COMM_NULL is also returned in newcomm in the following cases: MPI_INFO_NULL is provided; the info handle does not include " +
			"the key mpi_hw_resource_type; the MPI implementation does not recognize the value.",
		run: splitGuided},
	{name: "create/split unguided", section: "7.4.2",
		sentence: "The group of MPI processes associated with newcomm must be a strict subset of the group associated with comm.",
		run:      splitUnguided},
	{name: "create/split type of an intercommunicator", section: "FitMPI", min: 2,
		sentence: "A SplitType of an intercommunicator makes intercommunicators, as Split does.",
		run:      splitTypeInter},
}

// compareAs says how a and b compare.
func compareAs(t *T, what string, a, b *mpi.Comm, as mpi.Comparison) {
	got, err := a.Compare(b)
	t.must(err, what)
	want(t, what, got, as)
}

func compareComms(t *T, c *mpi.Comm) {
	d, err := c.Dup(nil)
	t.must(err)
	turned, err := c.Split(0, -c.Rank())
	t.must(err)
	part, err := c.Split(c.Rank()%2, 0)
	t.must(err)
	single := c.Size() == 1
	compareAs(t, "itself", c, c, mpi.Ident)
	compareAs(t, "itself with a context", c, c.WithContext(context.Background()), mpi.Ident)
	compareAs(t, "a copy", c, d, mpi.Congruent)
	if single {
		compareAs(t, "the reverse of one", c, turned, mpi.Congruent)
	} else {
		compareAs(t, "the reverse", c, turned, mpi.Similar)
		compareAs(t, "a part", c, part, mpi.Unequal)
		compareAs(t, "the whole", part, c, mpi.Unequal)
	}
	t.must(d.Free())
	_, err = c.Compare(d)
	wantError(t, "a freed one", err, mpi.ErrComm, "the other communicator", "freed")
	_, err = c.Compare(nil)
	wantError(t, "nil", err, mpi.ErrComm, "the other communicator")
}

func compareInter(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	d, err := inter.Dup(nil)
	t.must(err)
	turned, err := inter.Split(0, -inter.Rank())
	t.must(err)
	odd := 0 // turns one group only
	if c.Rank()%2 == 1 {
		odd = -inter.Rank()
	}
	half, err := inter.Split(0, odd)
	t.must(err)
	compareAs(t, "itself", inter, inter, mpi.Ident)
	compareAs(t, "a copy", inter, d, mpi.Congruent)
	compareAs(t, "one of each kind", inter, c, mpi.Unequal)
	compareAs(t, "one of each kind", c, inter, mpi.Unequal)
	similar := func(turned bool) mpi.Comparison {
		if turned {
			return mpi.Similar
		}
		return mpi.Congruent
	}
	compareAs(t, "one with its groups reversed", inter, turned, similar(c.Size() > 2))
	compareAs(t, "one with a group reversed", inter, half, similar(c.Size() > 3))
	first, err := inter.Split(inter.Rank(), 0) // pairs, and ranks without a partner
	t.must(err)
	if first != nil {
		as := mpi.Congruent
		if c.Size() > 2 {
			as = mpi.Unequal
		}
		compareAs(t, "a part", inter, first, as)
	}
}

// wantComm says whether d has the ranks of c that are given, and works.
func wantComm(t *T, what string, c, d *mpi.Comm, ranks ...int) {
	if !slices.Contains(ranks, c.Rank()) {
		want(t, what+" is nil", d == nil, true)
		return
	}
	if d == nil {
		t.Fatalf("%s is nil", what)
	}
	want(t, "the size of "+what, d.Size(), len(ranks))
	want(t, "the rank in "+what, d.Rank(), slices.Index(ranks, c.Rank()))
	wantSlice(t, "the ranks of "+what, orderOf(t, c, d), ranks)
	pingAround(t, d, 1)
}

// evens are the even ranks of c, from the highest to the lowest.
func evens(c *mpi.Comm) []int {
	return slices.DeleteFunc(downFrom(c.Size()-1), func(r int) bool { return r%2 == 1 })
}

func createFromGroup(t *T, c *mpi.Comm) {
	all := downFrom(c.Size() - 1)
	d, err := c.Create(incl(t, c, all...))
	t.must(err)
	wantComm(t, "the communicator of all", c, d, all...)
	d, err = c.Create(incl(t, c, evens(c)...))
	t.must(err)
	wantComm(t, "the communicator of the even ranks", c, d, evens(c)...)
	d, err = c.Create(mpi.GroupEmpty)
	t.must(err)
	wantComm(t, "the communicator of the empty group", c, d)
	d, err = c.Create(c.Self().Group()) // of each rank its own
	t.must(err)
	wantComm(t, "the communicator of each", c, d, c.Rank())
}

func createDisjoint(t *T, c *mpi.Comm) {
	mine := evens(c)
	if c.Rank()%2 == 1 {
		mine = slices.DeleteFunc(downFrom(c.Size()-1), func(r int) bool { return r%2 == 0 })
	}
	d, err := c.Create(incl(t, c, mine...))
	t.must(err)
	wantComm(t, "the communicator of a half", c, d, mine...)
}

func createErrors(t *T, c *mpi.Comm) {
	n := c.Size()
	part, err := c.Split(c.Rank()%2, 0)
	t.must(err)
	_, err = c.Create(nil)
	wantError(t, "Create", err, mpi.ErrGroup, "the group is nil")
	_, err = c.CreateGroup(nil, 0)
	wantError(t, "CreateGroup", err, mpi.ErrGroup, "the group is nil")
	_, err = c.CreateGroup(c.Group(), -1)
	wantError(t, "CreateGroup", err, mpi.ErrTag, "tag -1")
	if n > 1 {
		_, err = part.Create(c.Group())
		wantError(t, "Create", err, mpi.ErrGroup, "is not in", "need a subset")
		_, err = part.CreateGroup(c.Group(), 0)
		wantError(t, "CreateGroup", err, mpi.ErrGroup, "is not in", "need a subset")
		ranks := []int{0, 1} // the first two ranks give it in different orders
		if c.Rank() == 1 {
			slices.Reverse(ranks)
		}
		d, err := c.Create(incl(t, c, ranks...))
		if c.Rank() < 2 {
			wantError(t, "Create", err, mpi.ErrGroup, fmt.Sprintf("rank %d has given another group", 1-c.Rank()))
		} else {
			t.must(err)
		}
		want(t, "the communicator is nil", d == nil, true)
	}
	_, err = mpi.CommCreateFromGroup(mpi.GroupEmpty, "nobody", nil, mpi.ErrorsReturn)
	wantError(t, "CommCreateFromGroup", err, mpi.ErrGroup, "not in GroupEmpty")
	_, err = mpi.CommCreateFromGroup(nil, "nobody", nil, mpi.ErrorsReturn)
	wantError(t, "CommCreateFromGroup", err, mpi.ErrGroup, "the group is nil")
	if n > 1 {
		_, err = mpi.CommCreateFromGroup(incl(t, c, right(c)), "others", nil, mpi.ErrorsReturn)
		wantError(t, "CommCreateFromGroup", err, mpi.ErrGroup, "the calling rank is not in")
	}
}

func createInter(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	local := inter.Group()
	turned, err := local.Incl(downFrom(inter.Size() - 1)...)
	t.must(err)
	d, err := inter.Create(turned)
	t.must(err)
	want(t, "IsInter", d.IsInter(), true)
	want(t, "rank", d.Rank(), inter.Size()-1-inter.Rank())
	want(t, "remote size", d.RemoteSize(), inter.RemoteSize())
	crossAround(t, c, d, 1)
	if d.Rank() == 0 { // the remote group is reversed too
		r := mpi.Isend(d, []int{inter.Rank()}, 0, 2)
		v, _, err := mpi.RecvValue[int](d, 0, 2)
		t.must(err)
		want(t, "the remote rank 0", v, inter.RemoteSize()-1)
		_, err = r.Wait()
		t.must(err)
	}
	first, err := local.Incl(0)
	t.must(err)
	d, err = inter.Create(first)
	t.must(err)
	want(t, "the communicator is nil", d == nil, inter.Rank() > 0)
	if d != nil {
		want(t, "size", d.Size(), 1)
		want(t, "remote size", d.RemoteSize(), 1)
		crossAround(t, c, d, 1)
	}
	if c.Rank()%2 == 0 {
		first = mpi.GroupEmpty
	}
	d, err = inter.Create(first)
	t.must(err)
	want(t, "the communicator without a group is nil", d == nil, true)
	_, err = inter.Create(inter.RemoteGroup())
	wantError(t, "Create", err, mpi.ErrGroup, "need a subset")
	_, err = inter.CreateGroup(local, 0)
	wantError(t, "CreateGroup", err, mpi.ErrComm, "intercommunicator")
}

func createByMembers(t *T, c *mpi.Comm) {
	c, err := c.Dup(nil) // the number of whose next collective is the tag of the creation
	t.must(err)
	g := incl(t, c, evens(c)...)
	if c.Rank()%2 == 1 { // does nothing until the members are done; then its part in a collective that they have begun
		_, _, err = mpi.RecvValue[int](c, 0, 1)
		t.must(err)
		t.must(mpi.Barrier(c))
		d, err := c.CreateGroup(g, 0) // at once: it is none of its concern
		t.must(err)
		wantComm(t, "the communicator of others", c, d, evens(c)...)
		return
	}
	r := mpi.Ibarrier(c)
	d, err := c.CreateGroup(g, 0)
	t.must(err)
	wantComm(t, "the communicator of the even ranks", c, d, evens(c)...)
	if c.Rank() == 0 {
		for to := 1; to < c.Size(); to += 2 {
			t.must(mpi.SendValue(c, 0, to, 1))
		}
	}
	_, err = r.Wait()
	t.must(err)
}

func createByMembersSideBySide(t *T, c *mpi.Comm) {
	const n = 5
	c, err := c.Dup(nil) // the numbers of whose next collectives are the tags of the creations
	t.must(err)
	rotated := func(k int) []int {
		var ranks []int
		for r := range c.Size() {
			if at := (r + k) % c.Size(); k%2 == 0 || at > 0 {
				ranks = append(ranks, at)
			}
		}
		return ranks
	}
	var made [n]*mpi.Comm
	fs := []func(){func() {
		sum := []int{0}
		for range 10 { // the parent's own collectives go on
			t.must(mpi.Allreduce(c, []int{1}, sum, mpi.Sum))
			want(t, "the sum of ones", sum[0], c.Size())
		}
	}}
	for k := range n {
		fs = append(fs, func() {
			k := (k + c.Rank()) % n // not in the same order
			var err error
			made[k], err = c.CreateGroup(incl(t, c, rotated(k)...), k<<28) // all bits of a tag count
			t.must(err)
		})
	}
	t.together(fs...)
	for k, d := range made {
		wantComm(t, fmt.Sprint("communicator ", k), c, d, rotated(k)...)
	}
	allApart(t, made[:])
}

// allApart says whether messages in the communicators, of the same ranks, keep apart.
func allApart(t *T, comms []*mpi.Comm) {
	var rs []*mpi.Request
	for k, d := range comms {
		if d != nil {
			rs = append(rs, mpi.Isend(d, []int{k}, right(d), 2))
		}
	}
	for k, d := range slices.Backward(comms) {
		if d != nil {
			v, _, err := mpi.RecvValue[int](d, mpi.AnySource, mpi.AnyTag)
			t.must(err)
			want(t, "a message in a communicator", v, k)
		}
	}
	_, err := mpi.WaitAll(rs...)
	t.must(err)
}

func createByMembersAgain(t *T, c *mpi.Comm) {
	groups := [][]int{downFrom(c.Size() - 1), evens(c), {0}, {c.Size() - 1, 0}}
	if c.Size() == 1 {
		groups = groups[:3]
	}
	var made []*mpi.Comm
	for k := range 4 * len(groups) { // no rank waits for another between them
		d, err := c.CreateGroup(incl(t, c, groups[k%len(groups)]...), 7)
		t.must(err)
		made = append(made, d)
	}
	for k, d := range made {
		wantComm(t, fmt.Sprint("communicator ", k), c, d, groups[k%len(groups)]...)
	}
	allApart(t, made)
}

func createFromGroupAlone(t *T, c *mpi.Comm) {
	info := mpi.InfoCreate()
	t.must(info.Set("mpi_assert_no_any_tag", "true"))
	text := func(k int) string { return fmt.Sprint(k, " of ", c.Name()) }
	made := make([]*mpi.Comm, 4)
	t.each(len(made), func(k int) {
		k = (k + c.Rank()) % len(made)
		var err error
		made[k], err = mpi.CommCreateFromGroup(incl(t, c, evens(c)...), text(k), info, mpi.ErrorsReturn)
		if c.Rank()%2 == 0 {
			t.must(err)
		} else {
			wantError(t, "CommCreateFromGroup", err, mpi.ErrGroup, "the calling rank is not in")
		}
	})
	for k, d := range made {
		wantComm(t, text(k), c, d, evens(c)...)
		if d != nil {
			want(t, "name", d.Name(), text(k))
			v, _ := d.Info().Get("mpi_assert_no_any_tag")
			want(t, "the hint", v, "true")
		}
	}
	allApart(t, made)
}

func createSideBySide(t *T, c *mpi.Comm) {
	const n = 6
	parents := make([]*mpi.Comm, n)
	for k := range parents {
		var err error
		parents[k], err = c.Dup(nil)
		t.must(err)
	}
	made := make([][]*mpi.Comm, n)
	t.each(n, func(k int) {
		p, all := parents[k], incl(t, c, membersOf(t, c, c.Group())...)
		for round := range 6 {
			var d *mpi.Comm
			var err error
			switch (k + round) % 6 {
			case 0:
				d, err = p.Dup(nil)
			case 1:
				d, err = p.Split(0, 0)
			case 2:
				d, err = p.Create(all)
			case 3:
				d, err = p.CreateGroup(all, k)
			case 4:
				d, err = p.SplitType(mpi.SplitResourceGuided, 0, psetInfo(t, "mpi://WORLD"))
			case 5:
				r := p.Idup(nil)
				_, err = r.Wait()
				d = r.Comm()
			}
			t.must(err)
			made[k] = append(made[k], d)
		}
	})
	allApart(t, slices.Concat(slices.Concat(made...), parents))
}

func idup(t *T, c *mpi.Comm) {
	p, err := c.Dup(nil)
	t.must(err)
	var before, after int
	p.SetErrhandler(func(_ *mpi.Comm, err *mpi.Error) error { before++; return err })
	info := mpi.InfoCreate()
	t.must(info.Set("mpi_assert_exact_length", "true"))
	a, b := p.Idup(nil), p.Idup(info)
	p.SetErrhandler(func(_ *mpi.Comm, err *mpi.Error) error { after++; return err })
	sum := []int{0}
	t.must(mpi.Allreduce(p, []int{1}, sum, mpi.Sum)) // a later collective overtakes nothing
	want(t, "the sum of ones", sum[0], c.Size())
	_, err = mpi.WaitAll(b.Request, a.Request)
	t.must(err)
	for _, d := range []*mpi.Comm{a.Comm(), b.Comm()} {
		compareAs(t, "the copy", p, d, mpi.Congruent)
		pingAround(t, d, 1)
		wantError(t, "Send", mpi.Send(d, []int{1}, -9, 0), mpi.ErrRank)
	}
	want(t, "errors to the handler before", before, 2)
	want(t, "errors to the handler after", after, 0)
	allApart(t, []*mpi.Comm{p, a.Comm(), b.Comm()})
	v, _ := a.Comm().Info().Get("mpi_assert_exact_length")
	want(t, "the hint of Idup", v, "false")
	v, _ = b.Comm().Info().Get("mpi_assert_exact_length")
	want(t, "the hint given to Idup", v, "true")
	_, err = a.Wait()
	t.must(err, "a second Wait")
	t.must(p.Free())
	r := p.Idup(nil)
	_, err = r.Wait()
	wantError(t, "Idup of a freed communicator", err, mpi.ErrComm, "Idup", "freed")
	want(t, "its communicator is nil", r.Comm() == nil, true)
}

func idupFails(t *T, c *mpi.Comm) {
	p, err := c.Dup(nil)
	t.must(err)
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	if c.Rank() == 0 {
		cancel(cause)
		return // and leaves the others alone
	}
	r := p.WithContext(ctx).Idup(nil)
	cancel(cause)
	_, err = r.Wait()
	want(t, "the cause is that of the context", errors.Is(err, cause), true)
	want(t, "the communicator is nil", r.Comm() == nil, true)
}

func createInherits(t *T, c *mpi.Comm) {
	p, err := c.Dup(nil)
	t.must(err)
	seen := ""
	p.SetErrhandler(func(h *mpi.Comm, err *mpi.Error) error { seen = h.Name(); return err })
	for what, f := range map[string]func() (*mpi.Comm, error){
		"Split":       func() (*mpi.Comm, error) { return p.Self().Split(0, 0) },
		"CreateGroup": func() (*mpi.Comm, error) { return p.CreateGroup(p.Self().Group(), 3) },
	} {
		d, err := f()
		t.must(err, what)
		seen = ""
		wantError(t, "Send", mpi.Send(d, []int{1}, 1, 0), mpi.ErrRank)
		as := d.Name()
		if what == "Split" { // its parent is Self
			as = ""
		}
		want(t, "whose error the handler saw", seen, as)
	}
	for _, f := range []func() (*mpi.Comm, error){
		func() (*mpi.Comm, error) { return p.Dup(nil) },
		func() (*mpi.Comm, error) { return p.Create(p.Group()) },
	} {
		d, err := f()
		t.must(err)
		wantError(t, "Send", mpi.Send(d, []int{1}, -9, 0), mpi.ErrRank)
		want(t, "whose error the handler saw", seen, d.Name())
	}
}

func commNames(t *T, c *mpi.Comm) {
	want(t, "the name of the world", c.World().Name(), "world")
	want(t, "the name of self", c.Self().Name(), "self")
	d, err := c.Dup(nil)
	t.must(err)
	old := d.Name()
	t.must(d.SetName(""))
	want(t, "an empty name", d.Name(), "")
	name := fmt.Sprint("rank ", c.Rank(), "'s own")
	t.must(d.SetName(name))
	want(t, "the name", d.Name(), name)
	want(t, "the name through a context", d.WithContext(context.Background()).Name(), name)
	wantError(t, "Send", mpi.Send(d, []int{1}, -9, 0), mpi.ErrRank, name)
	e, err := d.Dup(nil)
	t.must(err)
	want(t, "the copy has its own name", e.Name() != name && e.Name() != old, true)
	t.each(4, func(k int) { // names and errors of one communicator side by side
		t.must(d.SetName(fmt.Sprint(k)))
		wantError(t, "Send", mpi.Send(d, []int{1}, -9, 0), mpi.ErrRank)
	})
	t.must(d.Free())
	wantError(t, "SetName", d.SetName("late"), mpi.ErrComm, "freed")
}
