package layout

import (
	"fmt"
	"reflect"
	"sync"
)

// known holds what Of has made: reflect.Type -> *Map.
var known sync.Map

// Of is the map of a Go type that has no pointers: a basic type, or arrays and structs of such. Its
// extent is the type's size. Padding is no part of it, and neither are blank fields, which no Go
// program can read: they are padding that has been given a name. Of a type with pointers, or with a
// uintptr, it returns an error that names the part.
func Of(t reflect.Type) (*Map, error) {
	if m, ok := known.Load(t); ok {
		return m.(*Map), nil
	}
	m, err := ofType(t)
	if err != nil {
		return nil, err
	}
	same, _ := known.LoadOrStore(t, m)
	return same.(*Map), nil
}

func ofType(t reflect.Type) (*Map, error) {
	if k, ok := kindOf(t); ok {
		return Basic(k), nil
	}
	switch t.Kind() {
	case reflect.Array:
		if t.Len() == 0 {
			return nothing, nil
		}
		elem, err := Of(t.Elem())
		if err != nil {
			return nil, err
		}
		return Contiguous(elem, t.Len())
	case reflect.Struct:
		return ofStruct(t)
	default:
		return nil, fmt.Errorf("a %s has no layout that another process could read", t)
	}
}

// nothing is the map of a type that has no size: no entry, so that it leaves the bounds of what it
// is part of alone.
var nothing = &Map{void: true, align: 1}

func ofStruct(t reflect.Type) (*Map, error) {
	m := &Map{ub: int(t.Size()), extent: int(t.Size()), align: t.Align()}
	var refs []ref
	for f := range t.Fields() {
		field, err := Of(f.Type)
		if err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		if f.Name == "_" || field.Size() == 0 {
			continue
		}
		at := int(f.Offset)
		if len(refs) == 0 {
			m.trueLB = at + field.trueLB
		}
		m.trueUB = at + field.trueUB
		refs = append(refs, ref{at + field.root.disp, field.root.n})
	}
	if t.Size() == 0 {
		return nothing, nil
	}
	m.root = sequence(refs)
	return m, nil
}
