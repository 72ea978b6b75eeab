package hosts

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/internal/plain"
)

// By is an order in which hosts are filled, or ranks are numbered.
type By string

const (
	// BySlot takes all of a host before the next.
	BySlot By = "slot"
	// ByNode takes one of each host in turn.
	ByNode By = "node"
)

// Policy says how ranks are divided among hosts.
type Policy struct {
	PerHost       int  // at most so many on each host, whatever its slots (-ppn, -N); 0 is as the slots say
	MapBy         By   // which host the next rank is put on; "" is BySlot
	RankBy        By   // how the ranks that were so put are numbered; "" is as MapBy put them
	Oversubscribe bool // more ranks than slots, up to Max, are no error
}

// Group is some consecutive ranks, the instances of one program.
type Group struct {
	Ranks int   // 0 is as many as there are slots on its hosts
	On    []int // the hosts that it may use, by index, ascending; nil is all
}

// Place divides the ranks of groups among hosts: the result is the index of its host for each rank,
// group after group, and the number of ranks of each group.
//
// A host without slots has an even share of the ranks that are left for such hosts. A group that
// comes later finds the slots that those before it have left.
func Place(hosts []Host, p Policy, groups []Group) (place []int, counts []int, err error) {
	return placeBy(hosts, p, groups, nil)
}

// placeBy is Place, or PlaceByLoad if l is not nil.
func placeBy(hosts []Host, p Policy, groups []Group, l *loads) (place []int, counts []int, err error) {
	used := make([]int, len(hosts))
	for _, g := range groups {
		if g.On == nil {
			g.On = allOf(hosts)
		}
		if len(g.On) == 0 {
			return nil, nil, fmt.Errorf("no host is left to run ranks on")
		}
		m := mapping{hosts: hosts, p: p, used: used, on: g.On, loads: l}
		ranks := m.ranksOf(g)
		order, err := m.mapRanks(ranks)
		if err != nil {
			return nil, nil, err
		}
		place, counts = append(place, p.number(order, len(hosts))...), append(counts, ranks)
	}
	return place, counts, nil
}

func allOf(hosts []Host) []int {
	all := make([]int, len(hosts))
	for i := range all {
		all[i] = i
	}
	return all
}

// mapping is the placement of one group.
type mapping struct {
	hosts []Host
	p     Policy
	used  []int  // by host: ranks that are on it; shared by all groups
	on    []int  // the group's hosts
	loads *loads // nil unless they count
}

// ranksOf is the number of ranks of g. A host whose slots are not said counts as one.
func (m *mapping) ranksOf(g Group) int {
	if g.Ranks > 0 {
		return g.Ranks
	}
	n := 0
	for _, h := range m.on {
		switch {
		case m.p.PerHost > 0:
			n += m.p.PerHost
		default:
			n += max(m.hosts[h].Slots, 1)
		}
	}
	return n
}

// free is how many more of ranks each host takes without being oversubscribed.
func (m *mapping) free(ranks int) []int {
	free := make([]int, len(m.hosts))
	unstated, stated := 0, 0
	for _, h := range m.on {
		switch slots := m.hosts[h].Slots; {
		case m.p.PerHost > 0:
			free[h] = max(m.p.PerHost-m.used[h], 0)
		case slots > 0:
			free[h] = max(slots-m.used[h], 0)
		default:
			unstated++
			continue
		}
		stated += free[h]
	}
	if unstated == 0 {
		return free
	}
	share := (max(ranks-stated, unstated) + unstated - 1) / unstated
	if m.loads != nil {
		share = ranks
	}
	for _, h := range m.on {
		if m.p.PerHost == 0 && m.hosts[h].Slots == 0 {
			free[h] = share
		}
	}
	return free
}

// mapRanks returns the host of each rank, in the order in which MapBy takes them.
func (m *mapping) mapRanks(ranks int) ([]int, error) {
	free := m.free(ranks)
	order := m.fill(free, ranks, m.p.MapBy)
	if left := ranks - len(order); left > 0 {
		if !m.p.Oversubscribe {
			return nil, fmt.Errorf("%s, and %s for them on %s; give more slots or hosts, or --oversubscribe",
				plain.Count(ranks, "rank"), plain.Count(len(order), "slot"), plain.Count(len(m.on), "host"))
		}
		over := m.fill(m.room(left), left, ByNode)
		if len(over) < left {
			return nil, fmt.Errorf("%s, and the max_slots of the hosts leave room for %d", plain.Count(ranks, "rank"), len(order)+len(over))
		}
		order = append(order, over...)
	}
	return order, nil
}

// fill takes up to ranks of what is free on the hosts, and returns the host of each.
func (m *mapping) fill(free []int, ranks int, by By) (order []int) {
	if m.loads != nil {
		return m.loads.fill(m, free, ranks)
	}
	for len(order) < ranks {
		before := len(order)
		for _, h := range m.on {
			take := min(free[h], ranks-len(order))
			if by == ByNode {
				take = min(take, 1)
			}
			order = append(order, slices.Repeat([]int{h}, take)...)
			free[h] -= take
			m.used[h] += take
		}
		if len(order) == before {
			break
		}
	}
	return order
}

// room is how many ranks beyond its slots each host takes, at most left.
func (m *mapping) room(left int) []int {
	room := make([]int, len(m.hosts))
	for _, h := range m.on {
		if room[h] = left; m.hosts[h].Max > 0 {
			room[h] = min(left, max(m.hosts[h].Max-m.used[h], 0))
		}
	}
	return room
}

// number is order with the ranks numbered by RankBy.
func (p Policy) number(order []int, hosts int) []int {
	by := p.RankBy
	if by == "" {
		by = p.MapBy
	}
	counts := make([]int, hosts)
	for _, h := range order {
		counts[h]++
	}
	numbered := make([]int, 0, len(order))
	for len(numbered) < len(order) {
		for h := range counts {
			take := counts[h]
			if by == ByNode {
				take = min(take, 1)
			}
			numbered = append(numbered, slices.Repeat([]int{h}, take)...)
			counts[h] -= take
		}
	}
	return numbered
}
