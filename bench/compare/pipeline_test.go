//go:build linux

package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The whole way with FitMPI alone: build, run, merge, save, load, write; and a contender
// that cannot start is reported and stops nothing.
func TestMeasuresFitMPI(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts programs")
	}
	bin, dir := t.TempDir(), t.TempDir()
	out, err := exec.Command("go", "build", "-C", "../..", "-buildvcs=false", "-ldflags=-s -w", "-o", bin+"/", "./cmd/fitrun", "./cmd/fitbench").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := byName(contenders())
	e := &experiment{name: "pingpong-tcp", test: "pingpong", args: "-sizes 8 -iterations 5 -warmup 1", contenders: []string{"assist", "raw-spin", "worker"}}
	rec := newRecord(&options{repeats: 2, bind: "none"}, machine{Cores: 2}, time.Unix(0, 0))
	c := &campaign{
		runs:    schedule([]*experiment{e}, all, 3),
		setting: setting{bin: bin, peers: filepath.Join(bin, "no-peers"), bind: "none"},
		record:  rec, links: &links{}, log: io.Discard, secrets: discreet("/nowhere", bin),
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.measure(ctx); err != nil {
		t.Fatal(err)
	}
	if len(rec.Rows) != 6 || len(rec.Failures) != giveUpAfter || rec.Failures[0].Contender != "raw-spin" {
		t.Fatalf("%d rows, failures %+v; want 6, and %d of raw-spin", len(rec.Rows), rec.Failures, giveUpAfter)
	}
	if reason := rec.Failures[0].Reason; strings.Contains(reason, bin) || !strings.Contains(reason, "no such file") {
		t.Errorf("reason %q", reason)
	}
	if err := rec.save(filepath.Join(dir, "bench")); err != nil {
		t.Fatal(err)
	}
	if err := again(&options{from: filepath.Join(dir, "bench", rowsFile), dir: dir}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"pairs.md":    "failed (1)",
		"machines.md": "| pingpong-tcp | raw-spin | 1 |",
	} {
		text, err := os.ReadFile(filepath.Join(dir, "benchmarks", file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not say that raw-spin failed: %v\n%s", file, err, text)
		}
	}
}
