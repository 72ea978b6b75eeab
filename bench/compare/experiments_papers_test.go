//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/executable"
)

func TestCommandsOfPapers(t *testing.T) {
	all := byName(contenders())
	s := setting{bin: "B", peers: "P", bind: "none", netns: "N", places: "D"}
	for _, tt := range []struct{ experiment, contender, want string }{
		{"pingpong-go", "raw-go-hold", "B/rawgo pingpong -policy hold -congestion cubic -sizes 8,1K,64K,1M"},
		{"bw-100M", "raw-go-conn", "N raw B/rawgo bw -policy conn -congestion cubic -sizes 1K,64K -window 16 -iterations 6 -warmup 1"},
		{"duplex-100M", "raw-spin-cubic", "N raw P/rawtcp duplex -policy spin -congestion cubic -sizes 8,64K -iterations 10 -warmup 2"},
		{"sockbuf-1G-raw-64K", "raw-block-cubic", "N raw P/rawtcp pingpong -policy block -congestion cubic -sizes 64K,1M -iterations 15 -warmup 3 -sockbuf 64K"},
		{"netpipe-1G", "netpipe", "env NETPIPE_LINK=yes sh -c SCRIPT netpipe -n 10 -u 1048576"},
		{"netpipe", "netpipe", "sh -c SCRIPT netpipe -u 4194304"},
		{"penalty-memory", "assist-shm", "B/fitrun --transport shm --bind-to none -n 2 B/fitbench penalty -csv -policy assist -transport auto -sizes 8,1K,64K,1M -iterations 300"},
		{"multi-memory-8", "threads", "B/fitbench multi -csv -policy assist -transport auto -ranks 8 -sizes 8,64K -iterations 100"},
		{"pingpong-any-tcp", "mpich", "mpirun.mpich -bind-to none -np 2 P/mpich/mpibench pingpong -peer mpich -transport tcp -policy none -any -sizes 8,1K,64K"},
	} {
		line := command(all[tt.contender], experimentNamed(t, tt.experiment), s)
		if i := slices.Index(line, netpipeScript); i >= 0 {
			line[i] = "SCRIPT"
		}
		if got := strings.Join(line, " "); got != tt.want {
			t.Errorf("%s %s:\n got %s\nwant %s", tt.experiment, tt.contender, got, tt.want)
		}
	}
	e := &experiment{test: "pingpong", cores: []int{3, 5}}
	line := command(all["assist"], e, s)
	if i := slices.Index(line, coreScript); i < 0 || !slices.Equal(line[i+1:i+6], []string{"cores", "D", "3", "5", "B/fitbench"}) {
		t.Errorf("ranks on cores: %q", line)
	}
}

// The first rank that comes gets the first core, the other the second.
func TestCoreScript(t *testing.T) {
	places, bin := t.TempDir(), t.TempDir()
	fake := "#!/bin/sh\necho \"$@\"\n" // in the place of taskset: this machine may have one core
	executable.Write(t, filepath.Join(bin, "taskset"), fake)
	for _, want := range []string{"-c 3 echo a b\n", "-c 5 echo a b\n"} {
		cmd := exec.Command("sh", "-c", coreScript, "cores", places, "3", "5", "echo", "a b")
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%q, %v, want %q", out, err, want)
		}
	}
}

func TestCorePairs(t *testing.T) {
	for _, tt := range []struct {
		cores []int
		want  [][2]int
	}{
		{[]int{7}, [][2]int{{7, 7}}},
		{[]int{0, 1}, [][2]int{{0, 0}, {0, 1}, {1, 1}}},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, [][2]int{{0, 0}, {0, 3}, {0, 6}, {0, 9}, {3, 3}, {3, 6}, {3, 9}, {6, 6}, {6, 9}, {9, 9}}},
	} {
		if got := corePairs(tt.cores); !slices.Equal(got, tt.want) {
			t.Errorf("pairs of %v: %v, want %v", tt.cores, got, tt.want)
		}
	}
}

// Names are unique, and each contender and each test is there, so that no experiment fails for a
// word.
func TestExperimentsAreWhole(t *testing.T) {
	all, seen := byName(contenders()), map[string]bool{}
	for _, e := range experiments() {
		if seen[e.name] {
			t.Errorf("two experiments %s", e.name)
		}
		seen[e.name] = true
		for _, name := range e.contenders {
			c := all[name]
			if c == nil {
				t.Errorf("%s has a contender %q, which is none", e.name, name)
			} else if e.network != loopback && !c.placeRanks && c.onLink == nil {
				t.Errorf("%s: %s cannot run on a link", e.name, name)
			}
		}
	}
}
