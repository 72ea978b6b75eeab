package mpi

import (
	"testing"

	"github.com/fitmpi/fitmpi/engine"
)

// A rank keeps of each other the last signal for each of so many communicators on which it has not
// begun to agree itself.
func TestEarlySignalsAreBounded(t *testing.T) {
	var a accords
	for from := range engine.PeerID(2) {
		for i := range engine.ContextID(maxAhead) {
			if !a.keepLocked(from, i, []byte("first")) {
				t.Fatalf("signal %d of rank %d is refused", i, from)
			}
		}
		if !a.keepLocked(from, 7, []byte("second")) {
			t.Error("one for a communicator that is known already is refused")
		}
		if a.keepLocked(from, maxAhead, []byte("first")) {
			t.Error("one too many is kept")
		}
	}
	if got := a.early[7]; len(got) != 2 || string(got[1].payload) != "second" {
		t.Errorf("%v is kept, want the last signal of two ranks", got)
	}
	if len(a.early) != maxAhead {
		t.Errorf("signals for %d communicators are kept, want %d", len(a.early), maxAhead)
	}
}
