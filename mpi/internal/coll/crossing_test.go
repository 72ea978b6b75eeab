package coll

import (
	"math/bits"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// message is one Send of a schedule, as the tests of traffic see it.
type message struct{ from, to, bytes int }

// traffic is a Graph that notes what a schedule sends.
type traffic struct {
	counter
	rank int
	sent []message
}

func (g *traffic) Send(peer int, data Buf, after ...Step) Step {
	g.sent = append(g.sent, message{g.rank, peer, data.Len()})
	return g.counter.Send(peer, data, after...)
}

// trafficOf gives all messages of a collective.
func trafficOf(size int, p *Places, build func(g Graph, rank int)) []message {
	var all []message
	for r := range size {
		g := &traffic{rank: r}
		build(&placed{Graph: g, rank: r, p: p}, r)
		all = append(all, g.sent...)
	}
	return all
}

// between counts messages that cross hosts, and their bytes.
func (p *Places) between(ms []message) (n, bytes int) {
	for _, m := range ms {
		if p.host[m.from] != p.host[m.to] {
			n++
			bytes += m.bytes
		}
	}
	return n, bytes
}

// ceilLg is the logarithm to base 2, rounded up.
func ceilLg(n int) int { return bits.Len(uint(n - 1)) }

// doublings is the number of messages of recursive doubling between n ranks.
func doublings(n int) int {
	pow := 1 << (bits.Len(uint(n)) - 1)
	return pow*ceilLg(pow) + 2*(n-pow)
}

// crossing is a collective of short operands and the messages and rounds between hosts that it may
// cost.
type crossing struct {
	name         string
	build        func(g Graph, alg Algorithm, rank, size, root int)
	msgs, rounds func(hosts int) int
}

var crossings = func() []crossing {
	one := func(n int) []byte { return make([]byte, 8*n) }
	buf := func(n int) Buf { return Memory(one(n)) }
	red := Reducer{ElemSize: 8, Combine: sum, Commutative: true}
	tree := func(hosts int) int { return hosts - 1 }
	all := func(hosts int) int { return hosts * ceilLg(hosts) }
	straight := func(int) int { return 1 }
	return []crossing{
		{"barrier", func(g Graph, alg Algorithm, rank, size, _ int) { BarrierBy(g, alg, rank, size) }, all, ceilLg},
		{"bcast", func(g Graph, alg Algorithm, rank, size, root int) { Bcast(g, alg, rank, size, root, buf(1)) }, tree, ceilLg},
		{"reduce", func(g Graph, alg Algorithm, rank, size, root int) {
			Reduce(g, alg, rank, size, root, buf(1), buf(1), red)
		}, tree, ceilLg},
		{"allreduce", func(g Graph, alg Algorithm, rank, size, _ int) {
			Allreduce(g, alg, rank, size, buf(1), buf(1), red)
		}, func(hosts int) int {
			if hosts > 2 && hosts <= linearRanksTo {
				return 2 * (hosts - 1)
			}
			return doublings(hosts)
		}, func(hosts int) int {
			if hosts <= linearRanksTo || isPowerOfTwo(hosts) {
				return ceilLg(hosts)
			}
			return ceilLg(hosts) + 1
		}},
		{"gather", func(g Graph, alg Algorithm, rank, size, root int) {
			Gather(g, alg, rank, size, root, buf(1), buf(size))
		}, tree, straight},
		{"scatter", func(g Graph, alg Algorithm, rank, size, root int) {
			Scatter(g, alg, rank, size, root, buf(size), buf(1))
		}, tree, straight},
		{"allgather", func(g Graph, alg Algorithm, rank, size, _ int) {
			Allgather(g, alg, rank, size, buf(1), buf(size))
		}, func(hosts int) int {
			if hosts == 2 {
				return 2
			}
			return hosts * ceilLg(hosts)
		}, ceilLg},
	}
}()

// Short messages cross between hosts as rarely, and as few after each other, as between the leaders
// alone.
func TestCrossings(t *testing.T) {
	effort.Need(t, effort.Usual, "it builds schedules of all ranks and roots")
	for name, l := range layouts {
		for _, size := range append(testSizes, 32, 40) {
			p := NewPlaces(l(size))
			if p == nil {
				continue
			}
			hosts := len(p.members)
			for _, c := range crossings {
				for _, alg := range []Algorithm{TwoLevel, Auto} {
					for root := range size {
						got, _ := p.between(trafficOf(size, p, func(g Graph, r int) { c.build(g, alg, r, size, root) }))
						rounds := roundsBetween(size, p, func(g Graph, r int) { c.build(g, alg, r, size, root) })
						if got != c.msgs(hosts) || rounds > c.rounds(hosts) {
							t.Fatalf("%s by %v: %s, %d ranks on %d hosts, root %d: %d messages in %d rounds between hosts, want %d in %d",
								c.name, alg, name, size, hosts, root, got, rounds, c.msgs(hosts), c.rounds(hosts))
						}
					}
				}
			}
		}
	}
}

// roundsBetween is the largest number of messages between hosts that follow each other.
func roundsBetween(size int, p *Places, build func(g Graph, rank int)) int {
	s := newSim(1, size)
	for _, r := range s.ranks {
		build(&placed{Graph: r, rank: r.rank, p: p}, r.rank)
	}
	depth, sends := make([][]int, size), map[[2]int][]*simStep{}
	for _, r := range s.ranks {
		depth[r.rank] = make([]int, len(r.steps))
		for _, st := range r.steps {
			if st.kind == simSend {
				sends[[2]int{r.rank, st.peer}] = append(sends[[2]int{r.rank, st.peer}], st)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, r := range s.ranks {
			seen := map[int]int{} // receives so far, by peer: messages of a pair match in the order of their creation
			for _, st := range r.steps {
				d := 0
				for _, a := range st.after {
					d = max(d, depth[r.rank][a])
				}
				if st.kind == simRecv {
					send := sends[[2]int{st.peer, r.rank}][seen[st.peer]]
					seen[st.peer]++
					over := depth[st.peer][send.id]
					if p.host[st.peer] != p.host[r.rank] {
						over++
					}
					d = max(d, over)
				}
				changed = changed || d != depth[r.rank][st.id]
				depth[r.rank][st.id] = d
			}
		}
	}
	most := 0
	for _, ds := range depth {
		for _, d := range ds {
			most = max(most, d)
		}
	}
	return most
}

// Long messages take no more than their way from host to host: a chain crosses N-1 times, a ring N
// times per round.
func TestLongCrossings(t *testing.T) {
	const block = 8 << 10
	for name, l := range layouts {
		for _, size := range []int{4, 6, 8, 9, 16, 17} {
			p := NewPlaces(l(size))
			if p == nil {
				continue
			}
			n, hosts := size*block, len(p.members)
			buf, out := make([]byte, max(n, bcastTwoLevelTo)), make([]byte, n)
			red := Reducer{ElemSize: 8, Combine: sum, Commutative: true}
			for what, c := range map[string]struct {
				build func(g Graph, rank int)
				want  int
			}{
				"bcast": {func(g Graph, r int) { Bcast(g, Auto, r, size, size-1, Memory(buf)) }, (hosts - 1) * len(buf)},
				"allgather by ring": {func(g Graph, r int) { Allgather(g, Ring, r, size, Memory(buf[:block]), Memory(out)) },
					hosts * (size - 1) * block},
				"allreduce by ring": {func(g Graph, r int) { Allreduce(g, Ring, r, size, Memory(buf[:n]), Memory(out), red) },
					2 * hosts * (size - 1) * block},
			} {
				if _, got := p.between(trafficOf(size, p, c.build)); got != c.want {
					t.Errorf("%s: %s, %d ranks on %d hosts: %d bytes between hosts, want %d", what, name, size, hosts, got, c.want)
				}
			}
		}
	}
}

// Flat algorithms of long vectors cross no more over scattered ranks than over contiguous ones.
func TestHostOrder(t *testing.T) {
	red := Reducer{ElemSize: 8, Combine: sum, Commutative: true}
	in, out := make([]byte, 1<<20), make([]byte, 1<<20)
	for _, hosts := range []int{2, 4, 8} {
		apart, together := NewPlaces(roundRobin(hosts)(16)), NewPlaces(blocks(16/hosts)(16))
		for what, build := range map[string]func(g Graph, rank int){
			"reduce":    func(g Graph, r int) { Reduce(g, Auto, r, 16, 0, Memory(in), Memory(out), red) },
			"allreduce": func(g Graph, r int) { Allreduce(g, Auto, r, 16, Memory(in), Memory(out), red) },
		} {
			_, a := apart.between(trafficOf(16, apart, build))
			_, b := together.between(trafficOf(16, together, build))
			if a != b || a > 2*hosts*len(in) {
				t.Errorf("%s on %d hosts: %d bytes between hosts over scattered ranks, %d over contiguous", what, hosts, a, b)
			}
		}
	}
}
