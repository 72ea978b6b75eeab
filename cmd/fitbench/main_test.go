//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// leakChecked runs the tests and then looks for goroutines left behind.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	code := l.m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0") // else every rank takes a second to exit under -race
	}
	loopTime, walks, idleTime, sendEvery = time.Millisecond, 1, 20*time.Millisecond, 100*time.Microsecond // no test looks at how much is measured
	testscript.Main(leakChecked{m}, map[string]func(){"fitbench": main})
}

// The scripts run the real fitrun, with this test binary as the fitbench that it starts.
// A script that draws says so by [plot].
func TestScript(t *testing.T) {
	effort.Need(t, effort.Usual, "it builds fitrun and starts jobs")
	bin := t.TempDir()
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(bin, "fitrun"), "github.com/fitmpi/fitmpi/cmd/fitrun")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building fitrun: %v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("GORACE", os.Getenv("GORACE"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "plot" {
				return canPlot, nil
			}
			return false, fmt.Errorf("unknown condition %s", cond)
		},
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
	})
}

// rowsOf runs fitbench in this process, so with thread ranks, and returns its rows.
func rowsOf(t *testing.T, args ...string) []bench.Row {
	t.Helper()
	out, err := inProcess(t, append(args, "-csv")...)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := bench.ReadCSV(strings.NewReader(out))
	if err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	return rows
}

// inProcess runs fitbench in this process and returns its standard output.
func inProcess(t *testing.T, args ...string) (string, error) {
	t.Helper()
	t.Setenv("FITMPI_PROGRESS", "") // which run sets
	t.Setenv("FITMPI_TRANSPORT", "")
	var out bytes.Buffer
	err := run(args, &out, io.Discard)
	return out.String(), err
}

// wantLabels checks what rows are of: "policy case size measure unit n", a line each.
func wantLabels(t *testing.T, rows []bench.Row, want string) {
	t.Helper()
	var got strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&got, r.Policy, r.Case, r.Size, r.Measure, r.Unit, r.N)
	}
	if want = strings.TrimPrefix(want, "\n"); got.String() != want {
		t.Errorf("got rows\n%s\nwant\n%s", got.String(), want)
	}
}

func TestPairTests(t *testing.T) {
	for _, test := range []struct{ args, rows string }{
		{"pingpong -sizes 0,8,64K -iterations 3", `
assist  0 half-rtt us 3
assist  8 half-rtt us 3
assist  65536 half-rtt us 3
`},
		{"pingping -sizes 8,1M -iterations 3 -policy worker", `
worker  8 exchange us 3
worker  1048576 exchange us 3
`},
		// The messages of a window have one buffer, which two threads may write at once if there
		// are several.
		{"-sizes 8,1M bw -iterations 2 -warmup 1 -window 1", `
assist  8 bandwidth MB/s 2
assist  1048576 bandwidth MB/s 2
`},
		{"bibw -sizes 8K,64K -iterations 2 -window 1", `
assist  8192 bandwidth MB/s 2
assist  65536 bandwidth MB/s 2
`},
		{"rate -iterations 4 -policy caller", `
caller  8 rate 1/s 4
`},
		{"match -sizes 1,45,1000 -iterations 2 -warmup 0", `
assist unexpected-inorder 1 per-message ns 2
assist unexpected-inorder 45 per-message ns 2
assist unexpected-inorder 1000 per-message ns 2
assist unexpected-reverse 1 per-message ns 2
assist unexpected-reverse 45 per-message ns 2
assist unexpected-reverse 1000 per-message ns 2
assist posted-inorder 1 per-message ns 2
assist posted-inorder 45 per-message ns 2
assist posted-inorder 1000 per-message ns 2
assist posted-reverse 1 per-message ns 2
assist posted-reverse 45 per-message ns 2
assist posted-reverse 1000 per-message ns 2
`},
		{"match -case posted-reverse -sizes 10 -iterations 2 -policy caller", `
caller posted-reverse 10 per-message ns 2
`},
		{"alloc -iterations 2 -warmup 0", `
assist send-recv 8 allocs 1 2
assist isend-irecv 8 allocs 1 2
assist persistent 8 allocs 1 2
assist recvnew 8 allocs 1 2
assist object 8 allocs 1 2
assist barrier 8 allocs 1 2
assist bcast 8 allocs 1 2
assist allreduce 8 allocs 1 2
assist iallreduce 8 allocs 1 2
`},
	} {
		for _, how := range []struct{ ranks, via, want string }{{"2", "auto", "threads"}, {"3", "shm", "threads"}, {"3", "tcp", "tcp"}} {
			t.Run(strings.Fields(test.args)[0]+"/"+how.ranks+how.via, func(t *testing.T) {
				rows := rowsOf(t, append(strings.Fields(test.args), "-ranks", how.ranks, "-transport", how.via)...)
				wantLabels(t, rows, test.rows)
				for _, r := range rows {
					if r.Peer != "fitmpi" || r.Transport != how.want || fmt.Sprint(r.Ranks) != how.ranks {
						t.Errorf("a row of peer %s, transport %s, %d ranks", r.Peer, r.Transport, r.Ranks)
					}
					if r.Unit != "1" && r.Size > 0 && r.Max <= 0 {
						t.Errorf("%s took no time: %+v", r.Measure, r.Summary)
					}
				}
			})
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, test := range []struct{ args, err string }{
		{"", "name a test: pingpong, pingping, bw,"},
		{"pong", `no test "pong": choose one of pingpong,`},
		{"bw rate", "one test at a time: bw or rate?"},
		{"bw -csv -json", "-csv or -json, not both"},
		{"bw -ranks 0", "-ranks 0: give 1 or more"},
		{"bw -ranks 1", "test bw needs 2 ranks or more, this job has 1: start it with fitrun -n 2 or give -ranks 2"},
		{"bw -window -1", "-window -1: give 1 or more"},
		{"bw -iterations -1", "-iterations -1: give 1 or more"},
		{"partitioned -partitions 0", "-partitions 0: give 1 or more"},
		{"partitioned -goroutines -1", "-goroutines -1: give 1 or more"},
		{"solve -pace -1", "-pace -1: give 1 or more"},
		{"bw -late -1s", "-late -1s: give a time that is not negative"},
		{"bw -plot bw.png", "-plot bw.png: give a file that ends in .svg"},
		{"bw -policy lazy", `-policy "lazy": choose worker, assist, caller`},
		{"bw -transport pigeon", `-transport "pigeon": choose auto, tcp, shm`},
		{"logp -transport auto", "test logp: the model is of a network, but the transport is threads: give -transport tcp"},
		{"bw -case big", "test bw has no cases: leave -case out"},
		{"match -case big", `test match has no case "big": choose one of unexpected-inorder,`},
		{"match -sizes 0", "give 1 or more"},
		{"bw -sizes 8,x", `size "x": need bytes such as 8, 64K or 1M`},
		{"bw -sizes -8", `size "-8"`},
		{"bw -sizes K", `size "K"`},
		{"bw -sizes 9999999999G", `size "9999999999G"`},
		{"bw -sizes 8 -plot /nowhere/at/all.svg -iterations 1", "-plot: open /nowhere/at/all.svg"},
		{"bw -speed", "flag provided but not defined: -speed"},
	} {
		if !canPlot && strings.Contains(test.args, "-plot") {
			test.err = "built with -tags noplot"
		}
		if _, err := inProcess(t, strings.Fields(test.args)...); err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("fitbench %s: error %v, want one with %q", test.args, err, test.err)
		}
	}
}
