package mpi

import (
	"cmp"
	"reflect"
	"sync"

	"github.com/fitmpi/fitmpi/internal/foreign"
	"github.com/fitmpi/fitmpi/mpi/internal/layout"
	"github.com/fitmpi/fitmpi/mpi/internal/rma"
)

// Operations on values with parts that may lie apart in memory: pairs with padding, pairs by a
// layout, and values of C. What travels of them, and what is combined, has no gaps.

// partsCombine is a predefined operation on values of some bytes each; do is nil where there is
// none.
type partsCombine struct {
	do    combine
	grain int
}

// partsTable is operations by operation and kind, with the bits of the kind of an index.
type partsTable [rma.Ops][rma.Parts]partsCombine

// partsCombines are all operations. Few programs need them.
var partsCombines = sync.OnceValue(newPartsTable)

// ofParts makes op an operation on values of T that follow each other without gaps.
func ofParts[T any](op Op[T]) partsCombine {
	m := elemOf[T]().m
	return partsCombine{grain: m.Size(), do: func(acc, in []byte) {
		n := len(acc) / m.Size()
		a, b := make([]T, n), make([]T, n)
		m.Unpack(bytesOf(a), 0, n, 0, acc)
		m.Unpack(bytesOf(b), 0, n, 0, in)
		op(a, b)
		m.Pack(acc, bytesOf(a), 0, n, 0)
	}}
}

func newPartsTable() *partsTable {
	t := new(partsTable)
	located[int8](t, layout.Int8)
	located[int16](t, layout.Int16)
	located[int32](t, layout.Int32)
	located[int64](t, layout.Int64)
	located[uint8](t, layout.Uint8)
	located[uint16](t, layout.Uint16)
	located[uint32](t, layout.Uint32)
	located[uint64](t, layout.Uint64)
	located[float32](t, layout.Float32)
	located[float64](t, layout.Float64)
	longValues[foreign.LongDouble](t, rma.LongDouble)
	longValues[foreign.LongComplex](t, rma.LongComplex)
	t[rma.OpMax][rma.LongDouble], t[rma.OpMin][rma.LongDouble] = ofParts[foreign.LongDouble](foreign.Max), ofParts[foreign.LongDouble](foreign.Min)
	locations[foreign.LongPair](t, rma.LongDouble|rma.Index32, foreign.MaxLocLong, foreign.MinLocLong)
	return t
}

func located[T cmp.Ordered](t *partsTable, k layout.Kind) {
	locations[Loc[T]](t, int(k), MaxLoc[T], MinLoc[T])
	locations[foreign.Pair[T]](t, int(k)|rma.Index32, foreign.MaxLoc[T], foreign.MinLoc[T])
	locations[foreign.Real[T]](t, int(k)|rma.IndexSame, foreign.MaxLocReal[T], foreign.MinLocReal[T])
}

func locations[T any](t *partsTable, kind int, greatest, least Op[T]) {
	t[rma.OpMaxLoc][kind], t[rma.OpMinLoc][kind] = ofParts(greatest), ofParts(least)
}

func longValues[T foreign.Long](t *partsTable, kind int) {
	t[rma.OpSum][kind], t[rma.OpProd][kind] = ofParts[T](foreign.Sum[T]), ofParts[T](foreign.Prod[T])
}

// partsCombineOf is the operation of a request, if this process can do it.
func partsCombineOf(op rma.Op, elem uint8) (partsCombine, bool) {
	kind := elem &^ rma.Parts
	if int(kind) >= rma.Parts || kind&rma.KindBits >= rma.LongDouble && foreign.Native == nil {
		return partsCombine{}, false
	}
	f := partsCombines()[op][kind]
	return f, f.do != nil
}

// accumulatePartsLocked is accumulateLocked of values in parts.
func (w *win) accumulatePartsLocked(region *rma.Region, r *rma.Request, data []byte) bool {
	f, ok := partsCombineOf(r.Op, r.Elem)
	if !ok || f.grain != r.Grain || len(data) != region.Size {
		return false
	}
	acc := make([]byte, region.Size)
	region.Pack(acc, 0)
	f.do(acc, data)
	region.Unpack(0, acc)
	return true
}

var (
	longDoubleType  = reflect.TypeFor[foreign.LongDouble]()
	longComplexType = reflect.TypeFor[foreign.LongComplex]()
	longPairType    = reflect.TypeFor[foreign.LongPair]()
)

// foreignKind is the kind of the values of e for partsCombines, if they are such that the
// operations of this package do not know.
func foreignKind(e *elem) (kind uint8, ok bool) {
	switch t := e.typ; {
	case t == longDoubleType:
		return rma.LongDouble, true
	case t == longComplexType:
		return rma.LongComplex, true
	case t == longPairType:
		return rma.LongDouble | rma.Index32, true
	case t.PkgPath() != longPairType.PkgPath():
		return 0, false
	case t.Kind() == reflect.Array:
		return uint8(plainClass(t.Elem())) | rma.IndexSame, true
	default:
		return uint8(plainClass(t.Field(0).Type)) | rma.Index32, true
	}
}

// combination is what an accumulate does with each value of a target.
type combination struct {
	code  rma.Op
	elem  uint8 // as in a request
	grain int   // bytes of a value, of which none is torn
}

// located reports whether values are pairs of a value and its index.
func (k *combination) located() bool { return k.code == rma.OpMaxLoc || k.code == rma.OpMinLoc }

// over adapts k, on elements of e, to the layouts of w.
func (k *combination) over(w *Win, op string, e *elem) *Error {
	types := [...]*Datatype{w.originType, w.targetType}
	if k.elem&rma.Parts == 0 && types == [2]*Datatype{} {
		return nil
	}
	for _, t := range types {
		if err := k.overOne(t, op, e); err != nil {
			return err
		}
	}
	return nil
}

// overOne is over of one end, whose memory is of elements of e if t is nil.
func (k *combination) overOne(t *Datatype, op string, e *elem) *Error {
	alone := k.located() || k.elem&rma.Parts != 0 // values are elements of e
	if t == nil {
		if alone && !e.whole {
			return opErrorf(ErrType, op, "a %s has padding, which does not travel by a layout: give a layout for both ends", e.name)
		}
		return nil
	}
	kind, one := t.m.OneKind()
	switch {
	case t.isOf(e):
		k.elem |= rma.Parts
		k.grain = e.wire
	case one && !alone:
		k.grain = max(kind.Size(), 1)
	default:
		return opErrorf(ErrType, op, "%s: an accumulate with a layout is of values of one kind, or of whole elements, which are %s here", t, e.name)
	}
	return nil
}

// isOf reports whether the data of t are whole elements of e, an array or a struct.
func (t *Datatype) isOf(e *elem) bool {
	return e.class == classComposite && e.wire > 0 && t.m.Size()%e.wire == 0 && t.m.Hash(1) == e.m.Hash(t.m.Size()/e.wire)
}
