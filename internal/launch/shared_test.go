//go:build linux

package launch

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/sys"
)

func TestShare(t *testing.T) {
	for _, tc := range []struct {
		name string
		r    Request
		want bool
	}{
		{"two processes", Request{Apps: one(2)}, true},
		{"several ranks each", Request{Apps: one(5), PerProcess: 3}, true},
		{"insisting", Request{Apps: one(2), Transport: "shm"}, true},
		{"one process", Request{Apps: one(4), PerProcess: 4}, false},
		{"one rank", Request{Apps: one(1), Transport: "shm"}, false},
		{"TCP", Request{Apps: one(2), Transport: "tcp"}, false},
		{"TCP by a variable", Request{Apps: one(2, "FITMPI_TRANSPORT=tcp")}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := openFiles(t)
			job, err := Plan(tc.r)
			if err != nil {
				t.Fatal(err)
			}
			s, err := share(job)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.segment != nil; got != tc.want {
				t.Errorf("a segment: %v, want %v", got, tc.want)
			}
			for r := range tc.r.Ranks() {
				if got := s.bell(r) != nil; got != tc.want {
					t.Errorf("a bell for rank %d: %v, want %v", r, got, tc.want)
				}
			}
			if s.bell(tc.r.Ranks()) != nil {
				t.Error("a bell for a rank that does not exist")
			}
			s.close()
			if after := openFiles(t); after > before {
				t.Errorf("%d descriptors are open, %d before", after, before)
			}
		})
	}
}

// More ranks than a segment has room for stand for every reason why there is none.
func TestShareImpossible(t *testing.T) {
	for _, tc := range []struct {
		transport string
		verbose   bool
		fault     string // of share
		said      string
	}{
		{"auto", false, "", ""},
		{"auto", true, "", "processes will use TCP"},
		{"shm", false, "use --transport auto", ""},
	} {
		job, err := Plan(Request{Apps: one(shm.MaxRanks + 1), Transport: tc.transport})
		if err != nil {
			t.Fatal(err)
		}
		before := openFiles(t)
		x := newRunner(job, Config{Verbose: tc.verbose})
		err = x.share()
		if (err == nil) != (tc.fault == "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
			t.Errorf("%s: %v, want %q", tc.transport, err, tc.fault)
		}
		close(x.voice)
		var texts []string
		for text := range x.voice {
			texts = append(texts, text)
		}
		if said := strings.Join(texts, "\n"); (said == "") != (tc.said == "") || !strings.Contains(said, tc.said) {
			t.Errorf("%s: it said %q, want %q", tc.transport, said, tc.said)
		}
		if x.shared.segment != nil || len(x.shared.bells) > 0 || openFiles(t) > before {
			t.Errorf("%s: something is left", tc.transport)
		}
	}
}

// A job that insists on shared memory does not start without.
func TestRunWithoutSharedMemory(t *testing.T) {
	job := selfJob(t, 1, "end")
	job.Transport = "shm"
	job.Ranks = slices.Repeat(job.Ranks, shm.MaxRanks+1)
	job.Processes = slices.Repeat(job.Processes, shm.MaxRanks+1)
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
