package coll

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// placedSuites are the tests of the collectives that ask which ranks share a host. They cover every
// algorithm, roots, lengths, operations that commute or not, operands in place, schedules that run
// again, and the order of messages.
var placedSuites = map[string]func(*testing.T){
	"barrier":             TestBarrier,
	"bcast":               TestBcast,
	"gatherscatter":       TestGatherScatter,
	"allgather":           TestAllgather,
	"reductions":          TestReductions,
	"samebits":            TestSameBits,
	"bcastobject":         TestBcastObject,
	"reduceobjects":       TestReduceObjects,
	"reducescatterobject": TestReduceScatterObject,
}

// A run has one layout that is drawn, another each time; a usual one has one more, the same each
// time.
func TestOnHosts(t *testing.T) {
	n := 1
	switch level := effort.Now(); {
	case level == effort.Usual:
		testOnHosts(t, "round robin", roundRobin(3))
	case level > effort.Usual:
		n = 2
		for name, l := range layouts {
			testOnHosts(t, name, l)
		}
	}
	seeds(t, n, func(seed uint64) { testOnHosts(t, fmt.Sprintf("random seed=%d", seed), shuffled(seed)) })
}

func testOnHosts(t *testing.T, name string, l hostLayout) {
	t.Run(name, func(t *testing.T) {
		withLayout(t, l)
		for suite, f := range placedSuites {
			t.Run(suite, f)
		}
	})
}

// Both levels are right by the algorithms of long operands too, which come to talk to one peer in
// both levels or twice.
func TestLongOnHosts(t *testing.T) {
	effort.Need(t, effort.Usual, "it plays thousands of schedules")
	for v, low := range map[*int]int{
		&bcastScatterFrom: 16, &bcastChainFrom: 200, &bcastScatterRanks: 3, &reduceHalvingFrom: 24, &allreduceHalvingFrom: 24,
		&allreduceRingFrom: 200, &gatherLinearFrom: 4, &gatherLinearRanks: 2, &allgatherRingFrom: 60,
	} {
		old := *v
		*v = low
		t.Cleanup(func() { *v = old })
	}
	testOnHosts(t, "round robin", roundRobin(3))
	if effort.Now() < effort.Full {
		return
	}
	testOnHosts(t, "pairs", blocks(2))
	seeds(t, 1, func(seed uint64) { testOnHosts(t, fmt.Sprintf("random seed=%d", seed), shuffled(seed)) })
}

// A leader serves its host at once, not when other hosts have taken what it sent to them.
func TestLeaderDoesNotWait(t *testing.T) {
	p, data := NewPlaces(blocks(4)(8)), []byte{1}
	for what, build := range map[string]func(g Graph){
		"bcast":       func(g Graph) { Bcast(g, TwoLevel, 0, 8, 0, Memory(data)) },
		"bcastobject": func(g Graph) { BcastObject(g, 0, 8, 0, &data) },
	} {
		s := newSim(1, 8)
		build(&placed{Graph: s.ranks[0], p: p})
		steps := s.ranks[0].steps
		if len(steps) != 3 || p.host[steps[0].peer] == 0 {
			t.Errorf("%s: want a message to the other host and then two inside, got %d steps, the first with rank %d", what, len(steps),
				steps[0].peer)
		}
		for _, st := range steps {
			if len(st.after) > 0 {
				t.Errorf("%s: the message to rank %d waits for %v", what, st.peer, st.after)
			}
		}
	}
}

// A group lends what the graph below lends, or new memory.
func TestGroupScratch(t *testing.T) {
	c := &counter{lent: make([]byte, 16)}
	if b := scratch(newGroup(c, []int{3}, 0, 0), 8); !same(b, c.lent) {
		t.Error("a group over a Scratcher allocates")
	}
	if b := scratch(newGroup(plain{c}, []int{3}, 0, 0), 8); len(b) != 8 || same(b, c.lent) {
		t.Errorf("a group over a Graph that lends nothing gives %d bytes", len(b))
	}
}

// Where two levels are not possible, all is as if nothing were known about hosts.
func TestGivesWay(t *testing.T) {
	red := Reducer{ElemSize: 8, Combine: affine}
	in, out := make([]byte, 64), make([]byte, 64)
	for _, size := range testSizes {
		for what, build := range map[string]func(g Graph, alg Algorithm, rank int){
			"reduce": func(g Graph, alg Algorithm, r int) { Reduce(g, alg, r, size, size/2, Memory(in), Memory(out), red) },
			"allreduce": func(g Graph, alg Algorithm, r int) {
				Allreduce(g, alg, r, size, Memory(in), Memory(out), red)
			},
		} {
			p := NewPlaces(roundRobin(3)(size))
			for _, alg := range []Algorithm{Auto, TwoLevel, Rabenseifner} {
				got := trafficOf(size, p, func(g Graph, r int) { build(g, alg, r) })
				flat := alg
				if alg == TwoLevel {
					flat = Auto
				}
				want := trafficOf(size, nil, func(g Graph, r int) { build(g, flat, r) })
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s by %v of %d ranks: sends %v, want %v", what, alg, size, got, want)
				}
			}
		}
	}
}
