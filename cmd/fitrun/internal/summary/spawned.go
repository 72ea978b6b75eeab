//go:build linux

package summary

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// jobs is the names of the spawned jobs that ranks are of, such as 1, 1.2 and 10, in their order.
func jobs(ranks []view.Rank) (names []string) {
	for i := range ranks {
		if r := &ranks[i]; !r.Vacant && r.Job != "" && !slices.Contains(names, r.Job) {
			names = append(names, r.Job)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return slices.Compare(parts(a), parts(b)) })
	return names
}

// parts is the numbers that the name of a job is made of.
func parts(name string) (numbers []int) {
	for part := range strings.SplitSeq(name, ".") {
		n, _ := strconv.Atoi(part)
		numbers = append(numbers, n)
	}
	return numbers
}

// ranksOf is the ranks of a job, in order. What they say of their peers is of the ranks of that job
// alone, by rank: in all they are by place.
func ranksOf(job string, all []view.Rank) (ranks []view.Rank) {
	rankAt := make(map[int]int)
	for at := range all {
		if r := &all[at]; !r.Vacant && r.Job == job {
			rankAt[at] = r.Rank
			ranks = append(ranks, *r)
		}
	}
	slices.SortFunc(ranks, func(a, b view.Rank) int { return cmp.Compare(a.Rank, b.Rank) })
	for i := range ranks {
		amongThemselves(&ranks[i], rankAt)
	}
	return ranks
}

// amongThemselves leaves of a rank what it says of the peers in places that rankAt has.
func amongThemselves(r *view.Rank, rankAt map[int]int) {
	traffic := make(map[int]telemetry.Peer, len(r.Traffic))
	for at, p := range r.Traffic {
		if rank, ok := rankAt[at]; ok {
			p.Rank = rank
			traffic[rank] = p
		}
	}
	r.Traffic = traffic
	if r.Counters == nil {
		return
	}
	c := *r.Counters // it is the picture's
	c.Sites = slices.Clone(c.Sites)
	for i := range c.Sites {
		s := &c.Sites[i]
		rank, ok := rankAt[s.Peer]
		if s.Peer = rank; !ok {
			s.Peer = -1
		}
	}
	r.Counters = &c
}
