package strangers

import (
	"testing"
	"time"
)

// TestLog: a burst is written, of a flood one line in a while, which counts the others; after a
// rest a burst again.
func TestLog(t *testing.T) {
	var l Log
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	flood := func(n int) (written, missed int) {
		for range n {
			if ok, m := l.May(now); ok {
				written, missed = written+1, missed+m
			}
		}
		return written, missed
	}
	if w, m := flood(1000); w != logBurst || m != 0 {
		t.Fatalf("of a first flood %d lines, %d missed; want %d and 0", w, m, logBurst)
	}
	total := 0
	for range 360 { // an hour of it
		now = now.Add(logEvery)
		w, m := flood(1000)
		if w != 1 {
			t.Fatalf("%d lines in %v", w, logEvery)
		}
		total += w + m
	}
	// All but those after the last line are in some line.
	if want := 1000 - logBurst + 359*1000 + 1; total != want {
		t.Errorf("%d accounted for, want %d", total, want)
	}
	now = now.Add(time.Hour)
	if w, m := flood(1000); w != logBurst || m != 999 {
		t.Errorf("after a rest %d lines, %d missed; want %d and 999", w, m, logBurst)
	}
}
