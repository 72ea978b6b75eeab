//go:build linux

package launch

import (
	"slices"
	"testing"
)

// asker asks every rank once, when all have joined.
type asker struct {
	job     *Job
	to      Control
	joined  []int
	answers []string // by rank
	ended   bool
}

func (a *asker) Begin(job *Job, to Control) {
	a.job, a.to, a.answers = job, to, make([]string, len(job.Ranks))
}

func (a *asker) Changed(rank int, to State) {
	if to.Phase != Joined {
		return
	}
	if a.joined = append(a.joined, rank); len(a.joined) == len(a.job.Ranks) {
		go a.to.Ask(a.joined, 7, "how") // ends at once: the loop is about to take it
	}
}

func (a *asker) Answered(rank, number int, data []byte) {
	if number == 7 {
		a.answers[rank] += string(data)
	}
}

func (a *asker) Reported(int, string, string) {}
func (a *asker) Said(string)                  {}
func (a *asker) End()                         { a.ended = true }

// Questions reach ranks wherever they are, and their answers come back.
func TestAskedAcross(t *testing.T) {
	for _, names := range [][]string{{"a", "b", "a"}, {"localhost", "b"}, {"localhost", "localhost"}} {
		a := new(asker)
		code, _, said := execute(t, fakeHosts(t, "answer", names...), Config{Observer: a})
		want := []string{`[0,"how"]`, `[1,"how"]`, `[2,"how"]`}[:len(names)]
		if code != 0 || said != "" || !slices.Equal(a.answers, want) || !a.ended {
			t.Errorf("%q: exit code %d, answers %q, it said %q", names, code, a.answers, said)
		}
	}
}
