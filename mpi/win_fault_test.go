package mpi

import (
	"fmt"
	"testing"
)

// TestWinDeath: a rank dies that others need for a window, at which they wait in each of the ways
// there are.
func TestWinDeath(t *testing.T) {
	ways := map[string]func(w *Win, dead int) error{
		"fence": func(w *Win, _ int) error { return w.Fence(0) },
		"lock":  func(w *Win, dead int) error { return w.Lock(LockExclusive, dead, 0) },
		"start": func(w *Win, dead int) error {
			g, err := w.Group().Incl(dead)
			if err != nil {
				return err
			}
			return w.Start(g, 0)
		},
		"wait": func(w *Win, dead int) error {
			g, err := w.Group().Incl(dead)
			if err != nil {
				return err
			}
			if err := w.Post(g, 0); err != nil {
				return err
			}
			return w.Wait()
		},
		"flush": func(w *Win, dead int) error {
			if err := w.Lock(LockShared, dead, NoCheck); err != nil {
				return err
			}
			if err := Put(w, []int64{1}, dead, w.Group().Rank()); err != nil {
				return err
			}
			return w.Unlock(dead)
		},
		"get": func(w *Win, dead int) error {
			if err := w.Lock(LockShared, dead, NoCheck); err != nil {
				return err
			}
			_, err := Rget(w, make([]int64, 1), dead, 0).Wait()
			return err
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			tolerant(t, 3, func(c *Comm) error {
				w, _, err := WinAllocate[int64](c, c.Size(), nil) // a place for each, as a rank that is served at once writes at once
				if err != nil {
					return err
				}
				w.SetErrhandler(ErrorsReturn)
				const dead = 2
				if c.Rank() == dead { // so that no other rank gets the lock
					if err := w.Lock(LockExclusive, dead, 0); err != nil {
						return err
					}
				}
				if err := Barrier(c); err != nil && c.Rank() == dead {
					return err
				}
				if c.Rank() == dead {
					c.Die()
				}
				if name == "flush" || name == "get" { // which may be served before it dies
					if err := wantClass("Barrier", Barrier(c), ErrProcFailed); err != nil {
						return err
					}
				}
				return wantClass(name, way(w, dead), ErrProcFailed)
			})
		})
	}
}

// TestWinDeathOfHolder: a rank that waits for a lock whose holder dies is told so, and then the
// lock can be had.
func TestWinDeathOfHolder(t *testing.T) {
	for _, long := range []bool{false, true} {
		t.Run(fmt.Sprint("long put ", long), func(t *testing.T) {
			tolerant(t, 3, func(c *Comm) error {
				n := 1
				if long {
					n = 1 << 20
				}
				w, _, err := WinAllocate[int64](c, n, nil)
				if err != nil {
					return err
				}
				w.SetErrhandler(ErrorsReturn)
				const holder = 2
				if c.Rank() == holder {
					if err := w.Lock(LockExclusive, 0, 0); err != nil {
						return err
					}
					if err := Put(w, make([]int64, n), 0, 0); err != nil {
						return err
					}
				}
				if err := Barrier(c); err != nil && c.Rank() == holder {
					return err
				}
				if c.Rank() == holder {
					c.Die()
				}
				if c.Rank() == 0 {
					return nil
				}
				// Asked before the death is known, or after it: the one is told, the other gets the
				// lock.
				if err := w.Lock(LockExclusive, 0, 0); err == nil {
					return w.Unlock(0)
				} else if ClassOf(err) != ErrProcFailed {
					return err
				}
				if err := w.Lock(LockExclusive, 0, 0); err != nil {
					return err
				}
				if err := Put(w, []int64{1}, 0, 0); err != nil {
					return err
				}
				return w.Unlock(0)
			})
		})
	}
}
