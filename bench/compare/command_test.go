//go:build linux

package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func experimentNamed(t *testing.T, name string) *experiment {
	t.Helper()
	for _, e := range experiments() {
		if e.name == name {
			return e
		}
	}
	t.Fatalf("no experiment %s", name)
	return nil
}

func TestCommand(t *testing.T) {
	all := byName(contenders())
	s := setting{bin: "B", peers: "P", suites: "S", bind: "none", netns: "N", places: "D", pace: 540000}
	bound, quick := s, s
	bound.bind, quick.quick = "core", true
	for _, tt := range []struct {
		experiment, contender string
		setting               setting
		want                  string
	}{
		{"bw-tcp", "worker", s, "B/fitrun --transport tcp --bind-to none -n 2 B/fitbench bw -csv -policy worker -sizes 8,64,1K,8K,64K,1M,4M"},
		{"bw-tcp", "worker", bound, "B/fitrun --transport tcp --bind-to core -n 2 B/fitbench bw -csv -policy worker -sizes 8,64,1K,8K,64K,1M,4M"},
		{"pingpong-tcp", "raw-block-cubic", quick, "P/rawtcp pingpong -policy block -congestion cubic " + fewSizes},
		{"pingpong-tcp", "openmpi-thread", s, "mpirun.openmpi --allow-run-as-root --oversubscribe --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo " +
			"--mca btl_tcp_progress_thread 1 --bind-to none -np 2 P/openmpi/mpibench pingpong -peer openmpi -transport tcp -policy thread"},
		{"scale-16", "mpich", bound, "mpirun.mpich -bind-to core -np 16 P/mpich/mpibench scale -peer mpich -transport tcp -policy none -iterations 20000 -warmup 20"},
		{"pingpong-tcp", "raw-spin", quick, "P/rawtcp pingpong -policy spin " + fewSizes},
		{"isend-wait-1G", "caller", quick, "B/fitrun --transport tcp --bind-to none -n 2 sh -c SCRIPT place D B/fitbench isend-wait -csv -policy caller -sizes 1K,64K -iterations 3"},
		{"overlap-1G", "openmpi", quick, "N openmpi -- P/openmpi/mpibench overlap -peer openmpi -transport tcp -policy none -case exchange -sizes 64K -iterations 3"},
		{"overlap-1G", "openmpi-thread", quick, "N openmpi --mca btl_tcp_progress_thread 1 -- P/openmpi/mpibench overlap -peer openmpi -transport tcp -policy thread " +
			"-case exchange -sizes 64K -iterations 3"},
		{"rate-memory", "assist-shm", quick, "B/fitrun --transport shm --bind-to none -n 2 B/fitbench rate -csv -policy assist -iterations 20 -warmup 5"},
		{"scale-memory-16", "threads", bound, "B/fitbench scale -csv -policy assist -transport auto -ranks 16 -iterations 20000 -warmup 20"},
		{"rate-memory", "openmpi-shm", s, "mpirun.openmpi --allow-run-as-root --oversubscribe --mca pml ob1 --mca btl vader,self --bind-to none -np 2 " +
			"P/openmpi/mpibench rate -peer openmpi -transport shm -policy none"},
		{"rate-memory", "mpich-shm", s, "mpirun.mpich -bind-to none -np 2 P/mpich/mpibench rate -peer mpich -transport shm -policy none"},
		{"solve-64K", "caller", s, "B/fitrun --transport tcp --bind-to none -n 2 B/fitbench solve -csv -policy caller -pace 540000 -sizes 64K"},
		{"solve-4-8", "mpich", s, "mpirun.mpich -bind-to none -np 4 P/mpich/mpibench solve -peer mpich -transport tcp -policy none -pace 540000 -sizes 8"},
		{"solve-raw-1M", "raw-thread-block", quick, "P/raw_solve solve -policy block -pace 540000 -sizes 1M -iterations 5 -warmup 2"},
		{"solve-1G-8", "raw-thread-spin", s, "N raw P/raw_solve solve -policy spin -pace 540000 -sizes 8 -iterations 1000"},
		{"matmul-1", "app-mt", s, "B/fitrun --transport tcp --bind-to none -n 2 B/matmul " + matmulArgs},
		{"matmul-mixed-2", "matmul-mixed", s, "B/fitrun --transport tcp --bind-to none -n 3 sh -c " +
			strings.ReplaceAll(mixedScript, "{bin}", "B") + " mixed " + mixedArgs},
		{"apps-cg-4", "app-mpich", s, "mpirun.mpich -bind-to none -np 4 P/mpich/apps cg -grid 48 -time 2"},
		{"apps-cg-memory-2", "app-st-shm", quick, "B/fitrun --transport shm --bind-to none -n 2 B/cg -grid 12 -time 2"},
		{"apps-fft3d-1G", "app-openmpi", quick, "N openmpi -- P/openmpi/apps fft3d -n 16 -time 2"},
		{"apps-fft3d-1G", "app-worker", quick, "B/fitrun --transport tcp --bind-to none -n 2 sh -c SCRIPT place D B/fft3d -n 16 -time 2"},
		{"check-osu-bw", "osu-bw-mpich", s, "mpirun.mpich -bind-to none -np 2 S/mpich/osu_bw"},
		{"check-netpipe", "netpipe-openmpi", s, "mpirun.openmpi --allow-run-as-root --oversubscribe --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo " +
			"--bind-to none -np 2 NPopenmpi -o /dev/stdout -u 1048576"},
	} {
		line := command(all[tt.contender], experimentNamed(t, tt.experiment), tt.setting)
		if i := slices.Index(line, placeScript); i >= 0 {
			line[i] = "SCRIPT"
		}
		if got := strings.Join(line, " "); got != tt.want {
			t.Errorf("%s %s:\n got %s\nwant %s", tt.experiment, tt.contender, got, tt.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	all := byName(contenders())
	if got := environment(all["assist"], experimentNamed(t, "threshold-64K")); !slices.Equal(got, []string{"FITMPI_EAGER_MAX=64K"}) {
		t.Errorf("environment %q", got)
	}
	if got := environment(all["mpich-shm"], experimentNamed(t, "rate-memory")); len(got) > 0 {
		t.Errorf("environment %q", got) // UCX_TLS would keep it on TCP
	}
	if got := environment(all["mpich-async"], experimentNamed(t, "slowdown")); !slices.Contains(got, "MPIR_CVAR_ASYNC_PROGRESS=1") {
		t.Errorf("environment %q", got)
	}
}

// For each repeat, for each experiment, each contender in turn.
func TestSchedule(t *testing.T) {
	list := []*experiment{
		{name: "x", contenders: []string{"assist", "openmpi"}},
		{name: "once", contenders: []string{"mpich"}, repeats: 1},
	}
	var got []string
	for _, r := range schedule(list, byName(contenders()), 2) {
		got = append(got, r.experiment.name+" "+r.contender.name)
	}
	want := []string{"x assist", "x openmpi", "once mpich", "x openmpi", "x assist"}
	if !slices.Equal(got, want) {
		t.Errorf("runs %q, want %q", got, want)
	}
}

// Contenders take turns at each size of the time to solution.
func TestSolveInTurns(t *testing.T) {
	for _, e := range solveExperiments() {
		for _, quick := range []bool{false, true} {
			args := e.arguments(quick)
			if i := slices.Index(args, "-sizes"); i < 0 || strings.Contains(args[i+1], ",") {
				t.Errorf("%s (quick %v): arguments %q, want one size", e.name, quick, args)
			}
		}
	}
}

// The default run is promised to take 40 minutes. It has no programs of -suites.
func TestDefaultRunIsShort(t *testing.T) {
	runs := schedule(withoutSuites(chosen(&options{}), &options{}, io.Discard), byName(contenders()), 5)
	if d := totalTime(runs, false); d > 40*time.Minute {
		t.Errorf("%d runs take %v", len(runs), d)
	}
}

// The pace of the work is found where an experiment tells it.
func TestNeedsPace(t *testing.T) {
	for _, tt := range []struct {
		args string
		want bool
	}{{"", true}, {"-only match", false}, {"-only ^solve-8$", true}, {"-quick -only solve", true}} {
		opt, err := parseOptions(strings.Fields(tt.args), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := needsPace(chosen(opt)); got != tt.want {
			t.Errorf("compare %s: needs a pace %v, want %v", tt.args, got, tt.want)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-repeats 0", "choose 1 or more"},
		{"-bind socket", "choose none or core"},
		{"pingpong", "unexpected argument"},
		{"-only (", "missing closing"},
		{"-judge", "add -from"},
		{"-add Xeon/8", "choose a name of small letters"},
		{"-add ..", "choose a name of small letters"},
		{"-add xeon -quick", "leave out -quick and -only"},
	} {
		if _, err := parseOptions(strings.Fields(tt.args), &strings.Builder{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("compare %s: error %v, want one with %q", tt.args, err, tt.want)
		}
	}
	opt, err := parseOptions([]string{"-quick", "-only", "^match$"}, nil)
	if err != nil || opt.repeats != 1 || len(chosen(opt)) != 1 || !opt.isPartial() {
		t.Errorf("options %+v, %v", opt, err)
	}
}
