//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packages are the Debian packages that measuring needs, Go apart.
var packages = []string{
	"openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev", "netpipe-tcp", "netpipe-openmpi", "netpipe-mpich2", "qemu-user-static", "iproute2", "gcc", "libc6-dev", "make",
}

// install installs the packages that are absent, and says so.
func install(ctx context.Context, log io.Writer) error {
	var absent []string
	if _, err := exec.LookPath("dpkg-query"); err != nil {
		return errors.New("this is not Debian: the peers are measured as Debian packages them; use a Debian machine or container")
	}
	for _, name := range packages {
		if packageVersion(ctx, name) == "" {
			absent = append(absent, name)
		}
	}
	if os.Getuid() != 0 {
		return errors.New("network namespaces and packages need root: run this as root")
	}
	if len(absent) == 0 {
		return nil
	}
	fmt.Fprintln(log, "compare: installing", strings.Join(absent, " "))
	if err := loud(ctx, log, "apt-get", "update", "-q"); err != nil {
		return err
	}
	return loud(ctx, log, "apt-get", append([]string{"install", "-q", "-y", "--no-install-recommends"}, absent...)...)
}

// goPrograms are the packages of ours that run in experiments.
var goPrograms = append([]string{"./cmd/fitrun", "./cmd/fitbench", "./bench/rawgo"}, applicationPrograms()...)

// build builds all programs, without the library that draws, which would be in the memory
// of every rank: those of Go to bin, those of C to peers. A
// program of C that does not build is a contender that fails, no more.
func build(ctx context.Context, log io.Writer, root, bin, peers string) error {
	fmt.Fprintln(log, "compare: building fitrun, fitbench, rawgo, examples and bench/peers")
	goBuild := append([]string{"-C", root, "build", "-buildvcs=false", "-tags", "noplot", "-o", bin + "/"}, goPrograms...)
	if err := loud(ctx, log, "go", goBuild...); err != nil {
		return err
	}
	if err := buildForeign(ctx, log, root, bin); err != nil {
		fmt.Fprintf(log, "compare: %v: going on without it\n", err)
	}
	if err := loud(ctx, log, "make", "--silent", "--keep-going", "-C", filepath.Join(root, "bench/peers"), "BUILD="+peers); err != nil {
		fmt.Fprintf(log, "compare: %v: going on without what was not built\n", err)
	}
	return ctx.Err()
}

// buildForeign builds what runs under an emulator, of a machine with the other order of bytes.
func buildForeign(ctx context.Context, log io.Writer, root, bin string) error {
	return loud(ctx, log, "env", "GOARCH=s390x", "CGO_ENABLED=0", "go", "-C", root, "build", "-buildvcs=false",
		"-o", filepath.Join(bin, "s390x")+"/", "./examples/matmul")
}

// loud runs a command whose output every user may see.
func loud(ctx context.Context, log io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// quiet runs a command and returns its output, or what it said about its failure.
func quiet(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, lastLine(complaint.String()))
	}
	return out.String(), nil
}

// repository is the root of the module that the working directory is in.
func repository(ctx context.Context) (string, error) {
	mod, err := quiet(ctx, "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(strings.TrimSpace(mod))
	if _, err := os.Stat(filepath.Join(dir, "cmd/fitbench")); err != nil {
		return "", errors.New("run this from FitMPI's repository: cmd/fitbench is not here")
	}
	return dir, nil
}
