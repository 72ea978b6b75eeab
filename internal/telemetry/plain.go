package telemetry

import (
	"bytes"
	"reflect"

	"github.com/fitmpi/fitmpi/internal/plain"
)

// mayHide reports whether strings of JSON may have characters that plain.Line escapes: none that is
// not escaped by JSON is below a blank.
func mayHide(data []byte) bool {
	return bytes.IndexByte(data, '\\') >= 0 || bytes.ContainsFunc(data, func(r rune) bool { return r >= 0x7f })
}

// makePlain makes every string in v, which can be set, a plain line: names of communicators and
// functions are whatever the program has called them, and what is made of a report is shown on
// terminals and pages.
func makePlain(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(plain.Line(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			makePlain(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !hasStrings(v.Type().Elem()) {
				return
			}
			makePlain(v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			makePlain(field)
		}
	case reflect.Map: // of names to numbers
		for _, name := range v.MapKeys() {
			if text := plain.Line(name.String()); text != name.String() {
				n := v.MapIndex(name)
				v.SetMapIndex(name, reflect.Value{})
				v.SetMapIndex(reflect.ValueOf(text), n)
			}
		}
	default: // a number, or a bool: there are no interfaces in a Report
	}
}

// hasStrings reports whether values of a type may have strings in them: most of a report are
// numbers.
func hasStrings(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Array, reflect.Struct:
		return true
	default:
		return false
	}
}
