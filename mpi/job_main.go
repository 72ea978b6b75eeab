package mpi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// Abort ends the job of c at once: the launcher shows the message and ends every
// rank, with the given exit code, 1 to 255 (MPI 4.1, section 11.4.2). It does not
// return, except to ranks of RunThreads.
func (c *Comm) Abort(code int, message string) {
	told := c.begin("Abort")
	c.job.abort(min(max(code, 1), 255), message)
	told.end(nil)
}

// abortProcess ends the job of a process rank.
func (j *job) abortProcess(code int, message string) {
	if j.ctx.Err() != nil {
		// The job is ending already, and what ended it was said, with its code, unless that was a
		// signal to a process that has no launcher.
		code = cmp.Or(int(j.endCode.Load()), code)
		if j.isRenewable() {
			j.session.Abort(code, withCause(message, context.Cause(j.ctx)))
		}
		j.session.Close()
		os.Exit(code)
	}
	if err := j.session.Abort(code, message); err != nil {
		fmt.Fprintf(os.Stderr, "mpi: rank %d: %s\n", j.world.rank, message)
	}
	j.session.Close()
	os.Exit(code)
}

// withCause adds to a message why the job ends, if it does not say that itself.
func withCause(message string, cause error) string {
	if cause == nil || strings.Contains(message, cause.Error()) {
		return message
	}
	return fmt.Sprintf("%s (%v)", message, cause)
}

// verdictWait is how long a rank that aborts because another is gone waits, so that those that know
// why can speak first.
const verdictWait = 100 * time.Millisecond

// awaitVerdict waits for the end of the job from elsewhere. The launcher has seen a process die, or
// that process has told it why, and the launcher says the cause. All that this rank could say is
// that the other is gone.
func (j *job) awaitVerdict() {
	select {
	case <-j.ctx.Done():
	case <-time.After(verdictWait):
	}
}

// Main runs fn as this process's rank, between Init and Finalize, and returns if all went well. An
// error or a panic of fn ends the whole job with one message, and the process with an exit code
// that is not 0. A function that ends its goroutine, by runtime.Goexit, has failed too. Under
// fitrun --with-ft a failure of fn ends its own process only: a panic is a death, and an error a
// survivor's word that it has failed.
//
// ctx ends when the job is aborted or the process gets SIGINT or SIGTERM; calls that wait then
// return errors. world is the communicator of all ranks. Errors of operations are returned to fn,
// unless an error handler says otherwise. So fn decides what to add to them, and whether they end
// the job.
//
//	func main() {
//		mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
//			...
//		})
//	}
//
// The launcher may give the process several ranks (fitrun --ranks-per-process). Main then runs fn
// once for each, side by side, with a world of its own, and returns when all are done. A rank that
// fails ends the process, as it ends the job. What fn has in its variables is a rank's own. What
// belongs to the process is shared by its ranks: package variables, the working directory, the
// environment, standard input, the flags of package flag. So a program that may be run so keeps a
// rank's state in fn, and guards what its ranks share as between any goroutines.
//
// Without a launcher FITMPI_RANKS=4 runs fn as four ranks in this process, as [Threads] does, on
// macOS and Windows too: go run . is enough to try a program. A failure then ends the process with
// the message, and with the code of Abort if that was called.
func Main(fn func(ctx context.Context, world *Comm) error) {
	n, err := ranksAsked()
	if err == nil && n > 1 {
		mainThreads(n, fn)
		return
	}
	var jobs []*job
	if err == nil {
		jobs, err = joinMain()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	onSignal(jobs)
	if len(jobs) == 1 {
		jobs[0].main(fn) // on the goroutine of main, which some programs lock to its thread
		return
	}
	var ranks sync.WaitGroup
	for _, j := range jobs {
		ranks.Go(func() { j.main(fn) })
	}
	ranks.Wait()
}

// RanksHere is how many ranks of a job the calling process is, by what its launcher says (any that
// Init knows). It is 0 if no launcher has started the process, so that Init would make a job of one
// rank. It is for programs that do something else then, such as [RunThreads]. Call it before Init
// and Main, which make the process forget. It does not block. If what launchers say makes no sense
// it is 1, and Init says what is wrong. It is not of MPI 4.1.
func RanksHere() int { return boot.RanksHere(os.Environ()) }

// joinMain is Init for all ranks of the process.
func joinMain() ([]*job, error) {
	processMu.Lock()
	defer processMu.Unlock()
	if Initialized() {
		return nil, errMainTwice()
	}
	jobs, err := initWorld("Init", boot.FindAll)
	for _, j := range jobs {
		j.returnErrors()
	}
	return jobs, err
}

// main is the life of one rank, but for its beginning.
func (j *job) main(fn func(ctx context.Context, world *Comm) error) {
	if err := protectMain(j, fn); err != nil {
		j.fall(err)
	}
	if !j.worldScope.isOpen() {
		return
	}
	returned := false
	defer ifEnded(&returned, func(ended error) { j.fall(fmt.Errorf("Finalize: %w", ended)) })
	err := j.finalize(j.ctx, j.fall)
	if returned = true; err != nil {
		j.fall(err)
	}
}

// ifEnded calls then if the function that defers it has not returned, but is being ended with its
// goroutine, by a function of the user's that it has called. A panic goes on.
func ifEnded(returned *bool, then func(ended error)) {
	if *returned {
		return
	}
	if r := recover(); r != nil {
		panic(r)
	}
	then(engine.Ended())
}

// fall ends this process because of an error: see giveUp.
func (j *job) fall(err error) {
	isConsequence := errors.Is(err, ErrProcFailed) || errors.Is(err, ErrProcFailedPending) || errors.Is(err, ErrRevoked)
	if isConsequence && !j.launcherHasFT() {
		j.awaitVerdict()
	}
	j.giveUp(fmt.Sprintf("rank %d: %v", j.world.rank, err))
}

// isTolerant reports whether the job goes on when a rank dies (fitrun --with-ft).
func (j *job) launcherHasFT() bool { return j.session.Info().FT }

// giveUp ends this process because a rank of it cannot go on. It also ends the whole job, unless
// the job goes on without ranks that die.
func (j *job) giveUp(message string) {
	const code = 1
	if !j.launcherHasFT() || j.ctx.Err() != nil {
		j.abortProcess(code, message)
	}
	if err := j.session.Report(boot.FailedKey, message); err != nil {
		fmt.Fprintln(os.Stderr, "mpi:", message)
	}
	j.session.Close()
	os.Exit(code)
}

// protectMain runs fn. A panic ends the job with its stack, and so does fn if it ends its
// goroutine.
func protectMain(j *job, fn func(context.Context, *Comm) error) (err error) {
	returned := false
	defer func() {
		if r := recover(); r != nil {
			stack := debug.Stack()
			fmt.Fprintf(os.Stderr, "panic on rank %d: %v\n\n%s", j.world.rank, r, stack)
			if j.launcherHasFT() && j.ctx.Err() == nil { // a death like others
				j.session.Close()
				os.Exit(2)
			}
			j.abortProcess(2, fmt.Sprintf("rank %d panicked: %v", j.world.rank, r))
		}
		if !returned {
			j.fall(errGoexit) // here: this goroutine is about to end, and no caller goes on after the call
		}
	}()
	j.markMain()
	err = fn(j.ctx, j.world)
	returned = true
	return err
}

// errGoexit is what has failed in a rank whose function neither returned nor panicked.
var errGoexit = errors.New("its function ended its goroutine instead of returning (runtime.Goexit, which Fatal, FailNow and SkipNow of a test call)")

// exitGrace is how long fn may take to return after a signal, or after the end of the job.
const exitGrace = 2 * time.Second

// onSignal ends the contexts of the ranks of this process on SIGINT and SIGTERM, and
// the process if the program does not return soon.
func onSignal(jobs []*job) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	go func() { // ends with the process
		sig := <-c
		cause := fmt.Errorf("signal: %v", sig)
		code := 128 + int(sig.(syscall.Signal))
		for _, j := range jobs {
			if j.isRenewable() { // else its launcher chooses the code
				j.endCode.Store(int32(code))
			}
		}
		for _, j := range jobs {
			j.cancel(cause) // of all, before one sees that another is gone
		}
		for _, j := range jobs {
			j.end(cause)
		}
		time.Sleep(exitGrace)
		if jobs[0].isRenewable() {
			jobs[0].session.Abort(code, fmt.Sprintf("%v, and the program has not returned in %v", cause, exitGrace))
		}
		os.Exit(code)
	}()
}
