//go:build linux

package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// TestAgentRefuses: what fitrun does not say, or not now, ends the conversation with a word of what
// it was.
func TestAgentRefuses(t *testing.T) {
	greeting := pack(kindHello, 1, hello{Host: 1, Timeout: time.Minute})
	start := pack(kindStart, 1, start{Size: 2})
	one := pack(kindProcess, 1, crew.Process{Ranks: []boot.Info{{}}})
	for _, tc := range []struct {
		said []frame // before
		f    frame
		want string
	}{
		{nil, start, "a frame of kind 5 before the greeting"},
		{nil, frame{kindHello, 1, nil}, "malformed message of kind 1: unexpected end of JSON input"},
		{[]frame{greeting}, frame{kindStart, 1, []byte("{")}, "malformed message of kind 5: unexpected end of JSON input"},
		{[]frame{greeting}, frame{kindStop, 1, nil}, "a frame of kind 6 before the start"},
		{[]frame{greeting}, pack(kindProcess, 1, crew.Process{}), "a process without ranks"},
		{[]frame{greeting}, frame{kindFile, everyHost, make([]byte, 31)}, "piece of a file of 31 bytes; it begins with the 32 of its hash"},
		{[]frame{greeting}, frame{kindInput, 1, []byte("x")}, "standard input for a host that has no use for it"},
		{[]frame{greeting}, pack(kindCards, 1, cards{0, [][]byte{{1}}}), "cards before the start"},
		{[]frame{greeting}, pack(kindCredit, 1, credit{2, crew.Stderr, 3}), "credit of 3 for stream 2 of process 2"},
		{[]frame{greeting, one}, start, "start of 0 processes, of which 1 are planned"},
		{[]frame{greeting}, pack(kindStart, 1, nil), "start of a job of 0 ranks; it has 1 or more"},
		{[]frame{greeting, start}, start, "a second start"},
		{[]frame{greeting, start}, pack(kindCards, 1, cards{2, [][]byte{{1}}}), "card of rank 2 in a job of 2"},
		{[]frame{greeting, start}, pack(kindCards, 1, cards{1, [][]byte{{1}, {2}}}), "card of rank 2 in a job of 2"},
		{[]frame{greeting, start}, pack(kindDeal, 1, rankOnly{0}), "cards are dealt before all of them have come"},
		{[]frame{greeting, start}, pack(kindTell, 1, tell{0, boot.Event{Kind: boot.LauncherGone}}), "event launcher-gone, which is not for ranks"},
		{[]frame{greeting, start}, pack(kindSignal, 1, procSignal{0, 9}), "signal to process 0 of 0"},
		{[]frame{greeting, start}, pack(kindExamine, 1, procOnly{-1}), "a look at process -1 of 0"},
		{[]frame{greeting, start}, pack(kindSay, 1, text{"x"}), "frame of kind 27 from above"},
	} {
		a := newAgent(strings.NewReader(""), nil, time.Second, "", cache{}, nil)
		for _, f := range tc.said {
			if err := a.handle(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.handle(tc.f); err == nil || err.Error() != tc.want {
			t.Errorf("kind %d: %v, want %s", tc.f.kind, err, tc.want)
		}
		if c := a.crewNow(); c != nil {
			c.Finish()
			c.Wait()
		}
		a.threads.Wait()
	}
}

// TestFromBelow: a host speaks for itself and for those behind it.
func TestFromBelow(t *testing.T) {
	heard := 0
	n := &node{up: func(frame) error { heard++; return nil }}
	b := &branch{target: Target{Host: 1}, behind: []Target{{Host: 2}}}
	for host, want := range map[int]string{1: "", 2: "", 3: "a frame of host 3, which is not behind it"} {
		err := n.fromBelow(b, pack(kindSay, host, text{"x"}))
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("host %d: %v, want %q", host, err, want)
		}
	}
	if heard != 2 {
		t.Errorf("%d frames are passed up, want 2", heard)
	}
}
