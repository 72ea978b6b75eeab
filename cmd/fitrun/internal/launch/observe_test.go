//go:build linux

package launch

import (
	"slices"
	"strings"
	"sync"
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
func (a *asker) Spawned() Observer            { return nil }
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

// seen is an observer that keeps all texts.
type seen struct {
	mu    sync.Mutex
	texts []string // guarded by mu
}

func (s *seen) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = append(s.texts, text)
}

func (s *seen) Begin(*Job, Control)                 {}
func (s *seen) Changed(_ int, to State)             { s.add(to.Why) }
func (s *seen) Answered(int, int, []byte)           {}
func (s *seen) Reported(_ int, key, text string)    { s.add(key + " " + text) }
func (s *seen) Said(text string)                    { s.add(text) }
func (s *seen) Spawned() Observer                   { return nil }
func (s *seen) End()                                {}
func (s *seen) has(text string) bool                { return slices.Contains(s.texts, text) }
func (s *seen) some(is func(text string) bool) bool { return slices.ContainsFunc(s.texts, is) }

// Pages and whatever else observes a job get the words of ranks as they can be seen, as the
// terminal does.
func TestObserversSeePlainText(t *testing.T) {
	for _, names := range [][]string{{"localhost"}, {"a"}} {
		s := new(seen)
		code, _, said := execute(t, fakeHosts(t, "paint", names...), Config{Observer: s})
		if code != 4 || !strings.Contains(said, `aborted the job with code 4: \x1b[2Jover`+"\n  fitrun: all is well\n") {
			t.Errorf("%q: code %d, it said %q", names, code, said)
		}
		if !s.has(`colour \x1b[31mred`) || !s.has(`aborted the job with code 4: \x1b[2Jover\nfitrun: all is well`) ||
			s.some(func(text string) bool { return strings.Contains(text, "\x1b") || strings.Contains(text, "\nfitrun") }) {
			t.Errorf("%q: observers see %q", names, s.texts)
		}
	}
}
