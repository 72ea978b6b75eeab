//go:build linux && !fitmpi_portable

package mpi

import (
	"os"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// sharingInfo is what the launcher says to the last of n ranks of a host that share memory, so many
// in its process.
func sharingInfo(t *testing.T, n, inProcess int) boot.Info {
	t.Helper()
	segment, err := shm.Create(n)
	if err != nil {
		t.Fatal(err)
	}
	bell, err := sys.NewEventFD()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { segment.Close(); bell.Close() })
	return boot.Info{
		Rank: n - 1, Size: n, LocalRank: n - 1, LocalSize: n, Host: "here", ProcessRanks: inProcess,
		Segment: segment, Bell: bell,
	}
}

// The ranks of a process map the memory once, and the last that leaves unmaps it.
func TestLocalLeave(t *testing.T) {
	l, err := newLocal(sharingInfo(t, 4, 3), transportAuto)
	if err != nil {
		t.Fatal(err)
	}
	if l.segment == nil || l.process == nil || l.token == "" || l.why != nil {
		t.Fatalf("the ranks have %+v in common", l)
	}
	for range 2 {
		if err := l.leave(); err != nil {
			t.Fatal(err)
		}
		l.segment.Block(3).Armed.Store(1) // one is still there
	}
	if err := l.leave(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("the memory is mapped when all have left")
		}
	}()
	l.segment.Block(3)
}

// What cannot be shared is told with the reason, and is an error only with FITMPI_TRANSPORT=shm.
// With TCP newLocal does not look.
func TestLocalWithout(t *testing.T) {
	noBell, noSegment, other, garbage := sharingInfo(t, 2, 1), sharingInfo(t, 2, 1), sharingInfo(t, 2, 1), sharingInfo(t, 2, 1)
	noBell.Bell, noSegment.Segment, other.LocalSize = nil, nil, 3
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	garbage.Segment = f
	many := boot.Info{LocalSize: shm.MaxRanks + 1, Size: shm.MaxRanks + 1, ProcessRanks: shm.MaxRanks + 1}
	for _, test := range []struct {
		name string
		info boot.Info
		says string // "" if nothing is wrong
	}{
		{"no segment", noSegment, ""},
		{"no bell", noBell, "no bell"},
		{"another host's", other, "segment for 2 ranks on a host of 3"},
		{"garbage", garbage, "memfd"},
		{"too many", many, "at most 1024"},
	} {
		for _, transport := range []string{transportAuto, transportTCP, transportShm} {
			l, err := newLocal(test.info, transport)
			why := err
			if err == nil {
				why = l.why
			}
			want := test.says != "" && transport != transportTCP
			switch {
			case (why != nil) != want || want && !strings.Contains(why.Error(), test.says):
				t.Errorf("%s, %s: %v, want a reason that says %q", test.name, transport, why, test.says)
			case (err != nil) != (want && transport == transportShm):
				t.Errorf("%s, %s: error %v", test.name, transport, err)
			case err == nil && l.segment != nil:
				t.Errorf("%s, %s: there is a segment", test.name, transport)
			}
		}
	}
}
