package hang

import (
	"slices"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Knot is ranks that wait for each other and for no other rank that could go on; or one that is
// gone, for which others wait.
type Knot struct {
	Ranks []int
	// Circle is the shortest circle of the knot that was found: each waits for the next, and the
	// last for the first. It is empty if no rank of the knot waits for one.
	Circle []Wait `json:",omitempty"`
	// Gone says that the rank has finished or died, and For are some of those that wait for it.
	Gone bool   `json:",omitempty"`
	For  []Wait `json:",omitempty"`
	// Behind are the other ranks that wait for this knot, some through others.
	Behind []int `json:",omitempty"`
}

// Wait is that one rank waits for another.
type Wait struct {
	Rank, On int
	Call     *telemetry.Call      `json:",omitempty"` // nil if it is in none that waits for On
	Op       *telemetry.Operation `json:",omitempty"` // of the call
}

// knots are the ends of all chains of waiting: the strongly connected components of the graph of
// stuck and gone ranks that nothing leads out of.
func (g *graph) knots() []Knot {
	t := tarjan{edges: make([][]edge, len(g.stuck)), index: make([]int, len(g.stuck)), low: make([]int, len(g.stuck)), of: make([]int, len(g.stuck))}
	for r, is := range g.stuck {
		if is {
			t.edges[r] = g.edges(r)
		}
	}
	for r, is := range g.stuck {
		if is && t.index[r] == 0 {
			t.visit(r)
		}
	}
	var ks []Knot
	for id, ranks := range t.parts {
		if t.isEnd(id + 1) {
			slices.Sort(ranks)
			ks = append(ks, g.knot(&t, id+1, ranks))
		}
	}
	slices.SortFunc(ks, func(a, b Knot) int { return a.Ranks[0] - b.Ranks[0] })
	return ks
}

// tarjan finds strongly connected components, by Tarjan's algorithm with a stack of its own: a
// chain of waiting may be as long as the job is large.
type tarjan struct {
	edges [][]edge // by rank
	index []int    // order of the first visit, from 1; 0 is none
	low   []int
	of    []int // component, from 1; 0 while it is not known
	parts [][]int
	next  int
	open  []int // not in a component yet
}

type visit struct{ r, i int } // rank, and the next of its edges

func (t *tarjan) visit(r int) {
	stack := []visit{t.enter(r)}
	for len(stack) > 0 {
		v := &stack[len(stack)-1]
		if v.i == len(t.edges[v.r]) {
			t.leave(v.r)
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				up := stack[len(stack)-1].r
				t.low[up] = min(t.low[up], t.low[v.r])
			}
			continue
		}
		to := t.edges[v.r][v.i].to
		v.i++
		if t.index[to] == 0 {
			stack = append(stack, t.enter(to))
		} else if t.of[to] == 0 {
			t.low[v.r] = min(t.low[v.r], t.index[to])
		}
	}
}

func (t *tarjan) enter(r int) visit {
	t.next++
	t.index[r], t.low[r] = t.next, t.next
	t.open = append(t.open, r)
	return visit{r, 0}
}

func (t *tarjan) leave(r int) {
	if t.low[r] != t.index[r] {
		return
	}
	at := slices.Index(t.open, r)
	part := slices.Clone(t.open[at:])
	t.open = t.open[:at]
	t.parts = append(t.parts, part)
	for _, q := range part {
		t.of[q] = len(t.parts)
	}
}

// isEnd reports whether nothing leads out of a component.
func (t *tarjan) isEnd(id int) bool {
	for _, r := range t.parts[id-1] {
		for _, e := range t.edges[r] {
			if t.of[e.to] != id {
				return false
			}
		}
	}
	return true
}

func (g *graph) knot(t *tarjan, id int, ranks []int) Knot {
	k := Knot{Ranks: ranks, Behind: t.behind(id)}
	if g.job.Ranks[ranks[0]].hasLeft() {
		k.Gone = true
		for _, r := range k.Behind {
			for _, e := range t.edges[r] {
				if e.to == ranks[0] {
					k.For = append(k.For, g.wait(r, e))
				}
			}
		}
		return k
	}
	k.Circle = g.circle(t, id, ranks)
	return k
}

// behind are the ranks outside of a component that lead into it.
func (t *tarjan) behind(id int) []int {
	into := make([][]int, len(t.edges))
	for r, es := range t.edges {
		for _, e := range es {
			into[e.to] = append(into[e.to], r)
		}
	}
	seen := make([]bool, len(t.edges))
	todo := slices.Clone(t.parts[id-1])
	var ranks []int
	for len(todo) > 0 {
		r := todo[0]
		todo = todo[1:]
		for _, q := range into[r] {
			if !seen[q] && t.of[q] != id {
				seen[q] = true
				todo, ranks = append(todo, q), append(ranks, q)
			}
		}
	}
	slices.Sort(ranks)
	return ranks
}

// mostStarts is from how many ranks of a knot the shortest circle is looked for.
const mostStarts = 32

// circle is the shortest circle in a component, empty if there is none.
func (g *graph) circle(t *tarjan, id int, ranks []int) []Wait {
	var best []Wait
	for _, start := range ranks[:min(len(ranks), mostStarts)] {
		if c := g.circleFrom(t, id, start); c != nil && (best == nil || len(c) < len(best)) {
			best = c
		}
	}
	return best
}

// circleFrom is the shortest circle through a rank, found by breadth.
func (g *graph) circleFrom(t *tarjan, id, start int) []Wait {
	type step struct {
		from int
		by   edge
	}
	came := make(map[int]step)
	for todo := []int{start}; len(todo) > 0; todo = todo[1:] {
		r := todo[0]
		for _, e := range t.edges[r] {
			if _, seen := came[e.to]; seen || t.of[e.to] != id {
				continue
			}
			came[e.to] = step{r, e}
			if e.to != start {
				todo = append(todo, e.to)
				continue
			}
			var c []Wait
			for at := start; len(c) == 0 || at != start; at = came[at].from {
				c = append(c, g.wait(came[at].from, came[at].by))
			}
			slices.Reverse(c)
			return c
		}
	}
	return nil
}

func (g *graph) wait(r int, e edge) Wait {
	w := Wait{Rank: r, On: e.to}
	if e.call >= 0 {
		p := g.job.Ranks[r].pending()
		w.Call, w.Op = &p.Calls[e.call], &p.Operations[e.op]
	}
	return w
}
