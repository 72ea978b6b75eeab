//go:build linux

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// process is the job of this process, once Init has been called.
var process atomic.Pointer[job]

// Init joins the parallel job that the launcher of this process started, or a
// job of one rank without a launcher, and returns the world communicator, of all
// its ranks (MPI 4.1, section 11.2). It waits for the slowest rank. Most programs
// use Main instead. It may be called once.
func Init() (*Comm, error) {
	session, err := boot.Find(os.Environ())
	if err != nil {
		return nil, opError(ErrOther, "Init", err)
	}
	info := session.Info()
	addWorkers(1)
	cfg, err := engineConfig(info, os.Getenv)
	if err != nil {
		return nil, opError(ErrArg, "Init", errors.Join(err, session.Close()))
	}
	j, err := startJob(context.Background(), session, cfg)
	if err != nil {
		return nil, opError(ErrOther, "Init", errors.Join(err, session.Close()))
	}
	j.abort = j.abortProcess
	if !process.CompareAndSwap(nil, j) {
		return nil, opError(ErrOther, "Init", errors.Join(errors.New("called twice"), j.engine.Kill(), j.leave()))
	}
	if err := j.serveMetrics(info, os.Getenv); err != nil {
		return nil, opError(ErrOther, "Init", errors.Join(err, j.engine.Kill(), j.leave()))
	}
	return j.world, nil
}

// Finalize waits until all ranks have called it, flushes what is buffered and
// ends communication (MPI 4.1, section 11.2). A process that exits without it
// counts as failed.
func Finalize() error {
	j := process.Load()
	if j == nil {
		return opErrorf(ErrOther, "Finalize", "Init was not called")
	}
	return j.finalize(context.Background())
}

// Initialized reports whether Init was called (MPI 4.1, section 11.2).
func Initialized() bool { return process.Load() != nil }

// Finalized reports whether Finalize was called (MPI 4.1, section 11.2).
func Finalized() bool {
	j := process.Load()
	return j != nil && j.finalized.Load()
}

// Abort ends the job of c at once: the launcher shows the message and ends every
// rank, with the given exit code, 1 to 255 (MPI 4.1, section 9.4). It does not
// return, except to thread ranks.
func (c *Comm) Abort(code int, message string) {
	c.job.abort(min(max(code, 1), 255), message)
}

// abortProcess ends the job of a process rank.
func (j *job) abortProcess(code int, message string) {
	if j.ctx.Err() != nil {
		// The job is ending already; whoever ended it has said why.
		j.session.Close()
		os.Exit(code)
	}
	if err := j.session.Abort(code, message); err != nil {
		fmt.Fprintf(os.Stderr, "mpi: rank %d: %s\n", j.world.rank, message)
	}
	j.session.Close()
	os.Exit(code)
}

// verdictWait is how long a rank that aborts because another is gone lets those speak first who know why.
const verdictWait = 100 * time.Millisecond

// awaitVerdict waits for the end of the job by somebody else: the launcher has seen a process die, or has been told why by
// the process itself, and says the cause; all that we could say is that it is gone.
func (j *job) awaitVerdict() {
	select {
	case <-j.ctx.Done():
	case <-time.After(verdictWait):
	}
}

// Main runs fn as this process's rank and exits: it calls Init and Finalize,
// turns an error or a panic of fn into the end of the whole job with one
// message, and sets the exit code. ctx ends when the job is aborted or the
// process gets SIGINT or SIGTERM; calls that wait then return errors.
//
//	func main() {
//		mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
//			...
//		})
//	}
func Main(fn func(ctx context.Context, world *Comm) error) {
	world, err := Init()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	j := world.job
	j.onSignal()
	if err := protectMain(j, fn); err != nil {
		if errors.Is(err, ErrProcFailed) {
			j.awaitVerdict()
		}
		j.abortProcess(1, fmt.Sprintf("rank %d: %v", world.rank, err))
	}
	if !j.finalized.Load() {
		if err := j.finalize(j.ctx); err != nil {
			j.abortProcess(1, fmt.Sprintf("rank %d: %v", world.rank, err))
		}
	}
}

// protectMain runs fn; a panic ends the job with its stack.
func protectMain(j *job, fn func(context.Context, *Comm) error) error {
	defer func() {
		if r := recover(); r != nil {
			stack := debug.Stack()
			fmt.Fprintf(os.Stderr, "panic on rank %d: %v\n\n%s", j.world.rank, r, stack)
			j.abortProcess(2, fmt.Sprintf("rank %d panicked: %v", j.world.rank, r))
		}
	}()
	return fn(j.ctx, j.world)
}

// exitGrace is how long fn may take to return after a signal.
const exitGrace = 2 * time.Second

// onSignal ends the job's context on SIGINT and SIGTERM, and the process if the
// program does not return soon.
func (j *job) onSignal() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	go func() { // ends with the process
		sig := <-c
		j.end(fmt.Errorf("signal: %v", sig))
		time.Sleep(exitGrace)
		os.Exit(128 + int(sig.(syscall.Signal)))
	}()
}
