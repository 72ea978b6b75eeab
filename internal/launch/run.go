//go:build linux

package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
)

const (
	// drainWait is how long the exit of a rank waits for the end of its output, which then is part of the report.
	drainWait = 250 * time.Millisecond
	// flushWait is how long fitrun waits for a reader of its output that does not read, once the user wants the end.
	flushWait = time.Second
)

// Config is the surroundings of a job. The zero value runs a job that shows nothing and reads nothing.
type Config struct {
	Stdin          *os.File         // given to the process of rank 0; nil is /dev/null
	Stdout, Stderr io.Writer        // nil discards
	Signals        <-chan os.Signal // what the user sends; each a syscall.Signal
	Tag            bool             // put "[rank] " before each line, or "[first-last] "
	Timestamp      bool             // put the time before each line
	OutputDir      string           // directory for the output of each process, instead of Stdout and Stderr; "" is none
	Verbose        bool
	Bindings       bool   // say which process is bound to which cores
	Guard          *Guard // or nil
	// AdoptedOrphans says that sys.AdoptOrphans was called, so every child of this process is part of the job and is
	// killed at its end.
	AdoptedOrphans bool
}

// runner drives a supervisor and is its hands.
type runner struct {
	// immutable after newRunner
	job     *Job
	cfg     Config
	inbox   chan func(now time.Time) // what happened, for the loop to tell the supervisor
	donec   chan struct{}            // closed when the loop is over: nobody listens to inbox any more
	out     *console                 // of stdout
	err     *console                 // of stderr; out itself if both are one file
	voice   chan string              // messages of fitrun for its speaker
	release chan struct{}            // closed when the starter may let go of its thread
	shared  shared                   // set by Run before the first process starts

	// owned by the loop
	sup   *supervisor
	procs []*process // in the order of Job.Processes, nil if not started

	stopped  atomic.Bool // no further rank is to be started
	draining atomic.Bool // every process of the job is dead
	threads  sync.WaitGroup
	readers  sync.WaitGroup // of ranks' output
}

// Execute runs the job that r asks for, on this machine or on hosts, and returns its exit code.
func Execute(ctx context.Context, r Request, cfg Config) int {
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	job, err := Plan(r)
	if err != nil {
		fmt.Fprintf(cfg.Stderr, "fitrun: %v\n", err)
		return ExitUsage
	}
	if cfg.Verbose {
		fmt.Fprintf(cfg.Stderr, "fitrun: %d rank(s) of %s in %d process(es), %d of %d core(s) each\n",
			len(job.Ranks), r.Apps[0].Program.Path, len(job.Processes), job.Ranks[0].Cores, r.Cores)
	}
	if cfg.Bindings {
		for _, line := range job.Bindings() {
			fmt.Fprintf(cfg.Stderr, "fitrun: %s\n", line)
		}
	}
	return Run(ctx, job, cfg)
}

// Run runs job to its end and returns its exit code. The end of ctx is like SIGTERM.
func Run(ctx context.Context, job *Job, cfg Config) int {
	x := newRunner(job, cfg)
	err := x.makeOutputDirs()
	if err == nil {
		err = x.share()
	}
	if err != nil {
		fmt.Fprintf(x.cfg.Stderr, "fitrun: %v\n", err)
		return ExitError
	}
	x.threads.Go(x.start) // stopped by release
	var speaker sync.WaitGroup
	speaker.Go(x.speak) // stopped by closing voice
	x.loop(ctx)
	x.finish(&speaker)
	return x.sup.exitCode()
}

// share makes what the ranks have in common. That it cannot be had is an error only if the user insists on it.
func (x *runner) share() error {
	s, err := share(x.job)
	switch {
	case err == nil:
		x.shared = s
	case x.job.Transport == "shm":
		return fmt.Errorf("%w; use --transport auto to do without", err)
	case x.cfg.Verbose:
		x.say(fmt.Sprintf("%v; processes will use TCP", err))
	}
	return nil
}

func newRunner(job *Job, cfg Config) *runner {
	if cfg.Stdout == nil {
		cfg.Stdout = io.Discard
	}
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	x := &runner{
		job: job, cfg: cfg,
		inbox: make(chan func(time.Time), 64), donec: make(chan struct{}),
		out: newConsole(), voice: make(chan string, 64+4*len(job.Ranks)), release: make(chan struct{}),
		procs: make([]*process, len(job.Processes)),
	}
	x.err = x.out
	if !sameFile(cfg.Stdout, cfg.Stderr) {
		x.err = newConsole()
	}
	x.sup = newSupervisor(job, x, cfg.Verbose, time.Now())
	return x
}

// loop tells the supervisor everything that happens until the job is over.
func (x *runner) loop(ctx context.Context) {
	defer close(x.donec)
	timer := time.NewTimer(0)
	defer timer.Stop()
	cancelled := ctx.Done()
	for !x.sup.isOver() {
		if due := x.sup.due(); due.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(due))
		}
		select {
		case happened := <-x.inbox:
			happened(time.Now())
		case sig := <-x.cfg.Signals:
			x.sup.interrupted(time.Now(), sig.(syscall.Signal))
		case <-cancelled:
			cancelled = nil
			x.sup.interrupted(time.Now(), syscall.SIGTERM)
		case err := <-x.out.failc:
			x.sup.outputFailed(time.Now(), err)
		case err := <-x.err.failc:
			x.sup.outputFailed(time.Now(), err)
		case <-timer.C:
			x.sup.tick(time.Now())
		}
	}
}

// post hands the loop something that happened.
func (x *runner) post(happened func(now time.Time)) {
	select {
	case x.inbox <- happened:
	case <-x.donec:
	}
}

// finish ends what is left when no rank runs any more: stray processes, output not yet shown, goroutines.
func (x *runner) finish(speaker *sync.WaitGroup) {
	if x.cfg.AdoptedOrphans {
		sweepOrphans(x.cfg.Guard.pid())
	}
	x.draining.Store(true)
	for _, p := range x.procs {
		if p != nil {
			p.stdout.SetReadDeadline(time.Now())
			p.stderr.SetReadDeadline(time.Now())
		}
	}
	close(x.release)
	close(x.voice)
	shown := make(chan struct{})
	go func() { // ends when all output is shown, or with the process if nobody takes the output
		defer close(shown)
		x.readers.Wait()
		speaker.Wait()
		x.threads.Wait()
		x.shared.close() // no link uses it any more
	}()
	x.awaitOutput(shown)
}

// awaitOutput waits for the last output to be shown, but not for ever once the user wants the end.
func (x *runner) awaitOutput(shown <-chan struct{}) {
	var patience <-chan time.Time
	if x.sup.isHurried() {
		patience = time.After(flushWait)
	}
	select {
	case <-shown:
	case <-patience:
	case <-x.cfg.Signals:
	}
}

// speak shows fitrun's own messages. It is a goroutine of its own so that the loop never waits for a terminal.
func (x *runner) speak() {
	for text := range x.voice {
		x.err.message(x.cfg.Stderr, "fitrun: "+text+"\n")
	}
}

// The methods below are the supervisor's hands; they are called by the loop.

func (x *runner) tell(rank int, ev boot.Event)             { x.link(rank).SendEvent(ev) }
func (x *runner) deal(rank int, c *boot.Cards)             { x.link(rank).SendCards(c) }
func (x *runner) signal(proc int, sig syscall.Signal) bool { return x.procs[proc].signal(sig) }
func (x *runner) stopStarting()                            { x.stopped.Store(true) }
func (x *runner) lastWords(proc int) ([]string, string)    { return x.procs[proc].last.read() }

func (x *runner) isGone(rank int) bool {
	p, k := x.find(rank)
	return p.isGone(k)
}

func (x *runner) lend(rank, localRank int) bool {
	bell := x.shared.bell(localRank)
	if bell != nil {
		x.link(rank).SendBell(localRank, bell)
	}
	return bell != nil
}

// find returns the process of a rank, and which of its ranks it is.
func (x *runner) find(rank int) (p *process, k int) {
	i := x.job.Ranks[rank].proc
	return x.procs[i], slices.Index(x.job.Processes[i].Ranks, rank)
}

func (x *runner) link(rank int) *boot.Link {
	p, k := x.find(rank)
	return p.links[k]
}

func (x *runner) say(text string) {
	select {
	case x.voice <- text:
	default: // nobody reads stderr, and fitrun has said more than enough
	}
}

// tagOf is what is put before each line of process i: its rank, or the first and the last of them.
func (x *runner) tagOf(i int) string {
	if !x.cfg.Tag {
		return ""
	}
	return fmt.Sprintf("[%s] ", intervals(x.job.Processes[i].Ranks))
}
