package mpi

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// gob descends into a value by recursion, without a limit: a value that refers to itself, or a list
// of millions, would end the process by a stack overflow, which no deferred call sees. So values of
// types that may be nested without end are walked first, with a stack of our own.

// mostNested is how deep values may be nested: pointers are free, maps and interfaces count twice.
// It is the most for which gob's recursion was seen to fit into the runtime's limit of a stack, 512
// MB after its last doubling: lists of 1,000,000 structs, slices in slices as many, trees and maps
// in maps half as many.
const mostNested = 1_000_000

// nestedUnwatched is the depth from which the walk keeps what it is in, to find cycles.
const nestedUnwatched = 1000

var (
	errCyclic = errors.New("it refers to itself: send indices in place of pointers, or give its type the methods MarshalBinary and UnmarshalBinary")
	errNested = fmt.Errorf("it is nested more than %d levels deep: send its parts as elements of a slice", mostNested)
)

// nestingTypes caches whether values of a type may be nested without end.
var nestingTypes sync.Map // reflect.Type -> bool

// mayNest reports whether a value of type t, as gob carries it, may be nested without end: t is
// recursive, or has an interface in it.
func mayNest(t reflect.Type) bool {
	if nests, ok := nestingTypes.Load(t); ok {
		return nests.(bool)
	}
	nests := isRecursive(t, make(map[reflect.Type]bool))
	nestingTypes.Store(t, nests)
	return nests
}

// dynamicTypes caches what checkDynamic says.
var dynamicTypes sync.Map // reflect.Type -> error, or true

// checkDynamic is checkGob for the type of a value in an interface, which the type of the elements
// does not tell.
func checkDynamic(t reflect.Type) error {
	said, known := dynamicTypes.Load(t)
	if !known {
		said = true
		if err := checkGob(t, "", make(map[reflect.Type]bool)); err != nil {
			said = fmt.Errorf("an interface has a %s: %w", t, err)
		}
		dynamicTypes.Store(t, said)
	}
	err, _ := said.(error)
	return err
}

// isRecursive is mayNest below the types in seen: true for those that contain t, false for those
// that have been looked at.
func isRecursive(t reflect.Type, seen map[reflect.Type]bool) bool {
	if within, ok := seen[t]; ok {
		return within
	}
	if t.Kind() == reflect.Interface {
		return true
	}
	if encodesItself(t) {
		return false
	}
	seen[t] = true
	defer func() { seen[t] = false }()
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return isRecursive(t.Elem(), seen)
	case reflect.Map:
		return isRecursive(t.Key(), seen) || isRecursive(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() && isRecursive(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// nested is a part of a value that a walk is in.
type nested struct {
	v      reflect.Value
	next   int              // part of v that is next
	pairs  *reflect.MapIter // of a map
	at     nestedAt         // zero if it is not watched
	weight int
}

// nestedAt tells what may contain itself from all else: a pointer, a map, or a slice of a length.
type nestedAt struct {
	p uintptr
	n int
}

// checkNesting says that v refers to itself, is nested too deep for gob, or has a value in an
// interface that gob does not carry whole.
func checkNesting(v reflect.Value) error {
	depth, path, inside := 0, []nested{{v: v}}, make(map[nestedAt]bool)
	for len(path) > 0 {
		top := &path[len(path)-1]
		part, ok := top.part()
		if !ok {
			depth -= top.weight
			delete(inside, top.at)
			path = path[:len(path)-1]
			continue
		}
		if top.v.Kind() == reflect.Interface {
			if err := checkDynamic(part.Type()); err != nil {
				return err
			}
		}
		if !mayNest(part.Type()) {
			continue
		}
		n := nested{v: part, weight: nestedWeight(part.Kind())}
		if depth += n.weight; depth > mostNested {
			return errNested
		}
		if depth > nestedUnwatched {
			if n.at = whereNested(part); inside[n.at] {
				return errCyclic
			}
			if n.at != (nestedAt{}) {
				inside[n.at] = true
			}
		}
		path = append(path, n)
	}
	return nil
}

func nestedWeight(k reflect.Kind) int {
	switch k {
	case reflect.Pointer:
		return 0
	case reflect.Map, reflect.Interface:
		return 2
	}
	return 1
}

func whereNested(v reflect.Value) nestedAt {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map:
		return nestedAt{v.Pointer(), 0}
	case reflect.Slice:
		return nestedAt{v.Pointer(), v.Len()}
	}
	return nestedAt{}
}

// part is the next of the parts of n that gob carries.
func (n *nested) part() (reflect.Value, bool) {
	switch n.v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if n.next++; n.next == 1 && !n.v.IsNil() {
			return n.v.Elem(), true
		}
	case reflect.Slice, reflect.Array:
		if n.next++; n.next <= n.v.Len() {
			return n.v.Index(n.next - 1), true
		}
	case reflect.Struct:
		for n.next < n.v.NumField() {
			if n.next++; n.v.Field(n.next - 1).CanInterface() { // it is exported
				return n.v.Field(n.next - 1), true
			}
		}
	case reflect.Map:
		return n.pair()
	}
	return reflect.Value{}, false
}

// pair is part of a map: a key, then its value.
func (n *nested) pair() (reflect.Value, bool) {
	if n.next++; n.next%2 == 0 {
		return n.pairs.Value(), true
	}
	if n.pairs == nil {
		n.pairs = n.v.MapRange()
	}
	if !n.pairs.Next() {
		return reflect.Value{}, false
	}
	return n.pairs.Key(), true
}
