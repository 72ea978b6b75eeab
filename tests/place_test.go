//go:build linux

package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// Reordered topologies in real jobs: ranks that share a host, a core or a process become
// neighbours.

// envCores lists the cores that the processes of a job bind themselves to: more to a core than the
// launcher would.
const envCores = "FITMPI_TESTS_CORES"

func init() {
	programs["place"] = placeRank
	programs["bound"] = boundRank
}

// placeRank arranges eight ranks in a grid of two rows and says how many ends of its edges lead to
// other hosts, cores and processes, before and after.
func placeRank() {
	core := -1
	if cores := os.Getenv(envCores); cores != "" {
		core = takeCore(cores)
	}
	mpi.Main(func(_ context.Context, world *mpi.Comm) error {
		before, err := farEnds(world, core, false)
		if err != nil {
			return err
		}
		after, err := farEnds(world, core, true)
		if world.Rank() == 0 {
			fmt.Printf("before %v after %v\n", before, after)
		}
		return err
	})
}

// takeCore binds this process to one of the cores: as many processes to each, in the order in which
// they happen to come.
func takeCore(list string) int {
	cores, err := sys.ParseCPUs(list)
	for slot := 0; err == nil; slot++ {
		if os.Mkdir(filepath.Join(os.Getenv(envDir), fmt.Sprint("slot", slot)), 0o700) != nil {
			continue // taken: every process takes one, so one is free
		}
		core := cores[slot%len(cores)]
		if err = sys.SetThreadCPUs(os.Getpid(), []int{core}); err == nil {
			return core
		}
	}
	panic(err)
}

// farEnds counts over all ranks of a grid the neighbours on other hosts, on other cores, and in
// other processes.
func farEnds(world *mpi.Comm, core int, reorder bool) ([]int, error) {
	g, err := world.CartCreate([]int{2, world.Size() / 2}, nil, reorder)
	if err != nil {
		return nil, err
	}
	cores := make([]int, 4)
	if err := mpi.NeighborAllgather(g, []int{core}, cores); err != nil {
		return nil, err
	}
	far := make([]int, 3)
	for i := range cores {
		minus, plus, err := g.CartShift(i/2, 1)
		if err != nil {
			return nil, err
		}
		to := []int{minus, plus}[i%2]
		if to == mpi.ProcNull {
			continue
		}
		for k, isFar := range []bool{g.Transport(to) == "tcp", cores[i] != core, g.Transport(to) != "thread"} {
			if isFar {
				far[k]++
			}
		}
	}
	sum := make([]int, 3)
	err = mpi.Allreduce(g, far, sum, mpi.Sum)
	return sum, err
}

// MPI 4.1, section 8.5.1: with reorder the ranks may be numbered to suit the machine. Rows of four
// become blocks of 2 x 2 in one process, on one host and on one core; each edge counts at both
// ends.
func TestReorderedJobs(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs that are reordered")
	t.Parallel()
	for _, test := range []struct {
		name       string
		perProcess int
		set        []string
		want       string
	}{
		{"one process", 8, nil, "before [0 0 0] after [0 0 0]"},
		{"processes of one rank", 1, nil, "before [0 0 20] after [0 0 20]"},
		{"processes of four", 4, nil, "before [0 0 8] after [0 0 4]"},
		{"hosts of two processes", 2, []string{"FITMPI_CLIQUES=2"}, "before [8 0 12] after [4 0 12]"},
		{"hosts across a process", 8, []string{"FITMPI_CLIQUES=2"}, "before [8 0 8] after [4 0 4]"},
		{"TCP only", 4, []string{"FITMPI_TRANSPORT=tcp"}, "before [20 0 20] after [20 0 20]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := mixedJob(t, "place", 8, test.perProcess, "assist", t.TempDir(), test.set...)
			if run.code != 0 || strings.TrimSpace(run.stdout+run.stderr) != test.want {
				t.Errorf("code %d, want %q:\n%s%s", run.code, test.want, run.stdout, run.stderr)
			}
		})
	}
}

// Ranks that are bound to two cores, whichever rank to which, get a block each: two edges go
// between the cores.
func TestReorderedByCore(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs that are reordered")
	t.Parallel()
	cpus := sys.AllowedCPUs()
	if len(cpus) < 2 || sys.PartOf(cpus[:1], sys.Core) < 0 || sys.PartOf(cpus[:2], sys.Core) >= 0 {
		t.Skip("needs two cores that the kernel tells apart")
	}
	for _, ranks := range []int{1, 2} { // in a process
		run := mixedJob(t, "place", 8, ranks, "assist", t.TempDir(), envCores+"="+sys.FormatCPUs(cpus[:2]))
		if run.code != 0 || !strings.Contains(run.stdout, "after [0 4 ") {
			t.Errorf("%d ranks in a process: code %d, want 4 neighbours on other cores after:\n%s%s", ranks, run.code, run.stdout, run.stderr)
		}
		t.Logf("%d ranks in a process: %s", ranks, run.stdout)
	}
}

// boundRank says whether it is bound to a core, with how many ranks it is there, and that a
// reordered ring of all is one.
func boundRank() {
	mpi.Main(func(_ context.Context, world *mpi.Comm) error {
		isBound, _ := mpi.HWResourceInfo().Get("core")
		info := mpi.InfoCreate()
		if err := info.Set("mpi_hw_resource_type", "core"); err != nil {
			return err
		}
		core, err := world.SplitType(mpi.SplitHWGuided, 0, info)
		if err != nil {
			return err
		}
		ring, err := world.CartCreate([]int{world.Size()}, []bool{true}, true)
		if err != nil {
			return err
		}
		ranks := make([]int, world.Size())
		if err := mpi.Allgather(ring, []int{world.Rank()}, ranks); err != nil {
			return err
		}
		slices.Sort(ranks)
		with := 0
		if core != nil {
			with = core.Size()
		}
		fmt.Printf("rank %d: on one core %s, of %d ranks, ring of %v\n", world.Rank(), isBound, with, ranks)
		return nil
	})
}

// What --bind-to core does is what a rank tells of itself.
func TestBoundToCore(t *testing.T) {
	t.Parallel()
	cpus := sys.AllowedCPUs()
	if len(cpus) < 2 || sys.PartOf(cpus[:1], sys.Core) < 0 || sys.PartOf(cpus[:2], sys.Core) >= 0 {
		t.Skip("needs two cores that the kernel tells apart")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		bind, want string
	}{{"core", "on one core true, of 1 ranks"}, {"none", "on one core false, of 0 ranks"}} {
		var stdout, stderr buffer
		cmd := exec.CommandContext(t.Context(), fitrunPath(t), "-n", "2", "--bind-to", test.bind, "--timeout", jobTimeout.String(), "-x", envProgram+"=bound", self, "rank")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := runOn(cmd, cpus[:2])
		for r := range 2 {
			want := fmt.Sprintf("rank %d: %s, ring of [0 1]\n", r, test.want)
			if err != nil || !strings.Contains(stdout.String(), want) {
				t.Errorf("bound to %s: %v, want %q:\n%s%s", test.bind, err, want, stdout.String(), stderr.String())
			}
		}
	}
}

// runOn runs a command on some of the cores of this machine.
func runOn(cmd *exec.Cmd, cpus []int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := sys.ThreadCPUs(0)
	if err != nil {
		return err
	}
	if err := sys.SetThreadCPUs(0, cpus); err != nil {
		return err
	}
	defer sys.SetThreadCPUs(0, before)
	return cmd.Run() // it inherits the cores of the thread that starts it
}
