//go:build linux

package tests

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
	"github.com/fitmpi/fitmpi/internal/trace/tracetest"
)

// fitrun --trace: jobs of a known pattern, and what the trace must say of them. The built fitrun
// runs this binary as the ranks.

// tracedRun is a fitrun --trace that has ended.
type tracedRun struct {
	jobRun
	trace *tracetest.Trace
	flows []tracetest.Flow
}

// sameClock is how much earlier than it was sent a message may seem to arrive between ranks of one
// host, in nanoseconds: each reads the clock through a base that is exact to the time of reading it
// twice.
const sameClock = 1000

// startTraced starts a program of this binary under fitrun with options, traced into file.
func startTraced(t *testing.T, program, file string, options ...string) *acrossRun {
	t.Helper()
	fitrun := fitrunPath(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--trace", file, "--bind-to", "none"}, options...)
	r := &acrossRun{cmd: exec.Command(fitrun, append(args, self, "rank")...), endc: make(chan error), began: time.Now()}
	r.stdout.changed, r.stderr.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	r.cmd.Env = append(os.Environ(), envProgram+"="+program, "GORACE=atexit_sleep_ms=0")
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process, which cleanup kills
		r.cmd.Wait()
		close(r.endc)
	}()
	t.Cleanup(func() {
		r.cmd.Process.Kill()
		<-r.endc
	})
	return r
}

// runTraced runs it to its end and checks that its trace is sound.
func runTraced(t *testing.T, program string, slack int64, options ...string) tracedRun {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.json")
	if slices.Contains(options, "worker") {
		file += ".gz"
	}
	run := startTraced(t, program, file, options...).end(t, jobTimeout)
	return readTrace(t, run, file, slack)
}

func readTrace(t *testing.T, run jobRun, file string, slack int64) tracedRun {
	t.Helper()
	tr, err := tracetest.Read(file)
	if err != nil {
		t.Fatalf("%v\ncode %d\n%s%s", err, run.code, run.stdout, run.stderr)
	}
	flows, err := tr.Check(slack)
	if err != nil {
		t.Error(err)
	}
	if rest, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(rest) > 0 {
		t.Errorf("beside the trace are %q", rest)
	}
	return tracedRun{run, tr, flows}
}

// count counts the slices of a category by name, those of one rank or, with -1, of all.
func (r *tracedRun) count(category string, rank int) map[string]int {
	n := make(map[string]int)
	for _, s := range r.trace.Slices(category) {
		if rank < 0 || s.PID == rank+1 {
			n[s.Name]++
		}
	}
	return n
}

// rankNotes is what the trace says of its ranks.
func (r *tracedRun) rankNotes(t *testing.T) []map[string]any {
	t.Helper()
	list, _ := r.trace.OtherData["ranks"].([]any)
	var notes []map[string]any
	for _, n := range list {
		m, ok := n.(map[string]any)
		if !ok {
			t.Fatalf("otherData says %v", r.trace.OtherData)
		}
		notes = append(notes, m)
	}
	return notes
}

// TestTrace: whichever goroutine makes progress and however ranks reach each other, what they did
// is there, once.
func TestTrace(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts many jobs")
	for _, policy := range policies {
		for _, options := range [][]string{{"-n", "3"}, {"-n", "4", "--ranks-per-process", "2"}, {"-n", "3", "--transport", "tcp"}, {"-n", "2", "-x", "FITMPI_SHM_COPY=read"}} {
			t.Run(policy+" "+strings.Join(options, " "), func(t *testing.T) {
				run := runTraced(t, "traced", sameClock, append(options, "--progress", policy)...)
				run.wantClean(t)
				n := int(options[1][0] - '0')
				run.wantPattern(t, n)
			})
		}
	}
}

// wantPattern checks the trace of tracedRank.
func (r *tracedRun) wantPattern(t *testing.T, n int) {
	t.Helper()
	if got := len(r.trace.Processes()); got != n {
		t.Errorf("%d processes for %d ranks: %v", got, n, r.trace.Processes())
	}
	for rank := range n {
		name := r.trace.Processes()[rank+1]
		if !strings.HasPrefix(name, fmt.Sprintf("rank %d (", rank)) {
			t.Errorf("rank %d is called %q", rank, name)
		}
		calls := r.count("call", rank)
		for op, want := range map[string]int{
			"Init": 1, "Finalize": 1, "Isend": 5 + 1, "Irecv": 3 + 1, "WaitAll": 1, "Ssend": 1, "Recv": tracedShort + 1 + 1, "Send": tracedShort,
			"Allreduce": 1, "Iallreduce": 1, "Barrier": 1,
		} {
			if calls[op] != want {
				t.Errorf("rank %d: %d calls of %s, want %d: %v", rank, calls[op], op, want, calls)
			}
		}
		colls := r.count("collective", rank)
		for op, want := range map[string]int{"Allreduce": 1, "Iallreduce": 1, "Barrier": 1, "Finalize": 1} {
			if colls[op] != want {
				t.Errorf("rank %d: collectives %v, want %d of %s", rank, colls, want, op)
			}
		}
		if regions := r.count("region", rank); !maps.Equal(regions, map[string]int{"outer": 1, "inner": 2}) {
			t.Errorf("rank %d: regions %v", rank, regions)
		}
		r.wantMessages(t, rank, n)
	}
	sends, receives := len(r.trace.Slices("send")), len(r.trace.Slices("receive"))
	if len(r.flows) != sends || sends != receives {
		t.Errorf("%d flows, %d sends, %d receives", len(r.flows), sends, receives)
	}
	for _, s := range r.trace.Slices("") {
		if s.Args["unfinished"] != nil || s.Args["failed"] != nil && s.Args["tag"] != float64(tagCancelled) {
			t.Errorf("%+v", s)
		}
	}
	for _, note := range r.rankNotes(t) {
		if note["Overwritten"] != 0.0 || note["Torn"] != 0.0 || note["MissedCalls"] != 0.0 {
			t.Errorf("it says %v", note)
		}
	}
}

// wantMessages checks the messages from rank to its right.
func (r *tracedRun) wantMessages(t *testing.T, rank, n int) {
	t.Helper()
	right := (rank + 1) % n
	got := make(map[string]int)
	for _, f := range r.flows {
		if f.From.PID != rank+1 || f.From.Args["collective"] != nil {
			continue
		}
		to := right
		if f.From.Args["tag"] == float64(tagSelf) {
			to = rank
		}
		if f.From.Name != fmt.Sprint("to ", to) || f.To.Name != fmt.Sprint("from ", rank) || f.To.PID != to+1 {
			t.Errorf("from %+v to %+v, want from rank %d to %d", f.From, f.To, rank, to)
		}
		if !slices.Equal([]any{f.From.Args["tag"], f.From.Args["bytes"], f.From.Args["communicator"]},
			[]any{f.To.Args["tag"], f.To.Args["bytes"], f.To.Args["communicator"]}) {
			t.Errorf("the sender says %v, the receiver %v", f.From.Args, f.To.Args)
		}
		got[fmt.Sprintf("%.0f %.0f", f.From.Args["tag"], f.From.Args["bytes"])]++
	}
	want := map[string]int{
		fmt.Sprint(tagShort, " 8"): tracedShort, fmt.Sprint(tagLong, " 1048576"): 3, fmt.Sprint(tagSync, " 16"): 1, fmt.Sprint(tagSelf, " 24"): 1,
		fmt.Sprint(tagCancelled, " 4194304"): 1, fmt.Sprint(tagEager, " 65536"): 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("rank %d sent %v, want %v", rank, got, want)
	}
}

// TestTraceOfTheDead: what a rank did before it was killed is there, and in which call it was.
func TestTraceOfTheDead(t *testing.T) {
	t.Parallel()
	run := runTraced(t, "traced and killed", sameClock, "-n", "3")
	if run.code != 137 {
		t.Errorf("code %d\n%s%s", run.code, run.stdout, run.stderr)
	}
	open := func(category, name string) bool {
		return slices.ContainsFunc(run.trace.Slices(category), func(s tracetest.Slice) bool {
			return s.PID == 1+1 && s.Name == name && s.Args["unfinished"] == true
		})
	}
	if !open("call", "Recv") || !open("region", "doomed") {
		t.Errorf("rank 1 died in calls %v, regions %v", run.count("call", 1), run.count("region", 1))
	}
	if !slices.ContainsFunc(run.flows, func(f tracetest.Flow) bool {
		return f.From.PID == 1+1 && f.To.PID == 1 && f.From.Args["tag"] == float64(tagLast)
	}) {
		t.Error("its last message is not there")
	}
	if len(run.trace.Processes()) != 3 {
		t.Errorf("the ranks are %v", run.trace.Processes())
	}
}

// TestTraceInterrupted: ^C of the job leaves a whole trace.
func TestTraceInterrupted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "out.json")
	job := startTraced(t, "rounds", file, "-n", "2")
	job.stdout.await(t, "going")
	if err := job.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	run := readTrace(t, job.end(t, jobTimeout), file, sameClock)
	if run.code != 130 || len(run.trace.Processes()) != 2 || run.count("call", 0)["Sendrecv"] < 4 {
		t.Errorf("code %d, calls %v\n%s", run.code, run.count("call", 0), run.stderr)
	}
}

// TestTraceBounded: a buffer that is too small for all keeps the last events, and the trace says
// how many there were before. Of the last part of a job nothing else is shown.
func TestTraceBounded(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it records for a second")
	run := runTraced(t, "traced long", sameClock, "-n", "2", "--trace-buffer", "64K")
	run.wantClean(t)
	const room = 64 << 10 / 32
	for rank, note := range run.rankNotes(t) {
		events, lost := note["Events"].(float64), note["Overwritten"].(float64)
		if events > room || events < room-2 || lost < 2*tracedMany-room {
			t.Errorf("rank %d: %v", rank, note)
		}
		calls := run.trace.Slices("call")
		calls = slices.DeleteFunc(calls, func(s tracetest.Slice) bool { return s.PID != rank+1 })
		if last := calls[len(calls)-1]; last.Name != "Finalize" || calls[0].Name == "Init" {
			t.Errorf("rank %d: the first call is %s, the last %s", rank, calls[0].Name, last.Name)
		}
	}
	if len(run.flows) == 0 || !strings.Contains(run.stderr, "were not kept (--trace-buffer)") {
		t.Errorf("%d flows\n%s", len(run.flows), run.stderr)
	}
	run = runTraced(t, "traced", sameClock, "-n", "2", "--trace-last", "1us", "--progress", "worker")
	if n := len(run.trace.Slices("")); n == 0 || run.count("call", -1)["Send"] > 0 {
		t.Errorf("%d slices, calls %v", n, run.count("call", -1))
	}
}

// TestTraceMany: 64 ranks.
func TestTraceMany(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "it starts a large job")
	run := runTraced(t, "crowd of hosts", sameClock, "-n", "64", "--ranks-per-process", "8")
	run.wantClean(t)
	if len(run.trace.Processes()) != 64 || len(run.rankNotes(t)) != 64 || run.count("call", -1)["Allreduce"] != 3*64 {
		t.Errorf("%d processes, calls %v", len(run.trace.Processes()), run.count("call", -1))
	}
	if sends := len(run.trace.Slices("send")); len(run.flows) != sends || sends < 64 {
		t.Errorf("%d flows of %d messages", len(run.flows), sends)
	}
}

// TestTraceOfHosts: the clocks of hosts are compared. Those of these hosts are one, whatever ways
// there are to them, so that must come out; and the recordings come from there.
func TestTraceOfHosts(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs across hosts by ssh")
	ssh := filepath.Join(t.TempDir(), "ssh")
	const script = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nexport HOME=\"$XDG_CACHE_HOME\" FAKE_HOST=\"$2\"\nshift 2\nexec sh -c \"$*\"\n"
	executable.Write(t, ssh, script)
	fitrunPath(t) // by the cache of the go command, which will be elsewhere
	t.Setenv("FITMPI_SSH", ssh)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	run := runTraced(t, "traced", int64(time.Second), "-H", "a:1,b:2,localhost:1", "-n", "4", "--iface", "127.0.0.1", "-v")
	run.wantClean(t)
	run.wantPattern(t, 4)
	clocks, _ := run.trace.OtherData["clocks"].([]any)
	if len(clocks) != 2 || !strings.Contains(run.stderr, "fitrun: the clock of a is ") {
		t.Fatalf("the clocks are %v\n%s", clocks, run.stderr)
	}
	worst := 0.0
	for _, c := range clocks {
		m, _ := c.(map[string]any)
		offset, _ := m["OffsetNS"].(float64)
		unsure, _ := m["UncertaintyNS"].(float64)
		if unsure <= 0 || max(offset, -offset) > unsure+sameClock || m["DriftKnown"] != true {
			t.Errorf("the same clock, looked at through an agent, is %v", m)
		}
		worst = max(worst, unsure)
	}
	if _, err := run.trace.Check(2*int64(worst) + sameClock); err != nil {
		t.Error(err)
	}
	for rank, host := range []string{"a", "b", "b"} {
		if name := run.trace.Processes()[rank+1]; name != fmt.Sprintf("rank %d (%s)", rank, host) {
			t.Errorf("rank %d is called %q", rank, name)
		}
	}
}

// TestTraceRefused: what cannot be written is said before a rank runs.
func TestTraceRefused(t *testing.T) {
	t.Parallel()
	fitrun := fitrunPath(t)
	for _, tc := range []struct{ option, value, says string }{
		{"--trace", "/nowhere/out.json", "no such file or directory"},
		{"--trace", "/dev/null", "not a file that could be replaced"},
		{"--trace-buffer", "16X", "want the memory for the events"},
		{"--trace-buffer", "1K", "want between 64K and 4G"},
		{"--trace-last", "soon", "want a duration"},
	} {
		out, err := exec.Command(fitrun, "-n", "1", tc.option, tc.value, "/bin/echo", "it was started").CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte(tc.says)) || bytes.Contains(out, []byte("it was started")) {
			t.Errorf("%s %s: %v\n%s", tc.option, tc.value, err, out)
		}
	}
}

// acrossTraced: one of two hosts is reached by a slow link, and its clock is known less well for
// that, but rightly; one that is lost leaves the recordings of the others.
func acrossTraced(t *testing.T, l *fitrunLab) {
	h := l.Hosts()
	defer h[1].Slow("20mbit")()
	file := filepath.Join(t.TempDir(), "out.json")
	hosts := fmt.Sprintf("%s:1,%s:1", h[0].Addr(), h[1].Addr())
	run := l.run(t, acrossJob{program: "traced", hosts: hosts, args: []string{"--trace", file, "-v"}})
	run.wantClean(t)
	traced := readTrace(t, run, file, int64(time.Second))
	traced.wantPattern(t, 2)
	clocks, _ := traced.trace.OtherData["clocks"].([]any)
	if len(clocks) != 2 {
		t.Fatalf("the clocks are %v", clocks)
	}
	slack := int64(sameClock)
	for _, c := range clocks {
		m, _ := c.(map[string]any)
		offset, _ := m["OffsetNS"].(float64)
		unsure, _ := m["UncertaintyNS"].(float64)
		if max(offset, -offset) > unsure+sameClock {
			t.Errorf("the same clock, looked at over a network, is %v", m)
		}
		drift, _ := m["DriftPPM"].(float64)
		if unsure, _ := m["DriftUnsurePPM"].(float64); max(drift, -drift) > unsure+1 {
			t.Errorf("the drift of the same clock is %v", m)
		}
		slack += int64(unsure)
	}
	if _, err := traced.trace.Check(slack); err != nil {
		t.Error(err)
	}
	t.Log(clocks)
}
