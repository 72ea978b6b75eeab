//go:build linux

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

const someTimes = `fitrun: something else
time cg ranks=2 size=48 way=overlap seconds=0.100000000 waited=0.001000000 answer=000000000000006f value=12.5
time cg ranks=2 size=48 way=blocking seconds=0.200000000 waited=0.002000000 answer=000000000000006f value=12.5
time cg ranks=2 size=48 way=overlap seconds=0.300000000 waited=0.003000000 answer=000000000000006f value=12.5
time cg ranks=2 size=48 way=blocking seconds=0.400000000 waited=0.004000000 answer=000000000000006f value=12.500000000001

`

func TestParseTimes(t *testing.T) {
	c := byName(contenders())["app-st-shm"]
	rows, err := c.output(someTimes)
	if err != nil {
		t.Fatal(err)
	}
	want := []bench.Row{
		{Case: "overlap", Measure: "time", Unit: "ms", Summary: bench.Summarise([]float64{100, 300}, false)},
		{Case: "overlap", Measure: "waited", Unit: "ms", Summary: bench.Summarise([]float64{1, 3}, false)},
		{Case: "overlap", Measure: "saved", Unit: "ms", Summary: bench.Summarise([]float64{100, 100}, true)},
		{Case: "overlap", Measure: "saved-share", Unit: "%", Summary: bench.Summarise([]float64{50, 25}, true)},
		{Case: "blocking", Measure: "time", Unit: "ms", Summary: bench.Summarise([]float64{200, 400}, false)},
		{Case: "blocking", Measure: "waited", Unit: "ms", Summary: bench.Summarise([]float64{2, 4}, false)},
	}
	for i := range want {
		w := &want[i]
		w.Test, w.Peer, w.Transport, w.Policy, w.Ranks, w.Size = "cg", "fitmpi", "shm", "caller", 2, 48
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d:\n%+v", len(rows), len(want), rows)
	}
	for i, got := range rows {
		if !nearRow(got, want[i]) {
			t.Errorf("row %+v, want %+v", got, want[i])
		}
	}
}

func TestParseTimesRefuses(t *testing.T) {
	const line = "time cg ranks=2 size=48 way=overlap seconds=0.1 waited=0.001 answer=6f value=12.5\n"
	c := byName(contenders())["app-mt"]
	for _, tt := range []struct{ out, want string }{
		{strings.Replace(line, "ranks=2", "ranks=two", 1), `parsing "two"`},
		{strings.Replace(line, "answer=6f", "answer=xyz", 1), `parsing "xyz"`},
		{strings.Replace(line, "way=", "weigh=", 1), `no field "weigh"`},
		{strings.Replace(line, " value=12.5", "", 1), "6 fields, not 7"},
	} {
		if _, err := c.output(tt.out); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want one with %q", tt.out, err, tt.want)
		}
	}
}

// A run whose answer is another one fails, whichever came first, and one that did not run what was
// asked for.
func TestAnswersDiffer(t *testing.T) {
	all := byName(contenders())
	e := experimentNamed(t, "apps-cg-2")
	const line = "time cg ranks=2 size=48 way=overlap seconds=0.1 waited=0.001 answer=6f value=12.5\n"
	for _, tt := range []struct{ contender, out, want string }{
		{"app-mpich", line, ""},
		{"app-mpich", strings.Replace(line, "12.5", "12.5000000001", 1), ""}, // rounding
		{"app-mpich", strings.Replace(line, "answer=6f", "answer=70", 1), "they have not computed the same"},
		{"app-mpich", strings.Replace(line, "12.5", "12.50001", 1), "app-mpich answers 000000000000006f, 12.5000"},
		{"app-mpich", strings.Replace(line, "12.5", "NaN", 1), "they have not computed the same"},
		{"app-mpich", line + strings.NewReplacer("overlap", "blocking", "6f", "70").Replace(line), "but app-st answered"},
		{"app-mpich", strings.Replace(line, "ranks=2", "ranks=1", 1), "on 1 ranks, but cg on 2 was asked for"},
		{"app-mpich", strings.Replace(line, "time cg", "time heat2d", 1), "ran heat2d"},
		{"assist", "whatever", ""}, // has none
	} {
		a := &answers{}
		if err := a.check(run{experiment: e, contender: all["app-st"]}, line); err != nil {
			t.Fatal(err)
		}
		err := a.check(run{experiment: e, contender: all[tt.contender]}, tt.out)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want one with %q", tt.out, err, tt.want)
		}
	}
}

// Answers of other numbers of ranks are compared too, those of other problems are not.
func TestAnswersOfOtherProblems(t *testing.T) {
	all := byName(contenders())
	const line = "time cg ranks=2 size=48 way=overlap seconds=0.1 waited=0.001 answer=6f value=12.5\n"
	a := &answers{}
	for _, tt := range []struct {
		experiment, from, to string
		ok                   bool
	}{
		{"apps-cg-2", "", "", true},
		{"apps-cg-4", "ranks=2", "ranks=4", true},
		{"apps-cg-1G", "answer=6f", "answer=70", false},
		{"apps-cg-2", "size=48 way=overlap seconds=0.1 waited=0.001 answer=6f", "size=49 way=overlap seconds=0.1 waited=0.001 answer=70", true},
	} {
		r := run{experiment: experimentNamed(t, tt.experiment), contender: all["app-mt"]}
		if err := a.check(r, strings.Replace(line, tt.from, tt.to, 1)); (err == nil) != tt.ok {
			t.Errorf("%s with %s: %v", tt.experiment, tt.to, err)
		}
	}
}

// The programs in C and those in Go answer the same, with each library of C that is here, on one
// rank and on several; and a worker of another machine multiplies as others do.
func TestTwinsAgree(t *testing.T) {
	effort.Need(t, effort.Full, "it builds and starts programs")
	bin := t.TempDir()
	_, err := exec.LookPath("qemu-s390x-static")
	emulates := err == nil && effort.Now() >= effort.Night // to build for what it emulates takes a while
	peers := buildTwins(t, bin, emulates)
	s := setting{bin: bin, peers: peers, bind: "none", answers: &answers{}}
	all := byName(contenders())
	for _, e := range applicationTestExperiments(emulates) {
		for _, name := range e.contenders {
			c := all[name]
			if c.peer != "fitmpi" && !isThere(filepath.Join(peers, c.peer, "apps")) {
				continue
			}
			rows, _, err := run{experiment: e, contender: c}.perform(t.Context(), s)
			if err != nil {
				t.Errorf("%s on %d ranks, %s: %v", e.test, e.ranks, name, err)
			} else if len(rows) == 0 {
				t.Errorf("%s on %d ranks, %s: no rows", e.test, e.ranks, name)
			}
		}
	}
}

// applicationTestExperiments are the applications at their quick sizes, on numbers of ranks that
// divide the problem evenly and that do not; one has an emulated worker if that can be had.
func applicationTestExperiments(emulates bool) []*experiment {
	var list []*experiment
	add := func(test, args string, ranks int, contenders ...string) {
		list = append(list, &experiment{name: test, test: test, args: args, ranks: ranks, contenders: contenders,
			seconds: hangLimit.Seconds(), timeout: 2 * time.Minute}) // beside other tests programs take long
	}
	for ranks := 1; ranks <= 3; ranks++ {
		for _, a := range applications {
			add(a.name, a.quick+fewTimes, ranks, "app-mt", "app-openmpi-shm", "app-mpich-shm")
		}
		add("matmul", matmulQuick, ranks, "app-mt", "app-openmpi-shm", "app-mpich-shm")
	}
	if emulates {
		add("matmul", matmulQuick, 3, "matmul-mixed")
	}
	return list
}

// buildTwins builds our programs to bin, also for the emulated worker if asked, and below it those
// of C, where their compilers are.
func buildTwins(t *testing.T, bin string, emulates bool) (peers string) {
	t.Helper()
	build := append([]string{"build", "-C", "../..", "-buildvcs=false", "-ldflags=-s -w", "-o", bin + "/"}, goPrograms...)
	build = slices.DeleteFunc(build, func(s string) bool { return s == "./cmd/fitbench" })
	if out, err := exec.CommandContext(t.Context(), "go", build...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if emulates {
		if err := buildForeign(t.Context(), io.Discard, "../..", bin); err != nil {
			t.Fatal(err)
		}
	}
	peers = filepath.Join(bin, "peers")
	built := 0
	for _, peer := range []string{"openmpi", "mpich"} {
		if _, err := exec.LookPath("mpicc." + peer); err != nil {
			t.Logf("without %s: %v", peer, err)
			continue
		}
		out, err := exec.CommandContext(t.Context(), "make", "-C", "../peers", "BUILD="+peers, peer+"/apps").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		built++
	}
	if built == 0 {
		t.Skip("no library of C is here: needs mpicc.openmpi or mpicc.mpich")
	}
	return peers
}

func isThere(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// appRow is a row of an application.
func appRow(contender, test string, ranks int, size int64, kase, measure string, x float64) bench.Row {
	c := byName(contenders())[contender]
	unit := choose(measure == savedShare, "%", "ms")
	return bench.Row{Test: test, Peer: c.peer, Transport: c.transport, Policy: c.policy, Ranks: ranks, Case: kase, Size: size,
		Measure: measure, Unit: unit, Summary: single(x)}
}

func TestApplicationsPage(t *testing.T) {
	rec := &record{Rows: []bench.Row{
		appRow("app-st", "heat2d", 1, 512, "overlap", "time", 111),
		appRow("app-mt", "heat2d", 2, 512, "overlap", "time", 77.5), appRow("app-openmpi", "heat2d", 2, 512, "overlap", "time", 155),
		appRow("app-mpich-shm", "heat2d", 4, 512, "overlap", savedTime, -14), appRow("app-mpich-shm", "heat2d", 4, 512, "overlap", savedShare, -12.5),
		appRow("app-mt", "fft3d", 2, 64, "blocking", "waited", 33.25),
		appRow("app-mt", "cg", 2, 12, "overlap", "time", 8), // with -quick
		appRow("app-mt", "matmul", 5, 19200, "overlap", "time", 1234), appRow("app-mpich", "matmul", 5, 19200, "overlap", "time", 617),
		appRow("app-mt", "matmul", 3, 240, "overlap", "time", 5),
		appRow("matmul-mixed", "matmul", 3, 240, "overlap"+mixedMark, "time", 4321),
	}, Failures: []failure{{"apps-heat2d-2", "app-mpich", 1, "they have not computed the same"}}}
	pages, dir := pagesOf(t, rec)
	text := pages["benchmarks/apps.md"]
	for _, want := range []string{
		"| what, where | st | mt | mt worker | Open MPI | MPICH | gain |", "| time, 1 rank | 111 | – | – | – | – |  |",
		"| time, 2 ranks | – | 77.5 | – | 155 | failed (1) | 🟢 2.00 |", "they have not computed the same",
		"| ms, 4 ranks | – | – | – | – | -14.0 |", "| %, 4 ranks | – | – | – | – | -12.5 |", "| waited, 2 ranks | – | 33.2 |",
		"| time, 2 ranks, size 12 | – | 8.00 |", "| 19200, 4 | 1234 | 617 | 🔴 0.500 |", "| 2 | 5.00 | 4321 |",
		"(../bench/apps-heat2d.svg)", "(../bench/apps-matmul.svg)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if !strings.Contains(pages["BENCHMARKS.md"], "| [Applications: five beside C, two ranks over TCP](benchmarks/apps.md) | 🟢 2.00 |") {
		t.Errorf("the first page lacks applications:\n%s", pages["BENCHMARKS.md"])
	}
	for _, file := range []string{"apps-heat2d.svg", "apps-matmul.svg"} {
		if !isThere(filepath.Join(dir, "bench", file)) {
			t.Errorf("no %s", file)
		}
	}
}

// Where one rank is alone, a plot of ranks that share memory begins with it too.
func TestScalingBeginsWithOneRank(t *testing.T) {
	p := newPage(&record{Rows: []bench.Row{
		appRow("app-st", "cg", 1, 48, "overlap", "time", 100), appRow("app-st-shm", "cg", 4, 48, "overlap", "time", 30),
		appRow("app-mt", "matmul", 2, 19200, "overlap", "time", 50),
	}})
	fig := figure{test: "cg", kase: "overlap", measure: "time", size: 48}
	spots := p.spots(drawing{ranks: []int{1, 2, 4}}, columnOf("st", "app-st-shm", fig))
	want := []spot{{1, cell{"app-st", fig.among(1)}}, {4, cell{"app-st-shm", fig.among(4)}}}
	if !slices.Equal(spots, want) {
		t.Errorf("spots %+v, want %+v", spots, want)
	}
	fig.test, fig.size = "matmul", 19200
	if spots := p.spots(drawing{ranks: []int{2, 3}, idle: 1}, columnOf("mt", "app-mt", fig)); len(spots) != 1 || spots[0].x != 1 {
		t.Errorf("spots of workers: %+v, want one at 1", spots)
	}
}

// What this adds to a run of all experiments is kept to some minutes.
func TestApplicationsAreShort(t *testing.T) {
	list := slices.Concat(applicationExperiments(), matmulExperiments(), checkExperiments())
	list = withoutSuites(list, &options{}, io.Discard)
	if d := totalTime(schedule(list, byName(contenders()), 1), false); d > 7*time.Minute {
		t.Errorf("%d experiments take %v", len(list), d)
	}
	for _, e := range list {
		for _, name := range e.contenders {
			if byName(contenders())[name] == nil {
				t.Errorf("%s: no contender %s", e.name, name)
			}
		}
	}
}
