package mpi

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/mpi/internal/layout"
)

// Datatype says which values of a buffer a message consists of, where they lie and in which order
// they travel: a column of a matrix, a block of a grid, some fields of structs (MPI 4.1, section
// 5.1). Without one a message is the whole buffer.
//
// [TypeOf] gives the type of a Go type, and the constructors make others from it, which nest:
//
//	column := mpi.Vector(rows, 1, cols, mpi.TypeOf[float64]())
//
// Laid over a buffer []T, a Datatype has its origin at the buffer's first byte, and a message is
// one value of it; for n of them take Contiguous(n, t). Its basic values must lie within the
// buffer, each over one of the same kind in T, unless T is byte, which any type may lie over. So
// displacements count from the first byte of the slice that is given; to begin elsewhere, slice.
//
// A constructor that is given what makes no sense returns a Datatype with an error, which
// [Datatype.Err] tells, and which every operation that the Datatype is given to returns.
//
// A Datatype is a value that never changes, but for its name and its attributes; it is safe for
// concurrent use and belongs to no rank. It needs no MPI_Type_commit, for it is made ready as it is
// constructed, and no MPI_Type_free, for that is the garbage collector's.
type Datatype struct {
	// Immutable after the constructor.
	m        *layout.Map // nil if err is not
	err      *Error
	contents Contents

	attrs attributes[*Datatype]

	name atomic.Pointer[string] // what SetName set; nil until then
	fits atomic.Pointer[fit]    // what has been found to lie under it; see over
}

// types holds what TypeOf has made: reflect.Type -> *Datatype.
var types sync.Map

// TypeOf is the Datatype of one value of T, a basic type or a struct or array of such; it stands
// for the named datatypes of MPI, MPI_DOUBLE being TypeOf[float64]() (MPI 4.1, section 3.2.2).
//
// Padding is no part of it: it neither travels nor is it overwritten. Neither are blank fields (_),
// which are padding that has been given a name. The extent is the size of T. For a T with pointers
// it has an error of class [ErrType]: such values travel serialised, not from a layout.
func TypeOf[T any]() *Datatype { return typeOf(reflect.TypeFor[T]()) }

func typeOf(goType reflect.Type) *Datatype {
	if t, ok := types.Load(goType); ok {
		return t.(*Datatype)
	}
	t := &Datatype{contents: Contents{Combiner: CombinerNamed, GoType: goType}}
	m, err := layout.Of(goType)
	if err != nil {
		t.err = opErrorf(ErrType, "TypeOf", "%w: a datatype is of numbers, truth values, and structs and arrays of such", err)
	}
	t.m = m
	same, _ := types.LoadOrStore(goType, t)
	return same.(*Datatype)
}

// Err is what was wrong with the arguments of the constructor of t, or of one of the types that it
// was made from; nil if nothing was. Its class is [ErrType], [ErrCount] or [ErrArg].
func (t *Datatype) Err() error {
	if err := t.check(); err != nil {
		return err
	}
	return nil
}

// check is Err for use within the package; t may be nil.
func (t *Datatype) check() *Error {
	if t == nil {
		return opErrorf(ErrType, "", "the datatype is nil")
	}
	return t.err
}

// Size is the number of bytes of data in one value of t (MPI 4.1, section 5.1.5, MPI_Type_size). It
// is 0 if t has an error.
func (t *Datatype) Size() int {
	if t.check() != nil {
		return 0
	}
	return t.m.Size()
}

// Extent is the lower bound of t, and the distance from there to the upper bound, which is the
// distance from one value of t to the next (MPI 4.1, section 5.1.7, MPI_Type_get_extent). Both are
// in bytes, and 0 if t has an error.
func (t *Datatype) Extent() (lb, extent int) {
	if t.check() != nil {
		return 0, 0
	}
	return t.m.Extent()
}

// TrueExtent is where the data of t begin, and how far they reach from there, whatever Resized has
// set (MPI 4.1, section 5.1.8, MPI_Type_get_true_extent). Both are in bytes, and 0 if t has no data
// or an error.
func (t *Datatype) TrueExtent() (lb, extent int) {
	if t.check() != nil {
		return 0, 0
	}
	return t.m.TrueExtent()
}

// Name is the name of t: what SetName set, else that of its Go type, or "" if t was constructed
// (MPI 4.1, section 7.8, MPI_Type_get_name).
func (t *Datatype) Name() string {
	switch {
	case t == nil:
		return ""
	case t.name.Load() != nil:
		return *t.name.Load()
	case t.contents.Combiner == CombinerNamed:
		return t.contents.GoType.String()
	}
	return ""
}

// SetName names t, for messages to people (MPI 4.1, section 7.8, MPI_Type_set_name). What TypeOf
// returns belongs to all the program and keeps its name: an error of class [ErrType] says so. Name
// its Dup.
func (t *Datatype) SetName(name string) error {
	if err := t.check(); err != nil {
		return opError(err.Class, "SetName", err)
	}
	if t.contents.Combiner == CombinerNamed {
		return opErrorf(ErrType, "SetName", "%s is a Go type and keeps its name: name its Dup", t.Name())
	}
	t.name.Store(&name)
	return nil
}

// String is the name of t, or else how it was constructed, such as "Vector(3, 1, 8, float64)".
func (t *Datatype) String() string { return t.describe(4) }

// describe is String, with what is nested deeper than so many levels left out.
func (t *Datatype) describe(levels int) string {
	switch {
	case t == nil:
		return "nil"
	case t.Name() != "":
		return t.Name()
	case levels == 0:
		return "..."
	}
	var args []string
	for _, a := range t.contents.args() {
		args = append(args, describeArg(a, levels-1))
	}
	return t.contents.Combiner.String() + "(" + strings.Join(args, ", ") + ")"
}

// describeArg describes one argument of a constructor, of a long list its beginning.
func describeArg(a any, levels int) string {
	const most = 8
	var list []string
	switch a := a.(type) {
	case *Datatype:
		return a.describe(levels)
	case []*Datatype:
		for _, t := range a[:min(most, len(a))] {
			list = append(list, t.describe(levels))
		}
		return "[" + strings.Join(list, " ") + ellipsis(len(a), most) + "]"
	case []int:
		for _, n := range a[:min(most, len(a))] {
			list = append(list, strconv.Itoa(n))
		}
		return "[" + strings.Join(list, " ") + ellipsis(len(a), most) + "]"
	default:
		return fmt.Sprint(a)
	}
}

func ellipsis(n, most int) string {
	if n <= most {
		return ""
	}
	return fmt.Sprintf(" ... %d in all", n)
}
