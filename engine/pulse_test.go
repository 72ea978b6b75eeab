//go:build linux && !fitmpi_portable

package engine

import (
	"testing"
	"time"
)

const second = int64(time.Second)

// watch is a rank that looks after one peer by a fake clock.
type watch struct {
	t   *testing.T
	m   metronome
	p   pulse
	now int64
}

func newWatch(t *testing.T, period, timeout time.Duration) *watch {
	w := &watch{t: t, m: newMetronome(period, timeout), now: 1000 * second}
	w.m.next = w.now
	return w
}

// look waits until the next look is due, and late longer.
func (w *watch) look(late time.Duration, heard uint64, paused bool) (finding, time.Duration) {
	w.now = w.m.next + int64(late)
	return w.p.look(w.now, heard, w.m.tick(w.now) > 0, paused, w.m.patience(second))
}

func (w *watch) want(why string, late time.Duration, heard uint64, paused bool, want finding) {
	w.t.Helper()
	if got, quiet := w.look(late, heard, paused); got != want {
		w.t.Fatalf("%s: finding %d after %v, want %d", why, got, quiet, want)
	}
}

// TestSilence: a peer is suspected when it has shown nothing for the timeout, not sooner, and again
// after as long.
func TestSilence(t *testing.T) {
	w := newWatch(t, time.Second, 10*time.Second)
	w.want("first look", 0, 5, false, seemsAlive)
	for n := range 2 {
		for range 9 {
			w.want("not yet", 0, 5, false, seemsAlive)
		}
		if f, quiet := w.look(0, 5, false); f != isSilent || quiet != 10*time.Second {
			t.Fatalf("round %d: finding %d after %v", n, f, quiet)
		}
		w.p.suspect(w.now)
	}
	w.want("it speaks again", 0, 6, false, isBack)
	w.want("all is well", 0, 7, false, seemsAlive)
}

// TestSignsOfLife: whatever was shown between two looks counts, and the clock begins anew with it.
func TestSignsOfLife(t *testing.T) {
	w := newWatch(t, time.Second, 10*time.Second)
	for n := range uint64(100) {
		w.want("a sign of life every ninth look", 0, n/9, false, seemsAlive)
	}
}

// TestOwnLateness: a rank that was stopped for an hour forgives every peer, once; a peer that stays
// silent is suspected a timeout later.
func TestOwnLateness(t *testing.T) {
	w := newWatch(t, time.Second, 10*time.Second)
	w.want("first look", 0, 5, false, seemsAlive)
	w.want("stopped for an hour", time.Hour, 5, false, seemsAlive)
	for range 9 {
		w.want("forgiven", 0, 5, false, seemsAlive)
	}
	w.want("still silent", 0, 5, false, isSilent)
}

// TestAllowance: a peer that comes back may wait for longer than the timeout, once.
func TestAllowance(t *testing.T) {
	w := newWatch(t, time.Second, 10*time.Second)
	w.want("first look", 0, 5, false, seemsAlive)
	w.want("away for 30 s", 30*time.Second, 5, false, seemsAlive)
	w.p.allow(30 * second)
	for range 39 {
		w.want("within the allowance", 0, 5, false, seemsAlive)
	}
	w.want("after it", 0, 5, false, isSilent)
	w.want("it speaks", 0, 6, false, seemsAlive)
	for range 9 {
		w.want("not yet", 0, 6, false, seemsAlive)
	}
	w.want("no allowance any more", 0, 6, false, isSilent)
}

// TestTick: only a look that is late by more than a period and a good part of the timeout counts as
// late, and tick returns by how much it is late.
func TestTick(t *testing.T) {
	m := newMetronome(time.Second, 40*time.Second) // an eighth of the timeout are 5 s
	m.next = 100 * second
	for _, tc := range []struct{ now, late int64 }{{100, 0}, {106, 0}, {112, 0}, {119, 6}, {120, 0}, {1000, 879}} {
		if got := m.tick(tc.now * second); got != tc.late*second {
			t.Errorf("at %d s: late by %v, want %d s", tc.now, time.Duration(got), tc.late)
		}
	}
}

// TestALittleLate: a look that is late by less than a period counts.
func TestALittleLate(t *testing.T) {
	w := newWatch(t, time.Second, 10*time.Second)
	w.want("first look", 0, 5, false, seemsAlive)
	for range 5 {
		w.want("not yet", 900*time.Millisecond, 5, false, seemsAlive)
	}
	w.want("more than ten seconds", 900*time.Millisecond, 5, false, isSilent)
}

// TestPause: silence of a peer that has said that it is held in a debugger is none; when it goes on
// it has all the time again.
func TestPause(t *testing.T) {
	w := newWatch(t, time.Second, 10*time.Second)
	w.want("first look", 0, 5, true, seemsAlive)
	for range 1000 {
		w.want("paused", 0, 5, true, seemsAlive)
	}
	for range 9 {
		w.want("goes on", 0, 5, false, seemsAlive)
	}
	w.want("silent", 0, 5, false, isSilent)
}

// TestMetronome: a short timeout makes the looks come sooner, a peer that promises few beats has
// longer.
func TestMetronome(t *testing.T) {
	for _, tc := range []struct {
		period, timeout, every time.Duration
	}{
		{time.Second, time.Minute, time.Second},
		{time.Second, 2 * time.Second, 500 * time.Millisecond},
		{0, 8 * time.Second, time.Second},
		{time.Second, 0, 0},
		{time.Second, -1, 0},
	} {
		if m := newMetronome(tc.period, tc.timeout); m.every != int64(tc.every) {
			t.Errorf("period %v, timeout %v: a look every %v, want %v", tc.period, tc.timeout, time.Duration(m.every), tc.every)
		}
	}
	m := newMetronome(time.Second, time.Minute)
	if got := time.Duration(m.patience(40 * second)); got != 160*time.Second {
		t.Errorf("patience of %v with one who promises a beat every 40 s", got)
	}
}
