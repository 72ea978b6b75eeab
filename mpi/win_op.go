package mpi

import (
	"bytes"
	"cmp"
	"reflect"
	"runtime"
	"strings"
	"sync"

	"github.com/fitmpi/fitmpi/mpi/internal/layout"
	"github.com/fitmpi/fitmpi/mpi/internal/rma"
)

// The predefined operations, as they are applied to the memory of a target, whose program may not
// even have been compiled with the type that the origin has: it knows operation and kind of values
// by number.

// rmaOps caches the operations of function values, as opKinds does; a negative one is none.
var rmaOps sync.Map // uintptr -> int

var rmaOpNames = map[string]rma.Op{
	"Replace[...]": rma.OpReplace, "NoOp[...]": rma.OpNoOp, "Sum[...]": rma.OpSum, "Prod[...]": rma.OpProd, "Max[...]": rma.OpMax, "Min[...]": rma.OpMin,
	"LAnd[...]": rma.OpLAnd, "LOr[...]": rma.OpLOr, "LXor[...]": rma.OpLXor, "BAnd[...]": rma.OpBAnd, "BOr[...]": rma.OpBOr, "BXor[...]": rma.OpBXor,
	"MaxLoc[...]": rma.OpMaxLoc, "MinLoc[...]": rma.OpMinLoc,
}

// foreignOpNames are those of internal/foreign.
var foreignOpNames = map[string]rma.Op{
	"Sum[...]": rma.OpSum, "Prod[...]": rma.OpProd, "Max": rma.OpMax, "Min": rma.OpMin, "MaxLoc[...]": rma.OpMaxLoc, "MinLoc[...]": rma.OpMinLoc,
	"MaxLocReal[...]": rma.OpMaxLoc, "MinLocReal[...]": rma.OpMinLoc, "MaxLocLong": rma.OpMaxLoc, "MinLocLong": rma.OpMinLoc,
}

// rmaOpOf is the number of a predefined operation.
func rmaOpOf[T any](op Op[T]) (rma.Op, bool) {
	if op == nil {
		return 0, false
	}
	pc := reflect.ValueOf(op).Pointer()
	n, ok := rmaOps.Load(pc)
	if !ok {
		k := -1
		if x, found := rmaOpNamed(runtime.FuncForPC(pc).Name()); found {
			k = int(x)
		}
		n, _ = rmaOps.LoadOrStore(pc, k)
	}
	k := n.(int)
	return rma.Op(max(k, 0)), k >= 0
}

// rmaOpNamed is the number of an operation by the name of its function.
func rmaOpNamed(name string) (op rma.Op, ok bool) {
	if of, isForeign := strings.CutPrefix(name, foreignPackage); isForeign {
		op, ok = foreignOpNames[of]
	} else if of, ours := strings.CutPrefix(name, thisPackage); ours {
		op, ok = rmaOpNames[of]
	}
	return op, ok
}

// combine is a predefined operation on values of one kind: it changes acc, and neither is cut or
// torn.
type combine func(acc, in []byte)

func combineOf[T any](op Op[T]) combine {
	return func(acc, in []byte) { op(sliceOf[T](acc), sliceOf[T](in)) }
}

// combines are the operations by operation and kind; nil where there is none.
var combines [rma.Ops][layout.Complex128 + 1]combine

func init() {
	integers[int8](layout.Int8)
	integers[int16](layout.Int16)
	integers[int32](layout.Int32)
	integers[int64](layout.Int64)
	integers[uint8](layout.Uint8)
	integers[uint16](layout.Uint16)
	integers[uint32](layout.Uint32)
	integers[uint64](layout.Uint64)
	ordered[float32](layout.Float32)
	ordered[float64](layout.Float64)
	numbers[complex64](layout.Complex64)
	numbers[complex128](layout.Complex128)
	logicals[bool](layout.Bool)
}

func numbers[T Number](k layout.Kind) {
	combines[rma.OpSum][k], combines[rma.OpProd][k] = combineOf[T](Sum[T]), combineOf[T](Prod[T])
}

func ordered[T interface {
	cmp.Ordered
	Number
}](k layout.Kind) {
	numbers[T](k)
	combines[rma.OpMax][k], combines[rma.OpMin][k] = combineOf[T](Max[T]), combineOf[T](Min[T])
	combines[rma.OpMaxLoc][k], combines[rma.OpMinLoc][k] = combineOf[Loc[T]](MaxLoc[T]), combineOf[Loc[T]](MinLoc[T])
}

func logicals[T Logical](k layout.Kind) {
	combines[rma.OpLAnd][k], combines[rma.OpLOr][k], combines[rma.OpLXor][k] = combineOf[T](LAnd[T]), combineOf[T](LOr[T]), combineOf[T](LXor[T])
}

func integers[T Integer](k layout.Kind) {
	ordered[T](k)
	logicals[T](k)
	combines[rma.OpBAnd][k], combines[rma.OpBOr][k], combines[rma.OpBXor][k] = combineOf[T](BAnd[T]), combineOf[T](BOr[T]), combineOf[T](BXor[T])
}

// grainOf is the length of a value of a kind under an operation, in bytes; 0 if there is no such
// operation.
func grainOf(op rma.Op, kind uint8) int {
	switch {
	case int(kind) >= len(combines[op]) || combines[op][kind] == nil:
		return 0
	case op == rma.OpMaxLoc || op == rma.OpMinLoc:
		return locGrain
	default:
		return layout.Kind(kind).Size()
	}
}

// accumulate combines data with what lies in region. It reports whether the request made sense.
func (w *win) accumulate(region *rma.Region, r *rma.Request, data []byte) bool {
	w.served.atomic.Lock()
	defer w.served.atomic.Unlock()
	return w.accumulateLocked(region, r, data)
}

// fetch copies what lies in region to old, and accumulates.
func (w *win) fetch(region *rma.Region, r *rma.Request, old, data []byte) bool {
	w.served.atomic.Lock()
	defer w.served.atomic.Unlock()
	region.Pack(old, 0)
	return w.accumulateLocked(region, r, data)
}

func (w *win) accumulateLocked(region *rma.Region, r *rma.Request, data []byte) bool {
	switch r.Op {
	case rma.OpNoOp:
		return true
	case rma.OpReplace:
		region.Unpack(0, data)
		return true
	}
	if r.Elem&rma.Parts != 0 {
		return w.accumulatePartsLocked(region, r, data)
	}
	if grain := grainOf(r.Op, r.Elem); grain == 0 || grain != r.Grain {
		return false
	}
	f := combines[r.Op][r.Elem]
	region.Each(func(at, from, n int) {
		acc, in := region.Mem[at:at+n], w.served.aligned(data[from:from+n], 0)
		if isAligned(acc) {
			f(acc, in)
			return
		}
		own := w.served.aligned(acc, rma.MaxMessage)
		f(own, in)
		copy(acc, own)
	})
	return true
}

// aligned is b, or, if b is not aligned, a copy of it in the room from off on. Values are aligned
// for every type.
func (x *exposure) aligned(b []byte, off int) []byte {
	if isAligned(b) {
		return b
	}
	if x.room == nil {
		x.room = make([]byte, 2*rma.MaxMessage)
	}
	n := copy(x.room[off:], b)
	return x.room[off : off+n]
}

// swap copies what lies in region to old and, if that equals the first half of data, changes it to
// the second.
func (w *win) swap(region *rma.Region, old, data []byte) {
	w.served.atomic.Lock()
	defer w.served.atomic.Unlock()
	region.Pack(old, 0)
	if n := len(old); bytes.Equal(old, data[:n]) {
		region.Unpack(0, data[n:])
	}
}

// combinationOf is what op does with elements of e, without layouts.
func combinationOf[T any](name string, op Op[T], e *elem) (k combination, _ *Error) {
	code, ok := rmaOpOf(op)
	switch {
	case op == nil:
		return k, opErrorf(ErrOp, name, "the operation is nil: give a function such as mpi.Sum")
	case !ok:
		return k, opErrorf(ErrOp, name, "only the predefined operations can be applied at a target, named with their type or without, as mpi.Sum or mpi.Sum[float64]: not a function of the program's, "+
			"nor one that a generic function instantiates with a type parameter of its own")
	}
	k = combination{code: code, grain: max(e.size, 1)}
	if code == rma.OpReplace || code == rma.OpNoOp {
		return k, nil
	}
	if kind, isForeign := foreignKind(e); isForeign {
		f, ok := partsCombineOf(code, kind)
		if k.elem, k.grain = kind|rma.Parts, f.grain; !ok {
			k.grain = 0
		}
	} else {
		if k.elem = uint8(e.class); k.located() {
			k.elem = uint8(plainClass(e.typ.Field(0).Type))
		}
		k.grain = grainOf(code, k.elem)
	}
	if k.grain == 0 {
		return k, opErrorf(ErrOp, name, "there is no such operation on %s", e.name)
	}
	return k, nil
}
