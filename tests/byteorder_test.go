//go:build linux

package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
)

// A job of ranks of both byte orders (MPI 4.1, section 3.3.2: "type conversion and representation
// conversion"): s390x, which is big-endian, emulated by qemu, beside this machine's own.

// qemu is the emulator, of Debian's qemu-user-static.
const qemu = "qemu-s390x-static"

// mixedCases are the cases that a mixed job runs: those in which data travel. The others take long
// under emulation and show nothing that depends on the order of bytes.
const mixedCases = `^(receive|sendrecv|object|layout|datatype|collective|reduction|persistent collective|comm|intercomm|neighbour|outstanding|random|partitioned)`

// otherOrder builds this test for s390x, and returns what makes programs that are it in the first
// process of a job and this machine's in the others.
func otherOrder(t *testing.T) func(t *testing.T) string {
	t.Helper()
	emulator, err := exec.LookPath(qemu)
	if err != nil || runtime.GOARCH == "s390x" {
		t.Skip("needs qemu-user-static, on a little-endian machine: ", err)
	}
	foreign := filepath.Join(t.TempDir(), "s390x.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", foreign, ".")
	build.Env = append(os.Environ(), "GOARCH=s390x", "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building for s390x: %v\n%s", err, out)
	}
	return func(t *testing.T) string {
		t.Helper()
		dir := t.TempDir()
		script := filepath.Join(dir, "either")
		text := fmt.Sprintf("#!/bin/sh\nmkdir %q 2>/dev/null && exec %q %q \"$@\"\nexec %q \"$@\"\n",
			filepath.Join(dir, "taken"), emulator, foreign, selfPath(t))
		executable.Write(t, script, text)
		return script
	}
}

// combiningCases are the cases in which reductions may go by segments.
var combiningCases = regexp.MustCompile(`^(layout|reduction|persistent collective|intercomm|random)`)

func TestSuiteByteOrders(t *testing.T) {
	if raceEnabled {
		t.Skip("the emulator knows nothing of the race detector")
	}
	effort.Need(t, effort.Full, "it builds these tests for an emulated machine, which runs the suite")
	either := otherOrder(t)
	for i, how := range []struct {
		n     int
		short bool // reductions go by short segments
	}{{2, false}, {3, false}, {3, true}} {
		n := how.n
		t.Run(fmt.Sprint(n, how.short), func(t *testing.T) {
			if how.short {
				t.Setenv(envSegments, "1")
				t.Setenv("FITMPI_COLL", shortSegments[1:])
			}
			if how.short || n == 2 {
				t.Setenv(envWorld, "1")
			}
			aPart(t, effort.Now(), i, 24)
			defer func(was string) { *caseFlag = was }(*caseFlag)
			if *caseFlag == "" {
				*caseFlag = mixedCases
			}
			dir := t.TempDir()
			tellSuite(t, binaryRequest(either(t), "suite", n, "assist", dir).run(t, nil), n, dir)
		})
	}
}
