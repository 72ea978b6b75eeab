//go:build linux

package tests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// Ranks that are spawned onto other hosts: MPI 4.1, section 11.8.4, has the key host for that. The
// hosts are network namespaces, see package netlab.

// envSpawnInfo is the Info of what the case "elsewhere" spawns: KEY=VALUE.
const envSpawnInfo = "FITMPI_TESTS_SPAWN_INFO"

func init() {
	spawnCases["elsewhere"] = [2]func(ctx context.Context, c, inter *mpi.Comm) error{parentSpawnsElsewhere, childElsewhere}
}

// parentSpawnsElsewhere spawns two ranks, which tell each rank of it where they are. What keeps it
// from that is told on its standard output, and then it ends well.
func parentSpawnsElsewhere(_ context.Context, c, _ *mpi.Comm) error {
	c.SetErrhandler(mpi.ErrorsReturn)
	info := mpi.InfoCreate()
	if key, value, ok := strings.Cut(os.Getenv(envSpawnInfo), "="); ok {
		if err := info.Set(key, value); err != nil {
			return err
		}
	}
	inter, err := c.Spawn("/proc/self/exe", []string{"rank"}, 2, 0, info)
	if errors.Is(err, mpi.ErrSpawn) {
		fmt.Println("cannot spawn:", err)
		return mpi.Barrier(c)
	}
	if err != nil {
		return err
	}
	for r := range inter.RemoteSize() {
		where, _, err := mpi.RecvValue[string](inter, r, 0)
		if err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Printf("child %d is at %s\n", r, where)
		}
	}
	both, err := inter.Merge(false)
	if err != nil {
		return err
	}
	return sumAcross(both, inter)
}

func childElsewhere(_ context.Context, c, parent *mpi.Comm) error {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for r := range parent.RemoteSize() {
		if err := mpi.SendValue(parent, fmt.Sprint(addrs), r, 0); err != nil {
			return err
		}
	}
	both, err := parent.Merge(true)
	if err != nil {
		return err
	}
	return sumAcross(both, parent)
}

// sumAcross has all ranks of both jobs exchange something long, and part.
func sumAcross(both, inter *mpi.Comm) error {
	in, out := make([]int64, 50_000), slices.Repeat([]int64{int64(both.Rank())}, 50_000)
	if err := mpi.Allreduce(both, out, in, mpi.Sum); err != nil {
		return err
	}
	if n := int64(both.Size()); in[49_999] != n*(n-1)/2 {
		return fmt.Errorf("sum %d of %d ranks", in[49_999], n)
	}
	return errors.Join(both.Disconnect(), inter.Disconnect())
}

// TestSpawnAcross: what is spawned runs on the hosts that Info names, or else on those of the job,
// where slots are free, and is connected with the ranks that have spawned it wherever those are.
func TestSpawnAcross(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts jobs across hosts by ssh")
	l := newFitrunLab(t)
	network := l.Network()
	a, b, c := network.Host().Addr(), network.Host().Addr(), network.Host().Addr()
	file := l.hostFile(t, c+" slots=1", b+" slots=1")
	for _, tt := range []struct {
		name, hosts, info string
		args              []string
		at                []string // where the children are; nil: they cannot be spawned
		says              string   // why not
		more              bool     // of the same, for which there is the level full
	}{
		{name: "on the hosts of the job", hosts: a + ":1," + b + ":1", at: []string{a, b}},
		{name: "where slots are free", more: true, hosts: a + ":1," + c + ":2", args: []string{"-n", "1"}, at: []string{c, c}},
		{name: "on a host of the job that has no rank", hosts: a + ":1," + b + ":1", args: []string{"-n", "1"}, info: "host=" + b, at: []string{b, b}},
		{name: "on one host from one", more: true, hosts: b + ":3", args: []string{"-n", "1"}, at: []string{b, b}},
		{name: "by the key host", more: true, hosts: a + ":1," + b + ":1", info: "host=" + c, at: []string{c, c}},
		{name: "by the key hostfile", hosts: a + ":1," + b + ":1", info: "hostfile=" + file, at: []string{c, b}},
		{name: "on another host than the only one", more: true, hosts: a + ":2", info: "host=" + c, says: "name all hosts when the job is started"},
		{name: "on a host that is not there", hosts: a + ":1," + b + ":1", info: "host=nowhere.invalid", says: "nowhere.invalid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.more {
				effort.Need(t, effort.Full, "it starts a job across hosts")
			}
			run := l.run(t, acrossJob{program: "spawn", hosts: tt.hosts, args: tt.args, env: []string{envSpawn + "=elsewhere", envSpawnInfo + "=" + tt.info}})
			run.wantClean(t)
			if tt.at == nil {
				if n := strings.Count(run.stdout, "cannot spawn: "); n != cmp.Or(strings.Count(tt.hosts, ":1"), 2) || !strings.Contains(run.stdout, tt.says) {
					t.Errorf("%d ranks say why not, want %q:\n%s%s", n, tt.says, run.stdout, run.stderr)
				}
			}
			for r, at := range tt.at {
				if want := fmt.Sprintf(`child %d is at \[.*\b%s/`, r, regexp.QuoteMeta(at)); !regexp.MustCompile(want).MatchString(run.stdout) {
					t.Errorf("nothing matches %s:\n%s%s", want, run.stdout, run.stderr)
				}
			}
		})
	}
}
