package mpi

import "testing"

// A tool that panics while its rank joins ends the job once the rank knows how.
func TestToolPanicsEarly(t *testing.T) {
	for _, early := range []bool{true, false} {
		ts := &toolchain{rank: 3}
		fail := func() {
			returned := false
			defer ts.guard(&returned, true, nil, "Turn", "")
			panic("a bug")
		}
		var texts []string
		abort := func(_ int, message string) { texts = append(texts, message) }
		if early {
			fail()
			ts.setAbort(abort)
		} else {
			ts.setAbort(abort)
			fail()
		}
		fail() // a second panic adds nothing
		if want := "rank 3: the tool <nil> panicked in Turn: a bug"; len(texts) != 1 || texts[0] != want {
			t.Errorf("early %v: the job was ended by %q, want %q once", early, texts, want)
		}
	}
}
