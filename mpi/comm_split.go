package mpi

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/mpi/internal/topo"
)

// SplitKind says by what SplitType splits (MPI 4.1, section 7.4.2).
type SplitKind int

const (
	// SplitShared puts together ranks that reach each other through memory: ranks of one process,
	// and processes of a host that share the launcher's segment (MPI_COMM_TYPE_SHARED).
	// FITMPI_TRANSPORT=tcp leaves each rank alone.
	SplitShared SplitKind = iota
	// SplitHWGuided puts together ranks that are bound to one instance of the hardware resource
	// that the key mpi_hw_resource_type of the info names: host, package, numanode, l3cache, core,
	// hwthread, or mpi_shared_memory for the same as SplitShared (MPI_COMM_TYPE_HW_GUIDED).
	SplitHWGuided
	// SplitHWUnguided takes the largest of these resources that does split the communicator, and
	// sets mpi_hw_resource_type of the info, if there is one, to its name
	// (MPI_COMM_TYPE_HW_UNGUIDED).
	SplitHWUnguided
	// SplitResourceGuided is SplitHWGuided, or, if the info has the key mpi_pset_name, puts
	// together ranks of the process set that it names: PsetWorld, PsetSelf, PsetHost, and what
	// Session.NthPset tells (MPI_COMM_TYPE_RESOURCE_GUIDED).
	SplitResourceGuided
)

// The keys of the info of SplitType.
const (
	keyResource   = "mpi_hw_resource_type"
	keyProcessSet = "mpi_pset_name"
)

// resourceHost is the largest resource: a host, or what FITMPI_CLIQUES makes of it.
const resourceHost = "host"

// resources lists the hardware resources from large to small.
var resources = func() []string {
	names := []string{resourceHost}
	for _, p := range sys.Parts {
		names = append(names, string(p))
	}
	return names
}()

// SplitType makes one communicator for each resource of a kind, of the ranks that are
// bound to it, in the order of key, and of their rank in c for equal keys. What a rank is
// bound to is what the affinity mask of its process says when it calls. A rank that is
// bound to no single such resource, or whose info says nothing that is known, gets nil, as
// does one that gives Undefined as kind; the others give the same kind. info may be nil; it
// counts for the guided kinds, and is written to by SplitHWUnguided.
//
// Of an intercommunicator it makes intercommunicators, as Split does. A kind that is none
// is an error of class ErrArg. Collective, in both groups of an intercommunicator
// (MPI 4.1, section 7.4.2, MPI_Comm_split_type).
func (c *Comm) SplitType(kind SplitKind, key int, info *Info) (newcomm *Comm, err error) {
	defer c.begin("SplitType").endMade(&newcomm, &err)
	const op = "SplitType"
	if err := c.usable(op); err != nil {
		return nil, c.fail(err)
	}
	resource, color := "", Undefined
	switch kind {
	case Undefined:
	case SplitShared:
		resource, color = "shared", c.job.sharing()
	case SplitHWGuided, SplitResourceGuided:
		resource, color = c.job.guided(kind, info)
	case SplitHWUnguided:
		var err error
		if resource, color, err = c.unguided(op); err != nil {
			return nil, err
		}
	default:
		return nil, c.fail(opErrorf(ErrArg, op, "kind %d: need SplitShared, SplitHWGuided, SplitHWUnguided, SplitResourceGuided or Undefined", kind))
	}
	n, err := c.split(op, fmt.Sprintf("%s/%s", c.Name(), resource), color, key)
	if n != nil && kind == SplitHWUnguided && info != nil {
		info.setKnown(keyResource, resource)
	}
	return n, err
}

// sharing is the lowest world rank that this rank reaches through memory. All ranks with
// which it shares memory find the same.
func (j *job) sharing() int {
	for r := range j.engine.Rank() {
		if j.engine.Peer(engine.PeerID(r)).Way != engine.TCP {
			return r
		}
	}
	return j.engine.Rank()
}

// guided is the resource that info names, and the number of this rank's; Undefined if it
// has none.
func (j *job) guided(kind SplitKind, info *Info) (resource string, color int) {
	if set, ok := info.Get(keyProcessSet); ok && kind == SplitResourceGuided {
		if members := j.psetMembers(set); members != nil {
			return set, int(members[0]) // sets that have the same name have no rank in common
		}
		return set, Undefined
	}
	resource, _ = info.Get(keyResource)
	if resource == "mpi_shared_memory" {
		return resource, j.sharing()
	}
	if !slices.Contains(resources, resource) {
		return resource, Undefined
	}
	return resource, j.instance(resource)
}

// instance is the job-wide number of the resource that this rank is bound to; Undefined if
// there is none.
func (j *job) instance(resource string) int {
	host := 0
	if j.nodes != nil {
		host = j.nodes[j.engine.Rank()]
	}
	if resource == resourceHost {
		return host
	}
	part := sys.PartOf(sys.AllowedCPUs(), sys.Part(resource))
	if part < 0 {
		return Undefined
	}
	return host<<maxPartBits | part
}

// maxPartBits is enough for the number of a processor.
const maxPartBits = 20

// unguided is the largest resource that splits c, and the number of this rank's. The name
// is empty if there is none.
func (c *Comm) unguided(op string) (resource string, color int, err error) {
	mine := make([]int64, len(resources))
	for i, r := range resources {
		mine[i] = int64(c.job.instance(r))
	}
	a := c.everyone()
	all := make([]int64, len(mine)*a.Size())
	if err := done(iallgather(a, op, mine, all)); err != nil {
		return "", Undefined, err
	}
	if i := dividing(all, len(mine)); i >= 0 {
		return resources[i], int(mine[i]), nil
	}
	return "", Undefined, nil
}

// dividing is the first of n resources that not all ranks have one instance of, and some
// rank has one of; all has the instances of each rank. It is -1 if there is none.
func dividing(all []int64, n int) int {
	for i := range n {
		differ, known := false, false
		for at := i; at < len(all); at += n {
			differ = differ || all[at] != all[i]
			known = known || all[at] != Undefined
		}
		if differ && known {
			return i
		}
	}
	return -1
}

// HWResourceInfo says which kinds of hardware resources there are, and to which of them the calling
// process is bound (MPI 4.1, section 9.1, MPI_Get_hw_resource_info). The Info has the name of each
// kind that SplitType knows as a key. Its value is "true" if the process is bound to a single
// instance of that kind, else "false". It is local.
func HWResourceInfo() *Info {
	info := InfoCreate()
	cpus := sys.AllowedCPUs()
	info.setKnown(resourceHost, "true")
	for _, p := range sys.Parts {
		info.setKnown(string(p), fmt.Sprint(sys.PartOf(cpus, p) >= 0))
	}
	return info
}

// Which ranks of a host are how near to each other. That threads of one core share more than those
// of two is the last that counts: two on one thread of it have no more in common, but take turns.

// levelParts are the parts of a machine inside which ranks are near each other, from large to
// small.
var levelParts = [...]sys.Part{sys.Package, sys.NUMANode, sys.L3Cache, sys.Core}

// bound are the instances of levelParts to which a process is bound, as sys.PartOf numbers them: -1
// if it is bound to no single one, or the kernel does not say.
type bound [len(levelParts)]int

// boundTo are the parts that all of cpus are in.
func boundTo(cpus []int) (b bound) {
	for i, kind := range levelParts {
		b[i] = sys.PartOf(cpus, kind)
	}
	return b
}

// levelsOf are the levels by which ranks are near each other, for topo.Place. The ranks of one host
// come first, of those the ones that share memory, then those bound to one package, NUMA node,
// cache and core, and last threads of one process. A process comes last because it is bound as a
// whole: its ranks are in the same parts. Ranks that are bound to no single instance of a part are
// together: nothing is known that would tell them apart. Those that use TCP only share no process.
func levelsOf(cards []card, nodes []int) [][]int {
	var facts [][]int
	if nodes != nil {
		facts = append(facts, nodes)
	}
	facts = append(facts, numbered(cards, func(c *card) string { return cmp.Or(c.Segment, c.Process) }))
	for i := range levelParts {
		facts = append(facts, numbered(cards, func(c *card) int { return c.Bound[i] }))
	}
	facts = append(facts, numbered(cards, func(c *card) string { return cmp.Or(c.Process, c.Addrs) }))
	return topo.Nest(facts...)
}

// levelsAmong are the levels of j for the ranks of a communicator; nil if every placement is as
// good as any other.
func (j *job) levelsAmong(peers []engine.PeerID) [][]int {
	if j.isMixed(peers) {
		return nil
	}
	facts := make([][]int, len(j.levels))
	for i, level := range j.levels {
		facts[i] = make([]int, len(peers))
		for r, p := range peers {
			facts[i][r] = level[p]
		}
	}
	return topo.Nest(facts...)
}
