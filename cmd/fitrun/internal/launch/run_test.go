//go:build linux

package launch

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// selfJob is a job whose ranks are this test binary.
func selfJob(t *testing.T, ranks int, act string) *Job {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	job, err := Plan(Request{
		Apps:  []App{{Ranks: ranks, Program: Program{Path: exe}, Args: []string{"rank"}, Set: []string{"LAUNCH_TEST_RANK=" + act}}},
		Cores: 2, Env: append(os.Environ(), "GORACE=atexit_sleep_ms=0"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// goleak in TestMain and the count of descriptors here say that a job leaves nothing behind in this
// process.
func TestRunLeavesNothing(t *testing.T) {
	before := openFiles(t)
	for range 3 {
		if code := Run(t.Context(), selfJob(t, 4, "end"), Config{}); code != 0 {
			t.Fatalf("exit code %d", code)
		}
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors are open after the jobs, %d before", after, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(fds, func(fd os.DirEntry) bool {
		target, _ := os.Readlink("/proc/self/fd/" + fd.Name())
		return strings.HasPrefix(target, "anon_inode:") // the runtime's own poller, and pidfds on their way out
	}))
}

// watchedWriter tells when a text was written.
type watchedWriter struct {
	mu    sync.Mutex
	b     bytes.Buffer
	seenc chan struct{}
	want  int // lines until seenc is closed
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b.Write(p)
	if n := bytes.Count(p, []byte("\n")); n > 0 && w.want > 0 {
		if w.want -= n; w.want <= 0 {
			close(w.seenc)
		}
	}
	return len(p), nil
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &watchedWriter{seenc: make(chan struct{}), want: 3}
	go func() { // ends when the ranks have spoken
		<-out.seenc
		cancel()
	}()
	if code := Run(ctx, selfJob(t, 3, "wait"), Config{Stdout: out}); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
}

func TestRunStartFails(t *testing.T) {
	job := selfJob(t, 2, "end")
	job.Processes[1].Path = "/nonexistent"
	var said bytes.Buffer
	if code := Run(t.Context(), job, Config{Stderr: &said}); code != ExitUsage {
		t.Errorf("exit code %d, want %d", code, ExitUsage)
	}
	if !strings.Contains(said.String(), "rank 1 (on ") || !strings.Contains(said.String(), "could not be started") {
		t.Errorf("it said %q", said.String())
	}
}

func TestRunSilentPrograms(t *testing.T) {
	if code := Run(t.Context(), selfJob(t, 2, "silent"), Config{}); code != 0 {
		t.Errorf("exit code %d; ranks that never exchange cards may exit as they like", code)
	}
}

func TestRunOutputFails(t *testing.T) {
	var said bytes.Buffer
	code := Run(t.Context(), selfJob(t, 2, "wait"), Config{Stdout: brokenWriter{}, Stderr: &said})
	if code != ExitError || !strings.Contains(said.String(), "writing the ranks' output: full") {
		t.Errorf("exit code %d, it said %q", code, said.String())
	}
}
