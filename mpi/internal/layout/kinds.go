package layout

// EachKind visits the kinds of the values of count elements, in the order in which they travel: n
// values of one kind each time, which the next may have as well. It stops when visit returns false,
// and reports whether it did not.
func (m *Map) EachKind(count int, visit func(k Kind, n int) bool) bool {
	switch n := m.root.n; {
	case n == nil || count == 0:
		return true
	case n.kind != mixed:
		return visit(n.kind, count*n.basics)
	default:
		for range count {
			if !n.eachKind(visit) {
				return false
			}
		}
		return true
	}
}

func (n *node) eachKind(visit func(k Kind, n int) bool) bool {
	switch {
	case n.kind != mixed:
		return visit(n.kind, n.basics)
	case n.op == opLoop:
		for range n.n {
			if !n.child.eachKind(visit) {
				return false
			}
		}
	default:
		for i := range n.parts {
			if !n.parts[i].n.eachKind(visit) {
				return false
			}
		}
	}
	return true
}
