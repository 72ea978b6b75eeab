//go:build linux && !fitmpi_portable

package netpoll

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestBell: what one end rings the poller at the other hears, until it silences it.
func TestBell(t *testing.T) {
	raw, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(raw), "eventfd")
	defer f.Close()
	ours, err := NewBell(f)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := NewBell(f)
	if err != nil {
		t.Fatal(err)
	}
	p := newPoller(t)
	if err := p.AddBell(theirs, 9); err != nil {
		t.Fatal(err)
	}
	heard := func() bool {
		evs := make([]Event, 4)
		n, err := p.Poll(evs)
		if err != nil {
			t.Fatal(err)
		}
		return n == 1 && evs[0].Token == 9 && evs[0].Readable
	}
	if heard() {
		t.Error("heard before it was rung")
	}
	for range 3 {
		if err := ours.Ring(); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Arm(); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(time.Minute); err != nil { // ends at once, or the test hangs
		t.Fatal(err)
	}
	for look := range 2 {
		if !heard() {
			t.Errorf("look %d: not heard until silenced", look)
		}
	}
	if err := theirs.Silence(); err != nil {
		t.Fatal(err)
	}
	if heard() {
		t.Error("heard after it was silenced")
	}
	if err := errors.Join(ours.Close(), ours.Close(), theirs.Close()); err != nil {
		t.Error(err)
	}
	if err := ours.Ring(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed bell rings: %v", err)
	}
	again, err := NewBell(f)
	if err != nil {
		t.Fatal("the file is its owner's still:", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
