//go:build linux

package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
)

func TestExecute(t *testing.T) {
	for _, tt := range []struct{ script, out, reason string }{
		{"echo $X", "y\n", ""},
		{"echo rows; echo why >&2; echo ----- >&2; exit 3", "rows\n", "why"},
		{"exit 3", "", "exit status 3"},
		{"sleep 60 & wait", "", "took more than 300ms"},
	} {
		limit := choose(strings.HasPrefix(tt.script, "sleep"), 300*time.Millisecond, 20*time.Second)
		out, err := execute(context.Background(), []string{"sh", "-c", tt.script}, []string{"X=y"}, limit)
		if out != tt.out || (err == nil) != (tt.reason == "") || err != nil && err.Error() != tt.reason {
			t.Errorf("%s: %q, %v; want %q, %q", tt.script, out, err, tt.out, tt.reason)
		}
	}
}

func TestLastLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"one\ntwo\n":                         "two",
		"one\n\n-------\n":                   "one",
		"\r\x1b[Kpingpong 8\r\x1b[Kbad: x\n": "bad: x",
		"windows\r\n":                        "windows",
	} {
		if got := lastLine(in); got != want {
			t.Errorf("lastLine(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestEndingKeepsTheEnd(t *testing.T) {
	e := &ending{}
	for range 5 {
		e.Write([]byte(strings.Repeat("x", endingMax/2)))
	}
	e.Write([]byte("\nlast\n"))
	if len(e.String()) != endingMax || lastLine(e.String()) != "last" {
		t.Errorf("kept %d bytes, last line %q", len(e.String()), lastLine(e.String()))
	}
}

// Rows of another transport than was asked for are not what the table says they are.
func TestLabel(t *testing.T) {
	all := byName(contenders())
	r := run{experiment: &experiment{network: link1G, mark: "@64K"}, contender: all["assist"]}
	rows, err := r.label([]bench.Row{halfRTT("assist", 8, 1)})
	if err != nil || rows[0].Transport != "tcp-1G" || rows[0].Case != "@64K" {
		t.Errorf("labelled %+v, %v", rows, err)
	}
	r.contender = &contender{peer: "fitmpi", transport: "shm", policy: "assist"}
	if _, err := r.label([]bench.Row{halfRTT("assist", 8, 1)}); err == nil || !strings.Contains(err.Error(), "shm") {
		t.Errorf("rows over TCP pass as shared memory: %v", err)
	}
}

// Rows of a peer whose job ended badly count if none is missing, and only those of a
// peer: what FitMPI does after its rows is judged too.
func TestRowsOfAFailedRun(t *testing.T) {
	const rows = "header\nrow\n"
	all := byName(contenders())
	for _, tt := range []struct {
		contender, out string
		wall, ok       bool
	}{
		{"mpich", rows + "\n", false, true},
		{"mpich", rows + "\n\n=====\nBAD TERMINATION\n", false, true},
		{"mpich", rows, false, false},
		{"mpich", rows + "\n", true, false},
		{"assist", rows + "\n", false, false},
	} {
		r := run{contender: all[tt.contender], experiment: &experiment{wall: tt.wall}}
		if got, ok := r.whole(tt.out); ok != tt.ok || ok && got != rows {
			t.Errorf("%s wrote %q: %q, %v; want %v", tt.contender, tt.out, got, ok, tt.ok)
		}
	}
}

func TestLimit(t *testing.T) {
	all := byName(contenders())
	for _, tt := range []struct {
		contender string
		e         experiment
		quick     bool
		want      time.Duration
	}{
		{"assist", experiment{seconds: 2}, false, time.Minute},
		{"assist", experiment{seconds: 2}, true, 20 * time.Second},
		{"mpich-async", experiment{seconds: 2}, false, 20 * time.Second},
		{"mpich-async", experiment{seconds: 11}, false, time.Minute},
		{"assist", experiment{timeout: time.Hour}, false, time.Hour},
		{"mpich-async", experiment{seconds: 2, timeout: time.Hour}, false, time.Hour},
	} {
		if got := (run{contender: all[tt.contender], experiment: &tt.e}).limit(tt.quick); got != tt.want {
			t.Errorf("%s, %v s: %v, want %v", tt.contender, tt.e.seconds, got, tt.want)
		}
	}
}

func TestWallRow(t *testing.T) {
	row := wallRow(bench.Row{Test: "scale", Peer: "mpich", Ranks: 64, Size: 8, Measure: "rss", Unit: "bytes"}, 1500*time.Millisecond)
	want := bench.Row{Test: "scale", Peer: "mpich", Ranks: 64, Case: "job", Measure: "wall", Unit: "ms", Summary: single(1500)}
	if row != want {
		t.Errorf("%+v, want %+v", row, want)
	}
}

func TestParseNetpipe(t *testing.T) {
	rows, err := parseNetpipe("       1 1.500000   0.00000500\n 1048576 60000.000000   0.00013981\n")
	if err != nil || len(rows) != 2 || rows[1].Size != 1<<20 || rows[0].Sextile1 != 5 {
		t.Errorf("rows %+v, %v", rows, err)
	}
	if _, err := parseNetpipe("connection refused, sorry\n"); err == nil {
		t.Error("nonsense passes")
	}
}
