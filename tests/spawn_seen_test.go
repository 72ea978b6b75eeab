//go:build linux

package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// What operators see of ranks that were spawned (MPI 4.1, section 11.8): they are ranks like the
// others, with the name of their job.

func init() {
	hangs["two jobs"], hangs["beside"] = waitInTwoJobs, workBeside
}

// waitInTwoJobs: a circle of waiting leads through two ranks of the job and one that it has
// spawned; another of that waits for this one.
func waitInTwoJobs(c *mpi.Comm) error {
	if p := c.Parent(); p != nil {
		if c.Rank() == 0 {
			_, err := mpi.Recv(c, few8(), 1, 9)
			return err
		}
		_, err := mpi.Recv(p, few8(), 1, 7)
		return err
	}
	inter, err := spawnSelf(c, 2)
	if err != nil {
		return err
	}
	if c.Rank() == 0 {
		_, err = mpi.Recv(inter, few8(), 1, 7)
	} else {
		_, err = mpi.Recv(c, few8(), 0, 7)
	}
	return err
}

// workBeside: each rank sends three messages of 100 bytes to the rank of its number in the other
// job, and then computes until the test makes a file.
func workBeside(c *mpi.Comm) error {
	other := c.Parent()
	if other == nil {
		var err error
		if other, err = spawnSelf(c, c.Size()); err != nil {
			return err
		}
	}
	for range 3 {
		if _, err := mpi.Sendrecv(other, make([]byte, 100), c.Rank(), 1, make([]byte, 100), c.Rank(), 1); err != nil {
			return err
		}
	}
	awaitGo()
	return other.Disconnect()
}

// A deadlock of ranks of two jobs is found, and its circle is shown with the names of both.
func TestSpawnDeadlock(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--transport", "tcp", "--progress", "worker"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			j := hangJob{fitrun: fitrunPath(t), name: "two jobs", ranks: 2, dir: t.TempDir(), args: append(args, "--on-deadlock", "abort")}
			r, _ := j.start(t)
			r.end(t, jobTimeout).wantDeadlock(t,
				`deadlock: no rank can go on`,
				`circle of 3 ranks: 0 -> 1 of spawned 1 -> 1 -> 0\n`,
				`rank 0 waits for rank 1 of spawned 1: Recv from rank 1 of spawned 1, tag 7, room for 8 B, \S+, at spawn_seen_test\.go:\d+, for `,
				`rank 1 of spawned 1 waits for rank 1: Recv from rank 1, tag 7, room for 8 B, parent, at spawn_seen_test\.go:\d+, for `,
				`behind, waiting for them: rank 0 of spawned 1\n`,
				`rank 0 of spawned 1: Recv from rank 1 of spawned 1, tag 9, room for 8 B, world, at spawn_seen_test\.go:\d+, for `)
		})
	}
}

// The live page, the metrics, fitrun status and the trace have the spawned ranks, by their names,
// and what these exchange with the others.
func TestSpawnSeen(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts many jobs")
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "out.json")
	j := hangJob{fitrun: fitrunPath(t), name: "beside", ranks: 2, dir: dir, args: []string{"--metrics", "127.0.0.1:0", "--web", "127.0.0.1:0", "--trace", file, "--summary-file", filepath.Join(dir, "summary.json")}}
	r, _ := j.start(t)
	r.stderr.await(t, "metrics of all ranks are at")
	said := r.stderr.String()
	m := &fitrunJob{t: t, addr: jobServes.FindStringSubmatch(said)[1]}
	want := map[string]string{`fitmpi_ranks{state="joined"}`: "4", "fitmpi_spawned_jobs_total": "1"}
	m.awaitSamples("/metrics", want)
	got, err := m.scrape("/metrics", "10")
	if err != nil {
		t.Fatal(err)
	}
	for rank := range 2 {
		for _, spawned := range []string{"", `,spawned="1"`} {
			up := regexp.MustCompile(fmt.Sprintf(`^fitmpi_rank_up\{host="[^"]*",rank="%d"%s\}$`, rank, spawned))
			if !slices.ContainsFunc(slices.Collect(maps.Keys(got)), func(s string) bool { return up.MatchString(s) && got[s] == "1" }) {
				t.Errorf("nothing matches %v in %d samples", up, len(got))
			}
		}
	}
	one, err := m.scrape("/rank/3/metrics", "10")
	if err != nil {
		t.Fatal(err)
	}
	for name := range one {
		if strings.HasPrefix(name, "fitmpi_rank_up{") && !strings.Contains(name, `rank="1",spawned="1"`) {
			t.Errorf("of the rank of number 3 is shown %s", name)
		}
	}
	wantSpawnedRows(t, said)
	untilStatus(t, r, `4 ranks: 4 busy outside of MPI; no deadlock is seen\n(.*\n)*.*of spawned 1`)
	makeGo(t, dir)
	run := r.end(t, jobTimeout)
	wantSpawnedTrace(t, readTrace(t, run, file, sameClock))
	wantSpawnedSummary(t, filepath.Join(dir, "summary.json"))
}

// wantSpawnedSummary checks that the summary has both jobs, with what their ranks have sent.
func wantSpawnedSummary(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Rank     int
		State    string
		Messages int
	}
	var s struct {
		Ranks   []row
		Spawned []struct {
			Job   string
			Ranks []row
		}
	}
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Spawned) != 1 || s.Spawned[0].Job != "1" {
		t.Fatalf("%+v", s)
	}
	for _, ranks := range [][]row{s.Ranks, s.Spawned[0].Ranks} {
		if len(ranks) != 2 {
			t.Errorf("%d ranks, want 2", len(ranks))
		}
		for i, r := range ranks {
			if r.Rank != i || r.State != "whole" || r.Messages < 3 {
				t.Errorf("rank %d: %+v", i, r)
			}
		}
	}
}

// wantSpawnedRows checks what the live page is sent.
func wantSpawnedRows(t *testing.T, said string) {
	t.Helper()
	url := regexp.MustCompile(`live page at (\S+)`).FindStringSubmatch(said)[1]
	await(t, func() string {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
		resp, err := client.Get(url + "events")
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		sum := uint64(0)
		names := make(map[string]bool)
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for updates := 0; updates < 3 && lines.Scan(); {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			updates++
			var u struct {
				Job   struct{ Size, Places, Group int }
				Ranks []struct {
					Rank  int
					Job   string
					State string
				}
				Cells  []uint64
				Events []struct{ Who string }
			}
			if err := json.Unmarshal([]byte(data), &u); err != nil {
				return err.Error()
			}
			for _, row := range u.Ranks {
				names[fmt.Sprintf("%s:%d", row.Job, row.Rank)] = true
			}
			for _, e := range u.Events {
				names[e.Who] = true
			}
			for i := 0; i < len(u.Cells); i += 3 {
				if at := u.Cells[i]; at == 2 || at == 8 { // of 4 by 4: rank 0 to rank 0 of the other job, and back
					sum += u.Cells[i+2]
				}
			}
			if u.Job.Size != 4 || u.Job.Places != 4 {
				return fmt.Sprintf("%+v", u.Job)
			}
		}
		for _, name := range []string{":0", ":1", "1:0", "1:1", "rank 0", "rank 1 of spawned 1", "job"} {
			if !names[name] {
				return fmt.Sprintf("there is no %q in %v", name, names)
			}
		}
		if sum < 6 {
			return fmt.Sprintf("the matrix has %d messages between the jobs, want 6 at least", sum)
		}
		return ""
	})
}

// wantSpawnedTrace checks that the trace has all ranks, and the messages between the jobs.
func wantSpawnedTrace(t *testing.T, run tracedRun) {
	t.Helper()
	if run.code != 0 || !strings.Contains(run.stderr, "trace of 4 ranks") || strings.Contains(run.stderr, "noted nothing") {
		t.Errorf("code %d\n%s", run.code, run.stderr)
	}
	names := run.trace.Processes()
	for pid, want := range map[int]string{1: "rank 0 (", 2: "rank 1 (", 3: "rank 0 of spawned 1 (", 4: "rank 1 of spawned 1 ("} {
		if !strings.HasPrefix(names[pid], want) {
			t.Errorf("process %d is %q, want %q", pid, names[pid], want)
		}
	}
	between := make(map[[2]int]int)
	for _, f := range run.flows {
		if f.From.Name == "to 0 of spawned 1" || f.From.Name == "to 0" {
			between[[2]int{f.From.PID, f.To.PID}]++
		}
	}
	if between[[2]int{1, 3}] < 3 || between[[2]int{3, 1}] < 3 {
		t.Errorf("messages from process to process: %v, want 3 at least between 1 and 3", between)
	}
	for _, n := range run.rankNotes(t) {
		if n["Torn"] != 0.0 {
			t.Errorf("torn events: %v", n)
		}
	}
}
