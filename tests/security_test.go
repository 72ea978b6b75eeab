package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityClaims: the tests that docs/SECURITY.md names for its claims exist, so that none is
// renamed or removed without a look at what then holds.
func TestSecurityClaims(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	has := testNames(t)
	_, claims, ok := strings.Cut(string(text), "| claim | code | test |")
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllStringSubmatch(claims, -1)
	if !ok || len(named) < 20 {
		t.Fatalf("the table of claims names %d tests", len(named))
	}
	for _, m := range named {
		if !has[m[1]] {
			t.Errorf("%s is named there, and nowhere else", m[1])
		}
	}
}

// testNames are the names of all tests and fuzz targets of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	decl := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	names := make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range decl.FindAllSubmatch(source, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
