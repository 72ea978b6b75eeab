//go:build linux

package launch

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// A job that insists on shared memory does not start without, and 2000 ranks are more than a
// segment has room for.
func TestRunWithoutSharedMemory(t *testing.T) {
	job := selfJob(t, 1, "end")
	job.Transport = "shm"
	job.Ranks = slices.Repeat(job.Ranks, 2000)
	job.Processes = slices.Repeat(job.Processes, 2000)
	var said bytes.Buffer
	if code := Run(t.Context(), job, Config{Stderr: &said}); code != ExitError || !strings.HasPrefix(said.String(), "fitrun: making shared memory") {
		t.Errorf("exit code %d, it said %q", code, said.String())
	}
}

// A job whose processes are bound leaves the threads of fitrun where they were.
func TestRunBoundRestoresAffinity(t *testing.T) {
	before := affinities(t)
	job := selfJob(t, 2, "end")
	for i := range job.Processes {
		job.Processes[i].Bound = sys.AllowedCPUs()[:1]
	}
	if code := Run(t.Context(), job, Config{}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if after := affinities(t); !slices.Equal(after, before) {
		t.Errorf("threads may run on %q, before on %q", after, before)
	}
}

// affinities are the different ones of the threads of this process.
func affinities(t *testing.T) []string {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, task := range tasks {
		status, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:\t")
		list, _, _ := strings.Cut(rest, "\n")
		all = append(all, list)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
