//go:build linux

package tests

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/netlab"
)

// A host that is another machine: an s390x, whose order of bytes is the other one, reached by ssh
// as any host. Everything that runs there is built for it: fitrun's agent and the ranks. See
// netlab.Foreign.
func TestForeignHost(t *testing.T) {
	switch {
	case runtime.GOARCH == "s390x":
		t.Skip("this machine is one itself")
	case isHurried():
		t.Skip("in a hurry: the agent and the ranks are built and run as without the detector")
	}
	effort.Need(t, effort.Night, "it builds for another architecture, and runs that by an emulator")
	l := newFitrunLab(t)
	h := l.Network().Foreign()
	t.Setenv("TMPDIR", l.Hidden())                                // what is built here the other host does not see, as if its files were its own
	program := buildProgram(t, l.Hidden(), "examples/samplesort") // which that host does not see
	for _, tc := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"package", func(t *testing.T) { foreignPackage(t, l, h) }},
		{"objects", func(t *testing.T) {
			run := l.foreignJob(t, h, "./examples/wordcount", "-check", "README.md")
			run.wantClean(t)
		}},
		{"binary", func(t *testing.T) {
			run := l.foreignJob(t, h, program)
			run.wantError(t, fmt.Sprintf(`(?m)^fitrun: host %s: \S+/samplesort is built for %s, and this host is s390x; give a Go package, which is built for each, or a build for s390x; no rank was started$`,
				regexp.QuoteMeta(h.Addr()), runtime.GOARCH))
		}},
		{"its own binary", func(t *testing.T) { foreignOwnBinary(t, l, h, program) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.test(t)
			l.AwaitEmpty(t, acrossBound)
		})
	}
}

// foreignJob runs a program as two ranks here and two there.
func (l *fitrunLab) foreignJob(t *testing.T, h *netlab.Host, command ...string) jobRun {
	t.Helper()
	// The first build for another architecture compiles all of Go's library.
	args := []string{"--verbose", "--launch-timeout", "10m"}
	return l.run(t, acrossJob{hosts: fmt.Sprintf("localhost:2,%s:2", h.Addr()), args: args, command: command})
}

// A Go package is built for each of two architectures, and the ranks understand each other:
// samplesort moves numbers by Alltoallv and checks their count, order, sum and hash, on each rank
// and over all.
func foreignPackage(t *testing.T, l *fitrunLab, h *netlab.Host) {
	run := l.foreignJob(t, h, "./examples/samplesort", "-n", "20000")
	run.wantClean(t)
	for _, want := range []string{
		fmt.Sprintf(`(?m)^fitrun: host %s: \S+, s390x, `, regexp.QuoteMeta(h.Addr())),
		`(?m)^\[0\] sorting 20000 random numbers on 4 ranks$`, `(?m)^\[0\] checked: in order, and the same numbers as before`,
	} {
		if !regexp.MustCompile(want).MatchString(run.stdout + run.stderr) {
			t.Errorf("want %q:\n%s%s", want, run.stdout, run.stderr)
		}
	}
	for _, name := range []string{"fitrun", "samplesort"} {
		if f, err := elf.Open(l.foreignCopy(t, name)); err != nil || f.Machine != elf.EM_S390 {
			t.Errorf("what was copied there as %s is no program for s390x: %v", name, err)
		}
	}
}

// foreignCopy is what fitrun has copied to the host under a name.
func (l *fitrunLab) foreignCopy(t *testing.T, name string) string {
	t.Helper()
	copies, err := filepath.Glob(filepath.Join(l.Caches(), "fitmpi/*", name))
	if err != nil || len(copies) != 1 {
		t.Fatalf("copies %q, %v; want one", copies, err)
	}
	return copies[0]
}

// A host that has a build of its own under the path of a program runs that.
func foreignOwnBinary(t *testing.T, l *fitrunLab, h *netlab.Host, program string) {
	install := append(l.SSHArgs(), h.Addr(), "cp", l.foreignCopy(t, "samplesort"), program)
	if out, err := exec.Command("ssh", install...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := l.foreignJob(t, h, program, "-n", "20000")
	run.wantClean(t)
	if !strings.Contains(run.stdout, "[0] checked: in order, and the same numbers as before") {
		t.Errorf("it was not sorted:\n%s%s", run.stdout, run.stderr)
	}
}
