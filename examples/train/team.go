package main

import (
	"context"
	"errors"
	"os"

	"github.com/fitmpi/fitmpi/mpi"
)

// torn is the step of a rank whose parameters are not whole.
const torn = -1

// past is what has happened to the team. Ranks that come later hear of it.
type past struct {
	Resume   int  // the step of the checkpoint that all began with; 0: none
	Lost     int  // ranks that have died
	Come     int  // ranks that were started since
	HasGrown bool // as -grow wants
}

// run trains until all steps are done, whichever ranks come and die meanwhile, if the job goes on
// without the dead.
func (t *trainer) run(ctx context.Context) error {
	for isNew := t.step == torn; ; isNew = true { // the team
		var err error
		if isNew {
			err = t.share()
		}
		if err == nil {
			err = t.steps(ctx)
		}
		good := 1
		switch {
		case errors.Is(err, mpi.ErrProcFailed) || errors.Is(err, mpi.ErrRevoked):
			good = 0
			if err := t.c.Revoke(); err != nil { // no rank waits for this one
				return err
			}
		case err != nil:
			return err
		}
		all, broken := t.c.Agree(good)
		switch {
		case broken != nil && !errors.Is(broken, mpi.ErrProcFailed):
			return broken
		case all == 0 || broken != nil:
			err = t.shrink()
		case t.step == t.total:
			return nil
		default:
			t.past.HasGrown = true
			err = t.grow(t.o.grow)
		}
		if err != nil {
			return err
		}
	}
}

// isToGrow reports whether it is time for the ranks of -grow: the same to all ranks.
func (t *trainer) isToGrow() bool {
	return t.o.grow > 0 && t.step >= t.o.growStep && !t.past.HasGrown
}

// shrink leaves the dead out, and starts others instead if -replace says so.
func (t *trainer) shrink() error {
	c, err := t.c.Shrink()
	if err != nil {
		return err
	}
	lost := t.c.Size() - c.Size()
	t.c, t.past.Lost = c, t.past.Lost+lost
	if !t.o.replace {
		return nil
	}
	return t.grow(lost)
}

// grow starts n more ranks of this program, which go behind the others.
func (t *trainer) grow(n int) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	more, err := t.c.Spawn(program, t.o.args, n, 0, nil)
	if err != nil {
		return err
	}
	t.c, err = more.Merge(false)
	t.past.Come += n
	return errors.Join(err, more.Disconnect())
}

// join is what a rank begins with: the team, and whether that was there before the rank.
func join(world *mpi.Comm) (c *mpi.Comm, isLate bool, err error) {
	parent := world.Parent()
	if parent == nil {
		return world, false, nil
	}
	c, err = parent.Merge(true)
	return c, true, errors.Join(err, parent.Disconnect())
}

// share gives all ranks the state of the one that has come furthest: every rank has all of it.
func (t *trainer) share() error {
	furthest, err := mpi.AllreduceValue(t.c, mpi.Loc[int]{Value: t.step, Index: int64(t.c.Rank())}, mpi.MaxLoc[int])
	switch {
	case err != nil:
		return err
	case furthest.Value == torn:
		return errors.New("no rank that lives has the parameters")
	}
	root := int(furthest.Index)
	if t.c.Rank() != root {
		t.step = torn // until all of it has come
	}
	for _, state := range [][]float64{t.net.params, t.velocity} {
		if err := mpi.Bcast(t.c, state, root); err != nil {
			return err
		}
	}
	pasts := []past{t.past}
	if err := mpi.Bcast(t.c, pasts, root); err != nil {
		return err
	}
	t.step, t.past = furthest.Value, pasts[0]
	return nil
}
