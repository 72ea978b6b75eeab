//go:build linux

package chaos

import (
	"errors"

	"github.com/fitmpi/fitmpi/mpi"
)

// recovery is the life of a rank in a job that goes on without those that die: generations, each
// with one communicator of all that live, which is shrunk after a failure. What ranks do next they
// decide by Agree alone, so all that live do the same.
type recovery struct {
	o   *orders
	x   *exchange
	p   *phone
	end report
}

// run goes on until all ranks that live have agreed that it is over.
func (v *recovery) run(world *mpi.Comm) (report, error) {
	base, err := world.Dup(nil)
	for generation := 0; err == nil; generation++ {
		var over bool
		if over, err = v.generation(base, generation); err != nil || over {
			break
		}
		var next *mpi.Comm
		if next, err = base.Shrink(); err != nil {
			break
		}
		v.end.Recoveries++
		err = base.Free()
		base = next
	}
	if err == nil {
		v.end.Left = base.Size()
		_, err = world.DetachJobBuffer()
	}
	return v.end, err
}

// generation runs epochs until the end or a failure, and says which, as all ranks of base that live
// have agreed. An error is one that no failure excuses.
func (v *recovery) generation(base *mpi.Comm, number int) (over bool, err error) {
	cs, failure := newComms(base)
	if failure != nil {
		base.Revoke() // others may wait in the middle of a Dup
	}
	made, err := agree(base, failure == nil)
	if err != nil || !made {
		return false, errors.Join(err, v.excuse(failure), cs.free())
	}
	v.x.onError = func(error) { cs.revoke() }
	for epoch := 0; failure == nil && !over; epoch++ {
		if failure = v.x.epoch(cs, number<<16|epoch); failure == nil {
			v.end.Epochs++
			over, failure = cs.isOver(v.p.stop.Load())
		}
		if v.end.Epochs == 1 && number == 0 {
			v.p.say(report{Running: true})
		}
	}
	if failure != nil {
		cs.revoke()
	}
	if err := v.excuse(failure); err != nil {
		return false, err
	}
	if over, err = agree(base, failure == nil); err != nil {
		return false, err
	}
	return over, cs.free()
}

// excuse passes over errors that tell of failures.
func (v *recovery) excuse(err error) error {
	for _, c := range []mpi.ErrorClass{mpi.ErrProcFailed, mpi.ErrProcFailedPending, mpi.ErrRevoked} {
		if errors.Is(err, c) && !isWrong(err) {
			return nil
		}
	}
	return err
}

// agree is whether all ranks of c that live say so: the same at all of them.
func agree(c *mpi.Comm, says bool) (bool, error) {
	flag := 0
	if says {
		flag = 1
	}
	flag, err := c.Agree(flag)
	if errors.Is(err, mpi.ErrProcFailed) { // the value is agreed on none the less
		err = nil
	}
	return flag == 1, err
}

// revoke ends everything that is waited for on the communicators.
func (cs *comms) revoke() {
	cs.each(func(c **mpi.Comm) error {
		if *c != nil {
			(*c).Revoke()
		}
		return nil
	})
}
