//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// Processes that are killed at random points of messages, collectives and of the recovery, under
// the launcher: the ranks that live shrink and go on, and all that live say the same of every
// agreement. Package mpi does the same with more traffic between thread ranks.

func init() { programs["recover"] = recoverRank }

const envSeedOfDeaths = "FITMPI_TESTS_DEATHS"

// deathsOf is at which of its steps each of n ranks dies; never if negative. One lives.
func deathsOf(seed uint64, n int) []int {
	rng := rand.New(rand.NewPCG(seed, 11))
	dies := make([]int, n)
	for r := range dies {
		if dies[r] = rng.IntN(40); rng.IntN(3) == 0 {
			dies[r] = -1
		}
	}
	dies[rng.IntN(n)] = -1
	return dies
}

// recoverRank writes a line for each agreement and each communicator.
func recoverRank() {
	mpi.Main(func(_ context.Context, world *mpi.Comm) error {
		world.SetErrhandler(mpi.ErrorsReturn)
		seed, err := strconv.ParseUint(os.Getenv(envSeedOfDeaths), 10, 64)
		if err != nil {
			return err
		}
		left := deathsOf(seed, world.Size())[world.Rank()]
		step := func() {
			if left == 0 {
				world.Die()
			}
			left--
		}
		story := ""
		on := world
		for round := 0; ; round++ {
			broken := someTraffic(on, step)
			if broken != nil {
				if !errors.Is(broken, mpi.ErrProcFailed) && !errors.Is(broken, mpi.ErrRevoked) {
					return broken
				}
				step()
				if err := on.Revoke(); err != nil {
					return err
				}
			}
			step()
			flag := 1
			if broken != nil {
				flag = 0
			}
			well, err := on.Agree(flag)
			story += fmt.Sprintf("%d: %d %v\n", round, well, mpi.ClassOf(err))
			switch {
			case err == nil && well == 1:
				return os.WriteFile(filepath.Join(os.Getenv(envDir), fmt.Sprint("story", world.Rank())), []byte(story), 0o600)
			case err != nil && !errors.Is(err, mpi.ErrProcFailed):
				return err
			}
			if _, err := on.AckFailed(on.Size()); err != nil {
				return err
			}
			step()
			if on, err = on.Shrink(); err != nil {
				return err
			}
			story += fmt.Sprintf("%d: %v\n", round, on.Group())
		}
	})
}

// someTraffic is a few operations on c, with a step before each.
func someTraffic(c *mpi.Comm, step func()) error {
	in, out, sum := make([]int64, 20000), make([]int64, 20000), []int64{0}
	for range 3 {
		step()
		if _, err := mpi.Sendrecv(c, out, right(c), 1, in, left(c), 1); err != nil {
			return err
		}
		step()
		if err := mpi.Allreduce(c, []int64{1}, sum, mpi.Sum); err != nil {
			return err
		}
		if sum[0] != int64(c.Size()) {
			return fmt.Errorf("the sum is %d among %d", sum[0], c.Size())
		}
		step()
		if err := second(mpi.Ibarrier(c).Wait()); err != nil {
			return err
		}
	}
	step()
	d, err := c.Dup(nil)
	if err != nil {
		return err
	}
	return mpi.Barrier(d)
}

func TestRecoverProcesses(t *testing.T) {
	t.Parallel()
	seeds := uint64(4)
	if testing.Short() || raceEnabled {
		seeds = 1
	}
	for _, policy := range policies {
		for _, way := range []string{"auto", "tcp"} {
			for seed := range seeds {
				t.Run(fmt.Sprint(policy, "-", way, "-", seed), func(t *testing.T) { recoverJob(t, policy, way, seed) })
			}
		}
	}
}

func recoverJob(t *testing.T, policy, way string, seed uint64) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, n := t.TempDir(), 3+int(seed%3)
	r := binaryRequest(self, "recover", n, policy, dir, fmt.Sprint(envSeedOfDeaths, "=", seed), "FITMPI_TRANSPORT="+way)
	run := r.with("--with-ft", "-l").run(t, nil)
	stories := map[string][]int{}
	for r := range n {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("story", r)))
		if err == nil {
			stories[string(b)] = append(stories[string(b)], r)
		}
	}
	if run.code != 0 || len(stories) != 1 {
		t.Errorf("ranks die at %v; the code is %d, and the survivors tell %d stories: %v\n%s", deathsOf(seed, n), run.code, len(stories), stories, run.stderr)
	}
	for r, at := range deathsOf(seed, n) {
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprint("story", r))); at < 0 && err != nil {
			t.Errorf("ranks die at %v; rank %d does not, and has no story", deathsOf(seed, n), r)
		}
	}
}
