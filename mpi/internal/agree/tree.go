package agree

// tree is the binary tree of members, in which a child is always higher than its parent: a heap of
// those that were not agreed to have failed when the agreement began, the same at every member.
// Immutable.
type tree struct {
	members []int // by place, ascending
	places  []int // by member; -1 for those that are left out
}

// newTree is the tree of n members without those that are left out.
func newTree(n int, without Set) tree {
	t := tree{places: make([]int, n)}
	for r := range n {
		t.places[r] = -1
		if !without.Has(r) {
			t.places[r] = len(t.members)
			t.members = append(t.members, r)
		}
	}
	return t
}

// addSubtree adds member r and all below it to s.
func (t *tree) addSubtree(s *Set, r int) {
	first, last := t.places[r], t.places[r]
	if first < 0 {
		return
	}
	for first < len(t.members) {
		for i := first; i <= min(last, len(t.members)-1); i++ {
			s.Add(t.members[i])
		}
		first, last = 2*first+1, 2*last+2
	}
}

// coordinator is the lowest member that is not known to have failed.
func (t *tree) coordinator(failed Set) int {
	for _, r := range t.members {
		if !failed.Has(r) {
			return r
		}
	}
	return -1
}

// parent is the nearest ancestor of r that is not known to have failed, or else the coordinator; -1
// if that is r.
func (t *tree) parent(r int, failed Set) int {
	for i := t.places[r]; i > 0; {
		i = (i - 1) / 2
		if p := t.members[i]; !failed.Has(p) {
			return p
		}
	}
	if c := t.coordinator(failed); c != r {
		return c
	}
	return -1
}

// children are those whose parent is r, by the same failures.
func (t *tree) children(list []int, r int, failed Set) []int {
	i := t.places[r]
	list = t.nearest(list, 2*i+1, r, failed)
	list = t.nearest(list, 2*i+2, r, failed)
	if i > 0 && t.coordinator(failed) == r {
		list = t.nearest(list, 0, r, failed) // orphans
	}
	return list
}

// nearest appends the living members, at place i and below, that have no living ancestor from there
// on, without r.
func (t *tree) nearest(list []int, i, r int, failed Set) []int {
	switch {
	case i >= len(t.members) || t.members[i] == r:
		return list
	case !failed.Has(t.members[i]):
		return append(list, t.members[i])
	}
	list = t.nearest(list, 2*i+1, r, failed)
	return t.nearest(list, 2*i+2, r, failed)
}

// isBelow reports whether r is in the subtree of top, or is top.
func (t *tree) isBelow(r, top int) bool {
	for i := t.places[r]; i >= t.places[top]; i = (i - 1) / 2 {
		if i == t.places[top] {
			return true
		}
	}
	return false
}
