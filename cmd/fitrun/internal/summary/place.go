//go:build linux

package summary

import (
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// place is where a finding shows, for a sentence; "" if that is not known.
func place(f *Finding) string {
	switch {
	case f.At == "" && f.Op == "":
		return ""
	case f.At == "":
		return " in " + f.Op
	default:
		return fmt.Sprintf(" in %s at %s", f.Op, path.Base(f.At))
	}
}

// longest is the place where ranks waited longest, of those that the first filter takes that takes
// any.
func longest(ranks []*rank, filters ...func(*telemetry.Site) bool) (op, at string) {
	type spot struct{ op, at string }
	for _, is := range filters {
		times, most := make(map[spot]time.Duration), spot{}
		for _, r := range ranks {
			for i := range r.Counters.Sites {
				if s := &r.Counters.Sites[i]; s.Op != "" && is(s) {
					k := spot{s.Op, s.At}
					if times[k] += s.Time; times[k] > times[most] {
						most = k
					}
				}
			}
		}
		if most.op != "" {
			return most.op, most.at
		}
	}
	return "", ""
}

func contains(ranks []int, r int) bool {
	_, ok := slices.BinarySearch(ranks, r)
	return ok
}

// meanwhile is what ranks do while others wait for them.
func meanwhile(ranks []*rank) string {
	waiting, all := 0.0, 0.0
	for _, r := range ranks {
		waiting, all = waiting+r.messageShare()*r.time, all+r.time
	}
	if s := share(waiting, all); s >= 0.2 {
		return fmt.Sprintf("which itself waited for messages %s of the time", Percent(s))
	}
	return "which computed"
}
