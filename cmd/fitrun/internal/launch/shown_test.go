//go:build linux

package launch

import (
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// shownNames are the variables that addShown adds.
var shownNames = []string{
	boot.RankVariable, boot.SizeVariable, boot.ShownVariable, ranksHereVariable, localRankVariable, localSizeVariable, nodeVariable,
}

func isShown(e string) bool {
	name, _, _ := strings.Cut(e, "=")
	return slices.Contains(shownNames, name)
}

// configured is the environment of a process without what says where it is.
func configured(p Process) []string { return slices.DeleteFunc(slices.Clone(p.Env), isShown) }

// Every process can read where it is, whatever the user or a fitrun around this one has set. Of a
// process of several ranks it is the first, and their number; hosts without ranks are not counted.
func TestWhereAProcessIs(t *testing.T) {
	outer := []string{"FITMPI_RANK=9", "FITMPI_NODE=7", "FITMPI_SHOWN=9/99"}
	r := Request{Apps: []App{{Ranks: 3, Set: []string{"FITMPI_LOCAL_SIZE=8"}}, {Ranks: 2}}, Place: []int{0, 2, 0, 2, 0}, PerProcess: 2}
	job, err := plan(r, []site{
		{name: "n1", host: "one", cores: 6, cpus: manyCPUs(6), env: outer},
		{name: "n2", host: "two", cores: 1, cpus: manyCPUs(1)},
		{name: "n3", host: "three", cores: 3, cpus: manyCPUs(3)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{ // in the order of shownNames
		{"0", "5", "0/5", "2", "0", "3", "0"},
		{"1", "5", "1/5", "1", "0", "2", "1"},
		{"3", "5", "3/5", "1", "1", "2", "1"},
		{"4", "5", "4/5", "1", "2", "3", "0"},
	}
	for i, p := range job.Processes {
		for k, name := range shownNames {
			at := -1
			for j, e := range p.Env { // the last counts
				if strings.HasPrefix(e, name+"=") {
					at = j
				}
			}
			if at < 0 || p.Env[at] != name+"="+want[i][k] {
				t.Errorf("process %d, ranks %v: %s should be %s in %q", i, p.Ranks, name, want[i][k], p.Env)
			}
		}
	}
}
