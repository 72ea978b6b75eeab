//go:build linux && !fitmpi_portable

package shm

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestReadsFast: a kernel that refuses is not fast, and what was read is what was there.
func TestReadsFast(t *testing.T) {
	if readsFast(func([]byte, uint64) error { return unix.EPERM }) {
		t.Error("a kernel that does not permit reading is fast")
	}
	reads := 0
	readsFast(func(dst []byte, addr uint64) error {
		reads++
		clear(dst)
		if n, err := ReadProcess(unix.Getpid(), dst, addr); n != speedBytes || err != nil || dst[0] != 1 || dst[n-1] != 1 {
			t.Errorf("%d bytes were read, %d to %d, %v", n, dst[0], dst[len(dst)-1], err)
		}
		return nil
	})
	if reads != speedTries {
		t.Errorf("%d reads, want %d", reads, speedTries)
	}
}

// TestIsFast: of 64 KiB, an Intel Xeon's read beside its copy; sixteen pages at what EPYC took for
// one; and the bound.
func TestIsFast(t *testing.T) {
	for _, test := range []struct {
		reading, plain time.Duration
		want           bool
	}{
		{2587, 1239, true}, {8600, 1239, false}, {3999, 1000, true}, {4000, 1000, false}, {0, 0, false},
	} {
		if got := isFast(test.reading, test.plain); got != test.want {
			t.Errorf("%v beside %v: %v", test.reading, test.plain, got)
		}
	}
}
