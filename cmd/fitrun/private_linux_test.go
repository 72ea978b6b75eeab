package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFilesArePrivate: what fitrun writes of a job is not for other users to read, whatever the
// umask.
func TestFilesArePrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	trace, err := createBeside(filepath.Join(dir, "out.json"))
	if err != nil {
		t.Fatal(err)
	}
	trace.Close()
	p, err := newSummaryPart(false, filepath.Join(dir, "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	p.file.Close()
	for _, name := range []string{trace.Name(), p.file.Name()} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("the mode of %s is %v", name, info.Mode())
		}
	}
}
