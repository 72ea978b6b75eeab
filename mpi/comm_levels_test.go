//go:build linux && !fitmpi_portable

package mpi

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// numaHosts is the cards of hosts of two packages, each a NUMA node with cores of its own and one
// cache, and a process on each core.
func numaHosts(hosts, cores int) (cards []card) {
	for h := range hosts {
		for n := range 2 {
			for k := range cores {
				first := n * cores
				cards = append(cards, card{
					Place: fmt.Sprint("host ", h), Segment: fmt.Sprint("segment ", h), Bound: bound{first, first, first, first + k},
					Process: fmt.Sprint("process ", len(cards)),
				})
			}
		}
	}
	return cards
}

// Ranks are near each other by host, memory, the parts of the machine that they are bound to, and
// process; what makes no difference is not there.
func TestLevelsOf(t *testing.T) {
	two := numaHosts(2, 2)
	two[3].Bound = bound{-1, -1, -1, -1} // alone on its host in being bound to nothing
	cores := numaHosts(1, 2)
	for r := range cores {
		cores[r].Bound = bound{0, 0, -1, r % 2}
	}
	unknown := numaHosts(2, 1)
	for r := range unknown {
		unknown[r].Bound = bound{-1, -1, -1, -1}
	}
	tcp := hostOf(3, 1, 0)
	for r := range tcp {
		tcp[r].Process, tcp[r].Segment, tcp[r].Addrs = "", "", fmt.Sprint("address ", r)
	}
	apart := hostOf(4, 2, 0)
	apart[2].Segment, apart[3].Segment = "another", "another"
	for _, test := range []struct {
		name  string
		cards []card
		want  string
	}{
		{"threads of one process", hostOf(4, 4, 0), "[]"},
		{"a process each", hostOf(4, 1, 0), "[]"},
		{"two processes", hostOf(5, 3, 0), "[[0 0 0 1 1]]"},
		{"two processes without shared memory", func() []card { c := hostOf(4, 2, 0); c[0].Segment = ""; return c }(), "[[0 1 1 1] [0 1 2 2]]"},
		{"TCP only", tcp, "[]"},
		{"two segments", apart, "[[0 0 1 1]]"},
		{"processes in cliques", hostOf(8, 2, 2), "[[0 0 0 0 1 1 1 1] [0 0 1 1 2 2 3 3]]"},
		{"a process across cliques", hostOf(6, 6, 3), "[[0 0 1 1 2 2]]"},
		{"hosts and NUMA nodes", numaHosts(2, 2), "[[0 0 0 0 1 1 1 1] [0 0 1 1 2 2 3 3]]"},
		{"one is not bound", two, "[[0 0 0 0 1 1 1 1] [0 0 1 2 3 3 4 4]]"},
		{"two processes on each core", cores, "[[0 1 0 1]]"},
		{"the kernel says nothing", unknown, "[[0 0 1 1]]"},
	} {
		j := &job{levels: levelsOf(test.cards, nodesOf(test.cards))}
		if got := fmt.Sprint(j.levels); got != test.want {
			t.Errorf("%s: the levels are %s, want %s", test.name, got, test.want)
		}
		if got := fmt.Sprint(j.levelsAmong(allOf(len(test.cards)))); got != test.want {
			t.Errorf("%s: the levels of world are %s, want %s", test.name, got, test.want)
		}
	}
}

func allOf(n int) (peers []engine.PeerID) {
	for r := range n {
		peers = append(peers, engine.PeerID(r))
	}
	return peers
}

// A communicator has the levels of its own ranks, in its own order.
func TestLevelsAmong(t *testing.T) {
	cards := numaHosts(2, 2)
	j := &job{levels: levelsOf(cards, nodesOf(cards))}
	for _, test := range []struct {
		peers []engine.PeerID
		want  string
	}{
		{[]engine.PeerID{7, 0, 6, 1}, "[[0 1 0 1]]"},                  // a node of each host
		{[]engine.PeerID{0, 1, 2}, "[[0 0 1]]"},                       // of one host
		{[]engine.PeerID{0, 1}, "[]"},                                 // of one node
		{[]engine.PeerID{0, 2, 4, 6}, "[[0 0 1 1]]"},                  // of each node one
		{[]engine.PeerID{0, 5, 4, 2, 3}, "[[0 1 1 0 0] [0 1 1 2 2]]"}, // a part of everything
		{[]engine.PeerID{3}, "[]"},
	} {
		if got := fmt.Sprint(j.levelsAmong(test.peers)); got != test.want {
			t.Errorf("the levels of %v are %s, want %s", test.peers, got, test.want)
		}
	}
}

// A card says what its process is bound to, by kinds of parts that SplitType knows too.
func TestCardIsBound(t *testing.T) {
	info := boot.Info{Size: 1, LocalSize: 1, Host: "here"}
	l, err := newLocal(info, transportTCP)
	if err != nil {
		t.Fatal(err)
	}
	c := newCard(info, settings{}, l, oneAddr)
	for i, kind := range levelParts {
		if want := sys.PartOf(sys.AllowedCPUs(), kind); c.Bound[i] != want {
			t.Errorf("bound to %s %d, the card says %d", kind, want, c.Bound[i])
		}
		if !slices.Contains(resources, string(kind)) {
			t.Errorf("SplitType does not know %s", kind)
		}
	}
}
