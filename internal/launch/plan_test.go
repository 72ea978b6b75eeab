//go:build linux

package launch

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

func TestPlan(t *testing.T) {
	job, err := Plan(Request{
		Ranks: 3, Path: "/bin/x", Args: []string{"x", "-a"}, Cores: 8, Dir: "/tmp", Metrics: "127.0.0.1:9100",
		Env: []string{"HOME=/", boot.FDVariable + "=7"}, Set: []string{"A=1"}, Progress: "worker", Transport: "tcp",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"HOME=/", "PWD=/tmp", "A=1", "GOMAXPROCS=3", "FITMPI_PROGRESS=worker", "FITMPI_TRANSPORT=tcp"}
	for r, k := range job.Ranks {
		if k.Rank != r || k.Size != 3 || k.LocalRank != r || k.LocalSize != 3 || k.Cores != 2 || !k.MetricsRequested {
			t.Errorf("rank %d: %+v", r, k.Info)
		}
		if !slices.Equal(k.Env, want) {
			t.Errorf("rank %d: environment %q, want %q", r, k.Env, want)
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
		{Ranks: 1, Env: []string{"GOMAXPROCS=7"}},
		{Ranks: 1, Set: []string{"GOMAXPROCS=7"}},
	} {
		job, err := Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := job.Ranks[0].Env; !slices.Equal(got, []string{"GOMAXPROCS=7"}) {
			t.Errorf("environment %q", got)
		}
	}
}

func TestMetricsAddr(t *testing.T) {
	for _, tc := range []struct{ addr, want, fault string }{
		{"", "", ""}, {":9100", ":9105", ""}, {"[::1]:9100", "[::1]:9105", ""}, {"h:0", "h:0", ""},
		{":65531", "", "port 65536"}, {"9100", "", "HOST:PORT"}, {":x", "", "number"},
	} {
		got, err := metricsAddr(tc.addr, 5)
		if got != tc.want || (err == nil) != (tc.fault == "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
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

func TestReadOrders(t *testing.T) {
	groups, temps := readOrders(strings.NewReader(
		"+ 10\n+ 20\nt /tmp/fitrun-1\n- 10\n+ -1\n+ 1\n+ 0\n+ x\nt /home/me\nt fitrun-relative\nnonsense\n+ 30"))
	if got := slices.Sorted(maps.Keys(groups)); !slices.Equal(got, []int{20, 30}) {
		t.Errorf("groups %v", got)
	}
	if !slices.Equal(temps, []string{"/tmp/fitrun-1"}) {
		t.Errorf("directories %q", temps)
	}
}
