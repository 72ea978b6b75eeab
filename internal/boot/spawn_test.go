//go:build linux && !fitmpi_portable

package boot

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// A rank orders ranks, and hears what came of each order, in whatever order that is (MPI 4.1,
// section 11.8).
func TestSpawn(t *testing.T) {
	s, l := connect(t, testInfo(0, 1))
	orders := []Order{
		{Programs: []OrderedProgram{{Args: []string{"./a", "b c"}, Ranks: 2, Dir: "/d", Path: "/p", Hosts: "h:2", HostFile: "/f"}}, Parent: "here"},
		{Programs: []OrderedProgram{{Args: []string{"x"}, Ranks: 1}, {Args: []string{"y"}, Ranks: 3}}},
	}
	done := make([]chan error, len(orders))
	numbers := make([]int, len(orders))
	for i := range orders {
		done[i] = make(chan error, 1)
		go func() { done[i] <- Spawn(failsafe(t), s, &orders[i]) }()
		n := wantNotice(t, l, SpawnAsked)
		if o, err := ReadOrder(n.Data); err != nil || !reflect.DeepEqual(*o, orders[i]) {
			t.Fatalf("read %+v, %v", o, err)
		}
		numbers[i] = n.Number
	}
	l.SendEvent(Event{Kind: Spawned, Rank: -1, Code: 99}) // of no order
	l.SendEvent(Event{Kind: Spawned, Rank: -1, Code: numbers[1], Message: "no room"})
	l.SendEvent(Event{Kind: Spawned, Rank: -1, Code: numbers[0]})
	if err := <-done[0]; err != nil {
		t.Error(err)
	}
	if err, ok := errors.AsType[*SpawnError](<-done[1]); !ok || err.Text != "no room" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { done[0] <- Spawn(ctx, s, &orders[0]) }()
	wantNotice(t, l, SpawnAsked)
	cancel(errors.New("enough"))
	if err := <-done[0]; err == nil || err.Error() != "enough" {
		t.Errorf("given up: %v", err)
	}
	go func() { done[0] <- Spawn(failsafe(t), s, &orders[0]) }()
	wantNotice(t, l, SpawnAsked)
	l.Close()
	if err := <-done[0]; err == nil || !strings.Contains(err.Error(), "lost fitrun") {
		t.Errorf("without the launcher: %v", err)
	}
}

// What cannot be an order is refused by both ends.
func TestOrders(t *testing.T) {
	for _, tt := range []struct{ data, want string }{
		{"", "damaged"}, {`{"programs":7}`, "damaged"}, {`{}`, "no program"}, {`{"programs":[{"ranks":1}]}`, "name is empty"},
		{`{"programs":[{"args":[""],"ranks":1}]}`, "name is empty"}, {`{"programs":[{"args":["x"]}]}`, "0 ranks of x"},
		{`{"programs":[{"args":["x"],"ranks":1},{"args":["y"],"ranks":1048576}]}`, "1048576 ranks of y"},
	} {
		if _, err := ReadOrder([]byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want one with %q", tt.data, err, tt.want)
		}
	}
	s, _ := connect(t, testInfo(0, 1))
	long := Order{Programs: []OrderedProgram{{Args: []string{strings.Repeat("x", MaxAnswer)}, Ranks: 1}}}
	if err := Spawn(t.Context(), s, &long); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("too long: %v", err)
	}
	if err := Spawn(t.Context(), nil, &long); !errors.Is(err, ErrCannotSpawn) {
		t.Errorf("without a launcher: %v", err)
	}
}

// Ranks of other jobs that have failed are told however many they are, and take one place among the
// events.
func TestForeignFailed(t *testing.T) {
	s, l := connect(t, testInfo(0, 1))
	const many = 1000
	for r := range many {
		l.SendEvent(Event{Kind: ForeignFailed, Rank: r, Job: [16]byte{5}, Message: "why"})
	}
	var all []ForeignFailure
	for len(all) < many {
		if ev := <-s.Events(); ev.Kind != ForeignFailed {
			t.Fatalf("heard %v", ev)
		}
		all = append(all, TakeForeign(s)...)
	}
	for r, f := range all {
		if f != (ForeignFailure{[16]byte{5}, r, "why"}) {
			t.Fatalf("the %d-th is %+v", r, f)
		}
	}
	l.SendEvent(Event{Kind: PeerFailed, Rank: 0, Message: "after"})
	wantEvent(t, s, Event{Kind: PeerFailed, Rank: 0, Message: "after"})
}
