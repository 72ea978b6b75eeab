package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// The Go code of the documents compiles, and what a document says that a program prints is what it
// prints.

// block is a fenced block of a document.
type block struct {
	file, lang string
	line       int // of its first line of text, from 1
	text       string
}

// blocks returns the fenced blocks of a document, in their order.
func blocks(file, text string) []block {
	var all []block
	var open *block
	for i, line := range strings.Split(text, "\n") {
		lang, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &block{file: file, lang: lang, line: i + 2}
		case isFence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return all
}

// program is a block of Go with what it prints, if the block after it says so.
type program struct {
	block
	args string // of fitrun
	want string
}

var promise = regexp.MustCompile(`^\$ fitrun (.+) \.\n`)

// programs returns the Go blocks of a document. Each is a whole program: a fragment would not show
// readers how it compiles.
func programs(all []block) []program {
	var ps []program
	for i, b := range all {
		if b.lang != "go" {
			continue
		}
		p := program{block: b}
		if i+1 < len(all) && all[i+1].lang == "text" {
			if m := promise.FindStringSubmatch(all[i+1].text); m != nil {
				p.args, p.want = m[1], strings.TrimPrefix(all[i+1].text, m[0])
			}
		}
		ps = append(ps, p)
	}
	return ps
}

func TestBlocks(t *testing.T) {
	const text = "# A\n```go\npackage main\n```\nprints\n```text\n$ fitrun -n 2 .\none\ntwo\n```\n```sh\nls\n```\n```go\npackage main // 2\n```\n"
	ps := programs(blocks("a.md", text))
	if len(ps) != 2 || ps[0].line != 3 || ps[0].args != "-n 2" || ps[0].want != "one\ntwo\n" || ps[0].text != "package main\n" {
		t.Errorf("programs are %+v", ps)
	}
	if len(ps) == 2 && (ps[1].want != "" || ps[1].line != 15) {
		t.Errorf("the second is %+v", ps[1])
	}
}

// documents are README.md and docs/*.md, by their paths from the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(paths) < 4 {
		t.Fatalf("found %d documents: %v", len(paths), err)
	}
	texts := map[string]string{}
	for _, path := range append(paths, filepath.Join(root, "README.md")) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(b)
	}
	return texts
}

// goRun runs the go command in the root of the module.
func goRun(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", args[0], err, out)
	}
}

// TestPrograms builds the programs as packages of this module that exist only for the go command,
// in an overlay, and runs those whose output is told.
func TestPrograms(t *testing.T) {
	effort.Need(t, effort.Full, "it builds and runs programs")
	dir := t.TempDir()
	var ps []program
	for name, text := range documents(t) {
		ps = append(ps, programs(blocks(name, text))...)
	}
	if len(ps) < 5 {
		t.Fatalf("found only %d programs in the documents", len(ps))
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	overlay := map[string]map[string]string{"Replace": {}}
	args := []string{"build", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", dir + "/", "./cmd/fitrun"}
	for i, p := range ps {
		// The compiler's messages name the document's lines.
		source := fmt.Sprintf("//line %s:%d\n%s", filepath.Join(abs, p.file), p.line, p.text)
		real, pkg := filepath.Join(dir, fmt.Sprintf("%d.go", i)), fmt.Sprintf("internal/documents/program%d", i)
		if err := os.WriteFile(real, []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][filepath.Join(abs, pkg, "main.go")] = real
		args = append(args, "./"+pkg)
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), b, 0o666); err != nil {
		t.Fatal(err)
	}
	goRun(t, args...)
	ran := 0
	for i, p := range ps {
		if p.want == "" {
			continue
		}
		ran++
		args := append(strings.Fields(p.args), "--timeout", "60s", filepath.Join(dir, fmt.Sprintf("program%d", i)))
		out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "fitrun"), args...).CombinedOutput()
		if err != nil || string(out) != p.want {
			t.Errorf("%s:%d: the program prints (%v)\n%swant\n%s", p.file, p.line, err, out, p.want)
		}
	}
	if ran < 4 {
		t.Errorf("only %d programs say what they print", ran)
	}
}

// env declares the names that the calls in the tables of docs/FROM-MPI.md use.
const env = `package calls

import (
	"context"
	"errors"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

var (
	ctx     context.Context
	_       = errors.Is
	_       time.Time
	c, d    *mpi.Comm
	g       *mpi.Group
	s       *mpi.Session
	st      mpi.Status
	sts     []mpi.Status
	r       *mpi.Request
	w       *mpi.Win
	rs      []*mpi.Request
	op      mpi.Op[float64]
	locs    []mpi.Loc[float64]
	err     error
	ok      bool
	obj     string
	mem     []byte
	periods []bool
	f       *mpi.File
	h       mpi.FileErrhandler

	etype, filetype                     *mpi.Datatype
	disp, offset                        int
	buf, base, in, out                  []float64
	i, dest, source, root, tag, rank    int
	port                                string
	n, target                           int
	color, key                          int
	is, counts, displs, dims            []int
)
`

var (
	span    = regexp.MustCompile("`([^`]+)`")
	missing = regexp.MustCompile(`undefined: (?:mpi\.)?(\w+)|has no field or method (\w+)`)
)

// call is a piece of Go in a cell of a table.
type call struct {
	line int
	text string
}

// calls returns the code in the last column of the tables with names side by side.
func calls(text string) []call {
	var all []call
	isIn := false
	for i, line := range strings.Split(text, "\n") {
		cells := strings.Split(line, "|")
		switch {
		case line == "| C | mpi4py | FitMPI |":
			isIn = true
		case !strings.HasPrefix(line, "|"):
			isIn = false
		case isIn && len(cells) == 5 && !strings.HasPrefix(line, "|---"):
			for _, m := range span.FindAllStringSubmatch(cells[3], -1) {
				all = append(all, call{i + 1, m[1]})
			}
		}
	}
	return all
}

// statement makes a statement of a piece of Go.
func statement(text string) string {
	e, err := parser.ParseExpr(text)
	if err != nil {
		return text
	}
	if c, ok := e.(*ast.CallExpr); ok {
		if _, isConversion := c.Fun.(*ast.ParenExpr); !isConversion {
			return text
		}
	}
	return "_ = " + text
}

// faults type-checks each call by itself and returns what is wrong with it, "" if nothing is.
func faults(t *testing.T, cs []call) []string {
	t.Helper()
	l, err := newLoader(root, module+"/mpi", module+"/tests")
	if err != nil {
		t.Fatal(err)
	}
	mpi, err := l.Import(module + "/mpi")
	if err != nil {
		t.Fatal(err)
	}
	env := env
	if mpi.Scope().Lookup("Datatype") != nil {
		env += "\nvar t *mpi.Datatype\n"
	}
	var found []string
	for _, c := range cs {
		source := env + "\nfunc _() {\n" + statement(c.text) + "\n}\n"
		f, err := parser.ParseFile(l.fset, "call.go", source, parser.SkipObjectResolution)
		if err == nil {
			_, err = (&types.Config{Importer: l}).Check("calls", l.fset, []*ast.File{f}, nil)
		}
		if err != nil {
			found = append(found, err.Error())
		} else {
			found = append(found, "")
		}
	}
	return found
}

// TestCalls: what docs/FROM-MPI.md puts beside C compiles, but for names that the list of
// procedures plans.
func TestCalls(t *testing.T) {
	const page = "docs/FROM-MPI.md"
	cs := calls(documents(t)[page])
	if len(cs) < 80 {
		t.Fatalf("found only %d calls in the tables of %s", len(cs), page)
	}
	var planned []string
	chapters, err := parse(procedures)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chapters {
		for _, p := range c.procedures {
			for _, name := range goNames(p) {
				planned = append(planned, name[strings.LastIndex(name, ".")+1:])
			}
		}
	}
	for i, fault := range faults(t, cs) {
		if fault == "" {
			continue
		}
		m := missing.FindStringSubmatch(fault)
		if m == nil || !slices.Contains(planned, m[1]+m[2]) {
			t.Errorf("%s:%d: %s: %s", page, cs[i].line, cs[i].text, fault)
		} else {
			t.Logf("%s:%d: %s is planned", page, cs[i].line, m[1]+m[2])
		}
	}
}

// The check of calls finds names that do not exist, wrong types and wrong numbers of results.
func TestFaults(t *testing.T) {
	const table = "| C | mpi4py | FitMPI |\n|---|---|---|\n| `x` | `y` | `mpi.Send(c, buf, dest, tag)`, or `mpi.Sned(c)` |\n" +
		"| `x` | `y` | `st = mpi.Recv(c, buf, source, tag)`, `mpi.AnySource`, `c.Rank(1)`, `c.Fly()` |\n\n| a | b | c |\n|---|---|---|\n| `x` | `y` | `z` |\n"
	cs := calls(table)
	got := faults(t, cs)
	want := []string{"", "undefined: mpi.Sned", "assignment mismatch", "", "too many arguments", "c.Fly undefined"}
	if len(got) != len(want) || cs[5].line != 4 {
		t.Fatalf("calls are %v, faults %q", cs, got)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) || want[i] == "" && got[i] != "" {
			t.Errorf("%s: %q, want %q", cs[i].text, got[i], want[i])
		}
	}
}
