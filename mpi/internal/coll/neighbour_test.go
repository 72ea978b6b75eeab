package coll

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// testEdge is an edge of a random graph: what goes along it, and where its ends are in the lists of
// both ranks.
type testEdge struct {
	from, to, out, in int
	data              []byte
}

// randomNeighbours gives random lists with repeated edges, edges of a rank to itself and nobodies.
// The k-th edge between two ranks comes in the order of edges at the sender and at the receiver;
// the receiver's list is in another order, which Arrival mends.
func randomNeighbours(rng *rand.Rand, size int) (lists []Neighbours, edges []*testEdge) {
	lists = make([]Neighbours, size)
	for range rng.IntN(4 * size) {
		e := &testEdge{from: rng.IntN(size), to: rng.IntN(size), data: randomBytes(rng, rng.IntN(3)*rng.IntN(20))}
		edges = append(edges, e)
		for rng.IntN(4) == 0 {
			lists[e.from].Destinations = append(lists[e.from].Destinations, none)
		}
		e.out = len(lists[e.from].Destinations)
		lists[e.from].Destinations = append(lists[e.from].Destinations, e.to)
	}
	for r := range lists {
		var into []*testEdge
		for _, e := range edges {
			if e.to == r {
				into = append(into, e)
			}
		}
		l := &lists[r]
		l.Sources = slices.Repeat([]int{none}, len(into)+rng.IntN(3))
		at := rng.Perm(len(l.Sources))
		for k, e := range into {
			e.in = at[k]
			l.Sources[e.in] = e.from
		}
		l.Arrival = at
	}
	return lists, edges
}

func TestNeighbor(t *testing.T) {
	for _, size := range testSizes {
		for _, objects := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/objects %v", size, objects), func(t *testing.T) {
				seeds(t, 10, func(seed uint64) { testNeighbor(t, seed, size, objects) })
			})
		}
	}
}

func testNeighbor(t *testing.T, seed uint64, size int, objects bool) {
	lists, edges := randomNeighbours(rand.New(rand.NewPCG(seed, 2)), size)
	send, recv := make([][][]byte, size), make([][][]byte, size)
	for r, l := range lists {
		send[r], recv[r] = make([][]byte, len(l.Destinations)), make([][]byte, len(l.Sources))
	}
	for _, e := range edges {
		send[e.from][e.out], recv[e.to][e.in] = e.data, make([]byte, len(e.data))
	}
	s, form := newSim(seed, size), formsOf(seed)
	s.self = true
	s.simulate(t, seed, func(r int, g Graph) []Step {
		if !objects {
			return Neighbor(g, lists[r], form.all(r, send[r]), form.all(r, recv[r]))
		}
		from := make([]*[]byte, len(send[r]))
		for i := range from {
			from[i] = &send[r][i]
		}
		return NeighborObject(g, lists[r], from, recv[r])
	}, nil, func() error {
		for _, e := range edges {
			if err := wantBytes(e.to, recv[e.to][e.in], e.data); err != nil {
				return fmt.Errorf("%w, from rank %d", err, e.from)
			}
		}
		return nil
	})
}

// Without Arrival the sources are served in their order.
func TestNeighborOrder(t *testing.T) {
	recv := [][]byte{{0}, {0}, {0}}
	s := newSim(1, 1)
	s.self = true
	s.simulate(t, 1, func(r int, g Graph) []Step {
		return Neighbor(g, Neighbours{Sources: []int{0, 0, 0}, Destinations: []int{0, 0, 0}}, []Buf{Memory([]byte{1}), Memory([]byte{2}), Memory([]byte{3})}, []Buf{Memory(recv[0]), Memory(recv[1]), Memory(recv[2])})
	}, nil, func() error { return wantBytes(0, slices.Concat(recv...), []byte{1, 2, 3}) })
}
