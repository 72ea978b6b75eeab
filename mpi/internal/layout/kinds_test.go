package layout

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The kinds of the values are visited in the order in which they travel, however the map was made.
func TestEachKind(t *testing.T) {
	record, err := Of(reflect.TypeFor[struct {
		A, B int32
		C    float64
	}]())
	if err != nil {
		t.Fatal(err)
	}
	records, err := Vector(record, 2, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	column, err := Hvector(Basic(Int16), 3, 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	both, err := Struct([]int{1, 2}, []int{0, 1000}, []*Map{column, record})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		m     *Map
		count int
		want  string
	}{
		{Basic(Float64), 4, "4*float64"},
		{record, 1, "2*int32 1*float64"},
		{records, 1, "2*int32 1*float64 2*int32 1*float64"},
		{column, 2, "6*int16"},
		{both, 1, "3*int16 2*int32 1*float64 2*int32 1*float64"},
		{both, 0, ""},
	} {
		var got []string
		values := 0
		if !tt.m.EachKind(tt.count, func(k Kind, n int) bool {
			got = append(got, fmt.Sprint(n, "*", k))
			values += n
			return true
		}) || strings.Join(got, " ") != tt.want || values != tt.count*tt.m.Basics() {
			t.Errorf("%d of %s: %v", tt.count, tt.m.Signature(), got)
		}
		for stop := range len(got) {
			seen := 0
			if tt.m.EachKind(tt.count, func(Kind, int) bool { seen++; return seen <= stop }) || seen != stop+1 {
				t.Errorf("%s: told to stop after %d of %v it has visited %d", tt.m.Signature(), stop, slices.Clone(got), seen)
			}
		}
	}
}
