//go:build linux

package launch

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/agent"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
)

// otherArch is an architecture that this machine is not.
func otherArch() string {
	if runtime.GOARCH == "arm64" {
		return "amd64"
	}
	return "arm64"
}

// TestBuildWithoutGo: what is missing is named, and what would do instead.
func TestBuildWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	const want = "./prog: a Go package needs the go command to build it, and there is none in PATH; install Go or give a binary"
	if _, err := Build(t.Context(), Program{Name: "./prog", Package: "./prog"}, t.TempDir(), io.Discard); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A Go package is built for the architecture of a host, once; a binary is what it is.
func TestProgramForArch(t *testing.T) {
	effort.Need(t, effort.Full, "it builds Go's library for another architecture")
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
	if other[0].Sum == own.Sum || other[0].Sum != other[1].Sum || agent.ArchOfFile(file) != otherArch() || other[0].Path != file || other[0].Foreign != "" {
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
	defer func(d time.Duration) { slowBuild = d }(slowBuild)
	slowBuild = 0 // what is said of a build that takes long is no part of an error
	const noVax = "its architecture is vax, and fitrun could not be built for that: the program does not build: go: unsupported GOOS/GOARCH pair linux/vax"
	if _, err := b.fitrun(t.Context(), "vax"); err == nil || err.Error() != noVax {
		t.Errorf("%v, want\n%s", err, noVax)
	}
	t.Run("without the module", func(t *testing.T) {
		t.Chdir(t.TempDir())
		b := newBuilds(Config{})
		defer b.close()
		want := "its architecture is " + otherArch() +
			"; fitrun is built for that where Go and FitMPI's module are at hand: start the job in a module that requires it"
		if _, err := b.fitrun(t.Context(), otherArch()); err == nil || err.Error() != want {
			t.Errorf("%v, want\n%s", err, want)
		}
	})
	effort.Need(t, effort.Full, "it builds fitrun for another architecture")
	if got, err := b.fitrun(t.Context(), otherArch()); err != nil || agent.ArchOfFile(got.Path) != otherArch() || filepath.Base(got.Path) != "fitrun" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestFitrunBuildGivesUp: a build of fitrun ends with the context of the caller that waits for it.
// That end is not taken for an error of the program.
func TestFitrunBuildGivesUp(t *testing.T) {
	tools := t.TempDir() // with a compiler that never ends by itself
	executable.Write(t, filepath.Join(tools, "go"), "#!/bin/sh\n: >"+tools+"/begun\nexec sleep 600\n")
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	b := newBuilds(Config{Stderr: os.Stderr})
	defer b.close()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	building := make(chan string, 1) // what it says meanwhile
	var watch sync.WaitGroup
	watch.Go(func() {
		for _, err := os.Stat(tools + "/begun"); err != nil && ctx.Err() == nil; _, err = os.Stat(tools + "/begun") {
			time.Sleep(time.Millisecond)
		}
		building <- b.now()
		cancel(stopped)
	})
	defer watch.Wait()
	defer cancel(nil)
	if _, err := b.fitrun(ctx, otherArch()); err != stopped {
		t.Errorf("%v, want %v", err, stopped)
	}
	soon, cancelSoon := context.WithTimeout(t.Context(), 50*time.Millisecond) // as Reach has it: in any case the build does not end
	defer cancelSoon()
	want := "its architecture is " + otherArch() + ", and fitrun was not built for that in time; start again, as what is built so far is kept, or with a longer --launch-timeout"
	if _, err := b.fitrun(soon, otherArch()); err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	if got, want := <-building, "; fitrun is being built for "+otherArch(); got != want || b.now() != "" {
		t.Errorf("%q while it is built, want %q; later %q", got, want, b.now())
	}
	if len(b.done) != 0 {
		t.Errorf("it is remembered: %v", b.done)
	}
}
