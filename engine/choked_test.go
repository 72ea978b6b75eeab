package engine

import (
	"testing"
	"time"
)

// TestChoked: a connection whose bytes make no record of TLS for as long as the patience is of no use; one on which nothing comes, or of which
// records come now and then, or whose peer may be silent, is not judged by that.
func TestChoked(t *testing.T) {
	const patience = int64(10 * time.Second)
	for _, tc := range []struct {
		name    string
		arrives func(second int) (raw, whole uint64)
		excused bool
		choked  bool
	}{
		{"heartbeats that are taken for the rest of a record", func(s int) (uint64, uint64) { return 54, 0 }, false, true},
		{"the same, each after three looks", func(s int) (uint64, uint64) { return uint64(s%3/2) * 54, 0 }, false, true},
		{"nothing", func(s int) (uint64, uint64) { return 0, 0 }, false, false},
		{"a record each nine seconds, in pieces", func(s int) (uint64, uint64) { return 100, uint64(s%9/8) * 700 }, false, false},
		{"heartbeats", func(s int) (uint64, uint64) { return 54, 32 }, false, false},
		{"pieces from one that promises nothing", func(s int) (uint64, uint64) { return 54, 0 }, true, false},
	} {
		b := connBeat{in: 1000, opened: 900}
		choked := b.isChoked(1, false, tc.excused, patience)
		for s := range 30 {
			raw, whole := tc.arrives(s)
			b.in, b.opened = b.in+raw, b.opened+whole
			choked = choked || b.isChoked(int64(time.Duration(s+1)*time.Second), false, tc.excused, patience)
		}
		if choked != tc.choked {
			t.Errorf("%s: choked %v", tc.name, choked)
		}
	}
}
