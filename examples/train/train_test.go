package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// train runs the program on n ranks that go on without those that die. It returns what was printed,
// and the parameters of each rank that lives.
func train(t *testing.T, n int, args ...string) (string, map[int][]float64, error) {
	t.Helper()
	var out bytes.Buffer // only the first rank that lives writes, at the end
	var mu sync.Mutex
	params := map[int][]float64{} // guarded by mu
	err := mpi.Threads{Ranks: n, FaultTolerant: true}.Run(t.Context(), func(ctx context.Context, world *mpi.Comm) error {
		tr, err := run(ctx, world, args, &out)
		if tr != nil {
			mu.Lock()
			defer mu.Unlock()
			params[world.Rank()] = tr.net.params
		}
		return err
	})
	return out.String(), params, err
}

// distance is the largest difference.
func distance(a, b []float64) (d float64) {
	for i := range a {
		d = math.Max(d, math.Abs(a[i]-b[i]))
	}
	return d
}

// Any number of ranks, and any buckets, learn what one rank learns, but for the order of additions.
func TestLearns(t *testing.T) {
	_, alone, err := train(t, 1, "-epochs", "8", "-rate", "0.1", "-hidden", "24,16")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 3, 4} {
		for _, bucket := range []string{"1", "500", "100000"} {
			if testing.Short() && (n != 3 || bucket != "500") {
				continue
			}
			out, params, err := train(t, n, "-epochs", "8", "-rate", "0.1", "-hidden", "24,16", "-bucket", bucket)
			if err != nil || !strings.HasPrefix(out, fmt.Sprintf("96 steps on %d ranks: reads ", n)) {
				t.Fatalf("%d ranks: %v\n%s", n, err, out)
			}
			for r, p := range params {
				if d := distance(p, alone[0]); d > 1e-9 || !slices.Equal(p, params[0]) {
					t.Errorf("rank %d of %d, buckets of %s: differs by %v from one rank", r, n, bucket, d)
				}
			}
		}
	}
}

// The gradient is the slope of the loss.
func TestGradient(t *testing.T) {
	data, err := load()
	if err != nil || len(data.labels) != 1797 {
		t.Fatalf("%d images: %v", len(data.labels), err)
	}
	some, net := data.some([]int{5, 700, 1300}), newNetwork([]int{pixels, 7, 5, digits})
	net.gradients(some, func(int) {})
	grad, ends := slices.Clone(net.grad), []int(nil)
	for i := 0; i < len(net.params); i += 11 {
		const h = 1e-6
		x := net.params[i]
		net.params[i] = x + h
		up := net.gradients(some, func(int) {})
		net.params[i] = x - h
		down := net.gradients(some, func(end int) { ends = append(ends, end) })
		net.params[i] = x
		if slope := (up - down) / (2 * h); math.Abs(slope-grad[i]) > 1e-5 {
			t.Errorf("parameter %d: the slope is %v, the gradient %v", i, slope, grad[i])
		}
	}
	if want := []int{60, 100, 555}; !slices.Equal(ends[:3], want) {
		t.Errorf("layers end at %v, want %v", ends[:3], want)
	}
}

// A job that goes on from a checkpoint finds the same parameters, to the last bit.
func TestRestarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	args := []string{"-epochs", "8", "-rate", "0.1", "-hidden", "24,16", "-every", "10", "-dir", dir}
	_, whole, err := train(t, 3, args...)
	if err != nil {
		t.Fatal(err)
	}
	err = mpi.RunThreads(3, func(ctx context.Context, world *mpi.Comm) error { // this one ends when a rank dies
		_, err := run(ctx, world, append(args, "-die", "1@25"), new(bytes.Buffer))
		return err
	})
	if err == nil {
		t.Fatal("the job goes on")
	}
	out, params, err := train(t, 3, args...)
	if err != nil || !strings.HasPrefix(out, "went on from step 20\n96 steps on 3 ranks") {
		t.Fatalf("%v\n%s", err, out)
	}
	if !slices.Equal(params[2], whole[2]) {
		t.Errorf("differs by %v from the job that was not interrupted", distance(params[2], whole[2]))
	}
	if left, _ := filepath.Glob(dir + "*"); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// Those that live learn the same without the dead.
func TestGoesOn(t *testing.T) {
	_, alone, err := train(t, 1, "-epochs", "8", "-rate", "0.1", "-hidden", "24,16")
	if err != nil {
		t.Fatal(err)
	}
	for i, die := range []string{"0@0", "1@25", "2@95"} {
		if testing.Short() && i != 1 {
			continue
		}
		every := fmt.Sprint(i * 10) // with checkpoints too
		out, params, err := train(t, 3, "-epochs", "8", "-rate", "0.1", "-hidden", "24,16", "-die", die, "-every", every, "-dir", filepath.Join(t.TempDir(), "c"))
		if err != nil || !strings.HasPrefix(out, "went on without 1 ranks\n96 steps on 2 ranks") {
			t.Fatalf("%s: %v\n%s", die, err, out)
		}
		for r, p := range params {
			if d := distance(p, alone[0]); d > 1e-9 {
				t.Errorf("%s: rank %d differs by %v from one rank", die, r, d)
			}
		}
		if len(params) != 2 {
			t.Errorf("%s: %d ranks have learnt", die, len(params))
		}
	}
}

// Ranks that come later, for dead ones or to make the team larger, learn what all learn. These are
// processes, of which fitrun starts more: threads cannot become more.
func TestGrows(t *testing.T) {
	effort.Need(t, effort.Full, "it builds fitrun and starts jobs")
	args := []string{"-epochs", "8", "-rate", "0.1", "-hidden", "24,16"}
	alone, _, err := train(t, 1, args...)
	if err != nil {
		t.Fatal(err)
	}
	fitrun := filepath.Join(t.TempDir(), "fitrun")
	if out, err := exec.Command("go", "build", "-o", fitrun, "../../cmd/fitrun").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, reads, _ := strings.Cut(alone, ": ")
	for _, tc := range []struct{ options, want string }{
		{"-n 1 . -grow 2@40", "went on with 2 more ranks\n96 steps on 3 ranks: "},
		{"-n 2 . -grow 1@0 -every 16", "went on with 1 more ranks\n96 steps on 3 ranks: "},
		{"-n 3 --with-ft . -die 0@25 -replace", "went on without 1 ranks\nwent on with 1 more ranks\n96 steps on 3 ranks: "},
		{"-n 2 --with-ft . -grow 1@30 -die 1@60 -every 16 -replace", "went on without 1 ranks\nwent on with 2 more ranks\n96 steps on 3 ranks: "},
	} {
		cmd := exec.CommandContext(t.Context(), fitrun, append(strings.Fields(tc.options), append(args, "-dir", filepath.Join(t.TempDir(), "c"))...)...)
		out, err := cmd.Output()
		if err != nil || string(out) != tc.want+reads {
			t.Errorf("%s: %v\n%s\nwant\n%s%s", tc.options, err, out, tc.want, reads)
		}
	}
}

func TestCompare(t *testing.T) {
	out, _, err := train(t, 2, "-compare", "-epochs", "8", "-rate", "0.1", "-hidden", "24,16", "-grow", "1@3") // that has no place there
	if err != nil || strings.Count(out, "\n") != 4 || strings.Count(out, "speed-up") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestUsage(t *testing.T) {
	if out, _, err := train(t, 2, "-h"); err != nil || out != usage {
		t.Errorf("%q, %v", out, err)
	}
	for _, args := range [][]string{{"-epochs", "0"}, {"-batch", "1441"}, {"-hidden", "0"}, {"-die", "x"}, {"-every", "-1"}, {"-grow", "1"}, {"-grow", "-1@3"}, {"more"}} {
		if _, _, err := train(t, 2, args...); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
