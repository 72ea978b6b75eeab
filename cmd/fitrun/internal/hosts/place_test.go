package hosts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// letters puts a placement as a string: a for the first host, and so on.
func letters(place []int) string {
	var b strings.Builder
	for _, h := range place {
		b.WriteByte(byte('a' + h))
	}
	return b.String()
}

// PMPI: agents report load, and ranks go where the most of a core is left.
func TestPlaceByLoad(t *testing.T) {
	for _, c := range []struct {
		hosts   string
		p       Policy
		ranks   []int
		machine []int
		idle    []Idle
		want    string
	}{
		{"a:4,b:4", Policy{}, []int{4}, []int{0, 1}, []Idle{{4, 0}, {4, 0}}, "aabb"},
		{"a:4,b:4", Policy{RankBy: ByNode}, []int{4}, []int{0, 1}, []Idle{{4, 0}, {4, 0}}, "abab"},
		{"a:4,b:4", Policy{}, []int{4}, []int{0, 1}, []Idle{{4, 4}, {4, 0}}, "bbbb"},
		{"a:4,b:4", Policy{}, []int{4}, []int{0, 1}, []Idle{{4, 2}, {4, 0}}, "abbb"},
		{"a:4,b:4", Policy{}, []int{4}, []int{0, 1}, []Idle{{2, 0}, {8, 0}}, "abbb"},
		{"a:4,b:4", Policy{}, []int{6}, []int{0, 1}, []Idle{{2, 0}, {8, 0}}, "aabbbb"}, // b has no more slots
		{"a,b", Policy{}, []int{5}, []int{0, 1}, []Idle{{4, 3.5}, {4, 0}}, "abbbb"},    // nor needs any
		{"a,b,c", Policy{}, []int{4}, []int{0, 0, 1}, []Idle{{4, 0}, {4, 0}}, "aacc"},  // a and b are one machine
		{"a:1,b:1", Policy{Oversubscribe: true}, []int{4}, []int{0, 1}, []Idle{{4, 9}, {4, 0}}, "abbb"},
		{"a:2,b:2", Policy{}, []int{1, 3}, []int{0, 1}, []Idle{{4, 0.1}, {4, 0}}, "baab"},
		{"a:2,b:2", Policy{}, []int{0}, []int{0, 1}, []Idle{{0, 0}, {0, 7}}, "aabb"},
	} {
		hosts, err := Parse(c.hosts)
		if err != nil {
			t.Fatal(err)
		}
		var groups []Group
		for _, n := range c.ranks {
			groups = append(groups, Group{Ranks: n})
		}
		place, counts, err := PlaceByLoad(hosts, c.p, groups, c.machine, c.idle)
		if err != nil || letters(place) != c.want {
			t.Errorf("%s %+v %v, %v: %s %v, %v; want %s", c.hosts, c.p, c.ranks, c.idle, letters(place), counts, err, c.want)
		}
	}
	if _, _, err := PlaceByLoad([]Host{{Name: "a", Slots: 1}}, Policy{}, []Group{{Ranks: 2}}, []int{0}, []Idle{{1, 0}}); err == nil {
		t.Error("two ranks fit on one slot")
	}
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		hosts string
		p     Policy
		ranks []int
		want  string
	}{
		{"a:2,b:2", Policy{}, []int{4}, "aabb"},
		{"a:2,b:2", Policy{}, []int{0}, "aabb"},
		{"a:2,b:2", Policy{MapBy: ByNode}, []int{4}, "abab"},
		{"a:2,b:2", Policy{MapBy: ByNode, RankBy: BySlot}, []int{3}, "aab"},
		{"a:2,b:2", Policy{RankBy: ByNode}, []int{3}, "aba"},
		{"a:3,b:1", Policy{MapBy: ByNode}, []int{4}, "abaa"},
		{"a,b", Policy{}, []int{4}, "aabb"},
		{"a,b", Policy{}, []int{2}, "ab"},
		{"a,b", Policy{}, []int{0}, "ab"},
		{"a,b,c", Policy{}, []int{4}, "aabb"},
		{"a:1,b", Policy{}, []int{4}, "abbb"},
		{"a:2,b", Policy{}, []int{2}, "aa"},
		{"a:8,b:8", Policy{PerHost: 2}, []int{4}, "aabb"},
		{"a:8,b:8", Policy{PerHost: 2}, []int{0}, "aabb"},
		{"a:1,b:1", Policy{PerHost: 2}, []int{4}, "aabb"},
		{"a:1,b:1", Policy{Oversubscribe: true}, []int{5}, "aaabb"},
		{"a:1,b:1", Policy{Oversubscribe: true, MapBy: ByNode}, []int{5}, "ababa"},
		{"a:2,b:2", Policy{}, []int{1, 3}, "aabb"},
	} {
		hosts, err := Parse(c.hosts)
		if err != nil {
			t.Fatal(err)
		}
		var groups []Group
		for _, n := range c.ranks {
			groups = append(groups, Group{Ranks: n})
		}
		place, counts, err := Place(hosts, c.p, groups)
		if err != nil || letters(place) != c.want {
			t.Errorf("%s %+v %v: %s %v, %v; want %s", c.hosts, c.p, c.ranks, letters(place), counts, err, c.want)
		}
	}
}

func TestPlaceOnSomeHosts(t *testing.T) {
	hosts, err := Parse("a:2,b:2,c:1")
	if err != nil {
		t.Fatal(err)
	}
	place, counts, err := Place(hosts, Policy{}, []Group{{Ranks: 2, On: []int{1, 2}}, {Ranks: 3}})
	if err != nil || letters(place) != "bbaac" || !slices.Equal(counts, []int{2, 3}) {
		t.Errorf("%s %v, %v", letters(place), counts, err)
	}
}

func TestPlaceRefuses(t *testing.T) {
	for _, c := range []struct {
		hosts []Host
		p     Policy
		ranks int
		want  string
	}{
		{[]Host{{Name: "a", Slots: 2}}, Policy{}, 3, "3 ranks, and 2 slots for them on 1 host; give more slots or hosts, or --oversubscribe"},
		{[]Host{{Name: "a"}}, Policy{PerHost: 2}, 3, "3 ranks, and 2 slots for them on 1 host; give more slots or hosts, or --oversubscribe"},
		{[]Host{{Name: "a", Slots: 2, Max: 3}}, Policy{Oversubscribe: true}, 4, "4 ranks, and the max_slots of the hosts leave room for 3"},
		{nil, Policy{}, 1, "no host is left to run ranks on"},
	} {
		if _, _, err := Place(c.hosts, c.p, []Group{{Ranks: c.ranks}}); err == nil || err.Error() != c.want {
			t.Errorf("%v %+v: %v\nwant %s", c.hosts, c.p, err, c.want)
		}
	}
}

// TestPlaceProperties: every rank has a host of its group, no host more than it takes, and the
// orders are what they say.
func TestPlaceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Host {
			h := Host{Name: "h", Slots: rapid.IntRange(0, 4).Draw(t, "slots")}
			if h.Slots > 0 && rapid.Bool().Draw(t, "bounded") {
				h.Max = h.Slots + rapid.IntRange(0, 2).Draw(t, "extra")
			}
			return h
		}), 1, 6).Draw(t, "hosts")
		p := Policy{
			PerHost:       rapid.IntRange(0, 3).Draw(t, "per host"),
			MapBy:         rapid.SampledFrom([]By{"", BySlot, ByNode}).Draw(t, "map by"),
			RankBy:        rapid.SampledFrom([]By{"", BySlot, ByNode}).Draw(t, "rank by"),
			Oversubscribe: rapid.Bool().Draw(t, "oversubscribe"),
		}
		ranks := rapid.IntRange(0, 20).Draw(t, "ranks")
		place, counts, err := Place(hosts, p, []Group{{Ranks: ranks}})
		if err != nil {
			return
		}
		if len(place) != counts[0] || ranks > 0 && len(place) != ranks || len(place) == 0 {
			t.Fatalf("%d places, counts %v", len(place), counts)
		}
		if msg := isPlaced(hosts, p, place); msg != "" {
			t.Fatalf("%v: %s", place, msg)
		}
	})
}

func isPlaced(hosts []Host, p Policy, place []int) string {
	on := make([]int, len(hosts))
	for _, h := range place {
		on[h]++
	}
	for h, n := range on {
		limit := hosts[h].Slots
		if p.PerHost > 0 {
			limit = p.PerHost
		}
		if p.Oversubscribe {
			if limit = hosts[h].Max; p.PerHost > 0 {
				limit = max(limit, p.PerHost)
				if hosts[h].Max == 0 {
					limit = 0
				}
			}
		}
		if limit > 0 && n > limit {
			return fmt.Sprintf("host %d has %d ranks, and takes %d", h, n, limit)
		}
	}
	by := p.RankBy
	if by == "" {
		by = p.MapBy
	}
	if by != ByNode && !slices.IsSorted(place) {
		return "by slot, and not host after host"
	}
	if by == ByNode {
		for r := 1; r < len(place); r++ {
			if place[r] == place[r-1] && slices.ContainsFunc(place[r:], func(h int) bool { return h != place[r] }) {
				return "by node, and not in turn"
			}
		}
	}
	return ""
}
