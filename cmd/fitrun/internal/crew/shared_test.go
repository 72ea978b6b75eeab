//go:build linux

package crew

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/shm"
)

// planOf is for processes with so many ranks each.
func planOf(ranks ...int) Plan {
	var plan Plan
	n := 0
	for _, k := range ranks {
		var p Process
		for range k {
			p.Ranks = append(p.Ranks, boot.Info{Rank: n, LocalRank: n})
			n++
		}
		plan.Processes = append(plan.Processes, p)
	}
	return plan
}

func TestShare(t *testing.T) {
	for _, tc := range []struct {
		name      string
		transport string
		ranks     []int // by process
		want      bool
	}{
		{"two processes", "auto", []int{1, 1}, true},
		{"several ranks each", "auto", []int{3, 2}, true},
		{"insisting", "shm", []int{1, 1}, true},
		{"one process", "auto", []int{4}, false},
		{"one rank", "shm", []int{1}, false},
		{"TCP", "tcp", []int{1, 1}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := openFiles(t)
			plan, ranks := planOf(tc.ranks...), 0
			plan.Transport = tc.transport
			s, err := share(plan)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.segment != nil; got != tc.want {
				t.Errorf("a segment: %v, want %v", got, tc.want)
			}
			for _, n := range tc.ranks {
				ranks += n
			}
			for r := range ranks {
				if got := s.bell(r) != nil; got != tc.want {
					t.Errorf("a bell for rank %d: %v, want %v", r, got, tc.want)
				}
			}
			if s.bell(ranks) != nil {
				t.Error("a bell for a rank that does not exist")
			}
			s.close()
			if after := openFiles(t); after > before {
				t.Errorf("%d descriptors are open, %d before", after, before)
			}
		})
	}
}

// More ranks than a segment has room for stand for every reason why there is none.
func TestShareImpossible(t *testing.T) {
	before := openFiles(t)
	plan := planOf(slices.Repeat([]int{1}, shm.MaxRanks+1)...)
	c, err := New(plan, nil, nil)
	if err != nil || c.Without() == nil || c.shared.segment != nil || len(c.shared.bells) > 0 {
		t.Errorf("%v, without because of %v; want it to do without", err, c.Without())
	}
	plan.Transport = "shm"
	_, err = New(plan, nil, nil)
	wantRefused(t, err, fmt.Sprintf("making shared memory for %d ranks: shared memory segment for %[1]d ranks: it takes between 2 and %d; use --transport auto to do without",
		shm.MaxRanks+1, shm.MaxRanks))
	if openFiles(t) > before {
		t.Error("something is left")
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(fds, func(fd os.DirEntry) bool {
		target, _ := os.Readlink("/proc/self/fd/" + fd.Name())
		return strings.HasPrefix(target, "anon_inode:") // the runtime's own poller, and pidfds on their way out
	}))
}
