package mpi

import (
	"cmp"
	"reflect"
	"runtime"
	"strings"
	"sync"

	"github.com/fitmpi/fitmpi/internal/foreign"
	"github.com/fitmpi/fitmpi/mpi/internal/vec"
)

// Op is a reduction: acc[i] = acc[i] ∘ in[i] for every i, acc holding the result so far, from the
// lower ranks (MPI 4.1, section 6.9). Any function will do that is associative, does not keep or
// change in, and works on each index alone: the library may call it on parts of a buffer. Of a T
// with pointers it should put new values in acc rather than change what acc's points at.
//
// len(in) is at least len(acc); a call may be for no elements. Calls come from whichever goroutine
// drives communication, never two at once for one collective of one rank, but at once for different
// ones.
//
// An Op must not communicate (MPI 4.1, section 6.9.5): its rank makes no progress until it returns.
// A call from it that begins an operation, or waits for one, does not return; the reduction fails
// with an error of class [ErrOp] that names the function, the call and its line.
//
// An Op that panics makes the reduction fail. So does one that ends its goroutine (runtime.Goexit,
// and so FailNow and Fatal of a test). The goroutine that drives communication goes on, since it
// has the Op run on another. Only a blocking reduction may call an Op on the goroutine of its
// caller, which ends then. An Op that locks its goroutine to the thread must unlock it before it
// returns.
//
// The library keeps to the order of ranks unless it knows the operation to be commutative: see
// [Commutative].
type Op[T any] func(acc, in []T)

// Constraints on the element types of the predefined operations (MPI 4.1, section 6.9.2). uintptr
// is left out: it does not travel.
type (
	// Signed is the signed integers.
	Signed interface {
		~int | ~int8 | ~int16 | ~int32 | ~int64
	}
	// Unsigned is the unsigned integers.
	Unsigned interface {
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
	}
	// Integer is the integers.
	Integer interface{ Signed | Unsigned }
	// Float is the floating-point numbers.
	Float interface{ ~float32 | ~float64 }
	// Complex is the complex numbers.
	Complex interface{ ~complex64 | ~complex128 }
	// Number is everything with + and *.
	Number interface{ Integer | Float | Complex }
	// Logical is truth values, and integers as C's: zero is false, anything else true.
	Logical interface{ ~bool | Integer }
)

// The predefined operations must not be inlined: commutativity is found by the name of the function
// at an Op's entry, which would be ours for a user's function that begins with one of ours.

// Sum adds: MPI_SUM (MPI 4.1, section 6.9.2). Strings are concatenated in the order of ranks.
//
//go:noinline
func Sum[T Number | ~string](acc, in []T) {
	if len(acc) == 0 {
		answerProbe(opSum)
	}
	acc, in = byVector(vec.Sum, acc, in)
	// Where there are no vectors eight at a time add float64 half again as fast as the plain loop,
	// which the compiler does not unroll.
	for len(acc) >= 8 && len(in) >= 8 {
		a, b := (*[8]T)(acc), (*[8]T)(in)
		a[0] += b[0]
		a[1] += b[1]
		a[2] += b[2]
		a[3] += b[3]
		a[4] += b[4]
		a[5] += b[5]
		a[6] += b[6]
		a[7] += b[7]
		acc, in = acc[8:], in[8:]
	}
	for i := range min(len(acc), len(in)) {
		acc[i] += in[i]
	}
}

// Prod multiplies: MPI_PROD (MPI 4.1, section 6.9.2).
//
//go:noinline
func Prod[T Number](acc, in []T) {
	if len(acc) == 0 {
		answerProbe(opCommutative)
	}
	acc, in = byVector(vec.Prod, acc, in)
	if a := complexesOf(acc); len(a) > 0 {
		prodComplexes(a, complexesOf(in))
		return
	}
	for i := range acc {
		acc[i] *= in[i]
	}
}

// Max keeps the greater: MPI_MAX (MPI 4.1, section 6.9.2). As with Go's max a NaN on any rank gives
// NaN, and -0 is less than 0, so the result does not depend on the order of ranks.
//
//go:noinline
func Max[T cmp.Ordered](acc, in []T) {
	if len(acc) == 0 {
		answerProbe(opCommutative)
	}
	acc, in = byVector(vec.Max, acc, in)
	for i := range acc {
		acc[i] = max(acc[i], in[i])
	}
}

// Min keeps the lesser: MPI_MIN (MPI 4.1, section 6.9.2). As with Go's min a NaN on any rank gives
// NaN, and -0 is less than 0, so the result does not depend on the order of ranks.
//
//go:noinline
func Min[T cmp.Ordered](acc, in []T) {
	if len(acc) == 0 {
		answerProbe(opCommutative)
	}
	acc, in = byVector(vec.Min, acc, in)
	for i := range acc {
		acc[i] = min(acc[i], in[i])
	}
}

// LAnd is the logical and: MPI_LAND (MPI 4.1, section 6.9.2). The result is true or false, for
// integers 1 or 0.
//
//go:noinline
func LAnd[T Logical](acc, in []T) {
	if len(acc) == 0 {
		answerProbe(opCommutative)
	}
	var no T
	yes := truth[T]()
	acc, in = byVector(vec.LAnd, acc, in)
	for i := range acc {
		v := no
		if acc[i] != no && in[i] != no {
			v = yes
		}
		acc[i] = v
	}
}

// LOr is the logical or: MPI_LOR (MPI 4.1, section 6.9.2). The result is true or false, for
// integers 1 or 0.
//
//go:noinline
func LOr[T Logical](acc, in []T) {
	if len(acc) == 0 {
		answerProbe(opCommutative)
	}
	var no T
	yes := truth[T]()
	acc, in = byVector(vec.LOr, acc, in)
	for i := range acc {
		v := no
		if acc[i] != no || in[i] != no {
			v = yes
		}
		acc[i] = v
	}
}

// LXor is the logical exclusive or: MPI_LXOR (MPI 4.1, section 6.9.2). The result is true or false,
// for integers 1 or 0.
//
//go:noinline
func LXor[T Logical](acc, in []T) {
	if len(acc) == 0 {
		answerProbe(opCommutative)
	}
	var no T
	yes := truth[T]()
	acc, in = byVector(vec.LXor, acc, in)
	for i := range acc {
		v := no
		if (acc[i] != no) != (in[i] != no) {
			v = yes
		}
		acc[i] = v
	}
}

// BAnd is the bitwise and: MPI_BAND (MPI 4.1, section 6.9.2).
//
//go:noinline
func BAnd[T Integer](acc, in []T) {
	if len(acc) == 0 {
		answerProbe(opCommutative)
	}
	acc, in = byVector(vec.BAnd, acc, in)
	for i := range acc {
		acc[i] &= in[i]
	}
}

// BOr is the bitwise or: MPI_BOR (MPI 4.1, section 6.9.2).
//
//go:noinline
func BOr[T Integer](acc, in []T) {
	if len(acc) == 0 {
		answerProbe(opCommutative)
	}
	acc, in = byVector(vec.BOr, acc, in)
	for i := range acc {
		acc[i] |= in[i]
	}
}

// BXor is the bitwise exclusive or: MPI_BXOR (MPI 4.1, section 6.9.2).
//
//go:noinline
func BXor[T Integer](acc, in []T) {
	if len(acc) == 0 {
		answerProbe(opCommutative)
	}
	acc, in = byVector(vec.BXor, acc, in)
	for i := range acc {
		acc[i] ^= in[i]
	}
}

// Loc is a value and where it is, usually the rank that has it: what [MaxLoc] and [MinLoc] work on
// (MPI 4.1, section 6.9.4).
type Loc[T cmp.Ordered] struct {
	Value T
	Index int64
}

// MaxLoc keeps the greater value with its index, of equal values the lowest index: MPI_MAXLOC (MPI
// 4.1, section 6.9.4). A NaN counts as greater than every number.
//
//go:noinline
func MaxLoc[T cmp.Ordered](acc, in []Loc[T]) {
	if len(acc) == 0 {
		answerProbe(opCommutative)
	}
	in = in[:len(acc)]
	for i := range acc {
		a, b := &acc[i], &in[i]
		switch {
		case a.Value > b.Value:
		case a.Value < b.Value:
			*a = *b
		default:
			tie(a, b)
		}
	}
}

// MinLoc keeps the lesser value with its index, of equal values the lowest index: MPI_MINLOC (MPI
// 4.1, section 6.9.4). A NaN counts as less than every number.
//
//go:noinline
func MinLoc[T cmp.Ordered](acc, in []Loc[T]) {
	if len(acc) == 0 {
		answerProbe(opCommutative)
	}
	in = in[:len(acc)]
	for i := range acc {
		a, b := &acc[i], &in[i]
		switch {
		case a.Value < b.Value:
		case a.Value > b.Value:
			*a = *b
		default:
			tie(a, b)
		}
	}
}

// tie settles values of which neither is the greater: a NaN wins, then the lowest index.
func tie[T cmp.Ordered](a, b *Loc[T]) {
	aNaN, bNaN := a.Value != a.Value, b.Value != b.Value
	if bNaN && !aNaN || aNaN == bNaN && b.Index < a.Index {
		*a = *b
	}
}

// Replace keeps the latter: MPI_REPLACE, for accumulating into a window (MPI 4.1, section 12.3.4).
//
//go:noinline
func Replace[T any](acc, in []T) { copy(acc, in) }

// NoOp keeps the former: MPI_NO_OP, for fetching from a window (MPI 4.1, section 12.3.4).
//
//go:noinline
func NoOp[T any](acc, in []T) {}

// Commutative declares that a∘b = b∘a for all values, so that collectives may combine contributions
// in any order (MPI 4.1, section 6.9.5, the argument commute of MPI_Op_create). The predefined
// operations need no declaration.
//
// Its closure is recognised by name, so it must not be inlined into a function of another name.
//
//go:noinline
func Commutative[T any](op Op[T]) Op[T] {
	if op == nil {
		return nil
	}
	return func(acc, in []T) { op(acc, in) }
}

// IsCommutative reports whether op is known to be commutative: a predefined one that is, or
// declared by [Commutative] (MPI 4.1, section 6.9.7, MPI_Op_commutative). A function literal of
// generic code may be called for no elements to find out. All ranks of one reduction must pass the
// same operation.
func IsCommutative[T any](op Op[T]) bool { return isCommutative(op) }

// opKind is what an Op's function name says.
type opKind uint8

const (
	opOther       opKind = iota // a user's, or one that keeps to the order
	opSum                       // commutative unless it concatenates
	opAdd                       // Add: commutative if it adds our numbers
	opCommutative               // commutative
	opDeclared                  // a user's, declared to be commutative
)

// opKinds caches opKind by entry address, of which a program has finitely many. Function values
// cannot be compared, and a generic function has no single address, but a name.
var opKinds sync.Map // uintptr -> opKind

func isCommutative[T any](op Op[T]) bool { return op != nil && commutes[T](kindOf(op)) }

// commutes reports whether an operation of that kind on T is commutative.
func commutes[T any](k opKind) bool {
	switch k {
	case opCommutative, opDeclared:
		return true
	case opSum:
		return reflect.TypeFor[T]().Kind() != reflect.String
	case opAdd:
		return isHalf(reflect.TypeFor[T]())
	default:
		return false
	}
}

// isPredefined reports whether the operation is one of ours, which keeps to what is asked of
// operations.
func isPredefined[T any](k opKind) bool {
	return k == opCommutative || k == opSum || k == opAdd && isHalf(reflect.TypeFor[T]())
}

func kindOf[T any](op Op[T]) opKind { return knownOf(op).kind }

// knownOp is what is known of the function at an address. Immutable.
type knownOp struct {
	kind    opKind
	combine func(acc, in []byte) error // of a predefined operation on elements of one type: see coll.Reducer
	elem    uintptr                    // the typeID of that
}

func knownOf[T any](op Op[T]) *knownOp {
	pc := reflect.ValueOf(op).Pointer()
	known, ok := opKinds.Load(pc)
	if !ok {
		name := runtime.FuncForPC(pc).Name()
		k := &knownOp{kind: kindOfFunc(name), elem: typeID[T]()}
		if k.kind == opOther && isGenericLiteral(name) { // perhaps the compiler's
			k.kind = probe(op)
		}
		if isPredefined[T](k.kind) {
			k.combine = combiner(op)
		}
		known, _ = opKinds.LoadOrStore(pc, k)
	}
	return known.(*knownOp)
}

// combiner makes an operation that is ours one on bytes.
func combiner[T any](op Op[T]) func(acc, in []byte) error {
	return func(acc, in []byte) error {
		op(sliceOf[T](acc), sliceOf[T](in))
		return nil
	}
}

// isGenericLiteral reports whether the function of that name is without a name of its own in
// generic code: p.F[...].func1 in a function, p.(*T[...]).M.func1 in a method, p.F[...].func1.2 in
// another such, p.F.G[...].func3 where G is inlined.
func isGenericLiteral(name string) bool {
	own := strings.TrimPrefix(name[strings.LastIndexByte(name, '.')+1:], "func")
	return strings.Contains(name, "[...]") && own != "" && strings.Trim(own, "0123456789") == ""
}

var (
	thisPackage    = reflect.TypeFor[Status]().PkgPath() + "."
	foreignPackage = reflect.TypeFor[foreign.LongDouble]().PkgPath() + "."
)

func kindOfFunc(name string) opKind {
	if of, ok := strings.CutPrefix(name, foreignPackage); ok && foreignOpNames[of] != 0 {
		return opCommutative
	}
	name, ok := strings.CutPrefix(name, thisPackage)
	if !ok {
		return opOther
	}
	switch name {
	case "Sum[...]":
		return opSum
	case "Add[...]":
		return opAdd
	case "Prod[...]", "Max[...]", "Min[...]", "LAnd[...]", "LOr[...]", "LXor[...]", "BAnd[...]", "BOr[...]", "BXor[...]",
		"MaxLoc[...]", "MinLoc[...]":
		return opCommutative
	case "Commutative[...].func1":
		return opDeclared
	default:
		return opOther
	}
}

// ReduceLocal combines two buffers of this rank: inout[i] = in[i] ∘ inout[i], in coming from the
// lower rank (MPI 4.1, section 6.9.7, MPI_Reduce_local). Both must have the same length, or the
// error is of class [ErrCount]; a nil op gives [ErrOp].
func ReduceLocal[T any](in, inout []T, op Op[T]) error {
	if op == nil {
		return opErrorf(ErrOp, "ReduceLocal", "the operation is nil: give a function such as mpi.Sum")
	}
	if len(in) != len(inout) {
		return opErrorf(ErrCount, "ReduceLocal", "in has %d elements, inout has %d: need as many", len(in), len(inout))
	}
	if isCommutative(op) {
		op(inout, in)
		return nil
	}
	// An Op's result lands in its left operand, here it belongs in the right one.
	acc := append([]T(nil), in...)
	op(acc, inout)
	copy(inout, acc)
	return nil
}
