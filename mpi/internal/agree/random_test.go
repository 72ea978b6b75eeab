package agree

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestModelRandom runs larger groups through random events, seed by seed; what fails says its seed.
func TestModelRandom(t *testing.T) {
	runs := 3000
	if testing.Short() {
		runs = 300
	}
	if *deepFlag {
		runs = 200000
	}
	events := 0
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 7))
		n := 5 + rng.IntN(5)
		x := newModel(n, 1+rng.IntN(2), rng.IntN(n))
		x.late = rng.IntN(2) == 0
		wrong, k := x.walk(rng)
		if wrong != "" {
			t.Fatalf("seed %d: %d members, up to %d failures: %s", seed, n, x.crashes, wrong)
		}
		events += k
	}
	t.Logf("%d runs of 5 to 9 members, %d events", runs, events)
}

// walk lets things happen at random until nothing is left to happen. How likely crashes, notices
// and messages are differs from run to run.
func (x *model) walk(rng *rand.Rand) (wrong string, events int) {
	w := x.begin()
	dies, slow := math.Pow(rng.Float64(), 3), rng.Float64()
	for ; events < 100*deepMost; events++ {
		list, moves := x.events(&w)
		if moves == 0 && (len(list) == 0 || rng.Float64() >= dies) {
			return x.atEnd(&w), events
		}
		e := list[rng.IntN(len(list))]
		if moves > 0 && e.what == crashEvent && rng.Float64() >= dies || e.what < 0 && rng.Float64() < slow {
			e = list[rng.IntN(max(moves, 1))]
		}
		if w, wrong = x.happen(w, e); wrong != "" {
			return wrong, events
		}
	}
	return "no end", events
}

// TestMessages counts: without failures an agreement takes 4(n-1) messages, 3 between two, of which
// no member sends more than it has neighbours in the tree, twice, and the longest chain is four
// times the height of the tree.
func TestMessages(t *testing.T) {
	sizes := []int{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024} // where the height changes
	for n := 1; n <= 300; n += 1 + n/10 {
		sizes = append(sizes, n, n+1)
	}
	for _, n := range sizes {
		g := newGroup(n, nil)
		g.run()
		want, most := 4*(n-1), 2*3
		if n == 2 {
			want = 3
		}
		height := 0
		for 2<<height <= n {
			height++
		}
		if g.sent != want || g.most > most || n > 2 && g.longest > 4*height {
			t.Errorf("%d members: %d messages, at most %d by one, a chain of %d; want %d, at most %d, a chain of at most %d",
				n, g.sent, g.most, g.longest, want, most, 4*height)
		}
	}
}

// TestMessagesAfterFailures: the next agreement after any failures is as cheap as among the
// survivors alone, and every one that mends itself costs no more than a few times that.
func TestMessagesAfterFailures(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 3 + rng.IntN(60)
		dead := rng.Perm(n)[:rng.IntN(n-2)]
		g := newGroup(n, dead)
		g.run()
		if most := 4*(n-1) + 4*(len(dead)+1)*2; g.sent > most {
			t.Errorf("seed %d: %d of %d are dead: %d messages, want at most %d", seed, len(dead), n, g.sent, most)
		}
		g.sent = 0
		g.run()
		if living := n - len(dead); living > 2 && g.sent != 4*(living-1) {
			t.Errorf("seed %d: %d of %d were dead before: %d messages, want %d", seed, len(dead), n, g.sent, 4*(living-1))
		}
	}
}

// group is machines whose messages arrive in the order in which they were sent.
type group struct {
	machines []*Machine // nil for the dead
	depth    []int      // longest chain of messages that led to a member's state
	by       []int      // messages that each has sent
	sent     int
	most     int
	longest  int
}

func newGroup(n int, dead []int) *group {
	g := &group{depth: make([]int, n), by: make([]int, n)}
	for r := range n {
		g.machines = append(g.machines, New(r, n))
	}
	for _, d := range dead {
		g.machines[d] = nil
		for _, m := range g.machines {
			if m != nil {
				m.Fail(d)
			}
		}
	}
	return g
}

// run is one agreement.
func (g *group) run() {
	type sent struct {
		flight
		depth int
	}
	var queue []sent
	decided := 0
	take := func(r int) {
		sends, decisions := g.machines[r].Take()
		decided += len(decisions)
		for _, l := range sends {
			queue = append(queue, sent{flight{r, l}, g.depth[r] + 1})
			g.sent++
			g.by[r]++
			g.most, g.longest = max(g.most, g.by[r]), max(g.longest, g.depth[r]+1)
		}
	}
	living := 0
	for r, m := range g.machines {
		if m != nil {
			living++
			m.Start(contribution(r%64, 0))
			take(r)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if m := g.machines[s.To]; m != nil {
			g.depth[s.To] = max(g.depth[s.To], s.depth)
			if !m.Receive(s.from, &s.Message) {
				panic(fmt.Sprintf("member %d refuses %v", s.To, s))
			}
			take(s.To)
		}
	}
	if decided != living {
		panic(fmt.Sprintf("%d of %d have decided", decided, living))
	}
}
