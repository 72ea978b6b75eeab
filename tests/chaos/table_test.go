//go:build linux

package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// table counts faults by kind and runs by outcome.
type table struct {
	began    time.Time
	faults   map[string]int
	outcomes map[string]int // "mode, outcome"
	messages uint64
	shrunk   int
	again    int            // starts of jobs that were not their first
	refused  int            // checkpoints for which there was no room, as one rank counts them
	hosts    map[string]int // jobs of two hosts, by how these are reached
	slowest  time.Duration  // from the last fault of a run to its end
}

func newTable() *table {
	return &table{began: time.Now(), faults: map[string]int{}, outcomes: map[string]int{}, hosts: map[string]int{}}
}

func (x *table) add(r *run, v verdict) {
	for _, f := range r.applied {
		x.faults[f.kind.name]++
	}
	if r.plan.files > 0 {
		x.faults["few descriptors for ranks"]++
	}
	if r.plan.fitrunFiles > 0 {
		x.faults["few descriptors for fitrun"]++
	}
	if len(r.plan.outputs) > 0 {
		x.faults["full disk"]++
	}
	if len(v.bad) > 0 {
		v.outcome = "BAD"
	}
	x.outcomes[fmt.Sprintf("%v: %s", r.plan.mode, v.outcome)]++
	if r.plan.hosts != "" {
		x.hosts[r.plan.hosts]++
	}
	x.refused += r.control.lives.refused / r.plan.ranks
	recoveries, again := 0, 0 // which all that live have made together
	for _, e := range r.control.lasts(r.plan.ranks) {
		if e != nil {
			x.messages += e.Received
			recoveries, again = max(recoveries, e.Recoveries), max(again, e.Restarts)
		}
	}
	x.shrunk += recoveries
	x.again += again
	x.slowest = max(x.slowest, r.ended)
}

// log prints the table.
func (x *table) log(t *testing.T) {
	var b strings.Builder
	total := 0
	for _, name := range slices.Sorted(maps.Keys(x.faults)) {
		fmt.Fprintf(&b, "| %s | %d |\n", name, x.faults[name])
		total += x.faults[name]
	}
	for _, name := range slices.Sorted(maps.Keys(x.outcomes)) {
		fmt.Fprintf(&b, "| jobs, %s | %d |\n", name, x.outcomes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(x.hosts)) {
		fmt.Fprintf(&b, "| jobs on two hosts, by %s | %d |\n", name, x.hosts[name])
	}
	fmt.Fprintf(&b, "| recoveries by Revoke, Agree and Shrink | %d |\n", x.shrunk)
	fmt.Fprintf(&b, "| jobs started again by fitrun --restart | %d |\n| checkpoints refused by a full disk | %d |\n", x.again, x.refused)
	t.Logf("%d faults in %v; %d messages checked by ranks that lived; slowest end %v\n%s", total, since(x.began), x.messages, x.slowest, b.String())
}

func join(lines []string) string { return "- " + strings.Join(lines, "\n- ") }

// tail is the end of what a job wrote.
func tail(s string) string {
	const most = 6000
	if len(s) > most {
		return s[:most/3] + "\n...\n" + s[len(s)-most:]
	}
	return s
}
