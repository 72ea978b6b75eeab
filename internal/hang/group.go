package hang

import "slices"

// group is ranks of which the same is to be said.
type group struct {
	ranks []int
	text  string
	job   *Job
	byOwn string // the same with peers named by where they are from the rank
	isOwn bool   // text is byOwn
}

// name is what the group is called: its ranks.
func (g *group) name() string {
	if g.isOwn {
		return "each rank r of " + g.job.listed(g.ranks)
	}
	return g.job.Names(g.ranks)
}

// groups are made rank by rank, in order.
type groups struct {
	job  *Job
	list []group
	at   map[string]int // by text: index in list
}

// add adds a rank with what is to be said of it, in both ways.
func (gs *groups) add(rank int, text, byOwn string) {
	if gs.at == nil {
		gs.at = make(map[string]int)
	}
	i, ok := gs.at[text]
	if !ok {
		i = len(gs.list)
		gs.at[text] = i
		gs.list = append(gs.list, group{job: gs.job, text: text, byOwn: byOwn})
	}
	g := &gs.list[i]
	if n := len(g.ranks); n == 0 || g.ranks[n-1] != rank {
		g.ranks = append(g.ranks, rank)
	}
}

// merged are the groups. If they are more than so many, those of one rank that say the same with
// peers named from themselves are put together.
func (gs *groups) merged(most int) []group {
	if len(gs.list) <= most {
		return gs.list
	}
	alike := make(map[string][]int)
	for _, g := range gs.list {
		if len(g.ranks) == 1 && g.byOwn != "" {
			alike[g.byOwn] = append(alike[g.byOwn], g.ranks[0])
		}
	}
	var out []group
	for _, g := range gs.list {
		ranks := alike[g.byOwn]
		switch {
		case len(g.ranks) > 1 || len(ranks) < 2:
			out = append(out, g)
		case ranks[0] == g.ranks[0]:
			ranks = slices.Compact(slices.Clone(ranks))
			out = append(out, group{job: gs.job, ranks: ranks, text: g.byOwn, isOwn: true})
		}
	}
	return out
}
