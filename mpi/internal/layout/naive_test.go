package layout

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// naive is a type map as the standard has it: a list of all entries (MPI 4.1, section 5.1). What
// Map does is compared with what it does, which is by the definitions, one value at a time.
type naive struct {
	entries []entry
	align   int
}

// entry is one entry of a type map: a value, or a pseudo type that only has a place.
type entry struct {
	what what
	kind Kind // of a value
	disp int
	size int // of a value, or of room
}

type what uint8

const (
	value    what = iota
	lbMarker      // lower bound set by Resized
	ubMarker      // upper bound set by Resized
	room          // memory of a Go type, padding included: counts for bounds, but is no data
)

func naiveBasic(k Kind) naive {
	return naive{[]entry{{value, k, 0, k.Size()}}, kindFacts[k].align}
}

// with is n's entries followed by m's, moved by disp.
func (n naive) with(m naive, disp int) naive {
	entries := slices.Clip(n.entries)
	for _, e := range m.entries {
		e.disp += disp
		entries = append(entries, e)
	}
	if len(m.entries) == 0 {
		return n
	}
	return naive{entries, max(n.align, m.align, 1)}
}

// times is count of n at a stride.
func (n naive) times(count, stride int) naive {
	all := naive{align: 1}
	for i := range count {
		all = all.with(n, i*stride)
	}
	return all
}

// bounds is by the definition (MPI 4.1, section 5.1.6). The lower bound is the least displacement
// if there is no marker, else the least marker. The upper bound is alike, rounded up so that the
// extent is a multiple of the alignment.
func (n naive) bounds() (lb, extent int) {
	var lbs, ubs, begins, ends []int
	for _, e := range n.entries {
		switch e.what {
		case lbMarker:
			lbs = append(lbs, e.disp)
		case ubMarker:
			ubs = append(ubs, e.disp)
		default:
			begins, ends = append(begins, e.disp), append(ends, e.disp+e.size)
		}
	}
	switch {
	case len(lbs) > 0:
		return slices.Min(lbs), slices.Max(ubs) - slices.Min(lbs)
	case len(begins) == 0:
		return 0, 0
	}
	lb = slices.Min(begins)
	extent = slices.Max(ends) - lb
	for extent%n.align != 0 {
		extent++
	}
	return lb, extent
}

func (n naive) extent() int {
	_, extent := n.bounds()
	return extent
}

func (n naive) resized(lb, extent int) naive {
	var r naive
	r.align = max(n.align, 1)
	for _, e := range n.entries {
		if e.what == value {
			r.entries = append(r.entries, e)
		}
	}
	r.entries = append(r.entries, entry{what: lbMarker, disp: lb}, entry{what: ubMarker, disp: lb + extent})
	return r
}

func (n naive) values() []entry {
	var vs []entry
	for _, e := range n.entries {
		if e.what == value {
			vs = append(vs, e)
		}
	}
	return vs
}

func (n naive) size() int {
	size := 0
	for _, e := range n.values() {
		size += e.size
	}
	return size
}

// trueBounds are those of the values.
func (n naive) trueBounds() (lo, hi int) {
	for i, e := range n.values() {
		if i == 0 {
			lo, hi = e.disp, e.disp+e.size
		}
		lo, hi = min(lo, e.disp), max(hi, e.disp+e.size)
	}
	return lo, hi
}

// places is where each byte of the stream lies, with the bytes of each value reversed or not.
func (n naive) places(swapped bool) []int {
	var at []int
	for _, e := range n.values() {
		width := kindFacts[e.kind].width
		for i := range e.size {
			if swapped {
				at = append(at, e.disp+i/width*width+width-1-i%width)
			} else {
				at = append(at, e.disp+i)
			}
		}
	}
	return at
}

// runs counts the contiguous runs of the stream.
func (n naive) runs() int {
	runs := 0
	at := n.places(false)
	for i := range at {
		if i == 0 || at[i] != at[i-1]+1 {
			runs++
		}
	}
	return runs
}

// signature is the whole of it, and the number of its groups.
func (n naive) signature() (text string, groups int) {
	var list []string
	vs := n.values()
	for len(vs) > 0 {
		k := 1
		for k < len(vs) && vs[k].kind == vs[0].kind {
			k++
		}
		if k > 1 {
			list = append(list, fmt.Sprintf("%d*%v", k, vs[0].kind))
		} else {
			list = append(list, vs[0].kind.String())
		}
		vs = vs[k:]
	}
	if len(list) == 0 {
		return "no data", 0
	}
	return strings.Join(list, " "), len(list)
}

// naiveOf is the type map of a Go type, by walking its parts.
func naiveOf(t reflect.Type) naive {
	if k, ok := kindOf(t); ok {
		return naiveBasic(k)
	}
	n := naive{align: t.Align()}
	if t.Size() > 0 {
		n.entries = append(n.entries, entry{what: room, size: int(t.Size())})
	}
	add := func(part naive, disp int) {
		for _, e := range part.values() {
			e.disp += disp
			n.entries = append(n.entries, e)
		}
	}
	if t.Kind() == reflect.Array {
		for i := range t.Len() {
			add(naiveOf(t.Elem()), i*int(t.Elem().Size()))
		}
		return n
	}
	for f := range t.Fields() {
		if f.Name != "_" {
			add(naiveOf(f.Type), int(f.Offset))
		}
	}
	return n
}
