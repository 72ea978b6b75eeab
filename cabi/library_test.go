package cabi_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The library and fitrun, built once for all tests.
var lib, fitrun string

func TestMain(m *testing.M) {
	os.Exit(withLibrary(m))
}

func withLibrary(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fitmpi-cabi-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	lib, fitrun = filepath.Join(dir, "fitmpi"), filepath.Join(dir, "fitrun")
	for _, args := range [][]string{
		{"run", "./build", "-o", lib},
		{"build", "-C", "..", "-o", fitrun, "./cmd/fitrun"},
		{"build", "-o", filepath.Join(dir, "mixed-go"), "./testdata/mixed"},
	} {
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go %s: %v\n%s", strings.Join(args, " "), err, out)
			return 1
		}
	}
	return m.Run()
}

// compile makes a program of a file in testdata.
func compile(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(lib), name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cc := exec.Command(filepath.Join(lib, "bin", "fitmpicc"), "-std=gnu11", "-Wall", "-Wextra", "-Werror", filepath.Join("testdata", name+".c"), "-o", path)
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// job runs fitrun with arguments, and returns its output.
func job(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // far more than any takes
	defer cancel()
	cmd := exec.CommandContext(ctx, fitrun, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("fitrun %s: too long\n%s", strings.Join(args, " "), out.String())
	}
	return out.String(), err
}

// Programs that check what they do, over each transport and on some ranks. A file in testdata says
// what it is about.
func TestPrograms(t *testing.T) {
	for _, name := range []string{
		"environment", "errors", "p2p", "arrays", "comm", "datatype", "coll", "topology", "session", "signals",
		"profile", "window", "partitioned", "file", "abi", "tools",
	} {
		t.Run(name, func(t *testing.T) {
			program := compile(t, name)
			for _, transport := range []string{"tcp", "shm"} {
				for _, ranks := range []string{"1", "2", "3", "4"} {
					out, err := job(t, "-n", ranks, "--transport", transport, program)
					if err != nil || !strings.Contains(out, "all right") {
						t.Errorf("%s ranks over %s: %v\n%s", ranks, transport, err, out)
					}
				}
			}
		})
	}
}

// A program without a launcher is a job of one rank.
func TestAlone(t *testing.T) {
	if out, err := exec.Command(compile(t, "coll")).CombinedOutput(); err != nil || string(out) != "all right\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// Errors are fatal unless the program says otherwise (MPI 5.0, section 9.3), and name the function.
func TestFatal(t *testing.T) {
	out, err := job(t, "-n", "2", compile(t, "fatal"))
	if err == nil || !strings.Contains(out, "MPI_Send") || !strings.Contains(out, "destination 2") || strings.Contains(out, ".go:") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAbort(t *testing.T) {
	out, err := job(t, "-n", "3", compile(t, "abort"))
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.ExitCode() != 42 || !strings.Contains(out, "rank 2") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A function that is called too early says so.
func TestTooEarly(t *testing.T) {
	src := filepath.Join(t.TempDir(), "early.c")
	if err := os.WriteFile(src, []byte("#include <mpi.h>\nint main(void) { return MPI_Barrier(MPI_COMM_WORLD); }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(src), "early")
	if out, err := exec.Command(filepath.Join(lib, "bin", "fitmpicc"), src, "-o", path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "MPI_Barrier: called before MPI_Init") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A rank in C and one in Go make one job.
func TestMixed(t *testing.T) {
	c, g := compile(t, "mixed"), filepath.Join(filepath.Dir(lib), "mixed-go")
	for _, transport := range []string{"tcp", "shm"} {
		for _, pair := range [][2]string{{c, g}, {g, c}} {
			out, err := job(t, "-n", "1", "--transport", transport, pair[0], ":", "-n", "1", pair[1])
			if err != nil {
				t.Errorf("over %s: %v\n%s", transport, err, out)
			}
		}
	}
}

// Programs in C++ see the library too, and pkg-config knows it.
func TestCompilers(t *testing.T) {
	src := filepath.Join(t.TempDir(), "hello.cc")
	text := "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Comm w = MPI_COMM_WORLD; (void)w; return MPI_Finalize(); }\n"
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	path := strings.TrimSuffix(src, ".cc")
	if out, err := exec.Command(filepath.Join(lib, "bin", "fitmpicxx"), src, "-o", path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := job(t, "-n", "2", path); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	pc, err := os.ReadFile(filepath.Join(lib, "lib/pkgconfig/fitmpi.pc"))
	if err != nil || !bytes.Contains(pc, []byte("-lmpi_abi")) {
		t.Errorf("%v: %s", err, pc)
	}
}

// Ranks that wait for each other are told of, by the names of their calls.
func TestDeadlock(t *testing.T) {
	out, err := job(t, "-n", "2", "--on-deadlock", "abort", compile(t, "deadlock"))
	if err == nil || !strings.Contains(out, "rank 0 waits for rank 1: Recv from rank 1") || strings.Contains(out, ".go") {
		t.Errorf("%v\n%s", err, out)
	}
}
