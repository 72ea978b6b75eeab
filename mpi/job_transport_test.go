//go:build linux && !fitmpi_portable

package mpi_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// ways is how the calling rank reaches all ranks.
func ways(c *mpi.Comm) string {
	var all []string
	for r := range c.Size() {
		all = append(all, c.Transport(r))
	}
	return strings.Join(all, " ")
}

// everyWay sends short and long messages between all ranks, and runs collectives.
func everyWay(c *mpi.Comm) error {
	in, out := make([]int, 100_000), make([]int, 100_000)
	for shift := range c.Size() {
		to, from := (c.Rank()+shift)%c.Size(), (c.Rank()+c.Size()-shift)%c.Size()
		for _, n := range []int{1, 1000, len(out)} {
			out[n-1] = c.Rank()*10 + shift
			if _, err := mpi.Sendrecv(c, out[:n], to, n, in[:n], from, n); err != nil || in[n-1] != from*10+shift {
				return fmt.Errorf("%d elements from %d: got %d: %w", n, from, in[n-1], err)
			}
		}
	}
	for _, n := range []int{1, 5000} {
		sum := make([]int, n)
		one := make([]int, n)
		for i := range one {
			one[i] = c.Rank() + i
		}
		if err := mpi.Allreduce(c, one, sum, mpi.Sum); err != nil {
			return err
		}
		if want := c.Size()*(c.Size()-1)/2 + c.Size()*(n-1); sum[n-1] != want {
			return fmt.Errorf("the sum of %d elements ends in %d, want %d", n, sum[n-1], want)
		}
		if err := mpi.Bcast(c, sum, c.Size()-1); err != nil {
			return err
		}
	}
	return mpi.Barrier(c)
}

// Thread ranks reach each other in memory, unless they are told otherwise, and all agree on which
// ranks reach which, and how.
func TestRunThreadsTransports(t *testing.T) {
	for _, test := range []struct {
		transport, cliques string
		want               [4]string // by rank
	}{
		{"", "", [4]string{"self thread thread thread", "thread self thread thread", "thread thread self thread", "thread thread thread self"}},
		{"shm", "1", [4]string{"self thread thread thread", "thread self thread thread", "thread thread self thread", "thread thread thread self"}},
		{"tcp", "", [4]string{"self tcp tcp tcp", "tcp self tcp tcp", "tcp tcp self tcp", "tcp tcp tcp self"}},
		{"auto", "2", [4]string{"self thread tcp tcp", "thread self tcp tcp", "tcp tcp self thread", "tcp tcp thread self"}},
		{"auto", "3", [4]string{"self thread tcp tcp", "thread self tcp tcp", "tcp tcp self tcp", "tcp tcp tcp self"}},
	} {
		for _, policy := range []string{"worker", "assist", "caller"} {
			t.Run(fmt.Sprintf("%s-%s/%s", test.transport, test.cliques, policy), func(t *testing.T) {
				t.Setenv("FITMPI_TRANSPORT", test.transport)
				t.Setenv("FITMPI_CLIQUES", test.cliques)
				t.Setenv("FITMPI_PROGRESS", policy)
				err := mpi.RunThreads(4, func(_ context.Context, c *mpi.Comm) error {
					if got := ways(c); got != test.want[c.Rank()] {
						return fmt.Errorf("ways are %q, want %q", got, test.want[c.Rank()])
					}
					return everyWay(c)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Transport speaks of ranks of its communicator.
func TestTransportOfComm(t *testing.T) {
	t.Setenv("FITMPI_CLIQUES", "2")
	err := mpi.RunThreads(4, func(_ context.Context, c *mpi.Comm) error {
		if got := c.Transport(-1) + c.Transport(4); got != "" {
			return fmt.Errorf("ranks that are none are reached by %q", got)
		}
		back, err := c.Split(0, -c.Rank())
		if err != nil {
			return err
		}
		for r := range c.Size() {
			if got, want := back.Transport(c.Size()-1-r), c.Transport(r); got != want {
				return fmt.Errorf("rank %d is reached by %q in one communicator and %q in another", r, want, got)
			}
		}
		if got := c.Self().Transport(0); got != "self" {
			return fmt.Errorf("itself is reached by %q", got)
		}
		return everyWay(back)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTransportErrors(t *testing.T) {
	nothing := func(context.Context, *mpi.Comm) error { return nil }
	for _, test := range []struct{ name, value, says string }{
		{"FITMPI_TRANSPORT", "pigeon", "choose auto, tcp or shm"},
		{"FITMPI_CLIQUES", "0", "need a number from 1"},
		{"FITMPI_CLIQUES", "two", "need a number from 1"},
	} {
		t.Run(test.value, func(t *testing.T) {
			t.Setenv(test.name, test.value)
			wantText(t, mpi.RunThreads(2, nothing), nil, test.name+"="+test.value, test.says)
		})
	}
	t.Setenv("FITMPI_TRANSPORT", "shm")
	t.Setenv("FITMPI_CLIQUES", "2")
	wantText(t, mpi.RunThreads(2, nothing), nil, "FITMPI_TRANSPORT=shm", "ranks 0 (pid", "and 1 (pid", "share no memory")
}

// However many thread ranks there are, the scheduler gets no more Ps than twice the cores.
func TestRunThreadsMany(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	before := runtime.GOMAXPROCS(0)
	n := 24
	if raceEnabled || testing.Short() {
		n = 8
	}
	err := mpi.RunThreads(n, func(_ context.Context, c *mpi.Comm) error {
		if now := runtime.GOMAXPROCS(0); now > before+runtime.NumCPU() {
			return fmt.Errorf("GOMAXPROCS is %d, was %d, with %d cores", now, before, runtime.NumCPU())
		}
		sum := []int{0}
		for range 10 {
			if err := mpi.Allreduce(c, []int{1}, sum, mpi.Sum); err != nil || sum[0] != n {
				return fmt.Errorf("%d ranks counted: %w", sum[0], err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
