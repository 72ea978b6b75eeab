package params

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/CONFIG.md")

// The table has no two lines of one name, and none that says too little.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range All() {
		if seen[v.Name] || !strings.HasPrefix(v.Name, prefix) {
			t.Errorf("%s is listed twice, or no name of ours", v.Name)
		}
		seen[v.Name] = true
		if v.Text == "" || v.Default == "" || v.Kind == "" || v.Reader == "" || !slices.Contains(Groups(), v.Group) || v.Kind == Choice != (v.Values != nil) {
			t.Errorf("%s says too little: %+v", v.Name, v)
		}
		if v.Kind != Text && v.Kind != Number && !v.Auto && v.Check(v.Default) != nil && v.Name != "FITMPI_COPY_MAX" && v.Default != "the system's" && v.Default != "none" {
			t.Errorf("%s would not take its own default: %v", v.Name, v.Check(v.Default))
		}
	}
}

var nameIn = regexp.MustCompile(`^FITMPI_[A-Z0-9_]*[A-Z0-9]`)

// TestTableIsWhole: every variable that the source names is in the table, and every line of the
// table is named somewhere. A developer that adds a variable must say what it is.
func TestTableIsWhole(t *testing.T) {
	named := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path == "../../cabi": // a module of its own: what its compilers' wrappers read is in docs/C.md
			return filepath.SkipDir
		case d.IsDir() && (d.Name() == "params" || d.Name() == "effort" || d.Name() == ".git" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if s, err := strconv.Unquote(l.Value); err == nil {
					if name := nameIn.FindString(s); name != "" {
						named[name] = path
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range named {
		if _, ok := Find(name); !ok {
			t.Errorf("%s names %s, which is not in the table of internal/params", path, name)
		}
	}
	for _, v := range All() {
		if named[v.Name] == "" {
			t.Errorf("%s is in the table, and nothing reads it", v.Name)
		}
	}
	if len(named) < 20 {
		t.Errorf("the source names %d variables: the test sees nothing", len(named))
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct{ name, value, says string }{
		{"FITMPI_PROGRESS", "worker", ""}, {"FITMPI_PROGRESS", "turbo", "FITMPI_PROGRESS=turbo: choose worker, assist or caller"},
		{"FITMPI_EAGER_MAX", "64K", ""}, {"FITMPI_EAGER_MAX", "4MB", `FITMPI_EAGER_MAX=4MB: size "4MB": need a positive number of bytes, such as 65536, 64K or 16M`},
		{"FITMPI_SPIN", "0s", ""}, {"FITMPI_SPIN", "-1s", "FITMPI_SPIN=-1s: a duration less than 0; want for example 30s"},
		{"FITMPI_SPIN", "5", `FITMPI_SPIN=5: "5" is no duration: want a number with a unit, for example 30s, 500ms or 2m`},
		{"FITMPI_TLS", "1", ""}, {"FITMPI_TLS", "yes", "FITMPI_TLS=yes: want 1 or 0"},
		{"FITMPI_CLIQUES", "2", ""}, {"FITMPI_CLIQUES", "0", `FITMPI_CLIQUES=0: "0": need a number from 1`},
		{"FITMPI_ERRHANDLER", "mpi_errors_return", ""},
		{"FITMPI_IFACE", "whatever", ""},
	} {
		v, ok := Find(test.name)
		if err := v.Check(test.value); !ok || (err == nil) != (test.says == "") || err != nil && err.Error() != test.says {
			t.Errorf("%s=%s: %v, want %q", test.name, test.value, err, test.says)
		}
	}
}

func TestUnknown(t *testing.T) {
	got := Unknown([]string{"FITMPI_EAGERMAX=1", "PATH=/bin", "FITMPI_PROGRES=worker", "FITMPI_TLS=1", "FITMPI_TESTS_DIR=/", "FITMPI_FLUX_CAPACITOR=on", "FITMPI_EAGERMAX=2"})
	want := []string{
		"FITMPI_EAGERMAX is not known; did you mean FITMPI_EAGER_MAX?",
		"FITMPI_FLUX_CAPACITOR is not known; fitrun --print-config lists those that are",
		"FITMPI_PROGRES is not known; did you mean FITMPI_PROGRESS?",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the warnings are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"FITMPI_TRANPSORT": "FITMPI_TRANSPORT", "FITMPI_SENDBUFFER": "FITMPI_SEND_BUFFER", "FITMPI_TSL": "FITMPI_TLS", "FITMPI_X": "",
		"FITMPI_METRIC": "FITMPI_METRICS", "FITMPI_ERROR_HANDLER": "FITMPI_ERRHANDLER", "FITMPI_PORTS": "",
	} {
		if got := Nearest(name); got != want {
			t.Errorf("the nearest to %s is %q, want %q", name, got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int{
		"1": 1, "65536": 65536, "64K": 64 << 10, "64k": 64 << 10, "16M": 16 << 20, "16m": 16 << 20, "2G": 2 << 30,
		"70368744177664": 1 << 46, "65536G": 1 << 46,
	} {
		if n, err := ParseSize(s); err != nil || n != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", s, n, err, want)
		}
	}
	for _, s := range []string{
		"", "0", "-1", "K", "0K", "1.5M", "64KB", "1T", "0x10", " 1", "1 ", "1K ", "70368744177665", "65537G", "99999999999999999999", "8E",
		"1\x8b", "1\x0b", "1+",
	} {
		n, err := ParseSize(s)
		if err == nil || err.Error() != fmt.Sprintf("size %q: need a positive number of bytes, such as 65536, 64K or 16M", s) {
			t.Errorf("ParseSize(%q) = %d, %v, want an error that says what is needed", s, n, err)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int]string{1: "1", 1023: "1023", 1024: "1K", 1536: "1536", 3 << 20: "3M", 2 << 30: "2G", 1<<20 + 1024: "1025K"} {
		back, err := ParseSize(want)
		if got := FormatSize(n); got != want || err != nil || back != n {
			t.Errorf("FormatSize(%d) = %q, want %q, which is %d, %v", n, got, want, back, err)
		}
	}
}

const document = "../../docs/CONFIG.md"

var tables = regexp.MustCompile(`(?s)(<!-- tables: go test ./internal/params -update -->\n).*?(<!-- end of tables -->)`)

// docs/CONFIG.md has the table as it is.
func TestDocument(t *testing.T) {
	old, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if !tables.Match(old) {
		t.Fatalf("%s has no place for the tables", document)
	}
	fresh := tables.ReplaceAll(old, []byte("${1}"+strings.ReplaceAll(page(), "$", "$$")+"${2}"))
	switch {
	case bytes.Equal(old, fresh):
	case *update:
		if err := os.WriteFile(document, fresh, 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not the table of internal/params: go test ./internal/params -update", document)
	}
}

// page is the table for people.
func page() string {
	var b strings.Builder
	for _, g := range Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| variable | what it is | values | without it | fitrun |\n|---|---|---|---|---|\n", strings.ToUpper(string(g[:1]))+string(g[1:]))
		for _, v := range All() {
			if v.Group != g {
				continue
			}
			text, option := v.Text, ""
			if v.Alike {
				text += "; the same at all ranks"
			}
			if v.Option != "" {
				option = "`" + v.Option + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", v.Name, text, v.Allowed(), v.Default, option)
		}
	}
	return b.String() + "\n"
}
