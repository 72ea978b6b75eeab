package plain

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A number and its noun agree, as readers of English expect.
func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 ranks": Count(0, "rank"), "1 rank": Count(1, "rank"), "4 ranks": Count(4, "rank"),
		"1 process": Count(1, "process"), "2 processes": Count(2, "process"), "3 matches": Count(3, "match"),
		"core": Noun(1, "core"), "cores": Noun(8, "core"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// No text of this module leaves the number to its reader, as "4 rank(s)" does.
func TestNoPluralInParentheses(t *testing.T) {
	vague := regexp.MustCompile(`[a-z]\(e?s\)`)
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		for pos, text := range literals(t, path) {
			if vague.MatchString(text) {
				t.Errorf("%s: %s: take Count or Noun", pos, text)
			}
		}
		return nil
	})
	if err != nil || files < 50 {
		t.Errorf("%d files, %v: is the test looking in the right place?", files, err)
	}
}

// literals returns the string literals of a source file, by their places.
func literals(t *testing.T, path string) map[string]string {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile(path, -1, len(src)), src, nil, 0)
	found := make(map[string]string)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return found
		}
		if tok == token.STRING {
			found[fset.Position(pos).String()] = text
		}
	}
}
