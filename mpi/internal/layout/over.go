package layout

// Mismatch is a value of a layout that lies over memory of another kind.
type Mismatch struct {
	Disp   int  // of the value, in bytes from the origin
	Data   Kind // of the layout
	Memory Kind // of the memory; meaningless if None
	None   bool // no value of the memory begins there
}

// Over reports whether every value of count elements of m lies over a value of the same kind, where
// memory is elements of tile, one after the other, before and after the origin. Bytes lie over all
// kinds, and all kinds over bytes. If not, at is a value that does not.
//
// It takes time in proportion to m's program, not to its data, if tile is values of one kind.
//
// Preconditions:
//   - tile is the map of a Go type: its values do not overlap, and their order is that of their
//     addresses.
//   - Bounds(count) has no error.
func (m *Map) Over(tile *Map, count int) (at Mismatch, ok bool) {
	n := m.root.n
	if n == nil || count == 0 {
		return Mismatch{}, true
	}
	if t := tile.root.n; t != nil && (t.kind == Uint8 || t.kind == Byte) && tile.IsContiguous() {
		return Mismatch{}, true
	}
	o := newOver(tile)
	ok = o.repeated(n, m.root.disp, count, m.extent)
	return o.at, ok
}

// over compares a layout with memory.
type over struct {
	tile   ref // one period of the memory
	period int
	seen   map[visit]bool // that are all right
	at     Mismatch       // that is not
}

// visit is a node at a place within the period.
type visit struct {
	n  *node
	in int
}

func newOver(tile *Map) *over {
	o := &over{tile: tile.root, period: max(1, tile.extent)}
	// An array is many of what it is an array of.
	for n := o.tile.n; n != nil && o.tile.disp == 0; n = o.tile.n {
		switch {
		case n.op == opRun && n.size == o.period && n.basics > 1:
			o.tile.n = Basic(n.kind).root.n
			o.period = o.tile.n.size
		case n.op == opLoop && n.n*n.stride == o.period:
			o.tile.n, o.period = n.child, n.stride
		default:
			return o
		}
	}
	return o
}

// repeated compares n at each of count places at a stride.
func (o *over) repeated(n *node, disp, count, stride int) bool {
	// After period/gcd places the same ones come again.
	for i := range min(count, o.period/gcd(o.period, stride)) {
		if !o.check(n, disp+i*stride) {
			return false
		}
	}
	return true
}

func (o *over) check(n *node, disp int) bool {
	in := disp % o.period
	if in < 0 {
		in += o.period
	}
	if o.isWithinRun(n, in) {
		return true
	}
	v := visit{n, in}
	if o.seen[v] {
		return true
	}
	switch n.op {
	case opRun:
		for i := range min(n.basics, o.period/gcd(o.period, n.kind.Size())) {
			if !o.one(n.kind, disp+i*n.kind.Size()) {
				return false
			}
		}
	case opLoop:
		if !o.repeated(n.child, disp, n.n, n.stride) {
			return false
		}
	default:
		for i := range n.parts {
			if !o.check(n.parts[i].n, disp+n.parts[i].disp) {
				return false
			}
		}
	}
	if o.seen == nil {
		o.seen = map[visit]bool{}
	}
	o.seen[v] = true
	return true
}

// isWithinRun reports, quickly, that all of n's values lie over one run of the memory. If not they
// may still be all right.
func (o *over) isWithinRun(n *node, in int) bool {
	start, run := o.tile.n.runAt(in - o.tile.disp)
	if run == nil || run.kind != n.kind && n.kind != Byte {
		return false
	}
	in -= o.tile.disp + start
	if size := run.kind.Size(); n.kind != Byte && (in%size != 0 || n.grain%size != 0) {
		return false
	}
	return run.size == o.period || in+n.lo >= 0 && in+n.hi <= run.size
}

// one compares one value.
func (o *over) one(k Kind, disp int) bool {
	in := disp % o.period
	if in < 0 {
		in += o.period
	}
	start, run := o.tile.n.runAt(in - o.tile.disp)
	switch {
	case k == Byte:
		return true
	case run == nil || (in-o.tile.disp-start)%run.kind.Size() != 0:
		o.at = Mismatch{Disp: disp, Data: k, None: true}
		return false
	case run.kind != k:
		o.at = Mismatch{Disp: disp, Data: k, Memory: run.kind}
		return false
	}
	return true
}

// runAt is the run that has the byte at displacement x, and where that begins; nil if there is
// none.
//
// Preconditions:
//   - n is from the map of a Go type, or nil.
func (n *node) runAt(x int) (start int, run *node) {
	for n != nil && x >= 0 && x < n.hi {
		switch n.op {
		case opRun:
			return start, n
		case opLoop:
			i := min(x/n.stride, n.n-1)
			x, start, n = x-i*n.stride, start+i*n.stride, n.child
		default:
			i := n.partUnder(x)
			x, start, n = x-n.parts[i].disp, start+n.parts[i].disp, n.parts[i].n
		}
	}
	return 0, nil
}

// partUnder is the last part that begins at displacement x or before.
func (n *node) partUnder(x int) int {
	lo, hi := 0, len(n.parts)
	for hi-lo > 1 {
		if mid := int(uint(lo+hi) / 2); n.parts[mid].disp <= x {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
