package tests

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

var commCases = []testCase{
	{name: "comm/contexts never mix", section: "7.2.3",
		sentence: "A message sent in one context cannot be received in another context.",
		run:      contextsNeverMix},
	{name: "comm/dup", section: "7.4.2",
		sentence: "MPI_COMM_DUP duplicates the existing communicator comm: same group, same ranks, but a new context.",
		run:      dup},
	{name: "comm/split order", section: "7.4.2",
		sentence: "Within each subgroup, the processes are ranked in the order defined by the value of the argument key, with ties broken " +
			"according to their rank in the old group.",
		run: splitOrder},
	{name: "comm/split undefined", section: "7.4.2",
		sentence: "A process may supply the color value MPI_UNDEFINED, in which case newcomm returns MPI_COMM_NULL.",
		run:      splitUndefined},
	{name: "comm/split nested", section: "7.4.2",
		sentence: "The function partitions the group associated with comm into disjoint subgroups, one for each value of color.",
		run:      splitNested},
	{name: "comm/made side by side", section: "FitMPI",
		sentence: "Goroutines may make communicators side by side, of different parents; no two get the same context.",
		run:      madeSideBySide},
	{name: "comm/free", section: "7.4.3",
		sentence: "Any pending operations that use this communicator will complete normally; the object is actually deallocated only if " +
			"there are no other active references to it.",
		run: freeComm},
	{name: "comm/self and world", section: "7.2.4",
		sentence: "MPI_COMM_SELF includes only the process itself.",
		run:      selfAndWorld},
}

func contextsNeverMix(t *T, c *mpi.Comm) {
	d, err := c.Dup(nil)
	t.must(err)
	e, err := c.Split(0, c.Rank())
	t.must(err)
	comms := []*mpi.Comm{c, d, e}
	var rs []*mpi.Request
	const n = 18
	for k := range n {
		rs = append(rs, mpi.Isend(comms[k%3], ramp(mixed(k), k), right(c), 1))
	}
	for i := 2; i >= 0; i-- { // the last communicator first
		for k := i; k < n; k += 3 {
			got, st, err := mpi.RecvNew[int64](comms[i], mpi.AnySource, mpi.AnyTag)
			t.must(err)
			want(t, "source", st.Source, left(c))
			wantSlice(t, "message", got, ramp(mixed(k), k))
		}
	}
	_, err = mpi.WaitAll(rs...)
	t.must(err)
	rs = nil
	outs := make([][]int, 3)
	for i, x := range comms { // collectives of all three outstanding
		outs[i] = make([]int, c.Size())
		rs = append(rs, mpi.Iallgather(x, []int{x.Rank()*10 + i}, outs[i]))
	}
	slices.Reverse(rs)
	_, err = mpi.WaitAll(rs...)
	t.must(err)
	for i := range comms {
		for r, v := range outs[i] {
			want(t, "Iallgather", v, r*10+i)
		}
	}
	t.must(d.Free())
	t.must(e.Free())
}

func dup(t *T, c *mpi.Comm) {
	d, err := c.Dup(nil)
	t.must(err)
	want(t, "rank", d.Rank(), c.Rank())
	want(t, "size", d.Size(), c.Size())
	dd, err := d.Dup(nil)
	t.must(err)
	t.must(d.Free())
	pingAround(t, dd, 1)
	t.must(dd.Free())
}

func splitOrder(t *T, c *mpi.Comm) {
	for _, key := range []func(r int) int{
		func(r int) int { return 0 }, func(r int) int { return -r }, func(r int) int { return r * 7 % 5 }, func(r int) int { return r / 2 },
	} {
		d, err := c.Split(c.Rank()%2, key(c.Rank()))
		t.must(err)
		var members []int
		for r := range c.Size() {
			if r%2 == c.Rank()%2 {
				members = append(members, r)
			}
		}
		slices.SortStableFunc(members, func(a, b int) int { return key(a) - key(b) })
		want(t, "size", d.Size(), len(members))
		want(t, "my place", members[d.Rank()], c.Rank())
		got := make([]int, d.Size())
		t.must(mpi.Allgather(d, []int{c.Rank()}, got))
		wantSlice(t, "the members", got, members)
		pingAround(t, d, 1)
		t.must(d.Free())
	}
}

func splitUndefined(t *T, c *mpi.Comm) {
	color := 5
	if c.Rank() == 0 {
		color = mpi.Undefined
	}
	d, err := c.Split(color, 0)
	t.must(err)
	if c.Rank() == 0 {
		want(t, "the communicator is nil", d == nil, true)
	} else {
		want(t, "size", d.Size(), c.Size()-1)
		want(t, "rank", d.Rank(), c.Rank()-1)
		pingAround(t, d, 1)
	}
	_, err = c.Self().Split(-3, 0)
	wantError(t, "a negative color", err, mpi.ErrArg, "color -3")
}

func splitNested(t *T, c *mpi.Comm) {
	at, depth := c, 0
	for at.Size() > 1 {
		next, err := at.Split(at.Rank()*2/at.Size(), -at.Rank())
		t.must(err)
		if next.Size() >= at.Size() {
			t.Fatalf("a split of %d ranks in two gives one of %d", at.Size(), next.Size())
		}
		pingAround(t, next, depth)
		sum := []int{0}
		t.must(mpi.Allreduce(next, []int{1}, sum, mpi.Sum))
		want(t, "the sum of ones", sum[0], next.Size())
		at, depth = next, depth+1
	}
}

func madeSideBySide(t *T, c *mpi.Comm) {
	const goroutines = 4
	parents := make([]*mpi.Comm, goroutines)
	for g := range parents {
		var err error
		parents[g], err = c.Dup(nil)
		t.must(err)
	}
	children := make([][]*mpi.Comm, goroutines)
	t.each(goroutines, func(g int) {
		for k := range 4 {
			var d *mpi.Comm
			var err error
			if k%2 == 0 {
				d, err = parents[g].Dup(nil)
			} else {
				d, err = parents[g].Split(0, 0)
			}
			t.must(err)
			children[g] = append(children[g], d)
		}
	})
	var rs []*mpi.Request // one message on each, all under way at once, received in another order
	for g := range children {
		for k, d := range children[g] {
			rs = append(rs, mpi.Isend(d, []int{g*100 + k}, right(d), 1))
		}
	}
	for g := goroutines - 1; g >= 0; g-- {
		for k := len(children[g]) - 1; k >= 0; k-- {
			v, _, err := mpi.RecvValue[int](children[g][k], mpi.AnySource, mpi.AnyTag)
			t.must(err)
			want(t, "value", v, g*100+k)
		}
	}
	_, err := mpi.WaitAll(rs...)
	t.must(err)
}

func freeComm(t *T, c *mpi.Comm) {
	d, err := c.Dup(nil)
	t.must(err)
	in := make([]int64, 9000)
	r, s := mpi.Irecv(d, in, left(d), 1), mpi.Isend(d, ramp(9000, 1), right(d), 1)
	t.must(d.Free())
	_, err = mpi.WaitAll(r, s)
	t.must(err)
	wantSlice(t, "message", in, ramp(9000, 1))
	wantError(t, "a second Free", d.Free(), mpi.ErrComm, "freed")
}

func selfAndWorld(t *T, c *mpi.Comm) {
	want(t, "size of self", c.Self().Size(), 1)
	want(t, "rank in self", c.Self().Rank(), 0)
	want(t, "size of world", c.World().Size(), t.Size)
	want(t, "rank in world", c.World().Rank(), t.Rank)
	want(t, "String", c.String(), fmt.Sprintf("%s (rank %d of %d)", c.Name(), c.Rank(), c.Size()))
	out := []int{0}
	t.must(mpi.Allreduce(c.Self(), []int{c.Rank() + 1}, out, mpi.Sum))
	want(t, "the sum over self", out[0], c.Rank()+1)
}
