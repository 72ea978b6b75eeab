//go:build linux

package tests

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// What holds for ranks of one host beyond what they say to each other: what a killed process
// leaves, and that collectives do not depend on which ranks share a host.

func init() {
	programs["stream"] = streamRank
	programs["digest"] = digestRank
}

// streamRank: long messages go round both ways without a pause; the victim dies between two of
// them, or in the midst of one.
func streamRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		const n = 2 << 20 // elements: 16 MiB, which takes milliseconds
		out, in := make([]int64, n), make([]int64, n)
		up, down := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		for round := 0; ; round++ {
			if round == 2 && c.Rank() == victim {
				go func() {
					time.Sleep(3 * time.Millisecond) // whatever it is doing then
					deaths["killed"].die(c)
				}()
			}
			if _, err := mpi.Sendrecv(c, out, up, 0, in, down, 0); err != nil {
				return err
			}
			if _, err := mpi.Sendrecv(c, out, down, 1, in, up, 1); err != nil {
				return err
			}
		}
	})
}

// TestKilledMidTransferTLS: the same where the messages are encrypted.
func TestKilledMidTransferTLS(t *testing.T) {
	effort.Need(t, effort.Usual, "TestKilledMidTransfer shows the same without TLS")
	dir := t.TempDir()
	run := runJob(t, "stream", 2, "assist", dir, "FITMPI_TRANSPORT=tcp", "FITMPI_TLS=1")
	if run.code != 137 || run.took > deadline {
		t.Errorf("the job's code is %d, want 137; it took %v", run.code, run.took)
	}
	if n := strings.Count(run.stderr, "fitrun: "); n != 1 || !strings.Contains(run.stderr, "rank 1") || !strings.Contains(run.stderr, "killed") {
		t.Errorf("%d messages, want one that says that rank 1 was killed:\n%s", n, run.stderr)
	}
	if pids := processesOf(t, dir); len(pids) > 0 {
		t.Errorf("processes %v of the job are left", pids)
	}
}

// TestKilledMidTransfer: a process that is killed while long messages flow ends the job with one
// message, and nothing of the job is left.
func TestKilledMidTransfer(t *testing.T) {
	for _, test := range []struct {
		n, perProcess int
		says          string
	}{{2, 1, "rank 1"}, {4, 2, "ranks 0-1"}} {
		for _, way := range []string{"ring", "read"} {
			t.Run(fmt.Sprintf("%d in a process/%s", test.perProcess, way), func(t *testing.T) {
				before := descriptors(t)
				dir := t.TempDir()
				run := mixedJob(t, "stream", test.n, test.perProcess, "assist", dir, "FITMPI_SHM_COPY="+way, "FITMPI_TRANSPORT=shm")
				if run.code != 137 || run.took > deadline {
					t.Errorf("the job's code is %d, want 137; it took %v", run.code, run.took)
				}
				if n := strings.Count(run.stderr, "fitrun: "); n != 1 || !strings.Contains(run.stderr, test.says) ||
					!strings.Contains(run.stderr, "killed") {
					t.Errorf("%d messages, want one that says %q was killed:\n%s", n, test.says, run.stderr)
				}
				if after := descriptors(t); len(after) > len(before) {
					t.Errorf("the launcher had descriptors %v, and has %v", before, after)
				}
				if pids := processesOf(t, dir); len(pids) > 0 {
					t.Errorf("processes %v of the job are left", pids)
				}
			})
		}
	}
}

// descriptors says what the descriptors of this process are, but for those of the runtime.
func descriptors(t *testing.T) (what []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		to, err := os.Readlink(l)
		if err == nil && !strings.HasPrefix(to, "anon_inode:[event") && !strings.HasPrefix(to, "/proc/") {
			what = append(what, to)
		}
	}
	return what
}

// processesOf finds the processes that were told of the directory.
func processesOf(t *testing.T, dir string) (pids []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(envDir+"="+dir)) {
			pids = append(pids, strings.Split(f, "/")[2])
		}
	}
	return pids
}

// digestRank says what the collectives give: exact, of integers and of floats whose sums are exact,
// and rounded, of floats whose sum depends on the order.
func digestRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		for _, n := range []int{1, 7, 500, 40_000} {
			exact, err := digestExact(c, n)
			if err != nil {
				return err
			}
			rounded, err := digestRounded(c, n)
			if err != nil {
				return err
			}
			fmt.Printf("exact %d %d %x\n", n, c.Rank(), exact)
			fmt.Printf("rounded %d %d %x\n", n, c.Rank(), rounded)
		}
		return nil
	})
}

func digestExact(c *mpi.Comm, n int) (uint64, error) {
	sum := uint64(0)
	mine, all := ramp(n, c.Rank()+3), make([]int64, n*c.Size())
	one := make([]int64, n)
	halves, halved := make([]float64, n), make([]float64, n)
	for i := range halves {
		halves[i] = float64(c.Rank()*n+i) / 2
	}
	for _, f := range []func() error{
		func() error { copy(one, mine); return mpi.Bcast(c, one, c.Size()-1) },
		func() error { return mpi.Allreduce(c, mine, one, mpi.Sum) },
		func() error { return mpi.Allreduce(c, mine, one, mpi.Max) },
		func() error { return mpi.Reduce(c, mine, one, mpi.Sum, 1) },
		func() error { return mpi.Allreduce(c, halves, halved, mpi.Sum) },
		func() error { return mpi.Scan(c, mine, one, mpi.Sum) },
		func() error { return mpi.Allgather(c, mine, all) },
		func() error { return mpi.Gather(c, mine, all, 2) },
		func() error { return mpi.Scatter(c, all, one, 2) },
		func() error { return mpi.Alltoall(c, append([]int64{}, all...), all) },
		func() error { return mpi.Barrier(c) },
	} {
		if err := f(); err != nil {
			return 0, err
		}
		for _, x := range slices.Concat(one, all) {
			sum = mix(sum, uint64(x))
		}
		for _, x := range halved {
			sum = mix(sum, math.Float64bits(x))
		}
	}
	return sum, nil
}

func digestRounded(c *mpi.Comm, n int) (uint64, error) {
	sum := uint64(0)
	in, out := make([]float64, n), make([]float64, n)
	for i := range in {
		in[i] = math.Sin(float64(c.Rank()*n + i + 1))
	}
	for _, f := range []func() error{
		func() error { return mpi.Allreduce(c, in, out, mpi.Sum) },
		func() error { return mpi.Reduce(c, in, out, mpi.Prod, 0) },
		func() error { return mpi.Scan(c, in, out, mpi.Sum) },
	} {
		if err := f(); err != nil {
			return 0, err
		}
		for _, x := range out {
			sum = mix(sum, math.Float64bits(x))
		}
	}
	return sum, nil
}

// mix adds a value to a digest (Fowler, Noll and Vo).
func mix(sum, x uint64) uint64 { return (sum ^ x) * 1099511628211 }

// digest runs digestRank and returns what each rank says, by length and rank.
func digest(t *testing.T, set ...string) (exact, rounded map[string]string) {
	t.Helper()
	run := mixedJob(t, "digest", 6, 2, "assist", t.TempDir(), set...)
	if run.code != 0 || run.stderr != "" {
		t.Fatalf("code %d\n%s", run.code, run.stderr)
	}
	exact, rounded = map[string]string{}, map[string]string{}
	for line := range strings.Lines(run.stdout) {
		f := strings.Fields(line)
		if len(f) != 4 {
			t.Fatalf("a rank says %q", line)
		}
		to := exact
		if f[0] == "rounded" {
			to = rounded
		}
		to[f[1]+" elements on rank "+f[2]] = f[3]
	}
	return exact, rounded
}

// TestTwoLevels: in a job whose pairs are threads, share memory, or use TCP, and whose collectives
// go inside each host first, they give what they give over TCP alone, and the same, bit for bit,
// each time.
func TestTwoLevels(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts many jobs")
	t.Parallel()
	flat, _ := digest(t, "FITMPI_TRANSPORT=tcp")
	_, once := digest(t, "FITMPI_CLIQUES=2")
	exact, again := digest(t, "FITMPI_CLIQUES=2")
	if len(flat) != 24 || len(exact) != 24 || len(again) != 24 {
		t.Fatalf("%d, %d and %d digests, want 24", len(flat), len(exact), len(again))
	}
	for k := range flat {
		if exact[k] != flat[k] {
			t.Errorf("%s: two levels give other results than one", k)
		}
		if once[k] != again[k] {
			t.Errorf("%s: the second run gives other results than the first", k)
		}
	}
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
