//go:build linux

package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the user says comes before the directory of the C library.
func TestWithLibraries(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"A=1", "LD_LIBRARY_PATH=/c"},
		{"LD_LIBRARY_PATH=", "LD_LIBRARY_PATH=/c"},
		{"LD_LIBRARY_PATH=/x:/y", "LD_LIBRARY_PATH=/x:/y:/c"},
	} {
		if have := withLibraries([]string{c.env}, "/c"); !slices.Contains(have, c.want) {
			t.Errorf("%s: %v", c.env, have)
		}
	}
}

// A directory that the variable names must have the library; programs that load it later, and
// scripts, get it, static programs do not.
func TestFindCLibrary(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(cLibraryVariable, dir)
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := Program{Name: "script", Path: script}
	if _, err := FindCLibrary(p, nil); err == nil || !strings.Contains(err.Error(), "./build -o "+dir) {
		t.Error(err)
	}
	lib := filepath.Join(dir, "lib")
	if err := os.Mkdir(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(lib, goHalf), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if have, err := FindCLibrary(p, nil); have != lib || err != nil {
		t.Error(have, err)
	}
	if have, err := FindCLibrary(Program{Name: "x", Package: "./x"}, nil); have != "" || err != nil {
		t.Error(have, err)
	}
	t.Setenv(cLibraryVariable, "")
	t.Chdir(dir)
	if have, err := FindCLibrary(p, nil); have != "" || err != nil {
		t.Error(have, err)
	}
}
