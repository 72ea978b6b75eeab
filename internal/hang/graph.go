package hang

import (
	"slices"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// finalizeOp is the call in which a rank waits for all others before it leaves.
const finalizeOp = "Finalize"

// graph is which ranks wait for which ranks.
type graph struct {
	job   *Job
	world map[string][]int             // by job: all ranks
	mates map[int][]int                // by process: its ranks
	comms []map[uint64]*telemetry.Comm // by rank: what it says of its communicators
	stuck []bool                       // by rank: it can never go on, if nothing is in flight
	// A rank that waits for a signal may go on.
	signals bool
}

// source is where what an operation waits for can come from.
type source struct {
	ranks []int
	all   bool // all of them are needed, not one
}

func newGraph(j *Job, signals bool) *graph {
	g := &graph{job: j, signals: signals, world: make(map[string][]int), mates: make(map[int][]int), stuck: make([]bool, len(j.Ranks)), comms: make([]map[uint64]*telemetry.Comm, len(j.Ranks))}
	for r := range j.Ranks {
		g.world[j.Ranks[r].Job] = append(g.world[j.Ranks[r].Job], r)
		g.mates[j.Ranks[r].Process] = append(g.mates[j.Ranks[r].Process], r)
		g.comms[r] = commsOf(j.Ranks[r].pending())
		g.stuck[r] = true
	}
	for changed := true; changed; {
		changed = false
		for r := range g.stuck {
			if g.stuck[r] && g.mayGoOn(r) {
				g.stuck[r], changed = false, true
			}
		}
	}
	for r := range g.stuck {
		if j.Ranks[r].hasLeft() {
			g.stuck[r] = false // it waits for no rank; canCome knows that nothing comes from it
		}
	}
	return g
}

// commsOf is what a rank says of its communicators, by the contexts that operations and messages
// name.
func commsOf(p *telemetry.Pending) map[uint64]*telemetry.Comm {
	m := make(map[uint64]*telemetry.Comm)
	if p != nil {
		for i := range p.Comms {
			c := &p.Comms[i]
			m[c.Context] = c
		}
	}
	return m
}

func (g *graph) stuckRanks() []int {
	var ranks []int
	for r, is := range g.stuck {
		if is {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// waitForSignals are the stuck ranks to which a signal could make a difference.
func (g *graph) waitForSignals() []int {
	return slices.DeleteFunc(g.stuckRanks(), func(r int) bool { return !g.job.Ranks[r].pending().Signal })
}

// mayGoOn reports whether a rank can go on as long as those that are not stuck can.
func (g *graph) mayGoOn(r int) bool {
	switch g.job.Ranks[r].Phase {
	case Absent, Outside, Idle:
		return true
	case Gone, Dead, Vacant:
		return false
	case Inside:
	default:
		panic("hang: bug: unknown phase")
	}
	p := g.job.Ranks[r].pending()
	if p == nil || !g.job.isStill(r) || p.AllCalls > len(p.Calls) || len(p.Calls)+len(p.Goroutines) == 0 {
		return true // for all that is known
	}
	if p.Timer || p.Signal && g.signals {
		return true // what it starts
	}
	if len(p.Goroutines) > 0 && g.anyCanCome(g.others(r)) {
		return true // a goroutine that waits for another may be freed by one of another rank in its process
	}
	for i := range p.Goroutines {
		if p.Goroutines[i].May {
			return true
		}
	}
	for i := range p.Calls {
		if g.canReturn(r, p, &p.Calls[i]) {
			return true
		}
	}
	return false
}

// others are the ranks in the process of r, without r.
func (g *graph) others(r int) []int {
	return slices.DeleteFunc(slices.Clone(g.mates[g.job.Ranks[r].Process]), func(m int) bool { return m == r })
}

// canReturn reports whether enough of what a call waits for can still come.
func (g *graph) canReturn(r int, p *telemetry.Pending, c *telemetry.Call) bool {
	if c.Bounded || len(c.Waits) == 0 {
		return true // its context ends it; or it is not known what it waits for
	}
	n := c.More
	for _, w := range c.Waits {
		if w < 0 || w >= len(p.Operations) || g.canComplete(r, &p.Operations[w]) {
			n++
		}
	}
	return n >= max(c.Need, 1)
}

// stateMoving is the state of an operation whose payload is being moved.
const stateMoving = "moving"

func (g *graph) canComplete(r int, op *telemetry.Operation) bool {
	if op.State == stateMoving && (op.Kind == telemetry.Send || op.Kind == telemetry.Receive) {
		return true
	}
	s := g.sourceOf(r, op)
	if s.all {
		return !slices.ContainsFunc(s.ranks, func(q int) bool { return !g.canCome(q) })
	}
	return g.anyCanCome(s.ranks)
}

func (g *graph) anyCanCome(ranks []int) bool { return slices.ContainsFunc(ranks, g.canCome) }

// canCome reports whether something can still come from a rank.
func (g *graph) canCome(q int) bool {
	return q < 0 || q >= len(g.stuck) || !g.stuck[q] && !g.job.Ranks[q].hasLeft()
}

// sourceOf is where what an operation of rank r waits for can come from.
func (g *graph) sourceOf(r int, op *telemetry.Operation) source {
	switch op.Kind {
	case telemetry.Collective, telemetry.Agreement, telemetry.Flush:
		return source{ranks: union(op.From, op.To), all: true}
	case telemetry.General:
		return source{ranks: g.mates[g.job.Ranks[r].Process]} // the program completes it, in whichever call of the process it is
	case telemetry.Parts:
		if op.Sends && op.NotReady > 0 {
			return source{ranks: g.mates[g.job.Ranks[r].Process]} // the program is to make them ready, likewise
		}
		return source{ranks: []int{op.Peer}}
	case telemetry.Send, telemetry.Receive, telemetry.Probe:
		if op.Peer < 0 {
			return source{ranks: g.members(r, op.Comm)}
		}
		return source{ranks: []int{op.Peer}}
	default:
		return source{ranks: []int{-1}} // where it comes from is not known
	}
}

// members are the ranks of the world with which rank r exchanges messages in a communicator, as far
// as it says.
func (g *graph) members(r int, comm uint64) []int {
	if ranks := addressed(g.comms[r][comm]); ranks != nil {
		return ranks
	}
	return g.world[g.job.Ranks[r].Job]
}

// addressed are the ranks of the world that a communicator's numbers of sources and destinations
// mean, nil if that is not said: all of the world, or some of it. Of an intercommunicator they are
// those of the remote group.
func addressed(c *telemetry.Comm) []int {
	switch {
	case c == nil:
		return nil
	case c.Remote != nil:
		return c.Remote
	default:
		return c.Ranks
	}
}

// union is the ranks in a or b, in order.
func union(a, b []int) []int {
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}

// edge is one rank that waits for another.
type edge struct {
	to   int
	call int // index in Calls of the one that waits, -1 if it is a goroutine outside of calls
	op   int // index in Operations, -1 likewise
}

// edges are the ranks that a stuck rank waits for: those that are stuck as well, or gone. Each is
// named once.
func (g *graph) edges(r int) []edge {
	p := g.job.Ranks[r].pending()
	var es []edge
	seen := make(map[int]bool)
	add := func(e edge) {
		if e.to >= 0 && e.to < len(g.stuck) && !seen[e.to] && !g.canCome(e.to) {
			seen[e.to] = true
			es = append(es, e)
		}
	}
	isAny := func(w int, q int) bool {
		o := &p.Operations[w]
		return q == r && o.Peer < 0 && o.Kind != telemetry.General && o.Kind != telemetry.Flush
	}
	for i := range p.Calls {
		for _, w := range p.Calls[i].Waits {
			if w >= 0 && w < len(p.Operations) {
				for _, q := range g.sourceOf(r, &p.Operations[w]).ranks {
					if !isAny(w, q) { // any rank: that it may be itself is not what is the matter
						add(edge{q, i, w})
					}
				}
			}
		}
	}
	if len(p.Calls) == 0 {
		for _, q := range g.others(r) { // where its goroutines are freed from, if anywhere
			add(edge{q, -1, -1})
		}
	}
	return es
}
