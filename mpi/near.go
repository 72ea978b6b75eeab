//go:build linux

package mpi

import (
	"cmp"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/mpi/internal/topo"
)

// Which ranks of a host are how near to each other. That threads of one core share more than those
// of two is the last that counts: two on one thread of it have no more in common, but take turns.

// nearParts are the parts of a machine inside which ranks are near each other, from large to small.
var nearParts = [...]sys.Part{sys.Package, sys.NUMANode, sys.L3Cache, sys.Core}

// bound are the instances of nearParts to which a process is bound, as sys.PartOf numbers them: -1
// if it is bound to no single one, or the kernel does not say.
type bound [len(nearParts)]int

// boundTo are the parts that all of cpus are in.
func boundTo(cpus []int) (b bound) {
	for i, kind := range nearParts {
		b[i] = sys.PartOf(cpus, kind)
	}
	return b
}

// levelsOf are the levels by which ranks are near each other, for topo.Place: those of one host, of
// those the ones that share memory, then those bound to one package, NUMA node, cache and core, and
// last threads of one process. A process comes last because it is bound as a whole: its ranks are
// in the same parts. Ranks that are bound to no single instance of a part are together: nothing is
// known that would tell them apart. Those that use TCP only share no process.
func levelsOf(cards []card, nodes []int) [][]int {
	var facts [][]int
	if nodes != nil {
		facts = append(facts, nodes)
	}
	facts = append(facts, numbered(cards, func(c *card) string { return cmp.Or(c.Segment, c.Process) }))
	for i := range nearParts {
		facts = append(facts, numbered(cards, func(c *card) int { return c.Bound[i] }))
	}
	facts = append(facts, numbered(cards, func(c *card) string { return cmp.Or(c.Process, c.Addrs) }))
	return topo.Nest(facts...)
}

// levelsAmong are the levels of j for the ranks of a communicator; nil if every placement is as
// good as any other.
func (j *job) levelsAmong(peers []engine.PeerID) [][]int {
	facts := make([][]int, len(j.levels))
	for i, level := range j.levels {
		facts[i] = make([]int, len(peers))
		for r, p := range peers {
			facts[i][r] = level[p]
		}
	}
	return topo.Nest(facts...)
}
