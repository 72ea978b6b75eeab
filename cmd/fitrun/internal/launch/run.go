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

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/agent"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/plain"
)

// flushWait is how long fitrun waits for a reader of its output that does not read, once the user
// wants the end.
const flushWait = time.Second

// Config is the surroundings of a job. The zero value runs a job that shows nothing and reads
// nothing.
type Config struct {
	Stdin          *os.File         // given to the process of rank 0; nil is /dev/null
	Stdout, Stderr io.Writer        // nil discards
	Signals        <-chan os.Signal // what the user sends; each a syscall.Signal
	Passed         <-chan os.Signal // what the user sends for the ranks; each a syscall.Signal
	Tag            bool             // put "[rank] " before each line, or "[first-last] "
	Timestamp      bool             // put the time before each line
	OutputDir      string           // directory for the output of each process, instead of Stdout and Stderr; "" is none
	Verbose        bool
	Bindings       bool        // say which process is bound to which cores
	Guard          *crew.Guard // or nil
	Observer       Observer    // hears what happens; or nil
	Afterword      bool        // something is said on Stderr when the job is over: it is to begin a line
	Tracer         Tracer      // is given what the ranks have noted, if Job.Trace asks for that
	// AdoptedOrphans says that sys.AdoptOrphans was called, so every child of this process is part
	// of the job and is killed at its end.
	AdoptedOrphans bool

	origin *Request // what the job was made of; nil if it is not known
	kin    *kinship // of all jobs; nil until the first has begun
	outer  *runner  // of the job that has spawned this one; nil if none has
	name   string   // of a spawned job, for messages
	met    func()   // of a spawned job: called when all its ranks are in Init
}

// runner drives a supervisor and is its hands.
type runner struct {
	// immutable after newRunner
	job      *Job
	cfg      Config
	inbox    chan func(now time.Time) // what happened, for the loop to tell the supervisor
	donec    chan struct{}            // closed when the loop is over: nothing receives from inbox any more
	out      *console                 // of stdout
	err      *console                 // of stderr; out itself if both are one file
	messages chan utterance           // messages of fitrun for speak to write
	procs    [][]int                  // by site, and by process of it: index in job.Processes
	hosts    []host                   // by site; set before the first process starts
	progress *progress                // of the launch, nil if it is not shown
	spared   []int                    // children that are no part of the job
	fleet    *agent.Fleet             // of the other hosts, nil if there are none

	sup   *supervisor // owned by the loop
	brood brood       // what ranks have spawned

	errsMu sync.Mutex
	errs   []*lines // by process: its stderr, nil until it is read; guarded by errsMu

	draining     atomic.Bool    // every process of the job is dead
	startedRanks atomic.Int64   // how many were started
	readers      sync.WaitGroup // of ranks' output

	mu      sync.Mutex
	streams []crew.Source // the output of ranks of this machine; guarded by mu
}

// host is the ranks of one host, wherever that is. No method but Wait blocks. Procs are counted in
// each host.
type host interface {
	Start(stdin *os.File)                // all processes, one after the other
	StopStarting()                       // those not started yet are to be reported so
	Tell(rank int, ev boot.Event)        // send a rank an event
	Deal(rank int, c *boot.Cards)        // send a rank all cards
	Signal(proc int, sig syscall.Signal) // to its process group
	Pause()                              // stop all processes, and those started from now on
	Continue()                           // let them go on
	Census()                             // LeavingOf will be asked of many ranks
	Examine(proc int)                    // at a process of which nothing is heard; events has what was found
	LeavingOf(rank int) crew.Leaving     // HangsUp where that is not known yet
	Finish()                             // all processes have exited, or will not
	Wait()                               // after Finish, until nothing is left
}

// here is the host that this process is on.
type here struct{ *crew.Crew }

// Census does nothing: LeavingOf looks.
func (here) Census() {}

// Run runs job, all of it on this machine, to its end and returns its exit code. The end of ctx is
// like SIGTERM.
func Run(ctx context.Context, job *Job, cfg Config) int { return runHere(ctx, job, cfg).code }

func runHere(ctx context.Context, job *Job, cfg Config) outcome {
	x := newRunner(job, cfg)
	err := x.makeOutputDirs()
	var h host
	if err == nil {
		h, err = x.newHere(0)
	}
	if err != nil {
		io.WriteString(Folded(x.cfg.Stderr), message(err.Error()))
		return outcome{code: ExitError}
	}
	return x.run(ctx, []host{h})
}

// newHere makes the crew of the site that is this machine.
func (x *runner) newHere(at int) (host, error) {
	c, err := crew.New(x.job.crewPlan(at), &events{x: x, site: at}, x.cfg.Guard)
	if err != nil {
		return nil, err
	}
	if err := c.Without(); err != nil && x.cfg.Verbose {
		x.say(fmt.Sprintf("%v; processes will use TCP", err))
	}
	return here{c}, nil
}

// run runs the job on hosts, one for each site.
func (x *runner) run(ctx context.Context, hosts []host) outcome {
	x.hosts = hosts
	if o := x.cfg.Observer; o != nil {
		o.Begin(x.job, control{x})
		defer o.End()
	}
	for _, h := range hosts {
		h.Start(x.cfg.Stdin)
	}
	var writer sync.WaitGroup
	if x.cfg.outer == nil {
		writer.Go(x.speak) // stopped by closing messages
	}
	x.cfg.outer.nests(x, true)
	x.loop(ctx)
	x.cfg.outer.nests(x, false)
	x.finish(&writer)
	return x.sup.outcome()
}

func newRunner(job *Job, cfg Config) *runner {
	if cfg.Stdout == nil {
		cfg.Stdout = io.Discard
	}
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	if cfg.kin == nil {
		cfg.kin = newKinship(job)
	}
	x := &runner{
		job: job, cfg: cfg,
		inbox: make(chan func(time.Time), 64), donec: make(chan struct{}),
		out: newConsole(), messages: make(chan utterance, 64+4*len(job.Ranks)), errs: make([]*lines, len(job.Processes)),
	}
	for i := range job.Processes {
		for job.Processes[i].site >= len(x.procs) {
			x.procs = append(x.procs, nil)
		}
		x.procs[job.Processes[i].site] = append(x.procs[job.Processes[i].site], i)
	}
	x.err = x.out
	if !sameFile(cfg.Stdout, cfg.Stderr) {
		x.err = newConsole()
	}
	if o := cfg.outer; o != nil {
		x.out, x.err, x.messages = o.out, o.err, o.messages
	} else {
		x.err.status.open(cfg.Stderr)
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
	stops, ignore := x.terminalStops()
	defer ignore()
	outFails, errFails := x.out.failc, x.err.failc
	if x.cfg.outer != nil { // its loop hears of them
		outFails, errFails = nil, nil
	}
	for !x.sup.isOver() || x.brood.running > 0 {
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
		case sig := <-x.cfg.Passed:
			x.passOn(sig.(syscall.Signal))
		case <-stops:
			x.pause(stops)
		case <-cancelled:
			cancelled = nil
			x.cancelled(time.Now())
		case err := <-outFails:
			x.sup.outputFailed(time.Now(), err)
		case err := <-errFails:
			x.sup.outputFailed(time.Now(), err)
		case <-timer.C:
			x.sup.tick(time.Now())
		}
		x.rein()
	}
}

// passOn passes a signal that means something to the ranks on to them, and to those that were
// spawned.
func (x *runner) passOn(sig syscall.Signal) {
	x.sup.passed(sig)
	for _, y := range x.brood.begun() {
		x.brood.wait.Go(func() { // not here: that loop may be about to tell this one something
			y.post(func(time.Time) { y.passOn(sig) })
		})
	}
}

// cancelled is called when the context of the job ends.
func (x *runner) cancelled(now time.Time) {
	if x.cfg.outer != nil {
		x.sup.endedFromOutside(now)
		return
	}
	x.sup.interrupted(now, syscall.SIGTERM)
}

// terminalStops is where the key is heard that stops the job. A spawned job is stopped with the one
// that has spawned it.
func (x *runner) terminalStops() (stops chan os.Signal, ignore func()) {
	if x.cfg.outer != nil {
		return nil, func() {}
	}
	return terminalStops()
}

// post hands the loop something that happened.
func (x *runner) post(happened func(now time.Time)) {
	select {
	case x.inbox <- happened:
	case <-x.donec:
	}
}

// finish ends what is left when no rank runs any more: stray processes, output not yet shown,
// goroutines.
func (x *runner) finish(writer *sync.WaitGroup) {
	x.progress.stop()
	x.brood.wait.Wait()
	for _, h := range x.hosts {
		h.Finish()
	}
	if x.cfg.AdoptedOrphans {
		crew.SweepOrphans(append(x.spared, x.cfg.Guard.PID())...)
	}
	x.hush()
	if x.cfg.outer == nil {
		close(x.messages)
	}
	shown := make(chan struct{})
	go func() { // ends when all output is shown, or with the process if nothing takes the output
		defer close(shown)
		x.readers.Wait()
		writer.Wait()
		for _, h := range x.hosts {
			h.Wait()
		}
		if x.cfg.outer == nil {
			x.err.endStatus(x.cfg.Afterword)
		}
	}()
	x.awaitOutput(shown)
}

// hush makes silence end every stream of this machine: all processes that should hold the other end
// are dead.
func (x *runner) hush() {
	x.draining.Store(true)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.streams {
		s.SetReadDeadline(time.Now())
	}
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
		x.sup.stopped = true // the loop is over: the supervisor is the caller's
	}
}

// speak shows fitrun's own messages. It is a goroutine of its own so that the loop never waits for
// a terminal.
func (x *runner) speak() {
	for u := range x.messages {
		if u.text == "" {
			x.err.drawStatus()
			continue
		}
		text := u.text
		if !x.err.isInSight(u.from, len(u.last)) {
			text = plain.Text(u.whole())
		}
		if !x.err.message(x.cfg.Stderr, message(text)) {
			x.sayElsewhere(text)
		}
	}
}

// sayElsewhere shows a message where stderr takes nothing: a file, say, that may not grow. A job
// never ends without a word as long as there is a place to say it: on stdout, or at the terminal
// that is the standard input.
func (x *runner) sayElsewhere(text string) {
	if x.out != x.err && x.out.message(x.cfg.Stdout, message(text)) {
		return
	}
	if x.cfg.Stdin != nil && isTerminal(x.cfg.Stdin) {
		io.WriteString(x.cfg.Stdin, message(text)) // which a shell opens for both
	}
}

// The methods below are the supervisor's hands; they are called by the loop.

func (x *runner) tell(rank int, ev boot.Event) {
	ev.Message = plain.Text(ev.Message) // which may have the words of another rank
	x.hostOf(rank).Tell(rank, ev)
}

func (x *runner) deal(rank int, c *boot.Cards) {
	x.hostOf(rank).Deal(rank, c)
	if x.cfg.met != nil {
		x.cfg.met()
	}
}

func (x *runner) leaving(rank int) crew.Leaving { return x.hostOf(rank).LeavingOf(rank) }
func (x *runner) hostOf(rank int) host          { return x.hosts[x.job.Processes[x.job.Ranks[rank].proc].site] }

func (x *runner) signal(proc int, sig syscall.Signal) {
	at := x.job.Processes[proc].site
	x.hosts[at].Signal(slices.Index(x.procs[at], proc), sig)
}

func (x *runner) examine(proc int) {
	at := x.job.Processes[proc].site
	x.hosts[at].Examine(slices.Index(x.procs[at], proc))
}

func (x *runner) stopStarting() {
	for _, h := range x.hosts {
		h.StopStarting()
	}
}

func (x *runner) census() {
	for _, h := range x.hosts {
		h.Census()
	}
}

func (x *runner) say(text string) { x.utter(utterance{text: x.cfg.prefix() + text}) }

func (x *runner) utter(u utterance) {
	if o := x.cfg.Observer; o != nil {
		o.Said(plain.Text(u.whole()))
	}
	u.text = plain.Text(u.text)
	select {
	case x.messages <- u:
	default: // nothing reads stderr, and fitrun has said more than enough
	}
}
