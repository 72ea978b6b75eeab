package mpi

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine"
)

// runMortals runs n thread ranks that may die, which return errors.
func runMortals(n int, fn func(c *Comm) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return Threads{Ranks: n, FaultTolerant: true}.Run(ctx, func(_ context.Context, c *Comm) error {
		c.SetErrhandler(ErrorsReturn)
		return fn(c)
	})
}

// ledger is what ranks were told, which must be the same for all.
type ledger struct {
	mu   sync.Mutex
	said map[string]string
}

func (l *ledger) note(what, said string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said == nil {
		l.said = map[string]string{}
	}
	if before, ok := l.said[what]; ok && before != said {
		return fmt.Errorf("%s: %s here, %s elsewhere", what, said, before)
	}
	l.said[what] = said
	return nil
}

// TestAgreeAmongTheDying: ranks die before, between and during agreements, some of them having been
// told the outcome.
func TestAgreeAmongTheDying(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 2 + rng.IntN(6)
		const rounds = 6
		dies, how, tests := make([]int, n), make([]int, n), make([]int, n)
		for r := range dies {
			dies[r], how[r], tests[r] = rng.IntN(3*rounds), rng.IntN(4), rng.IntN(100)
		}
		dies[rng.IntN(n)] = rounds // one lives
		var l ledger
		err := runMortals(n, func(c *Comm) error {
			for k := range rounds {
				if dies[c.Rank()] == k {
					flag := ^(1 << c.Rank())
					switch how[c.Rank()] {
					case 0: // before
					case 1:
						c.Iagree(&flag)
					case 2:
						r := c.Iagree(&flag)
						for range tests[c.Rank()] {
							r.Test()
						}
					case 3:
						got, err := c.Agree(flag)
						if err := l.note(fmt.Sprint("agreement ", k), fmt.Sprintf("%x %v", got, ClassOf(err))); err != nil {
							return err
						}
					}
					c.Die()
				}
				got, err := c.Agree(^(1 << c.Rank()))
				if err != nil && !errors.Is(err, ErrProcFailed) {
					return err
				}
				if got>>c.Rank()&1 != 0 {
					return fmt.Errorf("Agree gives %x, without what rank %d has given", got, c.Rank())
				}
				if err := l.note(fmt.Sprint("agreement ", k), fmt.Sprintf("%x %v", got, ClassOf(err))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("seed %d, %d ranks that die in rounds %v by ways %v: %v", seed, n, dies, how, err)
		}
	}
}

// TestShrinkToOne: rank after rank dies, each in another moment of a Shrink, until one is left. On
// every communicator in between everything works, or says that a rank has failed.
func TestShrinkToOne(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		n := 2 + rng.IntN(6)
		order, how := rng.Perm(n), make([]int, n)
		for r := range how {
			how[r] = rng.IntN(3)
		}
		var l ledger
		err := runMortals(n, func(c *Comm) error {
			mine := slices.Index(order, c.Rank()) // dies in that round; the last one lives
			on := c
			for k := range n {
				if mine == k && k < n-1 {
					switch how[mine] {
					case 0:
						on.Ishrink()
					case 1:
						on.Shrink()
					}
					c.Die()
				}
				d, err := on.Shrink()
				if err != nil {
					return err
				}
				if err := l.note(fmt.Sprint("Shrink ", k), fmt.Sprint(d.group, d.p2p)); err != nil {
					return err
				}
				if d.group[d.Rank()] != engine.PeerID(c.Rank()) || d.Size() > on.Size() {
					return fmt.Errorf("Shrink of %v makes %v of the world ranks %v", on, d, d.group)
				}
				on = d
			}
			for on.Size() > 1 { // those that have died late
				d, err := on.Shrink()
				if err != nil {
					return err
				}
				on = d
			}
			return Barrier(on)
		})
		if err != nil {
			t.Fatalf("seed %d, %d ranks that die in the order %v by ways %v: %v", seed, n, order, how, err)
		}
	}
}

// A rank may die, by another goroutine of its own, when its function has returned or is about to.
// It has died then as any other; the job goes on.
func TestDeathAfterReturn(t *testing.T) {
	for _, policy := range []string{"assist", "worker", "caller"} {
		t.Setenv("FITMPI_PROGRESS", policy)
		for what, isTime := range map[string]func(c *Comm) bool{
			"before":      func(*Comm) bool { return true },
			"in Finalize": func(c *Comm) bool { return c.job.finalizing.Load() },
		} {
			err := runMortals(3, func(c *Comm) error {
				if c.Rank() == 1 {
					died := make(chan struct{})
					go func() {
						defer close(died)
						for !isTime(c) {
							runtime.Gosched()
						}
						c.Die()
					}()
					if what == "before" {
						<-died
					}
					return nil
				}
				for {
					failed, err := c.Failed()
					if err != nil {
						return err
					}
					if failed.Size() == 1 {
						break
					}
					runtime.Gosched()
				}
				rest, err := c.Shrink()
				if err != nil {
					return err
				}
				return Barrier(rest)
			})
			if err != nil {
				t.Errorf("%s, %s: %v", policy, what, err)
			}
		}
	}
}
