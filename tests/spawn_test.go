//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// Processes that a job starts (MPI 4.1, section 11.8). What was spawned runs the same program, and
// knows by Parent what it is.

const envSpawn = "FITMPI_TESTS_SPAWN" // what the program "spawn" does

func init() { programs["spawn"] = spawnRank }

// spawnCases are what a parent and what its children do.
var spawnCases = map[string][2]func(ctx context.Context, c, inter *mpi.Comm) error{
	"exchange": {parentExchanges, exchangeWithParent},
	"chain":    {parentChains, childChains},
	"stays":    {parentLeaves, childStays},
	"fails":    {parentWaits, childFails},
	"errors":   {parentErrs, nil},
	"multiple": {parentMultiple, childMultiple},
	"loses":    {parentLoses, childDies},
}

func spawnRank() {
	mpi.Main(func(ctx context.Context, c *mpi.Comm) error {
		do := spawnCases[os.Getenv(envSpawn)]
		if p := c.Parent(); p != nil {
			return do[1](ctx, c, p)
		}
		return do[0](ctx, c, nil)
	})
}

// spawnSelf spawns n ranks of this program.
func spawnSelf(c *mpi.Comm, n int) (*mpi.Comm, error) {
	return c.Spawn("/proc/self/exe", []string{"rank"}, n, c.Size()-1, nil)
}

func parentExchanges(ctx context.Context, c, _ *mpi.Comm) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	inter, err := c.Spawn(self, []string{"rank", "of two"}, 2, c.Size()-1, nil)
	if err != nil {
		return err
	}
	return exchangeBetween(ctx, c, inter, 0)
}

func exchangeWithParent(ctx context.Context, c, parent *mpi.Comm) error {
	if !slices.Contains(os.Args, "of two") {
		return fmt.Errorf("arguments %q", os.Args)
	}
	return exchangeBetween(ctx, c, parent, 1)
}

// exchangeBetween is what both sides do: messages, collectives, and communicators of both.
func exchangeBetween(ctx context.Context, c, inter *mpi.Comm, side int) error {
	if _, _, err := mpi.RecvValue[int](inter, -5, 0); err == nil { // under Main errors are returned, at both sides
		return errors.New("a receive from rank -5")
	}
	if inter.Size() != c.Size() || !inter.IsInter() || inter.RemoteSize() != 2 && side == 0 {
		return fmt.Errorf("%v of %v", inter, c)
	}
	for _, n := range []int{1, 100_000} {
		in := make([]int64, n)
		for r := range inter.RemoteSize() {
			out := slices.Repeat([]int64{int64(10*side + c.Rank())}, n)
			st, err := mpi.Sendrecv(inter, out, r, n, in, r, n)
			if err != nil || st.Source != r || in[n-1] != int64(10*(1-side)+r) {
				return fmt.Errorf("from %d: %v, %v, %d", r, st, err, in[n-1])
			}
		}
	}
	both, err := inter.Merge(side == 1)
	if err != nil {
		return err
	}
	sum, err := mpi.AllreduceValue(both, both.Rank(), mpi.Sum)
	if n := both.Size(); err != nil || n != inter.Size()+inter.RemoteSize() || sum != n*(n-1)/2 {
		return fmt.Errorf("sum %d of %v: %v", sum, both, err)
	}
	if err := splitBoth(both); err != nil {
		return err
	}
	fmt.Printf("side %d, rank %d of %d, %d in both\n", side, c.Rank(), c.Size(), both.Rank())
	return errors.Join(both.Disconnect(), inter.Disconnect())
}

// splitBoth makes communicators of ranks of both jobs, each by another operation, and uses them.
func splitBoth(both *mpi.Comm) error {
	split, err := both.Split(both.Rank()%2, -both.Rank())
	if err != nil {
		return err
	}
	odd, err := both.Group().Excl(0)
	if err != nil {
		return err
	}
	part, err := both.Create(odd)
	if err != nil {
		return err
	}
	agreed, err := both.CreateGroup(both.Group(), 5)
	if err != nil {
		return err
	}
	for _, c := range []*mpi.Comm{split, part, agreed} {
		if c == nil {
			continue
		}
		least, err := mpi.AllreduceValue(c, both.Rank(), mpi.Min)
		if err != nil || least > both.Rank() {
			return fmt.Errorf("least %d of %v: %v", least, c, err)
		}
		if err := c.Free(); err != nil {
			return err
		}
	}
	return nil
}

// parentChains: what was spawned spawns, and the grandchildren are brought together with the
// grandparents, which they have never met.
func parentChains(ctx context.Context, c, _ *mpi.Comm) error {
	child, err := spawnSelf(c, 2)
	if err != nil {
		return err
	}
	both, err := child.Merge(false)
	if err != nil {
		return err
	}
	return meetGrandchildren(both, nil)
}

func childChains(ctx context.Context, c, parent *mpi.Comm) error {
	if slices.Contains(os.Args, "grandchild") {
		return meetGrandchildren(nil, parent)
	}
	both, err := parent.Merge(true)
	if err != nil {
		return err
	}
	grand, err := c.Spawn("/proc/self/exe", []string{"rank", "grandchild"}, 1, 0, nil)
	if err != nil {
		return err
	}
	return meetGrandchildren(both, grand)
}

// meetGrandchildren makes an intercommunicator of both, in which are grandparents and children, and
// of grandchildren, which know the children only.
func meetGrandchildren(both, known *mpi.Comm) error {
	var all *mpi.Comm
	var err error
	switch {
	case both == nil: // a grandchild: its leader is itself, the other one is child 0
		all, err = known.World().IntercommCreate(0, known, 0, 3)
	default: // child 0 is the leader, behind the two grandparents
		all, err = both.IntercommCreate(2, known, 0, 3)
	}
	if err != nil {
		return err
	}
	merged, err := all.Merge(both == nil)
	if err != nil {
		return err
	}
	sum, err := mpi.AllreduceValue(merged, 1, mpi.Sum)
	if err != nil || sum != 5 {
		return fmt.Errorf("%d ranks in %v: %v", sum, merged, err)
	}
	fmt.Printf("rank %d of 5\n", merged.Rank())
	return nil
}

// parentLeaves is through at once; its Finalize waits for the children, which are connected.
func parentLeaves(ctx context.Context, c, _ *mpi.Comm) error {
	inter, err := spawnSelf(c, 2)
	if err != nil || c.Rank() > 0 {
		return err
	}
	return mpi.Send(inter, []int{1}, 0, 0)
}

func childStays(ctx context.Context, c, parent *mpi.Comm) error {
	if c.Rank() > 0 {
		_, _, err := mpi.RecvValue[int](c, 0, 0)
		return err
	}
	if _, _, err := mpi.RecvValue[int](parent, 0, 0); err != nil {
		return err
	}
	if err := mpi.SendValue(c, 1, 1, 0); err != nil {
		return err
	}
	fmt.Println("the child is through")
	return nil
}

func parentWaits(ctx context.Context, c, _ *mpi.Comm) error {
	inter, err := spawnSelf(c, 2)
	if err != nil {
		return err
	}
	_, _, err = mpi.RecvValue[int](inter, 0, 0)
	return err
}

func childFails(ctx context.Context, c, parent *mpi.Comm) error {
	if c.Rank() == 1 {
		os.Exit(7)
	}
	_, _, err := mpi.RecvValue[int](c, 1, 0)
	return err
}

// parentErrs: what cannot be started is one error at every rank, and the job goes on.
func parentErrs(ctx context.Context, c, _ *mpi.Comm) error {
	c.SetErrhandler(mpi.ErrorsReturn)
	for _, tt := range []struct {
		command string
		n       int
		info    map[string]string
		want    string
	}{
		{"./nothing-here", 1, nil, "no such file"}, {"nothing-of-this-name", 1, nil, "not found in PATH"}, {"", 1, nil, "name is empty"},
		{"/bin/true", 0, nil, "need at least 1"}, {"/bin/true", 2, nil, "before all its ranks were in Init"}, {"/bin/true", 1, map[string]string{"host": "a b"}, "host"},
		{"/bin/true", 1, map[string]string{"hostfile": "/nothing"}, "no such file"},
	} {
		info := mpi.InfoCreate()
		for k, v := range tt.info {
			if err := info.Set(k, v); err != nil {
				return err
			}
		}
		_, err := c.Spawn(tt.command, nil, tt.n, 0, info)
		if !errors.Is(err, mpi.ErrSpawn) || !strings.Contains(err.Error(), tt.want) {
			return fmt.Errorf("%d of %q: %v, want one with %q", tt.n, tt.command, err, tt.want)
		}
	}
	if _, err := c.Spawn("/bin/true", nil, 1, 9, nil); !errors.Is(err, mpi.ErrRank) {
		return fmt.Errorf("root 9: %v", err)
	}
	return mpi.Barrier(c)
}

func parentMultiple(ctx context.Context, c, _ *mpi.Comm) error {
	dir := os.Getenv(envDir)
	info := mpi.InfoCreate()
	if err := info.Set("wdir", dir); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	inter, err := c.SpawnMultiple([]mpi.SpawnProgram{
		{Command: self, Args: []string{"rank", "first"}, Ranks: 1},
		{Command: filepath.Base(self), Args: []string{"rank", "second"}, Ranks: 2, Info: withPath(info, filepath.Dir(self))},
	}, 0)
	if err != nil {
		return err
	}
	for r := range inter.RemoteSize() {
		said, _, err := mpi.RecvValue[string](inter, r, 0)
		if err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Printf("%d: %s\n", r, said)
		}
	}
	return nil
}

func withPath(info *mpi.Info, dir string) *mpi.Info {
	n := info.Dup()
	n.Set("path", dir)
	return n
}

func childMultiple(ctx context.Context, c, parent *mpi.Comm) error {
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	if n, known := c.UniverseSize(); known { // the cores are shared with the parents
		return fmt.Errorf("a universe of %d ranks", n)
	}
	for r := range parent.RemoteSize() {
		if err := mpi.SendValue(parent, fmt.Sprintf("%s of %d in %v", os.Args[2], c.Size(), wd == os.Getenv(envDir)), r, 0); err != nil {
			return err
		}
	}
	return nil
}

// parentLoses goes on without a spawned rank that has died, to which most have had no connection.
func parentLoses(ctx context.Context, c, _ *mpi.Comm) error {
	inter, err := spawnSelf(c, 3)
	if err != nil {
		return err
	}
	return shrinkBoth(inter, false)
}

func childDies(ctx context.Context, c, parent *mpi.Comm) error {
	mpi.Barrier(c) // all are out of Init, which has no use for the dead. An error is that of the death
	if c.Rank() == 1 {
		c.Die()
	}
	return shrinkBoth(parent, true)
}

func shrinkBoth(inter *mpi.Comm, high bool) error {
	inter.SetErrhandler(mpi.ErrorsReturn)
	smaller, err := inter.Shrink()
	if err != nil {
		return err
	}
	for smaller.Size()+smaller.RemoteSize() > 4 { // the death was not known yet
		if smaller, err = smaller.Shrink(); err != nil {
			return err
		}
	}
	both, err := smaller.Merge(high)
	if err != nil {
		return err
	}
	sum, err := mpi.AllreduceValue(both, 1, mpi.Sum)
	if err != nil || sum != 4 {
		return fmt.Errorf("%d ranks in %v: %v", sum, both, err)
	}
	fmt.Printf("rank %d of 4\n", both.Rank())
	return nil
}

// spawnJob runs a case of the program "spawn".
func spawnJob(t *testing.T, kind string, n int, policy string, options ...string) jobRun {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return binaryRequest(selfPath(t), "spawn", n, policy, dir, envSpawn+"="+kind).with(options...).run(t, nil)
}

// MPI 4.1, section 11.8.2: what was spawned is connected with what has spawned it, by every policy,
// over TLS too, and what is made of both is as of one job. Each line tells where it comes from.
func TestSpawn(t *testing.T) {
	for _, tt := range []struct {
		policy  string
		parents int
		options []string
	}{{"assist", 2, []string{"-l"}}, {"worker", 1, nil}, {"caller", 3, nil}, {"assist", 2, []string{"--tls"}}, {"assist", 2, []string{"--transport", "tcp"}}} {
		t.Run(fmt.Sprint(tt.policy, tt.parents, tt.options), func(t *testing.T) {
			t.Parallel()
			run := spawnJob(t, "exchange", tt.parents, tt.policy, tt.options...)
			if run.code != 0 || run.stderr != "" {
				t.Fatalf("code %d\n%s", run.code, run.stderr)
			}
			for side, n := range []int{tt.parents, 2} {
				for r := range n {
					want := fmt.Sprintf("side %d, rank %d of %d, %d in both\n", side, r, n, side*tt.parents+r)
					if slices.Contains(tt.options, "-l") {
						want = []string{"[", "[spawned 1: "}[side] + strconv.Itoa(r) + "] " + want
					}
					if strings.Count(run.stdout, want) != 1 {
						t.Errorf("want %q once in:\n%s", want, run.stdout)
					}
				}
			}
		})
	}
}

// MPI 4.1, section 11.8: connections go on from job to job. Ranks that have never met are
// introduced when a communicator brings them together.
func TestSpawnChain(t *testing.T) {
	effort.Need(t, effort.Usual, "each of its ranks starts another")
	t.Parallel()
	run := spawnJob(t, "chain", 2, "assist")
	if run.code != 0 || run.stderr != "" {
		t.Fatalf("code %d\n%s", run.code, run.stderr)
	}
	for r := range 5 {
		if want := fmt.Sprintf("rank %d of 5\n", r); strings.Count(run.stdout, want) != 1 {
			t.Errorf("want %q once in:\n%s", want, run.stdout)
		}
	}
}

// MPI 4.1, section 11.10.4: Finalize is collective over all ranks that are connected.
func TestSpawnFinalize(t *testing.T) {
	t.Parallel()
	if run := spawnJob(t, "stays", 2, "assist"); run.code != 0 || run.stderr != "" || run.stdout != "the child is through\n" {
		t.Errorf("code %d\n%s%s", run.code, run.stdout, run.stderr)
	}
}

// A spawned rank that fails ends both jobs, and its exit code is fitrun's. Messages say which job
// they are about.
func TestSpawnFails(t *testing.T) {
	t.Parallel()
	run := spawnJob(t, "fails", 2, "assist")
	if run.code != 7 || !strings.Contains(run.stderr, "fitrun: spawned 1: rank 1 ") || !strings.Contains(run.stderr, "spawned 1 failed, with exit code 7; the job was ended") {
		t.Errorf("code %d\n%s", run.code, run.stderr)
	}
}

func TestSpawnErrors(t *testing.T) {
	t.Parallel()
	if run := spawnJob(t, "errors", 2, "assist"); run.code != 0 {
		t.Errorf("code %d\n%s", run.code, run.stderr)
	}
}

// MPI 4.1, section 11.8.3: several programs are one job, the ranks of the first come first. Keys of
// Info say where they begin and are looked for.
func TestSpawnMultiple(t *testing.T) {
	t.Parallel()
	run := spawnJob(t, "multiple", 2, "assist")
	if want := "0: first of 3 in true\n1: second of 3 in true\n2: second of 3 in true\n"; run.code != 0 || run.stdout != strings.Replace(want, "first of 3 in true", "first of 3 in false", 1) {
		t.Errorf("code %d\n%s%s", run.code, run.stdout, run.stderr)
	}
}

// A spawned rank that dies in a job that goes on without its dead is dead for those that have
// spawned it, too, whether or not they have had to do with it (ULFM).
func TestSpawnedDies(t *testing.T) {
	t.Parallel()
	run := spawnJob(t, "loses", 2, "assist", "--with-ft")
	if run.code != 0 || strings.Count(run.stdout, "of 4\n") != 4 || !strings.Contains(run.stderr, "fitrun: spawned 1: rank 1 ") {
		t.Errorf("code %d\n%s%s", run.code, run.stdout, run.stderr)
	}
}

// Without a launcher that could, Spawn is an error that says what to do.
func TestSpawnAlone(t *testing.T) {
	t.Parallel()
	mpi.RunThreads(2, func(ctx context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		if _, err := c.Spawn("/bin/true", nil, 1, 0, nil); !errors.Is(err, mpi.ErrSpawn) || !strings.Contains(err.Error(), "start the job with fitrun") {
			t.Errorf("%v", err)
		}
		return nil
	})
}
