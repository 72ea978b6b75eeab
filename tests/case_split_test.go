package tests

import (
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// reachable are the ranks of c that the calling rank reaches through memory, downwards.
func reachable(c *mpi.Comm) []int {
	return slices.DeleteFunc(downFrom(c.Size()-1), func(r int) bool { return c.Transport(r) == "tcp" })
}

func splitShared(t *T, c *mpi.Comm) {
	d, err := c.SplitType(mpi.SplitShared, -c.Rank(), nil)
	t.must(err)
	wantComm(t, "the communicator of shared memory", c, d, reachable(c)...)
	kind, ranks := mpi.SplitShared, slices.DeleteFunc(reachable(c), func(r int) bool { return r == 0 })
	if c.Rank() == 0 {
		kind, ranks = mpi.Undefined, nil
	}
	d, err = c.SplitType(kind, -c.Rank(), nil)
	t.must(err)
	wantComm(t, "the communicator without rank 0", c, d, ranks...)
	_, err = c.SplitType(77, 0, nil)
	wantError(t, "SplitType", err, mpi.ErrArg, "kind 77")
}

func resourceInfo(t *T, key, value string) *mpi.Info {
	info := mpi.InfoCreate()
	t.must(info.Set(key, value))
	return info
}

func psetInfo(t *T, name string) *mpi.Info { return resourceInfo(t, "mpi_pset_name", name) }

func splitGuided(t *T, c *mpi.Comm) {
	const key = "mpi_hw_resource_type"
	all := downFrom(c.Size() - 1)
	for _, test := range []struct {
		name  string
		kind  mpi.SplitKind
		info  *mpi.Info
		ranks []int
	}{
		{"no info", mpi.SplitHWGuided, nil, nil},
		{"no key", mpi.SplitHWGuided, mpi.InfoCreate(), nil},
		{"no such resource", mpi.SplitHWGuided, resourceInfo(t, key, "sofa"), nil},
		{"memory", mpi.SplitHWGuided, resourceInfo(t, key, "mpi_shared_memory"), reachable(c)},
		{"no info", mpi.SplitResourceGuided, nil, nil},
		{"memory", mpi.SplitResourceGuided, resourceInfo(t, key, "mpi_shared_memory"), reachable(c)},
		{"the world", mpi.SplitResourceGuided, psetInfo(t, "mpi://WORLD"), all},
		{"self", mpi.SplitResourceGuided, psetInfo(t, "mpi://SELF"), []int{c.Rank()}},
		{"no such set", mpi.SplitResourceGuided, psetInfo(t, "mpi://MOON"), nil},
		{"a set, which is no hardware", mpi.SplitHWGuided, psetInfo(t, "mpi://WORLD"), nil},
	} {
		d, err := c.SplitType(test.kind, -c.Rank(), test.info)
		t.must(err, test.name)
		wantComm(t, "the communicator of "+test.name, c, d, test.ranks...)
	}
	for _, resource := range []string{"host", "package", "numanode", "l3cache", "core", "hwthread"} {
		d, err := c.SplitType(mpi.SplitHWGuided, 0, resourceInfo(t, key, resource))
		t.must(err)
		if d != nil { // it depends on the machine and on where the ranks are bound
			pingAround(t, d, 1)
		}
	}
}

func splitUnguided(t *T, c *mpi.Comm) {
	for at := c; ; {
		info := mpi.InfoCreate()
		d, err := at.SplitType(mpi.SplitHWUnguided, 0, info)
		t.must(err)
		kind, ok := info.Get("mpi_hw_resource_type")
		want(t, "there is a resource", ok, d != nil)
		if d == nil {
			return
		}
		if d.Size() >= at.Size() {
			t.Fatalf("%s of %d ranks is no strict subset of %d", kind, d.Size(), at.Size())
		}
		kinds := make([]string, d.Size())
		t.must(mpi.Allgather(d, []string{kind}, kinds))
		for _, k := range kinds {
			want(t, "the resource of another rank", k, kind)
		}
		at = d
	}
}

func splitTypeInter(t *T, c *mpi.Comm) {
	inter := joinHalves(t, c)
	d, err := inter.SplitType(mpi.SplitResourceGuided, -inter.Rank(), psetInfo(t, "mpi://WORLD"))
	t.must(err)
	want(t, "rank", d.Rank(), inter.Size()-1-inter.Rank())
	want(t, "remote size", d.RemoteSize(), inter.RemoteSize())
	crossAround(t, c, d, 1)
	d, err = inter.SplitType(mpi.SplitResourceGuided, 0, psetInfo(t, "mpi://SELF"))
	t.must(err)
	want(t, "a communicator of one group is nil", d == nil, true)
	d, err = inter.SplitType(mpi.SplitHWUnguided, 0, nil)
	t.must(err)
	if d != nil && d.Size()+d.RemoteSize() >= c.Size() {
		t.Errorf("%d and %d ranks are no strict subset of %d", d.Size(), d.RemoteSize(), c.Size())
	}
}
