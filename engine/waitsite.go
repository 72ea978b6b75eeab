package engine

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// Where callers wait, by call stack. The addresses are there (see wait); what costs is to find the
// stack's place among others, some ten nanoseconds, which is a few percent of the shortest waits.
// So of those one in siteSample is noted, chosen at random, and counts as many times.

const (
	// siteSample is how many short waits one that is noted stands for.
	siteSample = 16
	// shortWait is up to how long a wait is short.
	shortWait = 16 * time.Microsecond
	// maxSites is how many stacks are known; the waits of all others count for one that is unknown.
	maxSites = 256
)

// Stack is where a call came from, as callsite.Callers gives it; what is 0 ends it.
type Stack = [callDepth]uintptr

// WaitSite is how often, and for how long all in all, callers waited with one call stack and for
// one kind of thing.
type WaitSite struct {
	WaitStats
	Kind WaitKind      // of what ended the waits
	PCs  Stack         // all 0 for those stacks that there was no room for
	Peer PeerID        // for which a good part of the time was waited, -1 if there is none; of many peers with a part each, any
	lead time.Duration // of Peer, over what was waited for others since it was put there
}

// waitSites are the sites of a rank.
type waitSites struct {
	at   map[siteKey]int32 // index in all
	all  []WaitSite        // the first is for those that there is no room for
	skip uint32            // short waits until the next that is noted
}

// siteKey stands for a stack and a kind. It is a hash: no two alike are expected in the life of a
// job.
type siteKey uint64

func keyOf(pcs *Stack, kind WaitKind) siteKey {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a's
	h := uint64(offset) ^ uint64(kind)
	for _, pc := range pcs {
		if pc == 0 {
			break
		}
		h = (h ^ uint64(pc)) * prime
	}
	return siteKey(h ^ h>>29)
}

// site is the site of a wait alone, which has lasted for a time.
func (w *wait) site(d time.Duration) WaitSite {
	s := WaitSite{WaitStats: WaitStats{Count: 1, Time: d}, lead: d, PCs: cut(&w.pcs)}
	s.Kind, s.Peer = blameOf(WaitOther, w.blamed())
	return s
}

// cut is a stack without what follows its end, which is of an earlier wait.
func cut(pcs *Stack) (s Stack) {
	for i := 0; i < len(pcs) && pcs[i] != 0; i++ {
		s[i] = pcs[i]
	}
	return s
}

// note notes a wait for a time with the stack pcs, that m has ended; nil if that is not known.
func (s *waitSites) note(pcs *Stack, kind WaitKind, m *MSO, d time.Duration) {
	weight := uint64(1)
	if d < shortWait {
		if s.skip > 0 {
			s.skip--
			return
		}
		s.skip, weight = rand.Uint32N(2*siteSample-1), siteSample
	}
	kind, peer := blameOf(kind, m)
	w := s.find(pcs, kind)
	d *= time.Duration(weight)
	w.Count += weight
	w.Time += d
	if w.Peer == peer {
		w.lead += d
	} else if w.lead -= d; w.lead < 0 {
		w.Peer, w.lead = peer, -w.lead
	}
}

// blameOf is what a wait of a kind was for, and for which peer, if m has ended it.
func blameOf(kind WaitKind, m *MSO) (WaitKind, PeerID) {
	if m == nil {
		return kind, AnyPeer
	}
	switch kind = kindOf(m); kind {
	case WaitCollective, WaitOther:
		return kind, AnyPeer
	default:
		return kind, m.Peer
	}
}

// find returns the site of a stack and a kind, which is made if there is room for it.
func (s *waitSites) find(pcs *Stack, kind WaitKind) *WaitSite {
	k := keyOf(pcs, kind)
	if i, ok := s.at[k]; ok {
		return &s.all[i]
	}
	if s.at == nil {
		s.at = make(map[siteKey]int32)
		s.all = append(s.all, WaitSite{Kind: WaitOther, Peer: AnyPeer})
	}
	if len(s.all) == maxSites {
		return &s.all[0]
	}
	s.at[k] = int32(len(s.all))
	s.all = append(s.all, WaitSite{Kind: kind, Peer: AnyPeer, PCs: cut(pcs)})
	return &s.all[len(s.all)-1]
}

// WaitSites returns where callers have waited, the longest first. Waits of less than shortWait are
// estimated from some of them; those that are not over count up to now, each as a site of its own.
// It may be called at any time.
func (e *Engine) WaitSites() []WaitSite {
	e.mu.Lock()
	all := slices.Clone(e.waits.sites.all)
	now := sys.Nanotime()
	for i := range e.waits.slots {
		if w := &e.waits.slots[i]; w.since != 0 {
			all = append(all, w.site(time.Duration(now-w.since)))
		}
	}
	e.mu.Unlock()
	all = slices.DeleteFunc(all, func(w WaitSite) bool { return w.Count == 0 })
	for i := range all {
		if w := &all[i]; w.lead < w.Time/8 {
			w.Peer = AnyPeer // no peer had a good part of it, as far as that was seen
		}
	}
	slices.SortFunc(all, func(a, b WaitSite) int { return cmp.Compare(b.Time, a.Time) })
	return all
}
