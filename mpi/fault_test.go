package mpi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine"
)

// tolerant runs a job of thread ranks that goes on without its dead; errors are returned.
func tolerant(t *testing.T, n int, fn func(world *Comm) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	err := Threads{Ranks: n, FaultTolerant: true}.Run(ctx, func(_ context.Context, world *Comm) error {
		world.SetErrhandler(ErrorsReturn)
		return fn(world)
	})
	if err != nil {
		t.Error(err)
	}
}

func wantClass(what string, err error, class ErrorClass) error {
	if ClassOf(err) != class {
		return fmt.Errorf("%s: %v, want %v", what, err, class)
	}
	return nil
}

// TestDeath: a rank dies; the others finish, in any state that they are in.
func TestDeath(t *testing.T) {
	for n := 2; n <= 5; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			tolerant(t, n, func(c *Comm) error {
				if c.Rank() == n-1 {
					c.Die()
				}
				if err := wantClass("Barrier", Barrier(c), ErrProcFailed); err != nil {
					return err
				}
				g, err := c.Failed()
				if err != nil {
					return err
				}
				if want := []engine.PeerID{engine.PeerID(n - 1)}; !slices.Equal(g.members, want) {
					return fmt.Errorf("failed %v, want %v", g.members, want)
				}
				return nil
			})
		})
	}
}

// TestRevokeAll: one rank revokes what the others wait in.
func TestRevokeAll(t *testing.T) {
	tolerant(t, 5, func(c *Comm) error {
		d, err := c.Dup(nil)
		if err != nil {
			return err
		}
		if c.Rank() == 3 {
			if err := d.Revoke(); err != nil {
				return err
			}
		} else if _, err := Recv(d, make([]int, 1), (c.Rank()+1)%5, 1); ClassOf(err) != ErrRevoked {
			return fmt.Errorf("Recv: %v", err)
		}
		if !d.IsRevoked() || c.IsRevoked() {
			return errors.New("revoked?")
		}
		return Barrier(c)
	})
}
