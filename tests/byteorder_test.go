//go:build linux

package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A job of ranks of both byte orders (MPI 4.1, section 3.3.2: "type conversion and representation
// conversion"): s390x, which is big-endian, emulated by qemu, beside this machine's own.

// qemu is the emulator, of Debian's qemu-user-static.
const qemu = "qemu-s390x-static"

// mixedCases are the cases that a mixed job runs: those in which data travel. The others take long
// under emulation and show nothing that depends on the order of bytes.
const mixedCases = `^(receive|sendrecv|object|layout|datatype|collective|reduction|persistent collective|comm|intercomm|neighbour|outstanding|random|partitioned)`

// otherOrder builds this test for s390x, and returns what makes programs that are it in the first process
// of a job and this machine's in the others.
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
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return script
	}
}

// combiningCases are those of them in which reductions may go by segments.
const combiningCases = `^(layout|reduction|persistent collective|intercomm|random)`

func TestSuiteByteOrders(t *testing.T) {
	if raceEnabled {
		t.Skip("the emulator knows nothing of the race detector")
	}
	either := otherOrder(t)
	for _, how := range []struct {
		n     int
		short bool // reductions go by short segments
	}{{2, false}, {3, false}, {3, true}} {
		n := how.n
		t.Run(fmt.Sprint(n, how.short), func(t *testing.T) {
			if how.short {
				t.Setenv(envSegments, "1")
			}
			if how.short || n == 2 {
				setAll(t, onWorldAlone()...)
			}
			defer func(was string) { *caseFlag = was }(*caseFlag)
			switch {
			case *caseFlag != "":
			case how.short:
				*caseFlag = combiningCases
			default:
				*caseFlag = mixedCases
			}
			dir := t.TempDir()
			run := runBinary(t, either(t), "suite", n, "assist", dir)
			o := newOutcomes(n)
			for r := range n {
				readEvents(t, o, dir, r)
			}
			var err error
			if run.code != 0 {
				err = fmt.Errorf("code %d\n%s%s", run.code, run.stdout, run.stderr)
			} else if s := strings.TrimSpace(run.stdout + run.stderr); s != "" {
				t.Errorf("the job wrote:\n%s", s)
			}
			o.tell(t, err)
		})
	}
}
