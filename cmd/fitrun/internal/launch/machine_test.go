//go:build linux

package launch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestOneMachine: whatever hosts are one machine, no two ranks of the job are bound to one core,
// and each is told its share.
func TestOneMachine(t *testing.T) {
	four, other := manyCPUs(4), []int{4, 5, 6, 7}
	for _, c := range []struct {
		name  string
		bind  Binding
		sites []site
		place []int
		want  string // by rank: its host, its cores, and what its process is bound to; or an error
	}{
		{"two machines", bindEven, []site{{machine: "m", cpus: four}, {machine: "n", cpus: four}}, []int{0, 1, 1}, "s0 4 0-3, s1 2 0-1, s1 2 2-3"},
		{"unknown machines", bindEven, []site{{cpus: four}, {cpus: four}}, []int{0, 1}, "s0 4 0-3, s1 4 0-3"},
		{"one machine", bindEven, []site{{machine: "m", cpus: four}, {machine: "m", cpus: four}}, []int{0, 1}, "s0 2 0-1, s1 2 2-3"},
		{"one of three", bindEven, []site{{machine: "m", cpus: four}, {machine: "n", cpus: four}, {machine: "m", cpus: four}}, []int{2, 0, 1, 2, 0}, "s2 1 2, s0 1 0, s1 4 0-3, s2 1 3, s0 1 1"},
		{"oversubscribed together", bindEven, []site{{machine: "m", cpus: four}, {machine: "m", cpus: four}}, []int{0, 0, 0, 1, 1}, "s0 1 -, s0 1 -, s0 1 -, s1 1 -, s1 1 -"},
		{"too many to bind", BindCore, []site{{machine: "m", cpus: four}, {machine: "m", cpus: four}}, []int{0, 0, 0, 1, 1},
			"--bind-to core: 5 ranks on s0, and 4 cores to bind them to; use --bind-to none, or at most 4 ranks"},
		{"parts of one machine", bindEven, []site{{machine: "m", cpus: four}, {machine: "m", cpus: other}}, []int{0, 1, 1}, "s0 4 0-3, s1 2 4-5, s1 2 6-7"},
		{"overlapping parts", bindEven, []site{{machine: "m", cpus: four}, {machine: "m", cpus: []int{2, 3, 4, 5}}}, []int{0, 1}, "s0 2 -, s1 2 -"},
		{"overlapping parts, to be bound", BindCore, []site{{machine: "m", cpus: four}, {machine: "m", cpus: []int{2, 3, 4, 5}}}, []int{0, 1},
			"--bind-to core: hosts s0 and s1 are one machine, and of its cores the one may use 0-3, the other 2-5; use --bind-to none, or give both the same or none in common"},
		{"a limit on one", BindCore, []site{{machine: "m", cpus: four}, {machine: "m", cpus: four, cores: 1}}, []int{0, 1}, "s0 2 0-1, s1 1 2"},
		{"a limit on the first", BindCore, []site{{machine: "m", cpus: manyCPUs(8), cores: 2}, {machine: "m", cpus: manyCPUs(8)}}, []int{1, 0, 1, 0}, "s1 2 2-3, s0 1 0, s1 2 4-5, s0 1 1"},
		{"a limit on the second", BindCore, []site{{machine: "m", cpus: manyCPUs(8)}, {machine: "m", cpus: manyCPUs(8), cores: 2}}, []int{0, 1, 0, 1}, "s0 2 0-1, s1 1 4, s0 2 2-3, s1 1 5"},
		{"an overlapping part without ranks", bindEven, []site{{machine: "m", cpus: four}, {machine: "m", cpus: []int{2}}}, []int{0, 0}, "s0 2 0-1, s0 2 2-3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.sites {
				s := &c.sites[i]
				if s.name = fmt.Sprint("s", i); s.cores == 0 {
					s.cores = len(s.cpus)
				}
			}
			job, err := plan(Request{Apps: []App{{Ranks: len(c.place)}}, Place: c.place, Bind: c.bind}, c.sites)
			if err != nil {
				if err.Error() != c.want {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			var got []string
			bindings := job.Bindings()
			for r, rank := range job.Ranks {
				_, bound, _ := strings.Cut(bindings[rank.proc], ": ")
				bound = strings.TrimPrefix(bound, "bound to core")
				if bound = strings.TrimPrefix(strings.TrimPrefix(bound, "s"), " "); bound == "not bound" {
					bound = "-"
				}
				got = append(got, fmt.Sprintf("%s %d %s", job.Processes[rank.proc].Host, rank.Cores, bound))
				if want := 4 * (1 + slices.Max(c.place)); r == 0 && rank.Universe > want {
					t.Errorf("a universe of %d", rank.Universe)
				}
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestUniverseOfAMachine: cores are counted once, and those that only one host may use as well.
func TestUniverseOfAMachine(t *testing.T) {
	for _, c := range []struct {
		sites []site
		want  int
	}{
		{[]site{{machine: "m", cpus: manyCPUs(4)}, {machine: "m", cpus: manyCPUs(4)}}, 4},
		{[]site{{machine: "m", cpus: manyCPUs(4)}, {machine: "m", cpus: []int{4, 5, 6}}, {machine: "m", cpus: []int{4, 5, 6}}}, 7},
		{[]site{{machine: "m", cpus: manyCPUs(4)}, {machine: "n", cpus: manyCPUs(4)}}, 8},
	} {
		for i := range c.sites {
			c.sites[i].name, c.sites[i].cores = fmt.Sprint("s", i), len(c.sites[i].cpus)
		}
		job, err := plan(Request{Apps: []App{{Ranks: 2}}, Place: []int{0, 1}}, c.sites)
		if err != nil {
			t.Fatal(err)
		}
		if got := job.Ranks[0].Universe; got != c.want {
			t.Errorf("%v: a universe of %d, want %d", c.sites, got, c.want)
		}
	}
}

// TestLasting: what only a connection has does not make two hosts of one.
func TestLasting(t *testing.T) {
	got := lasting([]string{"PATH=/bin", "SSH_CLIENT=1", "SSH_AUTH_SOCK=/x", "XDG_SESSION_ID=7", "SHLVL=1", "_=/bin/sh", "HOME=/h"})
	if !slices.Equal(got, []string{"HOME=/h", "PATH=/bin"}) {
		t.Errorf("%q", got)
	}
	if lasting(nil) == nil {
		t.Error("an empty environment would be any")
	}
}

// TestIsSame: hosts are taken for one only if all that is known says so.
func TestIsSame(t *testing.T) {
	full := home{"m", "p", "/h", "d", "mark", []string{"mark"}, []string{"A=1"}, []int{0, 1}, 2}
	if !full.isSame(&full) {
		t.Error("it is not itself")
	}
	anywhere := full
	anywhere.env, anywhere.cpus, anywhere.cores = nil, nil, 0
	if !full.isSame(&anywhere) || !anywhere.isSame(&full) {
		t.Error("not the same with any environment and cores")
	}
	for i, change := range []func(h *home){
		func(h *home) { h.machine = "n" }, func(h *home) { h.place = "q" }, func(h *home) { h.dir = "/i" }, func(h *home) { h.domain = "e" }, func(h *home) { h.env = []string{} },
		func(h *home) { h.cpus = []int{2, 3} }, func(h *home) { h.cores = 1 },
		func(h *home) { h.mark, h.sees = "other", []string{"other"} }, // made of the other's memory
	} {
		other := full
		change(&other)
		if full.isSame(&other) {
			t.Errorf("the same after change %d", i)
		}
	}
	later := full
	later.mark, later.sees = "later", []string{"mark", "later"}
	if !full.isSame(&later) || !later.isSame(&full) {
		t.Error("not the same where the second alone sees the first")
	}
	if none := (home{}); none.isSame(&none) {
		t.Error("two unknown hosts are one")
	}
}
