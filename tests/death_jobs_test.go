//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

const (
	envDeathCase = "FITMPI_TESTS_DEATH_CASE" // which case a rank runs
	envVictim    = "FITMPI_TESTS_VICTIM"     // which rank dies in it
)

func init() { programs["death"] = deathRank }

// deathRank runs one case as a process.
func deathRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		victim, err := strconv.Atoi(os.Getenv(envVictim))
		if err != nil {
			return err
		}
		i := slices.IndexFunc(deathCases, func(dc deathCase) bool { return dc.name == os.Getenv(envDeathCase) })
		rt := &T{Rank: c.Rank(), Size: c.Size(), Dir: os.Getenv(envDir), Processes: true}
		err = rt.runDeath(deathCases[i], c, victim)
		for _, f := range rt.failures {
			fmt.Println(f)
		}
		return err
	})
}

// TestDeathsOfProcesses runs them by processes, which fitrun --with-ft goes on without.
func TestDeathsOfProcesses(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts many jobs")
	ways := []string{"auto", "tcp"}
	if raceEnabled {
		ways = ways[:1]
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for k, way := range ways {
		for i, dc := range deathCases {
			policy := policies[(i+k)%len(policies)]
			t.Run(way+"/"+dc.name+"/"+policy, func(t *testing.T) {
				const n = 4
				victim := i % 2 * (n - 1)
				r := binaryRequest(self, "death", n, policy, t.TempDir(), envDeathCase+"="+dc.name, envVictim+"="+strconv.Itoa(victim), "FITMPI_TRANSPORT="+way)
				run := r.with("--with-ft", "-l").run(t, nil)
				if run.code != 0 || run.stdout != "" {
					t.Errorf("code %d\n%s\n%s", run.code, run.stdout, run.stderr)
				}
			})
		}
	}
}

// TestDeaths runs them by thread ranks.
func TestDeaths(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts many jobs")
	sizes := []int{2, 3, 5}
	if raceEnabled || effort.Now() < effort.Full {
		sizes = []int{3}
	}
	for _, policy := range policies {
		for _, way := range []string{"auto", "tcp"} {
			t.Run(policy+"-"+way, func(t *testing.T) {
				t.Setenv("FITMPI_PROGRESS", policy)
				t.Setenv("FITMPI_TRANSPORT", way)
				for _, dc := range deathCases {
					t.Run(dc.name, func(t *testing.T) {
						least := max(dc.min, 2)
						for _, n := range slices.Compact(slices.Sorted(slices.Values(append([]int{least}, sizes...)))) {
							if n < least {
								continue
							}
							for _, victim := range []int{0, n - 1} {
								deathByThreads(t, dc, n, victim)
							}
						}
					})
				}
			})
		}
	}
}

func deathByThreads(t *testing.T, dc deathCase, n, victim int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*failsafe)
	defer cancel()
	ts := make([]*T, n)
	dir := t.TempDir()
	err := mpi.Threads{Ranks: n, FaultTolerant: true}.Run(ctx, func(_ context.Context, c *mpi.Comm) error {
		rt := &T{Rank: c.Rank(), Size: n, Dir: filepath.Join(dir, "shared")}
		ts[c.Rank()] = rt
		return rt.runDeath(dc, c, victim)
	})
	if err != nil {
		t.Errorf("%d ranks, rank %d dies: %v", n, victim, err)
	}
	for r, rt := range ts {
		for _, f := range rt.failures {
			t.Errorf("%d ranks, rank %d dies: rank %d: %s", n, victim, r, f)
		}
	}
}

// runDeath runs the case at one rank.
func (t *T) runDeath(dc deathCase, c *mpi.Comm, victim int) (err error) {
	defer func() {
		switch r := recover(); {
		case r == any(fatal{}):
			err = errors.New("the case has failed")
		case r != nil:
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	c.SetErrhandler(mpi.ErrorsReturn)
	c.Self().SetErrhandler(mpi.ErrorsReturn)
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return err
	}
	dc.run(t, c, victim)
	return nil
}
