package mpi

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// process is this process's part in its job: the jobs of its ranks, in their order,
// once Init, Main or SessionInit has joined. RunThreads has no part in it.
var process atomic.Pointer[[]*job]

// worldJobs is process once Init or Main was called.
var worldJobs atomic.Pointer[[]*job]

// processMu is held by a caller that joins the job of this process.
var processMu sync.Mutex

// processErr is why this process could not join its launcher's job: it cannot try again. Guarded by
// processMu.
var processErr error

// Init joins the parallel job that the launcher of this process started (fitrun, or another that
// docs/LAUNCH.md names), or a job of one rank without a launcher, and returns the world
// communicator, of all its ranks (MPI 4.1, section 11.2). It blocks until all ranks of the job have
// joined. Most programs use Main instead. It may be called once, and not in a process of several
// ranks, since it could not say which of them it is for. Sessions may be open already.
func Init() (*Comm, error) {
	processMu.Lock()
	defer processMu.Unlock()
	if Initialized() {
		return nil, opErrorf(ErrOther, "Init", "called twice, or after Main")
	}
	jobs, err := initWorld("Init", findOne)
	if err != nil {
		return nil, err
	}
	jobs[0].markMain()
	return jobs[0].world, nil
}

// findOne is boot.FindAll for a process of one rank.
func findOne(environ []string) ([]boot.Session, error) {
	if n, err := ranksAsked(); err != nil || n > 1 {
		return nil, cmp.Or(err, fmt.Errorf("%s=%d: only Main runs several ranks in a process", boot.RanksVariable, n))
	}
	s, err := boot.Find(environ)
	if err != nil {
		return nil, err
	}
	return []boot.Session{s}, nil
}

// initWorld opens the world of the ranks of this process, and joins if no session has.
//
// Preconditions:
//   - processMu is held, and no world was opened.
func initWorld(op string, find func([]string) ([]boot.Session, error)) ([]*job, error) {
	jobs, fresh, err := joinProcess(context.Background(), op, find)
	if err != nil {
		return nil, err
	}
	if !fresh {
		j := jobs[0] // sessions make processes of one rank join
		defer j.release()
		told := j.tools.newCall(op).begin()
		if err := j.openWorld(op); err != nil {
			told.endInit(j, err)
			return nil, err
		}
		told.endInit(j, nil)
	}
	worldJobs.Store(&jobs)
	return jobs, nil
}

// joinProcess makes the process join its job, unless it has. If it had, the first of its ranks is
// held: call release.
//
// Preconditions:
//   - processMu is held.
func joinProcess(ctx context.Context, op string, find func([]string) ([]boot.Session, error)) (jobs []*job, fresh bool, err error) {
	if p := process.Load(); p != nil {
		if (*p)[0].hold() {
			return *p, false, nil
		}
		addWorkers(-len(*p))
	}
	if processErr != nil {
		return nil, false, processErr
	}
	sessions, err := find(os.Environ())
	if err != nil {
		return nil, false, opError(ErrOther, op, err)
	}
	if jobs, err = join(ctx, op, sessions); err != nil {
		if sessions[0].Info().Source != sourceNone {
			processErr = err
		}
		return nil, false, err
	}
	process.Store(&jobs)
	return jobs, true, nil
}

// Finalize waits until all ranks have called it, flushes what is buffered and ends communication
// (MPI 4.1, section 11.2). With FITMPI_CHECK=1 requests that are not complete are an error of class
// ErrRequest, and messages that were not received one of ErrOther. A process that exits without it
// counts as failed. In a process of several ranks it is an error: Main finalizes each rank when its
// function returns. At a rank that has lost another it fails with an error of class ErrProcFailed
// and does not wait, unless the job goes on without its dead. Other ranks may wait for this one,
// and Main ends the job then.
func Finalize() error {
	jobs := worldJobs.Load()
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
func Initialized() bool { return worldJobs.Load() != nil || mainState.Load() != mainNone }

// Finalized reports whether communication has ended for all ranks of this process
// that Init or Main has joined (MPI 4.1, section 11.2).
func Finalized() bool {
	jobs := worldJobs.Load()
	if jobs == nil {
		return mainState.Load() == mainOver
	}
	for _, j := range *jobs {
		if j.worldScope.isOpen() {
			return false
		}
	}
	return true
}

// join joins the job that the sessions of the ranks of this process lead to, in the call op. It
// takes the sessions over. All join or none does; the error is the first. If within ends before,
// none does.
func join(within context.Context, op string, sessions []boot.Session) ([]*job, error) {
	addWorkers(len(sessions))
	raiseHeap()
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := context.AfterFunc(within, func() { cancel(opError(ErrOther, op, context.Cause(within))) })
	jobs, err := joinAll(ctx, cancel, op, sessions)
	if !stop() && err == nil {
		err = opError(ErrOther, op, context.Cause(within))
	}
	if err == nil {
		return jobs, nil // whose contexts derive from ctx
	}
	cancel(err)
	addWorkers(-len(sessions))
	for r, j := range jobs {
		if j != nil {
			err = errors.Join(err, j.kill(), j.leave(), j.local.leave()) // no goroutine of the program has used it
		} else {
			err = errors.Join(err, sessions[r].Close())
		}
	}
	return nil, err
}

// joinAll joins side by side: every rank waits for every other. The first that fails
// calls off the rest, by cancel.
func joinAll(ctx context.Context, cancel context.CancelCauseFunc, op string, sessions []boot.Session) ([]*job, error) {
	jobs := make([]*job, len(sessions))
	set, err := settingsOf(sessions[0].Info(), os.Getenv)
	if err != nil {
		return jobs, opError(ErrArg, op, err)
	}
	l, err := newLocal(sessions[0].Info(), set.transport)
	if err != nil {
		return jobs, opError(ErrOther, op, err)
	}
	var wg sync.WaitGroup
	for r, s := range sessions {
		wg.Go(func() {
			returned := false
			defer ifEnded(&returned, func(ended error) { cancel(opError(ErrOther, op, fmt.Errorf("a tool: %w", ended))) })
			j, err := joinOne(ctx, op, s, l)
			returned = true
			if jobs[r] = j; err != nil {
				cancel(opError(ErrOther, op, err))
			}
		})
	}
	wg.Wait()
	return jobs, context.Cause(ctx)
}

// joinOne joins one rank. The job is to be left if it is not nil, even if there is an error.
func joinOne(ctx context.Context, op string, session boot.Session, l *local) (*job, error) {
	info := session.Info()
	set, err := settingsOf(info, os.Getenv)
	if err == nil && op == sessionInit {
		err = boot.UseSessions(session)
	}
	if err != nil {
		return nil, errors.Join(err, l.leave())
	}
	j, err := startJob(ctx, op, session, set, l)
	if err != nil {
		return nil, err
	}
	j.setAbort(j.abortProcess)
	if info.Parent != "" {
		if err := j.meetParent(ctx, info.Parent); err != nil {
			return j, err
		}
	}
	return j, j.serveMetrics()
}

// local is what the ranks of this process have in common in one job.
type local struct {
	// Immutable after newLocal.
	token   string          // names this process among those of the job; "" if it wants TCP
	process *engine.Process // nil if this process has one rank, or wants TCP
	segment *shm.Segment    // memory shared with other processes of this host; nil if there is none
	why     error           // why there is none, where there might be
	bound   bound           // of the machine that it is bound to as the job begins

	mu     sync.Mutex
	within int                                // guarded by mu: ranks of this process that have not left
	common map[engine.ContextID]*commonMemory // guarded by mu: of windows whose ranks share it; nil before the first
	wins   map[engine.ContextID][]*win        // guarded by mu: the windows that live, by rank; nil before the first
}

// newLocal prepares for the ranks of this process, of which info describes one. Each
// whose job does not begin must leave.
func newLocal(info boot.Info, transport string) (*local, error) {
	l := &local{within: max(info.ProcessRanks, 1), bound: boundTo(sys.AllowedCPUs())}
	if transport == transportTCP {
		return l, nil
	}
	if info.LocalSize <= shm.MaxRanks {
		l.token = rand.Text()
		if l.within > 1 {
			l.process = engine.NewProcess(info.LocalSize)
		}
		l.why = l.open(info)
	} else {
		l.why = fmt.Errorf("%d ranks on this host: memory is shared by at most %d", info.LocalSize, shm.MaxRanks)
	}
	if l.why != nil && transport == transportShm {
		return nil, fmt.Errorf("%s=%s: %w", nameTransport, transport, l.why)
	}
	return l, nil
}

// open maps the memory that the launcher has made for the ranks of this host, if it
// has made any.
func (l *local) open(info boot.Info) error {
	if info.Segment == nil {
		return nil
	}
	if info.Bell == nil {
		return errors.New("the launcher gave a shared memory segment, but no bell")
	}
	s, err := shm.Open(info.Segment)
	if err != nil {
		return err
	}
	if s.Ranks() != info.LocalSize {
		err := fmt.Errorf("shared memory segment for %d ranks on a host of %d", s.Ranks(), info.LocalSize)
		return errors.Join(err, s.Close())
	}
	l.segment = s
	return nil
}

// leave ends the part of one rank, and of the process with the last.
//
// Preconditions:
//   - the rank's engine is closed or was never made, and no goroutine is inside a call of it.
//   - called once for a rank.
func (l *local) leave() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.within--; l.within > 0 || l.segment == nil {
		return nil
	}
	return l.segment.Close()
}
