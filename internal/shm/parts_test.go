//go:build linux && !fitmpi_portable

package shm

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadParts: every part is copied but those that cannot be, whichever they are, and more than
// one call of the kernel takes.
func TestReadParts(t *testing.T) {
	needReads(t)
	s, f := newSegment(t, 3)
	wait := startOffer(t, f)
	b, data := s.Block(1), payload()
	pid, addr := int(b.PID.Load()), b.Offers[5].Addr.Load()
	for _, bad := range [][]int{nil, {0}, {3}, {15, 16, 17}, {2 * maxParts}, {0, 5, 31, 39}} {
		for _, n := range []int{1, 2, maxParts, maxParts + 1, 40} {
			parts := make([]Part, n)
			for i := range parts {
				parts[i] = Part{Dst: make([]byte, 1+i*1000), Addr: addr + uint64(7*i), Err: unix.EIO} // of the time before
				if slices.Contains(bad, i) {
					parts[i].Addr = 8
				}
			}
			ReadParts(pid, parts)
			for i, p := range parts {
				switch want := data[7*i:][:len(p.Dst)]; {
				case slices.Contains(bad, i):
					if !errors.Is(p.Err, unix.EFAULT) {
						t.Errorf("part %d of %d at a bad address: %v", i, n, p.Err)
					}
				case p.Err != nil || !bytes.Equal(p.Dst, want):
					t.Errorf("part %d of %d, bad ones %v: error %v, as it was: %v", i, n, bad, p.Err, bytes.Equal(p.Dst, want))
				}
			}
		}
	}
	ReadParts(pid, nil)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	parts := []Part{{Dst: make([]byte, 8), Addr: addr}, {Dst: make([]byte, 8), Addr: addr}}
	ReadParts(pid, parts)
	for _, p := range parts {
		if !errors.Is(p.Err, unix.ESRCH) {
			t.Errorf("of a process that has ended: %v", p.Err)
		}
	}
}

// TestReadPartsAllocates: not while all goes well.
func TestReadPartsAllocates(t *testing.T) {
	needReads(t)
	b := NewBlock()
	Join(b, true)
	var parts [3]Part
	for i := range parts {
		parts[i] = Part{Dst: make([]byte, 8), Addr: b.CookieAddr.Load()}
	}
	if n := testing.AllocsPerRun(100, func() { ReadParts(int(b.PID.Load()), parts[:]) }); n != 0 || parts[2].Err != nil {
		t.Errorf("%v allocations, %v", n, parts[2].Err)
	}
}
