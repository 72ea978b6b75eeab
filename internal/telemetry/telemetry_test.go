package telemetry

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// fill gives every string in v a text, every slice an element and every pointer something to point
// to.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), text)
		fill(v.Index(1), text)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, text)
		}
	case reflect.Map:
		if v.Type() != reflect.TypeFor[map[string]uint64]() {
			panic("Decode does not look into a " + v.Type().String())
		}
		v.Set(reflect.ValueOf(map[string]uint64{text: 7}))
	case reflect.Interface, reflect.Chan, reflect.Func:
		panic("Decode does not look into a " + v.Type().String())
	default:
	}
}

// Whatever a rank calls something, wherever in a report, it is plain when fitrun has it; what is
// plain stays as it is.
func TestDecodeMakesPlain(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[2J\nfitrun: b":            `a\x1b[2J\nfitrun: b`,
		"\x7f":                           `\x7f`,
		"\u009b2J\u202e":                 `\u009b2J\u202e`,
		"main.(*T[int]).f<&>, \"ä\" \\n": "main.(*T[int]).f<&>, \"ä\" \\n",
		"plain":                          "plain",
	} {
		var said, wanted Report
		fill(reflect.ValueOf(&said).Elem(), text)
		fill(reflect.ValueOf(&wanted).Elem(), want)
		data, err := json.Marshal(&said)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, &wanted) {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if r, err := Decode([]byte(`{"Pending":{"Comms":[{"Name":"` + strings.Repeat("x", 9) + `"}]}}`)); err != nil || r.Pending.Comms[0].Name != "xxxxxxxxx" {
		t.Errorf("%+v, %v", r, err)
	}
}
