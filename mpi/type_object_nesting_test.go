package mpi

import (
	"context"
	"encoding/gob"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

type (
	link   struct{ Next *link }
	branch struct {
		Name string
		Kids []branch
	}
	tangle   map[string]tangle
	folded   []folded
	anything struct{ V any }
	journal  struct {
		At    time.Time
		Links map[string]*journal
		self  *journal
	}
	// worded has a form of its own, which leaves nothing to gob.
	worded struct{ F func() }
)

func (worded) MarshalBinary() ([]byte, error) { return []byte{1}, nil }
func (*worded) UnmarshalBinary([]byte) error  { return nil }

func init() {
	gob.Register(anything{})
	gob.Register([]any{})
	gob.Register(callable{})
	gob.Register(branch{})
	gob.Register([]callable{})
	gob.Register(map[string]*callable{})
	gob.Register(wired{})
	gob.Register(closed{})
	gob.Register(worded{})
}

// linked is a list of n links.
func linked(n int) *link {
	var l *link
	for range n {
		l = &link{l}
	}
	return l
}

// A value that refers to itself cannot be serialised, and says so in every call that serialises:
// of class ErrType, and the rank goes on.
func TestCyclicValues(t *testing.T) {
	ring := &link{}
	ring.Next = ring
	long := linked(5000)
	end := long
	for end.Next != nil {
		end = end.Next
	}
	end.Next = long
	m := tangle{}
	m["a"] = tangle{"b": m}
	f := folded{nil}
	f[0] = f
	a := &anything{}
	a.V = a
	list := []any{1, nil}
	list[1] = list
	led := &journal{Links: map[string]*journal{}}
	led.Links["x"] = led
	tree := branch{Kids: make([]branch, 1)}
	tree.Kids[0].Kids = tree.Kids
	err := RunThreads(1, func(_ context.Context, c *Comm) error {
		for what, err := range map[string]error{
			"a ring":            SendValue(c, ring, 0, 0),
			"a long ring":       SendValue(c, *long, 0, 0),
			"maps":              Send(c, []tangle{nil, m}, 0, 0),
			"slices":            SendValue(c, f, 0, 0),
			"an interface":      SendValue(c, a, 0, 0),
			"a list":            SendValue(c, list, 0, 0),
			"interfaces":        SendValue[any](c, list, 0, 0),
			"a map of a struct": SendValue(c, led, 0, 0),
			"a tree":            SendValue(c, tree, 0, 0),
			"Isend":             waitAllOf(Isend(c, []*link{ring}, 0, 0)),
			"IsendValue":        waitAllOf(IsendValue(c, ring, 0, 0)),
			"Bcast":             Bcast(c, []*link{ring}, 0),
			"BcastValue":        errOf(BcastValue(c, ring, 0)),
			"Allgather":         Allgather(c, []*link{ring}, make([]*link, 1)),
			"AllreduceValue":    errOf(AllreduceValue(c, ring, func(acc, in []*link) {})),
		} {
			if !errors.Is(err, ErrType) || !errors.Is(err, errCyclic) {
				t.Errorf("%s: %v, want an error of class %v: %v", what, err, ErrType, errCyclic)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// What is shared is no cycle, and arrives as often as it is referred to; what is deep arrives, up
// to a limit above which it is an error.
func TestNestedValues(t *testing.T) {
	effort.Need(t, effort.Usual, "it nests a hundred thousand values")
	shared := &link{&link{}}
	for what, v := range map[string]any{
		"shared":      []*link{shared, shared, shared.Next},
		"of itself":   []*journal{{self: &journal{}}},
		"an instant":  []any{time.Unix(1, 0)},
		"interfaces":  []any{1, "a", nil, []any{[]float64{1}}, map[string]any{"a": nil}},
		"a deep list": []*link{linked(100_000)},
	} {
		if err := checkNesting(reflect.ValueOf(v)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	b, err := encodeObjects(nil, []*link{linked(100_000)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeNewObjects[*link](b)
	if err != nil || len(got) != 1 {
		t.Fatal(len(got), err)
	}
	n := 0
	for l := got[0]; l != nil; l = l.Next {
		n++
	}
	if n != 100_000 {
		t.Errorf("%d links arrived of 100,000", n)
	}
	if _, err := encodeObjects(nil, []*link{linked(mostNested + 1)}); !errors.Is(err, errNested) {
		t.Errorf("a list of %d links: %v, want %v", mostNested+1, err, errNested)
	}
}

// Values of interfaces that gob would carry in part, in silence, or not at all.
type (
	callable struct {
		N int
		F func()
	}
	wired  struct{ C []chan int }
	closed struct{ n int }
)

// What the type of the elements does not tell is refused when it is met: a value in an interface
// whose fields gob would leave out. The error names interface's type and the field.
func TestDynamicTypes(t *testing.T) {
	err := RunThreads(1, func(_ context.Context, c *Comm) error {
		for what, tc := range map[string]struct {
			v    any
			says string
		}{
			"a function":           {callable{N: 1}, "an interface has a mpi.callable: field F: type func() means nothing"},
			"behind a pointer":     {&callable{N: 1}, "an interface has a *mpi.callable: field F: "},
			"in a slice":           {[]callable{{N: 1}}, "an interface has a []mpi.callable: field F: "},
			"in a map":             {map[string]*callable{"a": {N: 1}}, "an interface has a map[string]*mpi.callable: field F: "},
			"channels":             {wired{}, "an interface has a mpi.wired: field C: type chan int means nothing"},
			"in another interface": {anything{V: []any{1, callable{}}}, "an interface has a mpi.callable: field F: "},
			"no field":             {closed{1}, "an interface has a mpi.closed: type mpi.closed has no exported fields"},
			"no pointer":           {[]any{(*branch)(nil)}, "nil pointer"},
		} {
			for range 2 { // the second time it is known
				for call, err := range map[string]error{
					"of an element":          SendValue(c, tc.v, 0, 0),
					"of a field":             SendValue(c, anything{V: tc.v}, 0, 0),
					"in a collective":        errOf(BcastValue(c, tc.v, 0)),
					"of what is one of many": Send(c, []any{1, tc.v}, 0, 0),
				} {
					if !errors.Is(err, ErrType) || !strings.Contains(err.Error(), tc.says) {
						t.Errorf("%s, %s: %v, want an error of class %v that says %q", what, call, err, ErrType, tc.says)
					}
				}
			}
		}
		sent := Isend(c, []any{worded{}, nil}, 0, 0)
		got, _, err := RecvNew[any](c, 0, 0)
		if _, ok := got[0].(worded); err != nil || !ok || got[1] != nil {
			t.Errorf("a form of its own: %v, %v", got, err)
		}
		return waitAllOf(sent)
	})
	if err != nil {
		t.Error(err)
	}
}

// What gob does not tell apart, as the documentation of the package says.
func TestWhatGobChanges(t *testing.T) {
	type parts struct {
		Empty   []int
		Zero    *int
		One     *int
		Nothing map[string]int
		Minus   float64
		hidden  int
	}
	err := RunThreads(1, func(_ context.Context, c *Comm) error {
		sent := Isend(c, []parts{{Empty: []int{}, Zero: new(int), One: new(1), Minus: math.Copysign(0, -1), hidden: 1}}, 0, 0)
		got, _, err := RecvValue[parts](c, 0, 0)
		if err != nil || got.Empty != nil || got.Zero != nil || got.One == nil || *got.One != 1 || got.Nothing != nil ||
			got.hidden != 0 || math.Signbit(got.Minus) {
			t.Errorf("%+v, %v", got, err)
		}
		maps := Isend(c, []map[string]int{nil}, 0, 0)
		m, _, err := RecvValue[map[string]int](c, 0, 0)
		if err != nil || m == nil || len(m) > 0 {
			t.Errorf("%v, %v", m, err)
		}
		slices := Isend(c, [][]int{nil, {}}, 0, 0)
		s, _, err := RecvNew[[]int](c, 0, 0)
		if err != nil || len(s) != 2 || s[0] != nil || s[1] != nil {
			t.Errorf("%#v, %v", s, err)
		}
		minus := math.Copysign(0, -1)
		numbers := Isend(c, [][]float64{{minus}}, 0, 0)
		f, _, err := RecvNew[[]float64](c, 0, 0)
		if err != nil || len(f) != 1 || len(f[0]) != 1 || !math.Signbit(f[0][0]) {
			t.Errorf("%v, %v, want -0", f, err)
		}
		pointers := Isend(c, []any{&branch{Name: "a"}, anything{V: 1}}, 0, 0)
		p, _, err := RecvNew[any](c, 0, 0)
		if b, ok := p[0].(branch); err != nil || !ok || b.Name != "a" || p[1] != (anything{V: 1}) {
			t.Errorf("%#v, %v, want what was registered", p, err)
		}
		return waitAllOf(sent, maps, slices, numbers, pointers)
	})
	if err != nil {
		t.Error(err)
	}
}

func errOf[T any](_ T, err error) error { return err }
