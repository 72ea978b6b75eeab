//go:build linux

package web

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// screen is what a browser makes of updates, as page/model.js does.
type screen struct {
	ranks  map[int]rankRow
	cells  []cell
	sizes  sizes
	events []string
	last   bool
}

func (s *screen) take(t testing.TB, data []byte) {
	t.Helper()
	text, ok := strings.CutPrefix(string(data), "event: job\ndata: ")
	text, end := strings.CutSuffix(text, "\n\n")
	if !ok || !end || strings.ContainsAny(text, "\n\r") {
		t.Fatalf("not one event with one line of data: %.200q", data)
	}
	var u update
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		t.Fatal(err)
	}
	if u.Full {
		n := (u.Job.Places + u.Job.Group - 1) / max(1, u.Job.Group)
		*s = screen{ranks: make(map[int]rankRow), cells: make([]cell, n*n)}
	}
	for _, r := range u.Ranks {
		s.ranks[r.Place] = r
	}
	for i := 0; i < len(u.Cells); i += 3 {
		c := &s.cells[u.Cells[i]]
		c.bytes += u.Cells[i+1]
		c.messages += u.Cells[i+2]
	}
	if u.Sizes != nil {
		s.sizes = u.Sizes
	}
	for _, e := range u.Events {
		s.events = append(s.events, e.Text)
	}
	s.last = u.Last
}

// wantPicture compares what a browser shows with the picture.
func (s *screen) want(t testing.TB, p *picture) {
	t.Helper()
	if !slices.Equal(s.cells, p.matrix.cells) {
		t.Errorf("cells %v, want %v", s.cells, p.matrix.cells)
	}
	if len(s.ranks) != len(p.ranks) {
		t.Errorf("%d ranks, want %d", len(s.ranks), len(p.ranks))
	}
	for i, r := range p.ranks {
		got := s.ranks[i]
		if r.at = 0; got != r {
			t.Errorf("rank %d:\n%+v, want\n%+v", i, got, r)
		}
	}
	if !slices.Equal(s.sizes, p.sizes) {
		t.Errorf("sizes %v, want %v", s.sizes, p.sizes)
	}
	var events []string
	for _, e := range p.events {
		events = append(events, e.Text)
	}
	if !slices.Equal(s.events, events) {
		t.Errorf("events %q, want %q", s.events, events)
	}
}

// Whichever pictures a browser is sent, after the newest it shows that one.
func TestUpdatesAddUp(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		f := newFake(1+rnd.IntN(9), 1+rnd.IntN(4))
		sent := make(map[[2]int]uint64)
		var prev, has *picture
		var s screen
		for step := range 20 {
			for r := range f.ranks {
				if rnd.IntN(3) == 0 {
					continue // it does not answer
				}
				var peers []telemetry.Peer
				for q := range f.ranks {
					sent[[2]int{r, q}] += uint64(rnd.IntN(3)) * 10
					if n := sent[[2]int{r, q}]; n > 0 {
						peers = append(peers, peer(q, n, 0))
					}
				}
				f.answer(r, time.Duration(step)*time.Second, rnd.IntN(2), stats(time.Duration(step)*time.Second/2, uint64(step)), peers...)
			}
			if rnd.IntN(2) == 0 {
				f.note(rnd.IntN(len(f.ranks)), fmt.Sprint("event ", step))
			}
			prev = draw(inputOf(f), prev)
			if rnd.IntN(2) == 0 || step == 19 {
				u := changes(has, prev)
				s.take(t, u.appendEvent(nil))
				s.want(t, prev)
				has = prev
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// What has not changed is not sent.
func TestNothingNew(t *testing.T) {
	f := newFake(4, 4)
	f.answer(1, 5, 0, stats(time.Second, 100), peer(2, 10, 10))
	f.note(1, "joined")
	in := inputOf(f)
	first := draw(in, nil)
	u := changes(first, draw(in, first))
	if u.Full || u.Ranks != nil || u.Cells != nil || u.Sizes != nil || len(u.Events) > 0 {
		t.Errorf("an update says %+v", u)
	}
	f.answer(1, 6, 0, stats(time.Second, 100), peer(2, 20, 10))
	in.ranks = f.Ranks()
	if u = changes(first, draw(in, first)); len(u.Ranks) != 1 || !slices.Equal(u.Cells, []uint64{1*4 + 2, 10, 1}) {
		t.Errorf("ranks %+v, cells %v; want one of each", u.Ranks, u.Cells)
	}
}

// TestManyEvents: a browser that was away for long is sent the last events only.
func TestManyEvents(t *testing.T) {
	f := newFake(1, 1)
	for i := range shownEvents + 50 {
		f.note(-1, fmt.Sprint(i))
	}
	u := changes(nil, draw(inputOf(f), nil))
	if len(u.Events) != shownEvents || u.Events[0].Text != "50" {
		t.Errorf("%d events, the first %+v", len(u.Events), u.Events[0])
	}
}

// Text of a program may hold anything, and stays one line of the stream.
func TestTextIsOneLine(t *testing.T) {
	f := newFake(1, 1)
	text := "its last lines:\n  data: x\r\n\u2028</script>\x00\xff"
	f.note(0, text)
	u := changes(nil, draw(inputOf(f), nil))
	var s screen
	s.take(t, u.appendEvent(nil))
	if want := strings.ToValidUTF8(text, "\ufffd"); len(s.events) != 1 || s.events[0] != want {
		t.Errorf("%q, want %q", s.events, want)
	}
}
