//go:build linux && !fitmpi_portable

package boot

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNotices(t *testing.T) {
	s, l := connect(t, testInfo(1, 2))
	long := strings.Repeat("\x01", maxText) + "tail" // the worst case for the line limit
	if err := errors.Join(s.Report(MetricsKey, "127.0.0.1:9100"), s.Finalizing(t.Context()), s.Abort(7, long)); err != nil {
		t.Fatal(err)
	}
	if n := wantNotice(t, l, Reported); n.Key != MetricsKey || n.Text != "127.0.0.1:9100" {
		t.Errorf("report %+v", n)
	}
	wantNotice(t, l, Finalizing)
	if n := wantNotice(t, l, AbortAsked); n.Code != 7 || n.Text != long[:maxText] {
		t.Errorf("abort with code %d and %d bytes of text, want 7 and %d", n.Code, len(n.Text), maxText)
	}
}

// What a rank wrote before its end is read, and then the end, even while another process still
// holds the socket.
func TestDrain(t *testing.T) {
	s, l := connect(t, testInfo(0, 1))
	if err := s.Finalizing(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Drain(); err != nil {
		t.Fatal(err)
	}
	wantNotice(t, l, Finalizing)
	if n, err := l.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("notice %+v, %v; want the end", n, err)
	}
}

func TestLinkToRankThatDoesNotRead(t *testing.T) {
	conn, fd := socketPair(t)
	l := NewLink(conn, testInfo(0, 1000))
	table := NewCards(1000)
	for r := range 1000 {
		if err := table.Put(r, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	l.SendCards(table) // far more than the socket's buffers take; must return all the same
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	c, err := inherit(itoa(fd), "fitrun")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestCardsTable(t *testing.T) {
	c := NewCards(2)
	for _, bad := range []int{-1, 2} {
		wantRefused(t, c.Put(bad, nil), fmt.Sprintf("card of rank %d in a job of 2", bad))
	}
	if err := c.Put(1, nil); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, c.Put(1, nil), "rank 1 gave a second card")
	if c.IsComplete() || c.Given() != 1 || c.Has(0) || !c.Has(1) {
		t.Errorf("complete: %v, given: %d, has 0: %v, has 1: %v", c.IsComplete(), c.Given(), c.Has(0), c.Has(1))
	}
}

// Any table fits into lines within the limit, and a session puts it together again.
func TestCardsLines(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, MaxCard), 1, 40).Draw(rt, "sizes")
		table := NewCards(len(sizes))
		for r, n := range sizes {
			if err := table.Put(r, make([]byte, n)); err != nil {
				rt.Fatal(err)
			}
		}
		s := &session{table: make([][]byte, len(sizes)), missing: len(sizes), cardsc: make(chan struct{})}
		for _, line := range table.lines() {
			if len(line) > maxLine {
				rt.Fatalf("line of %d bytes, limit %d", len(line), maxLine)
			}
			if err := s.handle(line[:len(line)-1]); err != nil {
				rt.Fatal(err)
			}
		}
		for r, n := range sizes {
			if s.table[r] == nil || len(s.table[r]) != n {
				rt.Fatalf("card of rank %d has %d bytes, want %d", r, len(s.table[r]), n)
			}
		}
	})
}

// A list of variables that would not fit is left out.
func TestClipGiven(t *testing.T) {
	given := map[string]string{"FITMPI_PROGRESS": "--progress"}
	if got := clipGiven(given); len(got) != 1 {
		t.Errorf("%v becomes %v", given, got)
	}
	given["FITMPI_"+strings.Repeat("\x01", maxValue/6)] = "-x or -genv"
	if got := clipGiven(given); got != nil {
		t.Errorf("a list of more than %d bytes passes", maxValue)
	}
}
