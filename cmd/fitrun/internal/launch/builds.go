//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/agent"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
)

// builds are binaries for hosts of all architectures, each made once.
type builds struct {
	cfg     Config
	running atomic.Pointer[string] // what is being built, in words; nil for nothing

	mu    sync.Mutex
	dir   string            // temporary; "" until needed; guarded by mu
	done  map[buildKey]file // guarded by mu
	files map[string]file   // by path; guarded by mu
}

type buildKey struct{ pkg, dir, arch string }

// file is a binary, or why there is none.
type file struct {
	path, sum string
	size      int64
	err       error
}

func newBuilds(cfg Config) *builds {
	return &builds{cfg: cfg, done: make(map[buildKey]file), files: make(map[string]file)}
}

// now is what is being built, to be put behind how far a launch is; "" for nothing.
func (b *builds) now() string {
	if p := b.running.Load(); p != nil {
		return *p
	}
	return ""
}

func (b *builds) close() {
	if b.dir != "" {
		os.RemoveAll(b.dir)
	}
}

// Everything of fitrun in its module.
const fitrunPackage = "github.com/fitmpi/fitmpi/cmd/fitrun"

// fitrun is the build of this very program for arch. It gives up when ctx ends.
func (b *builds) fitrun(ctx context.Context, arch string) (agent.Binary, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.fileLocked("/proc/self/exe")
	if arch != agent.ArchOfFile("/proc/self/exe") {
		f = b.buildLocked(ctx, Program{Name: "fitrun", Package: fitrunPackage}, arch)
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return agent.Binary{}, fmt.Errorf("its architecture is %s, and fitrun was not built for that in time; start again, as what is built so far is kept, or with a longer --launch-timeout", arch)
		case ctx.Err() != nil:
			return agent.Binary{}, context.Cause(ctx)
		case errors.Is(f.err, ErrBuild):
			return agent.Binary{}, fmt.Errorf("its architecture is %s, and fitrun could not be built for that: %w", arch, f.err)
		case f.err != nil:
			return agent.Binary{}, fmt.Errorf("its architecture is %s; fitrun is built for that where Go and FitMPI's module are at hand: start the job in a module that requires it", arch)
		}
	}
	return agent.Binary{Path: f.path, Sum: f.sum, Size: f.size}, f.err
}

// program is what an agent of arch is told of an app's program, and the file for it here.
func (b *builds) program(ctx context.Context, app App, arch string) (agent.Program, string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.fileLocked(app.Program.Path)
	if f.err != nil {
		return agent.Program{}, "", f.err
	}
	path, foreign := app.Program.Path, ""
	if own := agent.ArchOfFile(app.Program.Path); own != "" && own != arch {
		if app.Program.Package == "" {
			foreign = fmt.Sprintf("%s is built for %s, and this host is %s; give a Go package, which is built for each, or a build for %s", app.Program.Name, own, arch, arch)
		} else if f = b.buildLocked(ctx, app.Program, arch); f.err != nil {
			return agent.Program{}, "", fmt.Errorf("building %s for %s: %w", app.Program.Name, arch, f.err)
		} else {
			path = f.path // a host that sees our files has the build for this architecture under the other path
		}
	}
	p := agent.Program{Path: path, Sum: f.sum, Size: f.size, Foreign: foreign}
	if app.SearchPath != "" {
		p.Search = strings.Split(app.SearchPath, string(os.PathListSeparator))
	}
	return p, f.path, nil
}

func (b *builds) fileLocked(path string) file {
	f, ok := b.files[path]
	if !ok {
		f.path = path
		f.sum, f.size, f.err = agent.SumFile(path)
		b.files[path] = f
	}
	return f
}

func (b *builds) buildLocked(ctx context.Context, p Program, arch string) file {
	key := buildKey{p.Package, p.Dir, arch}
	if f, ok := b.done[key]; ok {
		return f
	}
	f := b.compileLocked(ctx, p, arch)
	if ctx.Err() == nil { // else it says nothing of the program
		b.done[key] = f
	}
	return f
}

func (b *builds) compileLocked(ctx context.Context, p Program, arch string) (f file) {
	if b.dir == "" {
		if b.dir, f.err = crew.TempDir(); f.err != nil {
			return f
		}
		b.cfg.Guard.Temp(b.dir)
	}
	dir, err := os.MkdirTemp(b.dir, arch+"-")
	if err != nil {
		return file{err: err}
	}
	b.running.Store(new(fmt.Sprintf("; %s is being built for %s", p.Name, arch)))
	defer b.running.Store(nil)
	var said strings.Builder
	path, err := buildFor(ctx, p, arch, dir, &said, io.Discard) // the progress of the job says that it runs
	if errors.Is(err, ErrBuild) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	if err != nil {
		return file{err: err}
	}
	return b.fileLocked(path)
}
