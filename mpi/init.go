//go:build linux

package mpi

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// process is this process's part in its job: the jobs of its ranks, in their order,
// once Init or Main has joined. RunThreads has no part in it.
var process atomic.Pointer[[]*job]

// Init joins the parallel job that the launcher of this process started (fitrun, or
// another that docs/LAUNCH.md names), or a job of one rank without a launcher, and returns the world communicator, of all
// its ranks (MPI 4.1, section 11.2). It waits for the slowest rank. Most programs
// use Main instead. It may be called once, and not in a process of several ranks:
// which of them would it be?
func Init() (*Comm, error) {
	if process.Load() != nil {
		return nil, opErrorf(ErrOther, "Init", "called twice, or after Main")
	}
	session, err := boot.Find(os.Environ())
	if err != nil {
		return nil, opError(ErrOther, "Init", err)
	}
	jobs, err := join([]boot.Session{session})
	if err != nil {
		return nil, err
	}
	jobs[0].markMain()
	return jobs[0].world, nil
}

// Finalize waits until all ranks have called it, flushes what is buffered and
// ends communication (MPI 4.1, section 11.2). A process that exits without it
// counts as failed. In a process of several ranks it is an error: Main finalizes
// each rank when its function returns.
func Finalize() error {
	jobs := process.Load()
	switch {
	case jobs == nil:
		return opErrorf(ErrOther, "Finalize", "Init was not called")
	case len(*jobs) > 1:
		return opErrorf(ErrOther, "Finalize", "this process has %d ranks: Main finalizes each when its function returns", len(*jobs))
	}
	return (*jobs)[0].finalize(context.Background(), nil)
}

// Initialized reports whether Init was called, or Main has joined, in this process
// (MPI 4.1, section 11.2).
func Initialized() bool { return process.Load() != nil }

// Finalized reports whether communication has ended for all ranks of this process
// that Init or Main has joined (MPI 4.1, section 11.2).
func Finalized() bool {
	jobs := process.Load()
	if jobs == nil {
		return false
	}
	for _, j := range *jobs {
		if !j.finalized.Load() {
			return false
		}
	}
	return true
}

// join joins the job that the sessions of the ranks of this process lead to. It takes
// the sessions over. All join or none does; the error is the first.
func join(sessions []boot.Session) ([]*job, error) {
	addWorkers(len(sessions))
	ctx, cancel := context.WithCancelCause(context.Background())
	jobs, err := joinAll(ctx, cancel, sessions)
	if err == nil && !process.CompareAndSwap(nil, &jobs) {
		err = opErrorf(ErrOther, "Init", "called twice")
	}
	if err == nil {
		return jobs, nil // whose contexts derive from ctx
	}
	cancel(err)
	addWorkers(-len(sessions))
	for r, j := range jobs {
		if j != nil {
			err = errors.Join(err, j.kill(), j.leave(), j.local.leave()) // nobody has called anything
		} else {
			err = errors.Join(err, sessions[r].Close())
		}
	}
	return nil, err
}

// joinAll joins side by side: every rank waits for every other. The first that fails
// calls off the rest, by cancel.
func joinAll(ctx context.Context, cancel context.CancelCauseFunc, sessions []boot.Session) ([]*job, error) {
	jobs := make([]*job, len(sessions))
	set, err := settingsOf(sessions[0].Info(), os.Getenv)
	if err != nil {
		return jobs, opError(ErrArg, "Init", err)
	}
	l, err := newLocal(sessions[0].Info(), set.transport)
	if err != nil {
		return jobs, opError(ErrOther, "Init", err)
	}
	var wg sync.WaitGroup
	for r, s := range sessions {
		wg.Go(func() {
			j, err := joinOne(ctx, s, l)
			if jobs[r] = j; err != nil {
				cancel(opError(ErrOther, "Init", err))
			}
		})
	}
	wg.Wait()
	return jobs, context.Cause(ctx)
}

// joinOne joins one rank. The job is to be left if it is not nil, even if there is an error.
func joinOne(ctx context.Context, session boot.Session, l *local) (*job, error) {
	info := session.Info()
	set, err := settingsOf(info, os.Getenv)
	if err != nil {
		return nil, errors.Join(err, l.leave())
	}
	j, err := startJob(ctx, session, set, l)
	if err != nil {
		return nil, err
	}
	j.setAbort(j.abortProcess)
	return j, j.serveMetrics()
}
