package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// config is what MPICH's configure would find out of our library and this machine.
const config = `#define F77_NAME_LOWER_USCORE 1
#define HAVE_DLFCN_H 1
#define HAVE_DOUBLE__COMPLEX 1
#define HAVE_FLOAT__COMPLEX 1
#define HAVE_GETRUSAGE 1
#define HAVE_INTTYPES_H 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_LONG_DOUBLE__COMPLEX 1
#define HAVE_LONG_LONG 1
#define HAVE_PTHREAD_H 1
#define HAVE_STDARG_H 1
#define HAVE_STDINT_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRDUP 1
#define HAVE_STRINGS_H 1
#define HAVE_STRING_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_UNISTD_H 1
#define HAVE_USLEEP 1
#define HAVE__BOOL 1
#define HAVE_MPI_INTEGER16 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_MPI_SPAWN 1
#define HAVE_MPI_IO 1
#define POINTERINT_t long
#define SIZEOF_INT 4
#define SIZEOF_LONG 8
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SHORT 2
#define SIZEOF_VOID_P 8
#define STDC_HEADERS 1
#define USE_STRICT_MPI 1
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
#define THREAD_PACKAGE_INVALID 0
#define THREAD_PACKAGE_NONE 1
#define THREAD_PACKAGE_POSIX 2
#define THREAD_PACKAGE_WIN 3
#define THREAD_PACKAGE_SOLARIS 4
#define THREAD_PACKAGE_UTI 5
#define THREAD_PACKAGE_ARGOBOTS 6
`

// removed are names that MPI 3.0 has removed and the standard ABI does not have, by what replaces
// them with the same arguments: MPICH still has them, and some tests use them.
const removed = `#include <mpi.h>
#define MPI_Address MPI_Get_address
#define MPI_Type_hvector MPI_Type_create_hvector
#define MPI_Type_hindexed MPI_Type_create_hindexed
#define MPI_Type_struct MPI_Type_create_struct
#define MPI_Errhandler_create MPI_Comm_create_errhandler
#define MPI_Errhandler_set MPI_Comm_set_errhandler
#define MPI_Errhandler_get MPI_Comm_get_errhandler
#define MPI_Handler_function MPI_Comm_errhandler_function
`

// builder compiles tests, each program once.
type builder struct {
	s       *settings
	root    string   // test/mpi
	flags   []string // of the preprocessor
	support []string // objects that programs are linked with

	mu   sync.Mutex
	made map[string]error // guarded by mu: programs
}

func newBuilder(ctx context.Context, s *settings) (*builder, error) {
	b := &builder{s: s, root: filepath.Join(s.src, "test/mpi"), made: map[string]error{}}
	include := filepath.Join(s.work, "include")
	above := filepath.Join(s.work, "above/above") // some look for ../../include
	for _, dir := range []string{include, above} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"mpitestconf.h", "../dtpoolsconf.h"} { // dtpools looks above a directory of headers
		if err := os.WriteFile(filepath.Join(include, name), []byte(config), 0o644); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(include, "removed.h"), []byte(removed), 0o644); err != nil {
		return nil, err
	}
	if s.compiler == "" {
		b.flags = []string{"-include", filepath.Join(include, "removed.h")}
	}
	b.flags = append(b.flags, "-I"+include, "-I"+above, "-I"+filepath.Join(b.root, "include"), "-I"+filepath.Join(b.root, "dtpools/include"),
		"-DHAVE_MPITESTCONF_H=1", "-w", "-std=gnu11")
	return b, b.buildSupport(ctx)
}

// cc runs fitmpicc, or the compiler that was named.
func (b *builder) cc(ctx context.Context, args ...string) error {
	return compile(ctx, cmp.Or(b.s.compiler, filepath.Join(b.s.lib, "bin", "fitmpicc")), append(append([]string{}, b.flags...), args...)...)
}

// compile runs a compiler.
func compile(ctx context.Context, compiler string, args ...string) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, compiler, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, out.String())
	}
	return nil
}

// buildSupport compiles what all tests share.
func (b *builder) buildSupport(ctx context.Context) error {
	sources, err := filepath.Glob(filepath.Join(b.root, "dtpools/src/*.c"))
	if err != nil {
		return err
	}
	for _, name := range []string{"mtest.c", "mtest_common.c", "dtypes.c", "mtest_thread.c"} {
		sources = append(sources, filepath.Join(b.root, "util", name))
	}
	for _, src := range sources {
		obj := filepath.Join(b.s.work, strings.TrimSuffix(filepath.Base(src), ".c")+".o")
		b.support = append(b.support, obj)
		if _, err := os.Stat(obj); err == nil {
			continue
		}
		if err := b.cc(ctx, "-c", src, "-o", obj); err != nil {
			return fmt.Errorf("%s: %w", src, err)
		}
	}
	return nil
}

// program compiles the program of a test, and returns its path.
func (b *builder) program(ctx context.Context, t *test) (string, error) {
	path := filepath.Join(b.s.work, strings.ReplaceAll(t.dir, "/", "-")+"-"+t.name)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err, ok := b.made[path]; ok {
		return path, err
	}
	if _, err := os.Stat(path); err == nil {
		b.made[path] = nil
		return path, nil
	}
	sources, flags := b.rule(t)
	if b.language(t) != "" {
		dir := path + ".dir"
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return path, err
		}
		compiler, args := b.fortran(t, sources, filepath.Join(dir, "program"))
		b.made[path] = compile(ctx, compiler, append(args, "-o", path)...)
		return path, b.made[path]
	}
	args := append(flags, "-I"+filepath.Join(b.root, t.dir), "-o", path)
	args = append(append(args, sources...), b.support...)
	err := b.cc(ctx, append(args, "-lm", "-lpthread")...)
	b.made[path] = err
	return path, err
}

var macro = regexp.MustCompile(`-D\S+`)

// rule finds sources and flags in the makefile: programs may share a source, or have several.
func (b *builder) rule(t *test) (sources, flags []string) {
	suffix := ".c"
	if b.language(t) != "" {
		suffix = ".f90"
	}
	sources = []string{filepath.Join(b.root, t.dir, t.name+suffix)}
	text, err := os.ReadFile(filepath.Join(b.root, t.dir, "Makefile.am"))
	if err != nil {
		return sources, nil
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		switch strings.TrimSpace(key) {
		case t.name + "_SOURCES":
			sources = nil
			for f := range strings.FieldsSeq(value) {
				if ext := filepath.Ext(f); ext == ".c" || ext == ".f90" {
					sources = append(sources, filepath.Join(b.root, t.dir, f))
				}
			}
		case t.name + "_CPPFLAGS":
			flags = macro.FindAllString(value, -1)
		}
	}
	return sources, flags
}
