//go:build linux

package launch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/agent"
)

// otherArch is an architecture that this machine is not.
func otherArch() string {
	if runtime.GOARCH == "arm64" {
		return "amd64"
	}
	return "arm64"
}

// A Go package is built for the architecture of a host, once; a binary is what it is.
func TestProgramForArch(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOFLAGS", "-mod=mod")
	for name, text := range map[string]string{"go.mod": "module tiny\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() { println() }\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := FindProgram(".")
	if err != nil {
		t.Fatal(err)
	}
	if p.Path, err = Build(t.Context(), p, t.TempDir(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	b := newBuilds(Config{})
	defer b.close()
	app := App{Program: p, Ranks: 1, SearchPath: "/x:/y"}
	own, file, err := b.program(t.Context(), app, runtime.GOARCH)
	if err != nil || file != p.Path || own.Foreign != "" || len(own.Search) != 2 {
		t.Errorf("%+v of %s, %v", own, file, err)
	}
	var other [2]agent.Program
	for i := range other {
		if other[i], file, err = b.program(t.Context(), app, otherArch()); err != nil {
			t.Fatal(err)
		}
	}
	if other[0].Sum == own.Sum || other[0].Sum != other[1].Sum || agent.ArchOfFile(file) != otherArch() || other[0].Foreign != "" {
		t.Errorf("%+v of %s (%s)", other, file, agent.ArchOfFile(file))
	}
	if entries, err := os.ReadDir(b.dir); err != nil || len(entries) != 1 {
		t.Errorf("%d builds, %v; want one", len(entries), err)
	}
	dir := b.dir
	b.close()
	if _, err := os.Stat(dir); err == nil {
		t.Error("builds are left")
	}
	app.Program.Package = ""
	if got, _, err := newBuilds(Config{}).program(t.Context(), app, otherArch()); err != nil || !strings.Contains(got.Foreign, "is built for "+runtime.GOARCH+", and this host is "+otherArch()) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFitrunForArch(t *testing.T) {
	b := newBuilds(Config{})
	defer b.close()
	got, err := b.fitrun(t.Context(), runtime.GOARCH)
	if err != nil || got.Size == 0 || len(got.Sum) != 64 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := b.fitrun(t.Context(), "vax"); err == nil || !strings.HasPrefix(err.Error(), "its architecture is vax, and fitrun could not be built for that: ") {
		t.Errorf("%v", err)
	}
	t.Run("without the module", func(t *testing.T) {
		t.Chdir(t.TempDir())
		b := newBuilds(Config{})
		defer b.close()
		if _, err := b.fitrun(t.Context(), otherArch()); err == nil || !strings.Contains(err.Error(), "start the job in a module that requires it") {
			t.Errorf("%v", err)
		}
	})
	if testing.Short() {
		t.Skip("building fitrun takes a while")
	}
	if got, err := b.fitrun(t.Context(), otherArch()); err != nil || agent.ArchOfFile(got.Path) != otherArch() || filepath.Base(got.Path) != "fitrun" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A build of fitrun ends with the context of who waits for it, and that is not taken for what is wrong with the program.
func TestFitrunBuildGivesUp(t *testing.T) {
	tools := t.TempDir() // with a compiler that never ends by itself
	if err := os.WriteFile(filepath.Join(tools, "go"), []byte("#!/bin/sh\n: >"+tools+"/begun\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	b := newBuilds(Config{Stderr: os.Stderr})
	defer b.close()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	var watch sync.WaitGroup
	watch.Go(func() {
		for _, err := os.Stat(tools + "/begun"); err != nil && ctx.Err() == nil; _, err = os.Stat(tools + "/begun") {
			time.Sleep(time.Millisecond)
		}
		cancel(stopped)
	})
	defer watch.Wait()
	defer cancel(nil)
	if _, err := b.fitrun(ctx, otherArch()); err != stopped {
		t.Errorf("%v, want %v", err, stopped)
	}
	if len(b.done) != 0 {
		t.Errorf("it is remembered: %v", b.done)
	}
}
