//go:build linux

package tests

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// Many more ranks than cores: they stay within the memory that is documented, and a rank that waits
// leaves the cores to others.

func init() {
	programs["crowd"] = crowdRank
	programs["patience"] = patienceRank
}

const (
	crowd      = 64      // ranks
	crowdShort = 8       // elements of a short message: 64 bytes
	crowdLong  = 8 << 10 // of a long one: 64 KiB

	mib       = 1 << 20                   // bytes
	crowdBase = 24 * mib                  // a Go program that has just begun: its binary, runtime and threads
	crowdSend = 16 * mib                  // the library send buffer (docs/decisions/0004)
	crowdUser = 2 * 8 * crowdLong * crowd // what crowdAll allocates: 8 MiB
	crowdSlab = 8 * crowdLong * crowd     // messages that come before their receive is posted: one of each rank
)

// crowdAll exchanges short and long messages with every rank, in posts of all at once, and checks
// each.
func crowdAll(c *mpi.Comm) error {
	out, in := make([]int64, crowdLong*c.Size()), make([]int64, crowdLong*c.Size())
	for round := range 3 {
		for _, n := range []int{crowdShort, crowdLong} {
			if err := allToAll(c, out[:n*c.Size()], in[:n*c.Size()], n, round); err != nil {
				return err
			}
		}
	}
	return nil
}

func allToAll(c *mpi.Comm, out, in []int64, n, salt int) error {
	for i := range out {
		out[i] = int64(c.Rank()<<20 + i/n<<10 + i%n%512 + salt)
	}
	if err := mpi.Alltoall(c, out, in); err != nil {
		return err
	}
	for i := range in {
		if want := int64(i/n<<20 + c.Rank()<<10 + i%n%512 + salt); in[i] != want {
			return fmt.Errorf("element %d of %d from rank %d is %d, want %d", i%n, n, i/n, in[i], want)
		}
	}
	return nil
}

// crowdRank also says how much memory its process has.
func crowdRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		if err := crowdAll(c); err != nil {
			return err
		}
		if err := mpi.Barrier(c); err != nil {
			return err
		}
		shared, err := residentKB("RssShmem")
		if err != nil {
			return err
		}
		all, err := residentKB("VmRSS")
		fmt.Printf("memory %d %d\n", shared, all)
		return err
	})
}

// residentKB is a line of /proc/self/status, in KB.
func residentKB(name string) (int, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(b)
	if m == nil {
		return 0, fmt.Errorf("/proc/self/status has no %s", name)
	}
	return strconv.Atoi(string(m[1]))
}

// TestCrowdOfProcesses: every rank of 64 talks with every other. Each process holds of the shared
// memory no more than its own rings and the blocks of all, and in all no more than that, its send
// buffer and what the program itself needs.
func TestCrowdOfProcesses(t *testing.T) {
	effort.Need(t, effort.Full, "it starts many processes")
	if raceEnabled {
		t.Skip("64 processes, each with the race detector's memory")
	}
	run := mixedJob(t, "crowd", crowd, 1, "assist", t.TempDir(), "FITMPI_TRANSPORT=shm")
	if run.code != 0 || run.stderr != "" {
		t.Fatalf("code %d\n%s", run.code, run.stderr)
	}
	page := os.Getpagesize()
	rings := 2 * (crowd - 1) * max(shm.RingBytes(crowd), page)
	blocks := crowd * (17<<10 + page) // 16.5 KiB each, not on pages of their own
	sharedMost := rings + blocks + page
	most := sharedMost + crowdBase + crowdSend + crowdUser + crowdSlab
	n, worst, worstShared := 0, 0, 0
	for line := range strings.Lines(run.stdout) {
		var shared, all int
		if _, err := fmt.Sscanf(line, "memory %d %d", &shared, &all); err != nil {
			t.Fatalf("a rank says %q", line)
		}
		n, worst, worstShared = n+1, max(worst, all<<10), max(worstShared, shared<<10)
	}
	t.Logf("%v; %d KiB resident at most, of which %d shared; bounds %d and %d", run.took, worst>>10, worstShared>>10, most>>10, sharedMost>>10)
	if n != crowd || worstShared == 0 || worstShared > sharedMost || worst > most {
		t.Errorf("%d ranks; %d bytes resident, want at most %d; %d of them shared, want 1 to %d", n, worst, most, worstShared, sharedMost)
	}
}

// TestCrowdOfThreads: the same with threads, whose process has all that. The rings lie in Go
// memory, of which the collector may hold as much again.
func TestCrowdOfThreads(t *testing.T) {
	effort.Need(t, effort.Full, "many ranks talk with each other")
	n := crowd
	if raceEnabled {
		n = 16
	}
	debug.FreeOSMemory() // what earlier tests have left
	before, err := residentKB("VmRSS")
	if err != nil {
		t.Fatal(err)
	}
	if err := mpi.RunThreads(n, func(_ context.Context, c *mpi.Comm) error { return crowdAll(c) }); err != nil {
		t.Fatal(err)
	}
	after, err := residentKB("VmRSS")
	if err != nil {
		t.Fatal(err)
	}
	most := 2*n*(n-1)*shm.RingBytes(n) + n*(crowdSend+crowdUser+crowdSlab)
	t.Logf("%d KiB resident, %d before, bound %d more", after, before, most>>10)
	if (after-before)<<10 > most && !raceEnabled { // whose shadow memory is several times that
		t.Errorf("%d KiB resident after %d, want at most %d more", after, before, most>>10)
	}
}

// beat bounds the processor time of one message of a crowd, and patience that of all ranks together
// while they wait one second for one of them. A rank that spins takes a second for itself.
const (
	beats    = 2000
	beat     = 200 * time.Microsecond
	patience = time.Second
)

// ringAround passes a message to the next rank, and takes one from the last, again and again.
func ringAround(c *mpi.Comm, rounds int) error {
	out, in := []int64{int64(c.Rank())}, make([]int64, 1)
	up, down := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	for k := range rounds {
		if _, err := mpi.Sendrecv(c, out, up, k, in, down, k); err != nil {
			return err
		}
		if in[0] != int64(down) {
			return fmt.Errorf("round %d: %d from rank %d", k, in[0], down)
		}
	}
	return nil
}

// spent tells what the ring and the wait for rank 0, which sleeps, cost this process.
func spent(c *mpi.Comm) (ring, wait time.Duration, err error) {
	if err := mpi.Barrier(c); err != nil {
		return 0, 0, err
	}
	begin := cpuTime()
	if err := ringAround(c, beats); err != nil {
		return 0, 0, err
	}
	if err := mpi.Barrier(c); err != nil {
		return 0, 0, err
	}
	middle := cpuTime()
	if c.Rank() == 0 {
		time.Sleep(time.Second)
	}
	err = mpi.Barrier(c)
	return middle - begin, cpuTime() - middle, err
}

func patienceRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		ring, wait, err := spent(c)
		fmt.Println("spent", ring.Microseconds(), wait.Microseconds())
		return err
	})
}

func checkSpent(t *testing.T, n int, ring, wait time.Duration) {
	t.Helper()
	t.Logf("%d ranks: %v for a message, %v of waiting", n, ring/time.Duration(n*beats), wait)
	if ring > time.Duration(n*beats)*beat {
		t.Errorf("%d rounds of %d ranks cost %v, want less than %v a message", beats, n, ring, beat)
	}
	if wait > patience {
		t.Errorf("%d ranks used %v while they waited a second, want less than %v", n, wait, patience)
	}
}

// TestPatienceOfProcesses: ranks that wait do not spin when there are more of them than cores.
func TestPatienceOfProcesses(t *testing.T) {
	effort.Need(t, effort.Full, "it starts many processes")
	const n = 16
	for _, policy := range policies {
		for _, transport := range []string{"shm", "tcp"} {
			if policy != "assist" && (raceEnabled || transport == "tcp") || raceEnabled && transport == "tcp" {
				continue
			}
			t.Run(policy+"/"+transport, func(t *testing.T) {
				run := mixedJob(t, "patience", n, 1, policy, t.TempDir(), "FITMPI_TRANSPORT="+transport)
				if run.code != 0 || run.stderr != "" {
					t.Fatalf("code %d\n%s", run.code, run.stderr)
				}
				var ring, wait time.Duration
				for line := range strings.Lines(run.stdout) {
					var r, w int64
					if _, err := fmt.Sscanf(line, "spent %d %d", &r, &w); err != nil {
						t.Fatalf("a rank says %q", line)
					}
					ring += time.Duration(r) * time.Microsecond
					wait += time.Duration(w) * time.Microsecond
				}
				checkSpent(t, n, ring, wait)
			})
		}
	}
}

// TestPatienceOfThreads: the same with 64 threads.
func TestPatienceOfThreads(t *testing.T) {
	effort.Need(t, effort.Full, "it waits for seconds")
	n := crowd
	if raceEnabled {
		n = 16
	}
	for _, policy := range policies {
		if raceEnabled && policy != "assist" {
			continue
		}
		t.Run(policy, func(t *testing.T) {
			t.Setenv("FITMPI_PROGRESS", policy)
			var ring, wait time.Duration
			if err := mpi.RunThreads(n, func(_ context.Context, c *mpi.Comm) error {
				r, w, err := spent(c)
				if c.Rank() == 0 { // the time is of the whole process
					ring, wait = r, w
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			checkSpent(t, n, ring, wait)
		})
	}
}
