package layout

import "reflect"

// Kind is a kind of basic value. The numbers are those of the element classes in frame headers:
// never renumber them.
type Kind uint8

// The kinds. int and uint are those of their size.
const (
	Byte       Kind = 0 // a byte of unknown meaning: lies over memory of every kind
	Bool       Kind = 1
	Int8       Kind = 2
	Int16      Kind = 3
	Int32      Kind = 4
	Int64      Kind = 5
	Uint8      Kind = 6
	Uint16     Kind = 7
	Uint32     Kind = 8
	Uint64     Kind = 9
	Float32    Kind = 10
	Float64    Kind = 11
	Complex64  Kind = 12
	Complex128 Kind = 13

	kinds = 14
	mixed = Kind(255) // of a node whose values are of several kinds
)

// facts is what there is to know of a kind.
type facts struct {
	name  string
	size  int // bytes
	width int // bytes that a change of byte order reverses: half a complex number, else size
	align int // of a variable, on this machine
}

func factsOf[T any](name string, parts int) facts {
	t := reflect.TypeFor[T]()
	size := int(t.Size())
	return facts{name, size, size / parts, t.Align()}
}

var kindFacts = [kinds]facts{
	Byte:       factsOf[byte]("byte", 1),
	Bool:       factsOf[bool]("bool", 1),
	Int8:       factsOf[int8]("int8", 1),
	Int16:      factsOf[int16]("int16", 1),
	Int32:      factsOf[int32]("int32", 1),
	Int64:      factsOf[int64]("int64", 1),
	Uint8:      factsOf[uint8]("uint8", 1),
	Uint16:     factsOf[uint16]("uint16", 1),
	Uint32:     factsOf[uint32]("uint32", 1),
	Uint64:     factsOf[uint64]("uint64", 1),
	Float32:    factsOf[float32]("float32", 1),
	Float64:    factsOf[float64]("float64", 1),
	Complex64:  factsOf[complex64]("complex64", 2),
	Complex128: factsOf[complex128]("complex128", 2),
}

// Size is the number of bytes of one value.
func (k Kind) Size() int { return kindFacts[k].size }

// String is the kind's name in Go.
func (k Kind) String() string {
	if k < kinds {
		return kindFacts[k].name
	}
	return "several kinds"
}

// kindOf is the kind of a Go type that is basic; ok is false for any other.
func kindOf(t reflect.Type) (k Kind, ok bool) {
	switch t.Kind() {
	case reflect.Bool:
		return Bool, true
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return bySize(t, Int8, Int16, Int32, Int64), true
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		return bySize(t, Uint8, Uint16, Uint32, Uint64), true
	case reflect.Float32:
		return Float32, true
	case reflect.Float64:
		return Float64, true
	case reflect.Complex64:
		return Complex64, true
	case reflect.Complex128:
		return Complex128, true
	default:
		return 0, false
	}
}

func bySize(t reflect.Type, k1, k2, k4, k8 Kind) Kind {
	switch t.Size() {
	case 1:
		return k1
	case 2:
		return k2
	case 4:
		return k4
	default:
		return k8
	}
}
