package fileio

import "slices"

// Part is what one rank does in a collective access.
type Part struct {
	Lo, Hi int // its data lie between these offsets of the file; equal if it has none
	Bytes  int // of data
	Run    int // how long its runs are, about; 0 if there is one only, Overlapping if they overlap
}

// Overlapping as Run says that runs of the part overlap: two phases do not know which of the rank's
// data lie in a window.
const Overlapping = -1

// Overlaps is the first rank whose part has runs that overlap, -1 if there is none.
func Overlaps(parts []Part) int {
	return slices.IndexFunc(parts, func(p Part) bool { return p.Run == Overlapping })
}

// Plan is a collective access in two phases, the same at every rank.
type Plan struct {
	Lo, Hi      int // the domains lie between these, one for each aggregator
	Domain      int // bytes of a domain; the last ends at Hi
	Window      int // bytes of a window
	Aggregators int
}

// What decides whether a collective access is worth two phases.
const (
	longRun = 32 << 10 // a run of this length is written or read at full speed by itself
	sparse  = 64       // bytes that a domain has for one that is touched: beyond that most windows have nothing in them
	grain   = 4 << 10  // a window and a domain begin at a multiple of it, if they are long: two ranks do not touch one page
)

// IsSparse reports whether the parts touch too little of what lies between them for two phases,
// which look at all of it.
func IsSparse(parts []Part) bool {
	p, ok := NewPlan(parts, 1, 1)
	bytes := 0
	for _, q := range parts {
		bytes += min(q.Bytes, (p.Hi-p.Lo)/max(len(parts), 1))
	}
	return ok && bytes < (p.Hi-p.Lo)/sparse
}

// IsWorthIt reports whether ranks should put their data together: if they interleave, in pieces
// that are short.
func IsWorthIt(parts []Part) bool {
	full := slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Bytes == 0 })
	slices.SortFunc(full, func(a, b Part) int { return a.Lo - b.Lo })
	interleave, short := false, false
	for i, p := range full {
		interleave = interleave || i > 0 && p.Lo < full[i-1].Hi
		long := p.Run == 0 || p.Run >= longRun
		short = short || !long || p.Bytes < longRun
	}
	return interleave && short && !IsSparse(parts)
}

// NewPlan divides what the parts touch among so many aggregators; ok is false if they touch
// nothing.
//
// Preconditions:
//   - aggregators > 0, window > 0.
func NewPlan(parts []Part, aggregators, window int) (p Plan, ok bool) {
	for _, q := range parts {
		switch {
		case q.Bytes == 0:
		case !ok:
			p.Lo, p.Hi, ok = q.Lo, q.Hi, true
		default:
			p.Lo, p.Hi = min(p.Lo, q.Lo), max(p.Hi, q.Hi)
		}
	}
	if !ok {
		return p, false
	}
	p.Aggregators, p.Window = aggregators, window
	if window >= grain {
		p.Lo -= p.Lo % grain
		p.Window -= window % grain
	}
	p.Domain = (p.Hi - p.Lo + aggregators - 1) / aggregators
	if p.Domain >= grain {
		p.Domain += (grain - p.Domain%grain) % grain
	}
	return p, true
}

// Rounds is how many windows the longest domain has.
func (p *Plan) Rounds() int { return (min(p.Domain, p.Hi-p.Lo) + p.Window - 1) / p.Window }

// Of is the window of an aggregator in a round; it is empty if lo is not less than hi.
func (p *Plan) Of(aggregator, round int) (lo, hi int) {
	if aggregator > (p.Hi-p.Lo)/p.Domain {
		return p.Hi, p.Hi
	}
	from := p.Lo + aggregator*p.Domain
	size := min(p.Domain, p.Hi-from)
	done := min(round*p.Window, size)
	return from + done, from + min(done+p.Window, size)
}

// Aggregators chooses n ranks of those on hosts, host[r] being that of rank r, or nil if there is
// one: one of each host before a second of any, and spread over the ranks of a host. They are in
// ascending order.
//
// Preconditions:
//   - 0 < n <= ranks.
func Aggregators(ranks int, host []int, n int) []int {
	members := map[int][]int{}
	var hosts []int
	for r := range ranks {
		h := 0
		if host != nil {
			h = host[r]
		}
		if members[h] == nil {
			hosts = append(hosts, h)
		}
		members[h] = append(members[h], r)
	}
	share := make([]int, len(hosts))
	for i := 0; n > 0; i = (i + 1) % len(hosts) {
		if share[i] < len(members[hosts[i]]) {
			share[i]++
			n--
		}
	}
	var chosen []int
	for i, h := range hosts {
		for k := range share[i] {
			chosen = append(chosen, members[h][k*len(members[h])/share[i]])
		}
	}
	slices.Sort(chosen)
	return chosen
}
