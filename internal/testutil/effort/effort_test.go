package effort

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestParse(t *testing.T) {
	for value, want := range map[string]Level{"": Usual, "usual": Usual, "full": Full, "night": Night, "short": Short} {
		if got := parse(value); got != want {
			t.Errorf("%s=%s is %v, want %v", Env, value, got, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a level that does not exist is taken for one that does")
		}
	}()
	parse("everything")
}

// What is left out says how it is run.
func TestNeed(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short there is one level")
	}
	for _, test := range []struct {
		now    string
		need   Level
		isSkip bool
	}{{"", Usual, false}, {"", Full, true}, {"full", Full, false}, {"full", Night, true}, {"night", Full, false}} {
		t.Setenv(Env, test.now)
		skipped := true
		t.Run(test.now+" "+test.need.String(), func(t *testing.T) {
			Need(t, test.need, "as planned")
			skipped = false
		})
		if skipped != test.isSkip {
			t.Errorf("at level %q a test that needs %v is skipped: %v", test.now, test.need, skipped)
		}
	}
}

// Tests that wait do so side by side, more of them than there are cores.
func TestBeside(t *testing.T) {
	if flag.Lookup("test.parallel").Value.String() != strconv.Itoa(beside) {
		t.Skip("-parallel prevails")
	}
	for range beside {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			all.Done()
			all.Wait() // for ever, if fewer run at once
		})
	}
}

const beside = 37

var all sync.WaitGroup

func TestMain(m *testing.M) {
	all.Add(beside)
	Beside(beside)
	os.Exit(m.Run())
}

// .ci/full finds the tests that have more to show by their text: they ask for the level themselves,
// no helper does for them.
func TestTestsAsk(t *testing.T) {
	fset := token.NewFileSet()
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "effort" {
			return err
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil && !strings.HasPrefix(d.Name.Name, "Test") {
				ast.Inspect(d.Body, func(n ast.Node) bool {
					if x, ok := n.(*ast.SelectorExpr); ok && isLevel(x) {
						t.Errorf("%v: %s asks for a level: let the test that calls it do so", fset.Position(x.Pos()), d.Name.Name)
					}
					return true
				})
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// isLevel reports whether x is what .ci/full looks for, as a question: constants may be compared
// with what a test has got.
func isLevel(x *ast.SelectorExpr) bool {
	from, ok := x.X.(*ast.Ident)
	return ok && from.Name == "effort" && (x.Sel.Name == "Now" || x.Sel.Name == "Share" || x.Sel.Name == "Need")
}
