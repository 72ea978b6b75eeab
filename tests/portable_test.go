package tests

import (
	"errors"
	"go/build"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPortableFiles: of package mpi, and of all that is linked with it or may be, macOS and Windows
// get the files that the tag fitmpi_portable picks on Linux, tests included. So what passes under
// that tag is what is there.
func TestPortableFiles(t *testing.T) {
	seen := map[string]bool{}
	todo := []string{"mpi", "mpi/mpitest", "metrics"}
	for len(todo) > 0 {
		dir := todo[0]
		if todo = todo[1:]; seen[dir] {
			continue
		}
		seen[dir] = true
		here := filesOn(t, dir, "linux", "fitmpi_portable")
		for _, system := range []string{"darwin", "windows"} {
			if there := filesOn(t, dir, system); !slices.Equal(there.names, here.names) {
				t.Errorf("%s: on %s %v, by the tag %v", dir, system, without(there.names, here.names), without(here.names, there.names))
			}
		}
		todo = append(todo, here.ours...)
	}
	if !seen["netpoll"] || !seen["internal/shm"] {
		t.Errorf("these were looked at, and no more: %v", seen)
	}
}

// source is what one system gets of a package.
type source struct {
	names []string
	ours  []string // packages that it imports
}

func filesOn(t *testing.T, dir, system string, tags ...string) (s source) {
	t.Helper()
	c := build.Default
	c.GOOS, c.GOARCH, c.BuildTags, c.CgoEnabled = system, "amd64", tags, false
	p, err := c.ImportDir(filepath.Join("..", dir), 0)
	if err != nil && !errors.As(err, new(*build.NoGoError)) {
		t.Fatal(err)
	}
	s.names = slices.Concat(p.GoFiles, p.SFiles, p.TestGoFiles, p.XTestGoFiles)
	for _, path := range p.Imports {
		if rest, ok := strings.CutPrefix(path, module+"/"); ok {
			s.ours = append(s.ours, rest)
		}
	}
	return s
}

// without is those of all that are not among some.
func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}
