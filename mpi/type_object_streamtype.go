package mpi

// Definitions of types in a gob stream. One is a struct of which one field is set, by which kind of
// type it is; that is a struct too: first what all have in common, a name and a number, then what
// the kind needs. Fields that are zero are left out.

// Fields of a definition.
const (
	defineArray = iota
	defineSlice
	defineStruct
	defineMap
	defineOwn       // the type has a form of its own, as has each that follows
	defineOwnBinary // likewise
	defineOwnText   // likewise
	definitions
)

// define reads the definition of type id, and reports whether it is one.
func (l *streamLook) define(id int64) bool {
	t := &streamType{}
	if id < streamFirstID || l.types[id] != nil {
		return false
	}
	ok := l.fields(func(kind int) bool {
		if kind >= definitions || t.kind != streamNone {
			return false
		}
		t.kind = [definitions]streamKind{
			defineArray: streamArray, defineSlice: streamSlice, defineStruct: streamStruct, defineMap: streamMap,
			defineOwn: streamBytes, defineOwnBinary: streamBytes, defineOwnText: streamBytes,
		}[kind]
		return l.fields(func(field int) bool { return l.definition(t, field) })
	})
	if !ok || t.kind == streamNone {
		return false
	}
	l.types[id] = t
	return true
}

// fields visits the fields of a struct that the stream has.
func (l *streamLook) fields(visit func(field int) bool) bool {
	for field := -1; ; {
		distance, ok := l.number()
		switch {
		case !ok || distance > definitions:
			return false
		case distance == 0:
			return true
		}
		if field += int(distance); !visit(field) {
			return false
		}
	}
}

// definition reads a field of what defines t.
func (l *streamLook) definition(t *streamType, field int) (ok bool) {
	switch {
	case field == 0:
		return l.fields(l.named)
	case field == 1 && t.kind == streamStruct:
		return l.fieldTypes(t)
	case field == 1 && t.kind == streamMap:
		t.key, ok = l.signed()
	case field == 1 && (t.kind == streamSlice || t.kind == streamArray):
		t.elem, ok = l.signed()
	case field == 2 && t.kind == streamMap:
		t.elem, ok = l.signed()
	case field == 2 && t.kind == streamArray: // its length, which each value repeats
		_, ok = l.signed()
	}
	return ok
}

// named passes over a field of a name and a number.
func (l *streamLook) named(field int) bool {
	switch field {
	case 0:
		return l.skip()
	case 1:
		_, ok := l.signed()
		return ok
	}
	return false
}

// fieldTypes reads the types of the fields of a struct.
func (l *streamLook) fieldTypes(t *streamType) bool {
	n, err := l.count()
	if err != nil {
		return false
	}
	for range n {
		id := int64(0)
		ok := l.fields(func(field int) (ok bool) {
			if field == 1 {
				id, ok = l.signed()
				return ok
			}
			return l.named(field)
		})
		if !ok {
			return false
		}
		t.fields = append(t.fields, id)
	}
	return true
}
