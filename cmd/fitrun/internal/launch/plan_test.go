//go:build linux

package launch

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/agent"
	"github.com/fitmpi/fitmpi/internal/boot"
)

func TestCoresPerRank(t *testing.T) {
	for _, tc := range []struct{ cores, ranks, want int }{
		{8, 2, 4}, {8, 3, 2}, {2, 2, 1}, {2, 64, 1}, {1, 1, 1}, {96, 1, 96},
	} {
		if got := coresPerRank(tc.cores, tc.ranks); got != tc.want {
			t.Errorf("%d cores for %d ranks: %d each, want %d", tc.cores, tc.ranks, got, tc.want)
		}
	}
}

// one is the only app of a job, with variables of its own.
func one(ranks int, set ...string) []App { return []App{{Ranks: ranks, Set: set}} }

func TestPlan(t *testing.T) {
	job, err := Plan(Request{
		Apps:  []App{{Ranks: 3, Program: Program{Path: "/bin/x"}, Args: []string{"x", "-a"}, Dir: "/tmp", Set: []string{"A=1"}}},
		Cores: 8, Metrics: "127.0.0.1:9100",
		Env: []string{"HOME=/", boot.FDVariable + "=7"}, Progress: "worker", Transport: "tcp", Check: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"HOME=/", "PWD=/tmp", "A=1", "GOMAXPROCS=3", "FITMPI_PROGRESS=worker", "FITMPI_TRANSPORT=tcp", "FITMPI_CHECK=1"}
	for r, k := range job.Ranks {
		if k.Rank != r || k.Size != 3 || k.LocalRank != r || k.LocalSize != 3 || k.Cores != 2 || k.Universe != 8 || !k.MetricsRequested {
			t.Errorf("rank %d: %+v", r, k.Info)
		}
		if p := job.Processes[k.proc]; !slices.Equal(configured(p), want) || !slices.Equal(p.Ranks, []int{r}) || k.Process != r || k.ProcessRanks != 1 {
			t.Errorf("rank %d: process %+v, want it alone there, with environment %q", r, p, want)
		}
		if &k.Secret[0] != &job.Ranks[0].Secret[0] || k.Job != job.Ranks[0].Job {
			t.Errorf("rank %d is of another job", r)
		}
	}
	if got := job.Ranks[2].MetricsAddr; got != "127.0.0.1:9102" {
		t.Errorf("metrics of rank 2 at %s", got)
	}
}

func TestUsersGOMAXPROCSStays(t *testing.T) {
	for _, r := range []Request{
		{Apps: one(1), Env: []string{"GOMAXPROCS=7"}},
		{Apps: one(1, "GOMAXPROCS=7")},
	} {
		job, err := Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := configured(job.Processes[0]); !slices.Equal(got, []string{"GOMAXPROCS=7"}) {
			t.Errorf("environment %q", got)
		}
	}
}

func TestPlanRanksPerProcess(t *testing.T) {
	job, err := Plan(Request{Apps: one(5), PerProcess: 2, Cores: 10, CPUs: manyCPUs(10)})
	if err != nil {
		t.Fatal(err)
	}
	if len(job.Processes) != 3 || len(job.Ranks) != 5 {
		t.Fatalf("%d processes of %d ranks, want 3 of 5", len(job.Processes), len(job.Ranks))
	}
	for i, want := range []struct {
		ranks      []int
		cores      int
		maxprocs   string
		boundFirst int
	}{{[]int{0, 1}, 4, "6", 0}, {[]int{2, 3}, 4, "6", 4}, {[]int{4}, 2, "3", 8}} {
		p := job.Processes[i]
		if !slices.Equal(p.Ranks, want.ranks) || p.Cores != want.cores || !slices.Contains(p.Env, "GOMAXPROCS="+want.maxprocs) {
			t.Errorf("process %d: %+v, want %+v", i, p, want)
		}
		if len(p.Bound) != want.cores || p.Bound[0] != want.boundFirst {
			t.Errorf("process %d is bound to %v, want %d cores from %d on", i, p.Bound, want.cores, want.boundFirst)
		}
		for _, r := range want.ranks {
			k := job.Ranks[r]
			if !slices.Equal(k.Roam, manyCPUs(10)) {
				t.Errorf("messages of rank %d are moved on %v", r, k.Roam)
			}
			if k.proc != i || k.Process != i || k.ProcessRanks != len(want.ranks) || k.Cores != 2 || !slices.Equal(k.Bound, p.Bound) {
				t.Errorf("rank %d: %+v", r, k)
			}
		}
	}
}

// Threads that only move messages may run on all cores of the job, unless the user has bound it to
// cores or it is not bound at all.
func TestPlanRoams(t *testing.T) {
	for bind, want := range map[Binding][]int{BindDefault: manyCPUs(4), BindCore: nil, BindNone: nil} {
		job, err := Plan(Request{Apps: one(2), Cores: 4, CPUs: manyCPUs(4), Bind: bind})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range job.Ranks {
			if !slices.Equal(r.Roam, want) {
				t.Errorf("binding %q: rank %d may roam over %v, want %v", bind, r.Rank, r.Roam, want)
			}
		}
	}
}

// A process has no more cores than the machine, however many ranks it holds.
func TestPlanOversubscribedProcess(t *testing.T) {
	job, err := Plan(Request{Apps: one(64), PerProcess: 64, Cores: 2, CPUs: manyCPUs(2)})
	if err != nil {
		t.Fatal(err)
	}
	if p := job.Processes[0]; p.Cores != 2 || !slices.Contains(p.Env, "GOMAXPROCS=66") || job.Ranks[63].Cores != 1 || job.Ranks[63].Universe != 64 || p.Bound != nil {
		t.Errorf("%+v with cores of a rank: %d", p, job.Ranks[63].Cores)
	}
}

// Ranks are numbered on each host, share its cores only, and learn that there are others.
func TestPlanOnHosts(t *testing.T) {
	r := Request{Apps: []App{{Ranks: 3, Program: Program{Path: "/a"}}, {Ranks: 2, Program: Program{Path: "/b"}, Set: []string{"B=1"}}},
		Place: []int{0, 1, 0, 1, 0}, PerProcess: 2, Transport: "tcp"}
	job, err := plan(r, []site{
		{name: "n1", host: "one", cores: 6, cpus: manyCPUs(6), env: []string{"HOME=/1"}},
		{name: "n2", host: "two", cores: 3, cpus: manyCPUs(3), env: []string{"HOME=/2"}, apps: []agent.Found{{Path: "/copy/a", Dir: "/d"}, {Path: "/b", Dir: "/d"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range job.Processes {
		got = append(got, strings.TrimSpace(fmt.Sprintln(p.Ranks, p.Host, p.Path, p.Dir, p.Cores, p.Bound, configured(p))))
	}
	want := []string{
		"[0 2] n1 /a  4 [0 1 2 3] [HOME=/1 GOMAXPROCS=6 FITMPI_TRANSPORT=tcp]",
		"[1] n2 /copy/a /d 1 [] [HOME=/2 PWD=/d GOMAXPROCS=2 FITMPI_TRANSPORT=tcp]",
		"[3] n2 /b /d 1 [] [HOME=/2 PWD=/d B=1 GOMAXPROCS=2 FITMPI_TRANSPORT=tcp]",
		"[4] n1 /b  2 [4 5] [HOME=/1 B=1 GOMAXPROCS=3 FITMPI_TRANSPORT=tcp]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	for i, want := range []string{"one 0 of 3, app 0, process 0", "two 0 of 2, app 0, process 0", "one 1 of 3, app 0, process 0", "two 1 of 2, app 1, process 1", "one 2 of 3, app 1, process 1"} {
		k := job.Ranks[i]
		if got := fmt.Sprintf("%s %d of %d, app %d, process %d", k.Host, k.LocalRank, k.LocalSize, k.AppNum, k.Process); got != want || k.Universe != 9 || !k.Net.Remote || k.Size != 5 {
			t.Errorf("rank %d: %s, want %s; %+v", i, got, want, k.Info)
		}
	}
	for at, want := range []string{"0 0 2|1 4", "0 1|1 3"} {
		var parts []string
		for i, p := range job.crewPlan(at).Processes {
			var part strings.Builder
			part.WriteString(fmt.Sprint(i))
			for _, info := range p.Ranks {
				part.WriteString(fmt.Sprint(" ", info.Rank))
			}
			parts = append(parts, part.String())
			if p.Stdin != (at == 0 && i == 0) {
				t.Errorf("process %d of site %d reads the standard input: %v", i, at, p.Stdin)
			}
		}
		if strings.Join(parts, "|") != want {
			t.Errorf("site %d: %q, want %s", at, parts, want)
		}
	}
}

func manyCPUs(n int) []int {
	cpus := make([]int, n)
	for i := range cpus {
		cpus[i] = i
	}
	return cpus
}

func TestBindings(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		r     Request
		want  []string // without the host; nil: an error
		fault string
	}{
		{"as many as cores", Request{Apps: one(2), Cores: 2, CPUs: []int{4, 6}, Bind: bindEven},
			[]string{"rank 0: bound to core 4", "rank 1: bound to core 6"}, ""},
		{"several cores each", Request{Apps: one(2), Cores: 4, CPUs: manyCPUs(4), Bind: bindEven},
			[]string{"rank 0: bound to cores 0-1", "rank 1: bound to cores 2-3"}, ""},
		{"of one process", Request{Apps: one(4), PerProcess: 3, Cores: 4, CPUs: manyCPUs(4), Bind: bindEven},
			[]string{"ranks 0-2: bound to cores 0-2", "rank 3: bound to core 3"}, ""},
		{"oversubscribed", Request{Apps: one(3), Cores: 2, CPUs: manyCPUs(2), Bind: bindEven},
			[]string{"rank 0: not bound", "rank 1: not bound", "rank 2: not bound"}, ""},
		{"with a remainder", Request{Apps: one(2), Cores: 3, CPUs: manyCPUs(3), Bind: bindEven},
			[]string{"rank 0: not bound", "rank 1: not bound"}, ""},
		{"limited by a cgroup", Request{Apps: one(2), Cores: 2, CPUs: manyCPUs(64), Bind: bindEven},
			[]string{"rank 0: not bound", "rank 1: not bound"}, ""},
		{"asked for, with a remainder", Request{Apps: one(2), Cores: 3, CPUs: manyCPUs(3), Bind: BindCore},
			[]string{"rank 0: bound to core 0", "rank 1: bound to core 1"}, ""},
		{"asked for, oversubscribed", Request{Apps: one(3), Cores: 2, CPUs: manyCPUs(2), Bind: BindCore}, nil,
			"--bind-to core: 3 ranks on " + host + ", and 2 cores to bind them to; use --bind-to none, or at most 2 ranks"},
		{"not wanted", Request{Apps: one(2), Cores: 2, CPUs: manyCPUs(2), Bind: BindNone},
			[]string{"rank 0: not bound", "rank 1: not bound"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			job, err := Plan(tc.r)
			if tc.want == nil {
				if err == nil || err.Error() != tc.fault {
					t.Errorf("%v, want %q", err, tc.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := job.Bindings()
			for i := range got {
				got[i] = strings.Replace(got[i], " on "+job.Processes[0].Host, "", 1)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestTransportOf(t *testing.T) {
	const v = "FITMPI_TRANSPORT="
	for _, tc := range []struct {
		r    Request
		want string
	}{
		{Request{Apps: one(1)}, "auto"},
		{Request{Apps: one(1), Transport: "shm", Env: []string{v + "tcp"}}, "shm"},
		{Request{Apps: one(1), Env: []string{v + "tcp"}}, "tcp"},
		{Request{Apps: one(1, v+"shm"), Env: []string{v + "tcp"}}, "shm"},
		{Request{Apps: one(1, v), Env: []string{v + "tcp"}}, "tcp"},
		{Request{Apps: []App{{Ranks: 1, Set: []string{v + "tcp"}}, {Ranks: 1}}}, "auto"},
	} {
		if got := transportOf(tc.r); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.r, got, tc.want)
		}
	}
}

func TestMetricsAddr(t *testing.T) {
	for _, tc := range []struct{ addr, want, fault string }{
		{"", "", ""}, {":9100", ":9105", ""}, {"[::1]:9100", "[::1]:9105", ""}, {"h:0", "h:0", ""},
		{":65531", "", "--rank-metrics :65531: rank 5 would need port 65536; choose a lower port, or 0 for any"},
		{"9100", "", "--rank-metrics 9100: want HOST:PORT, for example 127.0.0.1:9100"},
		{":x", "", "--rank-metrics :x: the port must be a number from 0 to 65535"},
	} {
		got, err := metricsAddr(tc.addr, 5)
		if got != tc.want || (err == nil) != (tc.fault == "") || err != nil && err.Error() != tc.fault {
			t.Errorf("%q: %q, %v; want %q, %q", tc.addr, got, err, tc.want, tc.fault)
		}
	}
}

func TestFindProgram(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"pkg", "other", "bin"} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for file, mode := range map[string]os.FileMode{
		"go.mod": 0o666, "pkg/main.go": 0o666, "other/go.mod": 0o666, "other/main.go": 0o666, "bin/tool": 0o777, "exe": 0o777,
	} {
		if err := os.WriteFile(file, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(here, "bin"))
	for _, want := range []Program{
		{Name: "tool", Path: here + "/bin/tool"},
		{Name: "./exe", Path: here + "/exe"},
		{Name: here + "/exe", Path: here + "/exe"},
		{Name: "./pkg", Package: "./pkg"},
		{Name: "pkg", Package: "./pkg"},
		{Name: "./pkg/main.go", Package: "./pkg/main.go"},
		{Name: "./other", Package: ".", Dir: here + "/other"},
		{Name: "example.org/x/y", Package: "example.org/x/y"},
	} {
		if got, err := FindProgram(want.Name); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", want.Name, got, err, want)
		}
	}
}

// Ranks are told which variables options have set for them, and by which option.
func TestGiven(t *testing.T) {
	r := Request{
		Apps: []App{
			{Args: []string{"a"}, Ranks: 1, Set: []string{"FITMPI_WINDOW=4M", "HOME=/tmp", "FITMPI_PROGRESS=worker"}},
			{Args: []string{"b"}, Ranks: 1},
		},
		Env: []string{"FITMPI_EAGER_MAX=1K"}, Cores: 2,
	}
	want := func(rank int, given map[string]string) {
		t.Helper()
		job, err := Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := job.Ranks[rank].Given; !maps.Equal(got, given) {
			t.Errorf("rank %d is told %v, want %v", rank, got, given)
		}
	}
	want(0, map[string]string{"FITMPI_WINDOW": "-x or -genv", "FITMPI_PROGRESS": "-x or -genv"})
	want(1, nil)
	r.Progress, r.Transport, r.Check = "caller", "tcp", true
	all := map[string]string{"FITMPI_PROGRESS": "--progress", "FITMPI_TRANSPORT": "--transport", "FITMPI_CHECK": "--check"}
	want(1, all)
	all["FITMPI_WINDOW"] = "-x or -genv"
	want(0, all)
}
