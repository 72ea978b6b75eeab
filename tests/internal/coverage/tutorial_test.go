package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// The lessons of docs/tutorial have the programs of examples/tutorial word for word, and show what
// these print.

var update = flag.Bool("update", false, "write the programs of examples/tutorial into the lessons of docs/tutorial")

// lesson is a page of the tutorial with its one program.
type lesson struct {
	name string // of the page without .md, and of the program's directory
	text string
	page []block
}

// lessons are the pages in their order.
func lessons(t *testing.T) []lesson {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "docs", "tutorial", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []lesson
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		if name == "README" {
			continue
		}
		all = append(all, lesson{name: name, text: string(b), page: blocks(name+".md", string(b))})
	}
	return all
}

// source is the file of a lesson's program.
func (l *lesson) source() string {
	return filepath.Join(root, "examples", "tutorial", l.name, "main.go")
}

func TestTutorialHasItsPrograms(t *testing.T) {
	all := lessons(t)
	dirs, err := filepath.Glob(filepath.Join(root, "examples", "tutorial", "*", "main.go"))
	if err != nil || len(dirs) != len(all) || len(all) < 10 {
		t.Fatalf("%d lessons, %d programs: %v", len(all), len(dirs), err)
	}
	for _, l := range all {
		b, err := os.ReadFile(l.source())
		if err != nil {
			t.Error(err)
			continue
		}
		i := slices.IndexFunc(l.page, func(b block) bool { return b.lang == "go" })
		switch {
		case i < 0:
			t.Errorf("docs/tutorial/%s.md shows no program", l.name)
		case l.page[i].text != string(b) && *update:
			text := strings.Replace(l.text, "```go\n"+l.page[i].text+"```", "```go\n"+string(b)+"```", 1)
			if err := os.WriteFile(filepath.Join(root, "docs", "tutorial", l.name+".md"), []byte(text), 0o666); err != nil {
				t.Error(err)
			}
		case l.page[i].text != string(b):
			t.Errorf("docs/tutorial/%s.md:%d: this is not %s; go test ./tests/internal/coverage -run Tutorial -update writes it there",
				l.name, l.page[i].line, l.source())
		}
	}
}

// shown is a command of a lesson with what it prints.
type shown struct {
	args      []string // of fitrun, without the program
	more      []string // of the program
	want      string
	code      int
	unordered bool // ranks print when they come to it
}

var (
	prompt   = regexp.MustCompile(`^\$ fitrun (.+? )\.( .+)?\n`)
	exitCode = regexp.MustCompile(`\$ echo \$\?\n(\d+)\n$`)
	// What differs from run to run: times, from which to which some ranks have waited, and which
	// process it was.
	varying = regexp.MustCompile(`(?m)\bfor \d\S* m?s( to \d\S* m?s)?$|\b\d+\.\d+ s\b|\(pid \d+ on \S+\)`)
	digits  = regexp.MustCompile(`\d+`)
)

// runs are the commands that a lesson shows.
func (l *lesson) runs() []shown {
	var all []shown
	for _, b := range l.page {
		m := prompt.FindStringSubmatch(b.text)
		if m == nil || b.lang != "text" && b.lang != "text unordered" {
			continue
		}
		s := shown{args: strings.Fields(m[1]), more: strings.Fields(m[2]), want: strings.TrimPrefix(b.text, m[0]), unordered: b.lang != "text"}
		if m := exitCode.FindStringSubmatch(s.want); m != nil {
			s.want = strings.TrimSuffix(s.want, m[0])
			fmt.Sscan(m[1], &s.code)
		}
		all = append(all, s)
	}
	return all
}

// same is an output without what differs from run to run.
func (s *shown) same(out string) string {
	out = varying.ReplaceAllStringFunc(out, func(m string) string {
		switch {
		case strings.HasPrefix(m, "(pid"):
			return "(pid N on HOST)"
		case strings.HasPrefix(m, "for "):
			return "for N s"
		}
		return digits.ReplaceAllString(m, "N")
	})
	if s.unordered {
		lines := strings.SplitAfter(out, "\n")
		slices.Sort(lines)
		out = strings.Join(lines, "")
	}
	return out
}

func TestTutorialPrintsWhatItSays(t *testing.T) {
	effort.Need(t, effort.Full, "it builds and runs programs")
	bin := t.TempDir()
	goRun(t, "build", "-o", bin+"/", "./cmd/fitrun", "./examples/tutorial/...")
	for _, l := range lessons(t) {
		t.Run(l.name, func(t *testing.T) {
			all := l.runs()
			if len(all) == 0 {
				t.Fatal("the lesson shows no output")
			}
			for _, s := range all {
				args := append(s.args, "--timeout", "60s", filepath.Join(bin, l.name))
				cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "fitrun"), append(args, s.more...)...)
				cmd.Dir = filepath.Dir(l.source()) // sources are named from where fitrun runs
				out, err := cmd.CombinedOutput()
				if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				if got, want := s.same(string(out)), s.same(s.want); got != want || cmd.ProcessState.ExitCode() != s.code {
					t.Errorf("fitrun %s prints (exit code %d)\n%swant (%d)\n%s", strings.Join(s.args, " "), cmd.ProcessState.ExitCode(), out, s.code, s.want)
				}
			}
		})
	}
}

// The comparison sees another line, another order and another exit code.
func TestTutorialComparison(t *testing.T) {
	l := lesson{page: blocks("a.md", "```text unordered\n$ fitrun -n 2 . -v\nb 1.5 s\na\n$ echo $?\n111\n```\n```text\n$ fitrun -n 3 .\nb\na\n```\n```text\n$ ls\n```\n")}
	all := l.runs()
	if len(all) != 2 || all[0].code != 111 || all[0].want != "b 1.5 s\na\n" || !slices.Equal(all[0].more, []string{"-v"}) || all[1].code != 0 {
		t.Fatalf("runs are %+v", all)
	}
	for _, c := range []struct {
		s    shown
		out  string
		same bool
	}{
		{all[0], "a\nb 22.0 s\n", true}, {all[0], "a\nb 22 s\n", false}, {all[0], "a\nc 1.5 s\n", false},
		{all[1], "b\na\n", true}, {all[1], "a\nb\n", false},
		{shown{want: "at L, for 3.9 s\n"}, "at L, for 980 ms to 11.0 s\n", true},
		{shown{want: "at L, for 3.9 s\n"}, "at L, for ever\n", false},
	} {
		if got := c.s.same(c.out) == c.s.same(c.s.want); got != c.same {
			t.Errorf("%q and %q: %v", c.out, c.s.want, got)
		}
	}
}
