// Command build makes the C library, in the directory of module cabi:
//
//	go run ./build [-o DIRECTORY]
//
// It needs Go and a C compiler, gcc unless CC names another. The directory, out if none is named,
// gets what an installation of MPI has: include/mpi.h, lib with both halves of the library,
// those with the interfaces of MPICH and Open MPI, and pkgconfig/fitmpi.pc, and bin with fitmpicc
// and fitmpicxx.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	out := flag.String("o", "out", "the `directory` that gets the library")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// run builds everything. The working directory is that of the module.
func run(ctx context.Context, out string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if _, err := os.Stat("chalf/fitmpi.h"); err != nil {
		return fmt.Errorf("%w: run it in the directory cabi, or with go -C cabi run ./build", err)
	}
	for _, dir := range []string{"bin", "include", "lib/pkgconfig"} {
		if err := os.MkdirAll(filepath.Join(out, dir), 0o755); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context, string) error{goHalf, cHalf, dialectLibraries, files} {
		if err := step(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

// goHalf builds libfitmpi_go.so.
func goHalf(ctx context.Context, out string) error {
	made := filepath.Join(out, "lib", "libfitmpi_go.so")
	if err := command(ctx, "go", "build", "-buildmode=c-shared", "-o", made, "./gohalf"); err != nil {
		return err
	}
	return os.Remove(filepath.Join(out, "lib", "libfitmpi_go.h")) // the C half has its own
}

// cHalf builds libmpi_abi.so.0 and the name that programs are linked by.
func cHalf(ctx context.Context, out string) error {
	sources, err := filepath.Glob("chalf/*.c")
	if err != nil {
		return err
	}
	const name = "libmpi_abi.so.0"
	args := append(cFlags("-Iinclude"), "-shared", "-Wl,-soname,"+name, "-Wl,-Bsymbolic-functions", "-o", filepath.Join(out, "lib", name))
	if err := command(ctx, compiler(), append(append(args, sources...), "-ldl", "-lpthread")...); err != nil {
		return err
	}
	link := filepath.Join(out, "lib", "libmpi_abi.so")
	if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(name, link)
}

// cFlags are the options of the compiler for all that is in C, and some more.
func cFlags(more ...string) []string {
	return append([]string{"-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden"}, more...)
}

// compiler is the C compiler.
func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "gcc"
}

// command runs a command, which says itself what is wrong.
func command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
