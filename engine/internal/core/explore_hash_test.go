package core

import (
	"encoding/binary"
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// hasher makes a number of all that a world consists of, so that the search knows where it has
// been. It follows pointers, which it numbers in the order in which it meets them: two states with
// equal numbers go on alike.
type hasher struct {
	b    []byte // all of it
	seen map[place]uint64
}

// place is what a pointer points to: a structure and its first field lie at one address.
type place struct {
	at uintptr
	is reflect.Type
}

var hashSeed = maphash.MakeSeed()

// unhashed are fields on which nothing depends: counters, and memory that is free.
var unhashed = map[string]bool{
	"Core.stats": true, "Core.sizes": true, "Core.begun": true, "Core.done": true, "Core.free": true, "Core.cfg": true, "Core.round": true,
	"Core.pool": true, "Core.slabs": true, "Core.packed": true, "Core.prompt": true,
	"Peer.sent": true, "Peer.received": true, "Peer.heads": true, "Peer.frames": true, "Peer.asides": true, "Peer.spans": true,
	"segment.block": true, "Job.block": true, "table.free": true, "Peer.popped": true, "kept.resent": true, "Peer.chunk": true, "posted.searches": true, "events.searches": true,
	"MSO.User": true, "MSO.Origin": true, "MSO.Alloc": true, "MSO.Member": true, "MSO.mark": true,
	"xworld.sc": true, "fakeNet.t": true, "fakeNet.trace": true, "fakeNet.onHeader": true, "xentry.op": true,
}

func (h *hasher) fingerprint(w *xworld) uint64 {
	if h.seen == nil {
		h.seen = make(map[place]uint64, 256)
	}
	clear(h.seen)
	h.b = h.b[:0]
	h.value(reflect.ValueOf(w).Elem())
	return maphash.Bytes(hashSeed, h.b)
}

func (h *hasher) number(n uint64) { h.b = binary.LittleEndian.AppendUint64(h.b, n) }

func (h *hasher) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		h.b = append(h.b, byte(b2n(v.Bool())))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		h.number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		h.number(v.Uint())
	case reflect.String:
		h.number(uint64(v.Len()))
		h.b = append(h.b, v.String()...)
	case reflect.Pointer:
		h.pointer(v)
	case reflect.Interface:
		if h.number(b2n(v.IsNil())); !v.IsNil() {
			h.b = append(h.b, v.Elem().Type().String()...)
			h.value(v.Elem())
		}
	case reflect.Slice:
		h.slice(v)
	case reflect.Array:
		for i := range v.Len() {
			h.value(v.Index(i))
		}
	case reflect.Map:
		h.mapping(v)
	case reflect.Struct:
		h.structure(v)
	case reflect.Func, reflect.Chan:
		h.number(b2n(v.IsNil()))
	default:
		panic("no hash of a " + v.Kind().String())
	}
}

func b2n(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (h *hasher) pointer(v reflect.Value) {
	if v.IsNil() {
		h.number(0)
		return
	}
	p := place{v.Pointer(), v.Type()}
	n, known := h.seen[p]
	if !known {
		n = uint64(len(h.seen) + 1)
		h.seen[p] = n
	}
	if h.number(n); !known {
		h.value(v.Elem())
	}
}

func (h *hasher) slice(v reflect.Value) {
	h.number(uint64(v.Len()))
	if v.Type().Elem().Kind() == reflect.Uint8 {
		h.b = append(h.b, v.Bytes()...)
		return
	}
	for i := range v.Len() {
		h.value(v.Index(i))
	}
}

// mapping adds up the entries, which have no order. Keys are numbers and arrays of them; pointers
// in values are numbered in the order of the keys.
func (h *hasher) mapping(v reflect.Value) {
	type entry struct{ key, value reflect.Value }
	var all []entry
	for it := v.MapRange(); it.Next(); {
		all = append(all, entry{it.Key(), it.Value()})
	}
	slices.SortFunc(all, func(a, b entry) int {
		for i := range a.key.Len() {
			if d := a.key.Index(i).Int() - b.key.Index(i).Int(); d != 0 {
				return int(d)
			}
		}
		return 0
	})
	h.number(uint64(len(all)))
	for _, e := range all {
		h.value(e.key)
		h.value(e.value)
	}
}

// plan is what counts of a structure.
type plan struct {
	fields []int
	form   form
	at     [3]int // fields that the form needs
}

type form int

const (
	plainForm form = iota
	tableForm      // nothing if its n is 0
	ringForm       // n of its slots, from its head
	peerForm       // also which segment is the newest chunk, wherever the count has begun
)

// plans are those made so far, by type: *plan.
var plans sync.Map

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{}
	for i := range t.NumField() {
		if f := t.Field(i); !unhashed[t.Name()+"."+f.Name] && f.Name != "_" {
			p.fields = append(p.fields, i)
		}
	}
	need := func(form form, names ...string) {
		p.form = form
		for i, name := range names {
			f, ok := t.FieldByName(name)
			if !ok || len(f.Index) != 1 {
				panic("no field " + name + " of " + t.Name())
			}
			p.at[i] = f.Index[0]
		}
	}
	switch {
	case t == reflect.TypeFor[table]():
		need(tableForm, "n")
	case strings.HasPrefix(t.Name(), "Ring["):
		need(ringForm, "slots", "head", "n")
	case t == reflect.TypeFor[Peer]():
		need(peerForm, "chunk", "popped")
	}
	plans.Store(t, p)
	return p
}

func (h *hasher) structure(v reflect.Value) {
	p := planOf(v.Type())
	switch {
	case p.form == ringForm:
		h.ring(v.Field(p.at[0]), int(v.Field(p.at[1]).Int()), int(v.Field(p.at[2]).Int()))
		return
	case p.form == tableForm && v.Field(p.at[0]).Int() == 0:
		h.number(0)
		return
	}
	for _, i := range p.fields {
		h.value(v.Field(i))
	}
	if p.form == peerForm {
		h.number(uint64(max(v.Field(p.at[0]).Int()-v.Field(p.at[1]).Int(), 0)))
	}
}

func (h *hasher) ring(slots reflect.Value, head, n int) {
	h.number(uint64(n))
	for i := range n {
		h.value(slots.Index((head + i) % slots.Len()))
	}
}
