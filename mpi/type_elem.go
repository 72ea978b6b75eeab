package mpi

import (
	"encoding"
	"encoding/gob"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/mpi/internal/layout"
)

// elemClass is the kind of a message's elements as the frame header carries it: enough for a
// receiver to tell memory from serialised objects, and to name the kinds where they are compared.
// The codes are part of the wire protocol; never renumber them.
type elemClass uint8

const (
	classBytes      elemClass = 0 // bytes, or unknown: no conversion
	classBool       elemClass = 1
	classInt8       elemClass = 2
	classInt16      elemClass = 3
	classInt32      elemClass = 4
	classInt64      elemClass = 5 // int too, where it has 64 bits
	classUint8      elemClass = 6
	classUint16     elemClass = 7
	classUint32     elemClass = 8
	classUint64     elemClass = 9 // uint too, where it has 64 bits
	classFloat32    elemClass = 10
	classFloat64    elemClass = 11
	classComplex64  elemClass = 12
	classComplex128 elemClass = 13
	classComposite  elemClass = 14 // arrays and structs, as memory: both ends must lay them out alike
	classObject     elemClass = 15 // serialised; see type_object.go
)

var elemClassNames = [...]string{
	"bytes", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
	"float32", "float64", "complex64", "complex128", "composite", "object",
}

func (c elemClass) String() string {
	if int(c) < len(elemClassNames) {
		return elemClassNames[c]
	}
	return fmt.Sprintf("element class %d", uint8(c))
}

// elem is what the library knows of an element type: derived once by reflection, then shared.
// Immutable.
//
// A type travels in one of three ways:
//   - plain: without pointers anywhere inside. It travels as its memory, but for padding, even if
//     it has a MarshalBinary of its own: the memory is the whole value, and a copy is what an MPI
//     datatype means.
//   - object: with pointers (strings, slices, maps, interfaces count as such). It is serialised, as
//     codec says.
//   - neither: err says why and what to do instead.
type elem struct {
	typ    reflect.Type
	id     uintptr // typeID of the type
	name   string  // typ, for messages
	size   int     // bytes of one element in memory
	class  elemClass
	plain  bool        // travels as memory
	whole  bool        // travels as the memory that it is: plain, and without padding
	m      *layout.Map // of a plain type: its values, without the padding between them
	wire   int         // bytes of an element of a plain type as it travels: size, less padding
	vector uint8       // of a plain type: its kind as package vec has them, 0 if that has none
	codec  objectCodec // how objects are serialised; codecNone unless class is classObject
	err    error       // why the type cannot travel; nil if it can
}

// elemCache is a direct-mapped cache before elems: two types that share a slot evict each other and
// still find their way through the map. A hit costs 6 ns, the map alone 14.
var (
	elemCache [256]atomic.Pointer[elem]
	elems     sync.Map // reflect.Type -> *elem
)

// elemOf returns the description of T. It allocates only on the first call for a T.
func elemOf[T any]() *elem {
	id := typeID[T]()
	slot := elemSlot(id)
	if e := slot.Load(); e != nil && e.id == id {
		return e
	}
	return lookupElem(reflect.TypeFor[T](), id, slot)
}

// elemSlot is where the cache has the type of an id.
func elemSlot(id uintptr) *atomic.Pointer[elem] {
	return &elemCache[(id>>5^id>>13)%uintptr(len(elemCache))]
}

func lookupElem(t reflect.Type, id uintptr, slot *atomic.Pointer[elem]) *elem {
	e, ok := elems.Load(t)
	if !ok {
		e, _ = elems.LoadOrStore(t, newElem(t, id))
	}
	slot.Store(e.(*elem))
	return e.(*elem)
}

func newElem(t reflect.Type, id uintptr) *elem {
	e := &elem{typ: t, id: id, name: t.String(), size: int(t.Size())}
	switch memoryOf(t) {
	case memoryPlain:
		e.plain, e.class, e.vector = true, plainClass(t), vectorKind(t)
		if e.m, e.err = layout.Of(t); e.err == nil {
			e.wire = e.m.Size()
			e.whole = e.wire == e.size
		}
		return e
	case memoryAddress:
		if chooseCodec(t) != codecBinary {
			e.err = fmt.Errorf("type %s holds a uintptr, which means nothing in another process: send a uint64, or give %s the methods MarshalBinary and UnmarshalBinary",
				t, t)
			return e
		}
	}
	e.class, e.codec = classObject, chooseCodec(t)
	if e.codec == codecGob {
		switch e.err = checkGob(t, "", map[reflect.Type]bool{}); {
		case e.err == nil:
		case hasText(t):
			e.codec, e.err = codecText, nil
		default:
			e.class, e.codec = classBytes, codecNone
		}
	}
	return e
}

// memoryKind says what a type's memory holds.
type memoryKind uint8

const (
	memoryPlain   memoryKind = iota // numbers and truth values only
	memoryAddress                   // no pointer that the collector sees, but a uintptr
	memoryPointer                   // pointers
)

// memoryOf classifies t's memory, the worst of its parts deciding.
func memoryOf(t reflect.Type) memoryKind {
	switch t.Kind() {
	case reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return memoryPlain
	case reflect.Uintptr:
		return memoryAddress
	case reflect.Array:
		if t.Len() == 0 {
			return memoryPlain
		}
		return memoryOf(t.Elem())
	case reflect.Struct:
		kind := memoryPlain
		for f := range t.Fields() {
			kind = max(kind, memoryOf(f.Type))
		}
		return kind
	default:
		return memoryPointer
	}
}

// plainClass is the class of a plain type.
func plainClass(t reflect.Type) elemClass {
	wide := t.Size() == 8
	switch t.Kind() {
	case reflect.Bool:
		return classBool
	case reflect.Int8:
		return classInt8
	case reflect.Int16:
		return classInt16
	case reflect.Int32:
		return classInt32
	case reflect.Int64:
		return classInt64
	case reflect.Int:
		if wide {
			return classInt64
		}
		return classInt32
	case reflect.Uint8:
		return classUint8
	case reflect.Uint16:
		return classUint16
	case reflect.Uint32:
		return classUint32
	case reflect.Uint64:
		return classUint64
	case reflect.Uint:
		if wide {
			return classUint64
		}
		return classUint32
	case reflect.Float32:
		return classFloat32
	case reflect.Float64:
		return classFloat64
	case reflect.Complex64:
		return classComplex64
	case reflect.Complex128:
		return classComplex128
	default:
		return classComposite
	}
}

var (
	binaryAppender    = reflect.TypeFor[encoding.BinaryAppender]()
	binaryMarshaler   = reflect.TypeFor[encoding.BinaryMarshaler]()
	binaryUnmarshaler = reflect.TypeFor[encoding.BinaryUnmarshaler]()
	textAppender      = reflect.TypeFor[encoding.TextAppender]()
	textMarshaler     = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler   = reflect.TypeFor[encoding.TextUnmarshaler]()
	gobEncoder        = reflect.TypeFor[gob.GobEncoder]()
	gobDecoder        = reflect.TypeFor[gob.GobDecoder]()
)

// chooseCodec picks how objects of type t are serialised. A type's own binary form wins if it can
// be read back too.
func chooseCodec(t reflect.Type) objectCodec {
	switch {
	case t.Kind() != reflect.Interface && has(t, binaryUnmarshaler) && (has(t, binaryAppender) || has(t, binaryMarshaler)):
		return codecBinary
	case t.Kind() == reflect.String:
		return codecString
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !encodesItself(t) && !encodesItself(t.Elem()):
		return codecByteSlice
	default:
		return codecGob
	}
}

// hasText reports whether t has a text form that can be read back. It is the last resort, of types
// that gob cannot carry: of others it is often a rounded or shortened form for people.
func hasText(t reflect.Type) bool {
	return t.Kind() != reflect.Interface && has(t, textUnmarshaler) && (has(t, textAppender) || has(t, textMarshaler))
}

// has reports whether t or *t implements the interface.
func has(t, iface reflect.Type) bool {
	return t.Implements(iface) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(iface)
}

// encodesItself reports whether gob leaves t's coding to t's own methods.
func encodesItself(t reflect.Type) bool {
	return has(t, gobEncoder) && has(t, gobDecoder) || has(t, binaryMarshaler) && has(t, binaryUnmarshaler)
}

// checkGob reports why gob cannot carry t whole, found beforehand by type, so that a user learns it
// at the first call and with the field's name. gob itself would drop channels and functions in
// silence. path names the part of the element that t is; seen breaks the cycles of recursive types.
func checkGob(t reflect.Type, path string, seen map[reflect.Type]bool) error {
	if seen[t] || encodesItself(t) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("%stype %s means nothing in another process: send the data itself, or give the enclosing type the methods MarshalBinary and UnmarshalBinary",
			where(path), t)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return checkGob(t.Elem(), path, seen)
	case reflect.Map:
		if err := checkGob(t.Key(), path, seen); err != nil {
			return err
		}
		return checkGob(t.Elem(), path, seen)
	case reflect.Struct:
		return checkGobStruct(t, path, seen)
	default:
		return nil
	}
}

func checkGobStruct(t reflect.Type, path string, seen map[reflect.Type]bool) error {
	sent := 0
	for f := range t.Fields() {
		if !f.IsExported() {
			continue
		}
		sent++
		if err := checkGob(f.Type, path+"."+f.Name, seen); err != nil {
			return err
		}
	}
	if sent == 0 && t.NumField() > 0 {
		return fmt.Errorf("%stype %s has no exported fields: export what should travel, or give it the methods MarshalBinary and UnmarshalBinary",
			where(path), t)
	}
	return nil
}

func where(path string) string {
	if path == "" {
		return ""
	}
	return "field " + path[1:] + ": "
}
