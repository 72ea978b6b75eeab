package mpi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
)

// Checkpoint is a place where a job keeps what it must know to go on after it was started again:
// after fitrun --restart has done so because a rank died, or by hand. MPI 4.1 leaves checkpoints to
// programs.
//
//	store := &mpi.FileCheckpoint{}
//	step, found, err := store.Load(world, func(step int64, r io.Reader) error { return state.read(r) })
//	if !found {
//		state.begin()
//	}
//	for ; step < last; step++ {
//		if step%100 == 0 {
//			err = store.Save(world, step, state.write)
//		}
//		state.advance()
//	}
//	err = store.Clear(world)
//
// The methods are collective over c, an intracommunicator of any size, and block until all its
// ranks have called them and the work is done. All ranks return an error, or none does. The error
// says on which rank something failed. Only an error of the communication itself may come to some
// ranks alone. As with files of MPI (MPI 4.1, section 14.7), an error of the place is returned
// whatever the error handler of c; errors of communication go to that handler.
type Checkpoint interface {
	// Save makes what each rank's write writes the checkpoint with this version, which must be
	// greater than any that there is: the number of a time step, for example. When it returns nil
	// the checkpoint is there for good. If it fails, or the job dies within it, the one before is
	// there still, whole.
	Save(c *Comm, version int64, write func(w io.Writer) error) error
	// Load gives each rank what it has saved of the newest checkpoint to read, and returns its
	// version. read need not read to the end; it is called once, or not at all if there is no
	// checkpoint: then ok is false. That a checkpoint is of another number of ranks, or of another
	// Cartesian arrangement of them, is an error of class [ErrTopology].
	Load(c *Comm, read func(version int64, r io.Reader) error) (version int64, ok bool, err error)
	// Clear removes all checkpoints: the job has its result.
	Clear(c *Comm) error
}

// fault is what went wrong at a rank, as the others are told it.
type fault struct {
	Rank  int
	Class ErrorClass
	Text  string // "" if nothing did
}

// faultOf is err, of a rank, for the others.
func faultOf(rank int, err error) fault {
	if err == nil {
		return fault{}
	}
	return fault{rank, placeClass(err), err.Error()}
}

// error puts f for the rank c of op, whose own error, if that is what f is, was own.
func (f fault) error(c *Comm, op string, own error) error {
	switch {
	case f.Text == "":
		return nil
	case f.Rank == c.rank && own != nil:
		return opError(f.Class, op, own).on(c.rank, c.Name())
	}
	return opErrorf(f.Class, op, "rank %d: %s", f.Rank, f.Text).on(c.rank, c.Name())
}

// settle tells every rank of the first fault of any.
func settle(c *Comm, op string, own error) (fault, error) {
	return settleFault(c, op, faultOf(c.rank, own))
}

// settleFault is settle of an own fault.
func settleFault(c *Comm, op string, own fault) (fault, error) {
	var first [1]fault
	lower := func(acc, in []fault) {
		if acc[0].Text == "" || in[0].Text != "" && in[0].Rank < acc[0].Rank {
			acc[0] = in[0]
		}
	}
	err := done(iallreduce(c, op, []fault{own}, first[:], lower))
	return first[0], err
}

// placeClass is the class of an error of a file system.
func placeClass(err error) ErrorClass {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EFBIG):
		return ErrNoSpace
	case errors.Is(err, syscall.EDQUOT):
		return ErrQuota
	case errors.Is(err, syscall.EROFS):
		return ErrReadOnly
	case errors.Is(err, fs.ErrPermission):
		return ErrAccess
	case errors.Is(err, fs.ErrNotExist):
		return ErrNoSuchFile
	default:
		return ErrIO
	}
}

// arrangement is how the ranks of c are arranged, as far as what they save may depend on it.
func arrangement(c *Comm) string {
	text := fmt.Sprintf("%d ranks", c.Size())
	if c.TopoTest() == Cart {
		dims, periods, _, err := c.CartGet()
		if err == nil {
			text += fmt.Sprintf(" in a grid of %v, periodic %v", dims, periods)
		}
	}
	return text
}

// checkpointDir is where checkpoints are that name no directory.
func checkpointDir(c *Comm, dir string) string {
	return cmp.Or(dir, c.job.set.ckptDir, defaultCheckpointDir)
}

const defaultCheckpointDir = ".fitmpi-checkpoint"
