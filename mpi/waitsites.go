//go:build linux

package mpi

import (
	"cmp"
	"slices"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/callsite"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// mostSites is how many places one report names.
const mostSites = 20

// mostSiteNames is how many call stacks are remembered: there are new ones without end where a
// recursive function waits.
const mostSiteNames = 1024

// siteNames remembers what call stacks are: to find out takes microseconds for each, and reports
// are asked for again and again. The zero value knows none.
type siteNames struct {
	mu sync.Mutex
	of map[engine.Stack]callsite.Site // guarded by mu
}

func (n *siteNames) name(pcs *engine.Stack) callsite.Site {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.of[*pcs]
	if !ok {
		if n.of == nil || len(n.of) >= mostSiteNames {
			n.of = make(map[engine.Stack]callsite.Site)
		}
		s = callsite.Of(pcs[:])
		n.of[*pcs] = s
	}
	return s
}

// sites is where the rank has waited longest. Stacks that differ outside the user's call are one
// place.
func (j *job) sites() []telemetry.Site {
	type place struct {
		callsite.Site
		kind engine.WaitKind
	}
	var all []telemetry.Site
	at := make(map[place]int)
	for _, w := range j.engine.WaitSites() {
		p := place{j.siteNames.name(&w.PCs), w.Kind}
		i, ok := at[p]
		if !ok {
			i = len(all)
			at[p] = i
			all = append(all, telemetry.Site{Op: p.Op, At: p.At, Func: p.Func, Kind: w.Kind, Peer: int(w.Peer)})
		}
		all[i].Count += w.Count
		all[i].Time += w.Time
	}
	slices.SortStableFunc(all, func(a, b telemetry.Site) int { return cmp.Compare(b.Time, a.Time) })
	return all[:min(len(all), mostSites)]
}
