//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// slowBuild is how long a build may take in silence.
var slowBuild = time.Second // tests have it short

// ErrBuild is a build that failed; the go command has already said why.
var ErrBuild = errors.New("the program does not build")

// Build builds package p into dir and returns the path of the binary. What the go command says goes
// to stderr.
func Build(ctx context.Context, p Program, dir string, stderr io.Writer) (string, error) {
	return buildFor(ctx, p, "", dir, stderr, stderr)
}

// buildFor is Build for an architecture, "" for this one. That it takes long is told to progress.
func buildFor(ctx context.Context, p Program, arch, dir string, stderr, progress io.Writer) (string, error) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("%s: a Go package needs the go command to build it, and there is none in PATH; install Go or give a binary", p.Name)
	}
	out := filepath.Join(dir, binaryName(p))
	var said strings.Builder
	cmd := exec.CommandContext(ctx, goTool, "build", "-o", out, p.Package)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, &said, &said
	if arch != "" {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets it remove its work directory
	cmd.WaitDelay = 2 * time.Second
	done := announce(p.Name, progress)
	err = cmd.Run()
	done()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err == nil:
		return out, checkBuilt(p, out)
	case isUnknownPackage(p, said.String()):
		return "", fmt.Errorf("%s: no such file, and no such Go package; give a path such as ./%s if it is one", p.Name, p.Name)
	case said.Len() == 0:
		return "", fmt.Errorf("building %s: %w", p.Name, err)
	}
	io.WriteString(stderr, said.String())
	return "", ErrBuild
}

// announce says that a build is running if it takes long. The caller calls the result when it is
// over.
func announce(name string, progress io.Writer) (done func()) {
	var wg sync.WaitGroup
	over := make(chan struct{})
	wg.Go(func() {
		select {
		case <-over:
		case <-time.After(slowBuild):
			fmt.Fprintf(progress, "fitrun: building %s ...\n", name)
		}
	})
	return func() {
		close(over)
		wg.Wait()
	}
}

// binaryName is a name that tells people in ps and top which program a rank runs.
func binaryName(p Program) string {
	name := strings.TrimSuffix(filepath.Base(filepath.Clean(p.Name)), ".go")
	if name == "." || name == ".." || name == "/" {
		if abs, err := filepath.Abs(filepath.Join(p.Dir, p.Package)); err == nil {
			name = filepath.Base(abs)
		}
	}
	if name == "" || name == "/" {
		return "rank"
	}
	return name
}

// checkBuilt refuses a library: go build writes an archive for one, without complaint.
func checkBuilt(p Program, out string) error {
	st, err := os.Stat(out)
	if err != nil || st.Mode()&0o111 == 0 {
		return fmt.Errorf("%s: a Go package, but not a program; name a directory whose package is main", p.Name)
	}
	return nil
}

// isUnknownPackage reports whether go build failed because a name that may have been meant as a
// path is no package.
func isUnknownPackage(p Program, said string) bool {
	if p.Dir != "" || strings.HasPrefix(p.Package, ".") || strings.HasSuffix(p.Package, ".go") {
		return false
	}
	for _, s := range []string{"is not in std", "no required module provides package", "cannot find module", "go.mod file not found"} {
		if strings.Contains(said, s) && strings.Contains(said, p.Package) {
			return true
		}
	}
	return false
}
