//go:build linux

package crew

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/trace"
)

// drainWait is how long the exit of a process waits for the end of its output, which then is part
// of the report.
const drainWait = 250 * time.Millisecond

// Plan is what is to run on a host. It is immutable.
type Plan struct {
	Processes []Process
	Transport string        // "tcp": the ranks share no memory; "shm": they must; else they do if they can
	Looks     time.Duration // between two looks whether processes run, see vigil.go; 0: there are none
	Trace     int64         // bytes of memory, as of trace.Size, in which each rank notes what it does; 0 if it need not
}

// Process is the plan of one process.
type Process struct {
	Ranks []boot.Info // what its ranks are told, at least one; descriptors are added here
	Path  string
	Args  []string // argument vector, the program's name first
	Env   []string // without boot.FDVariable
	Dir   string   // "" is that of the caller
	Bound []int    // processors it is bound to; nil if it is not
	Stdin bool     // it reads the standard input of the job
}

// Stream is one of those that come from a process.
type Stream uint8

const (
	// Stdout is standard output.
	Stdout Stream = 1
	// Stderr is standard error.
	Stderr Stream = 2
	// Trace is what its ranks have noted, if Plan.Trace asks for that: what a trace.Source gives,
	// when the process is dead.
	Trace Stream = 3
)

func (s Stream) String() string {
	switch s {
	case Stderr:
		return "stderr"
	case Trace:
		return "trace"
	default:
		return "stdout"
	}
}

// Source is the reading end of a stream.
type Source interface {
	io.ReadCloser
	SetReadDeadline(t time.Time) error
}

// Leader hears what happens in a crew. Its methods are called by goroutines of the crew's, for one
// process in the order of what happens to it. They may block, but for a moment only. A proc is an
// index in Plan.Processes, a rank that of the job.
type Leader interface {
	Started(proc, pid int)
	NotStarted(proc int, err error) // it will not run; err is nil if StopStarting asked for that
	Noticed(rank int, n boot.Notice)
	LinkBroken(rank int, err error) // the rank breaks the boot protocol
	Examined(proc int, c Condition) // what Crew.Examine has found, and what a look has of a process that is stopped, or was at the last one
	Exited(proc int, e Exit)        // everything that its ranks had to say was heard
	// Show begins to show a stream, which the leader reads and closes. What it reads it also feeds
	// to last, if that is not nil. The result is closed at the end of the stream.
	Show(proc int, s Stream, from Source, last *Tail) <-chan struct{}
}

// Crew is the ranks of a job on this host. Its methods are safe for concurrent use.
type Crew struct {
	// immutable after New
	plan    Plan
	to      Leader
	guard   *Guard
	shared  shared
	mark    string // NAME=VALUE in the environment of all its processes
	without error
	at      map[int]place // by rank
	release chan struct{} // closed when the starter may let go of its thread

	stopped atomic.Bool // no further process is to be started
	threads sync.WaitGroup

	mu     sync.Mutex
	procs  []*process // in the order of the plan, nil if not started; guarded by mu
	paused bool       // since Pause, until Continue; guarded by mu
}

// place is where a rank is: which rank of which process.
type place struct{ proc, k int }

// New makes a crew for plan. That its ranks cannot share memory is an error only if the plan
// insists on it.
func New(plan Plan, to Leader, guard *Guard) (*Crew, error) {
	c := &Crew{
		plan: plan, to: to, guard: guard, at: make(map[int]place), release: make(chan struct{}),
		procs: make([]*process, len(plan.Processes)), mark: boot.MarkVariable + "=" + rand.Text(),
	}
	guard.Mark(c.mark)
	for i := range plan.Processes {
		for k, info := range plan.Processes[i].Ranks {
			c.at[info.Rank] = place{i, k}
		}
	}
	s, err := share(plan)
	switch {
	case err == nil:
		c.shared = s
	case plan.Transport == "shm":
		return nil, fmt.Errorf("%w; use --transport auto to do without", err)
	default:
		c.without = err
	}
	return c, nil
}

// Without is why the ranks share no memory although they might, nil if there is no such reason.
func (c *Crew) Without() error { return c.without }

// Start starts all processes, one after the other, each with stdin if it is to read the standard
// input. stdin stays the caller's, and may be nil. Once per crew; Finish and Wait end what it
// begins.
func (c *Crew) Start(stdin *os.File) {
	c.threads.Go(func() { c.start(stdin) }) // stopped by Finish
	if c.plan.Looks > 0 {
		c.threads.Go(c.keepVigil) // likewise
	}
}

func (c *Crew) start(stdin *os.File) {
	// The kernel kills a process when the thread that started it ends (see startProcess); so this
	// goroutine keeps its thread until no rank is left. startBound needs the thread too.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := range c.plan.Processes {
		if c.stopped.Load() {
			c.to.NotStarted(i, nil)
			continue
		}
		plan := &c.plan.Processes[i]
		var in *os.File
		if plan.Stdin {
			in = stdin
		}
		p, err := c.startProcess(plan, in)
		if err != nil {
			c.stopped.Store(true)
			c.to.NotStarted(i, err)
			continue
		}
		c.guard.Watch(p.pid)
		c.add(i, p)
		c.to.Started(i, p.pid)
		c.threads.Go(func() { c.watch(i, p) }) // ends with the process
	}
	<-c.release
}

// startProcess starts a process of the plan.
func (c *Crew) startProcess(plan *Process, stdin *os.File) (*process, error) {
	infos := c.infos(plan)
	traces, err := c.makeTraces(infos)
	if err != nil {
		return nil, explainStart(err)
	}
	p, err := startProcess(plan, c.mark, infos, stdin)
	if err != nil {
		traces.Close()
		return nil, err
	}
	p.traces = traces
	return p, nil
}

// infos is what the ranks of a process are told.
func (c *Crew) infos(plan *Process) []boot.Info {
	var infos []boot.Info
	for _, info := range plan.Ranks {
		info.Segment, info.Bell = c.shared.segment, c.shared.bell(info.LocalRank)
		infos = append(infos, info)
	}
	return infos
}

// makeTraces makes the memory in which the ranks of a process are to note what they do, and tells
// them. The source is empty if they need not.
func (c *Crew) makeTraces(infos []boot.Info) (*trace.Source, error) {
	var files []*os.File
	for i := range infos {
		if c.plan.Trace == 0 {
			break
		}
		f, err := shm.CreateFile("fitmpi-trace", c.plan.Trace)
		if err != nil {
			trace.NewSource(files).Close()
			return nil, err
		}
		infos[i].Trace = f
		files = append(files, f)
	}
	return trace.NewSource(files), nil
}

// watch follows process i until it has exited, and tells the leader when everything its ranks had
// to say was heard.
func (c *Crew) watch(i int, p *process) {
	last := new(Tail)
	outDone := c.to.Show(i, Stdout, p.stdout, nil)
	errDone := c.to.Show(i, Stderr, p.stderr, last)
	var heard sync.WaitGroup
	for k := range p.links {
		heard.Go(func() { c.listen(i, k, p) }) // stopped by Drain
	}
	e, err := p.wait()
	if err != nil {
		e = Exit{Code: 1} // something else reaped it: our bug, but no reason to hang
	}
	c.guard.Forget(p.pid)
	for _, l := range p.links {
		l.Drain()
	}
	heard.Wait()
	patience := time.NewTimer(drainWait)
	defer patience.Stop()
	for _, done := range []<-chan struct{}{outDone, errDone} {
		select {
		case <-done:
		case <-patience.C:
			patience.Reset(0)
		}
	}
	e.Last, e.Cause = last.Lines()
	if c.plan.Trace > 0 {
		c.to.Show(i, Trace, p.traces, nil)
	}
	c.to.Exited(i, e)
	for _, l := range p.links {
		l.Close()
	}
}

// listen passes on what the k-th rank of process i tells over its link.
func (c *Crew) listen(i, k int, p *process) {
	r := c.plan.Processes[i].Ranks[k].Rank
	for {
		n, err := p.links[k].Next()
		if err == io.EOF {
			p.linkEnded[k].Store(true)
			return
		}
		if err == nil && n.Kind == boot.BellAsked {
			if err = c.lend(p.links[k], n.LocalRank); err == nil {
				continue
			}
		}
		if err != nil {
			c.to.LinkBroken(r, err)
			return
		}
		p.noteJoined(k, n)
		c.to.Noticed(r, n)
	}
}

// lend sends the bell of a local rank to the rank at the other end of link.
func (c *Crew) lend(link *boot.Link, localRank int) error {
	bell := c.shared.bell(localRank)
	if bell == nil {
		return fmt.Errorf("it asked for the bell of local rank %d, and there is none", localRank)
	}
	link.SendBell(localRank, bell)
	return nil
}

// StopStarting makes what is not started yet be reported by Leader.NotStarted.
func (c *Crew) StopStarting() { c.stopped.Store(true) }

// Tell sends a rank an event. It has no effect on one that does not run.
func (c *Crew) Tell(rank int, ev boot.Event) {
	if l := c.link(rank); l != nil {
		l.SendEvent(ev)
	}
}

// Deal sends a rank all cards. It has no effect on one that does not run.
func (c *Crew) Deal(rank int, cards *boot.Cards) {
	if l := c.link(rank); l != nil {
		l.SendCards(cards)
	}
}

// Signal sends sig to the process group of proc, if that runs; Exit.Ended says what came of it.
func (c *Crew) Signal(proc int, sig syscall.Signal) {
	if p := c.process(proc); p != nil {
		p.signal(sig)
	}
}

// Kill ends everything at once.
func (c *Crew) Kill() {
	c.StopStarting()
	for i := range c.plan.Processes {
		c.Signal(i, syscall.SIGKILL)
	}
}

// Finish lets go of what the crew needs as long as a process runs. To be called when all have
// exited, or will not.
func (c *Crew) Finish() { close(c.release) }

// Wait waits, after Finish, until every process has exited and nothing of the crew is left.
func (c *Crew) Wait() {
	c.threads.Wait()
	c.shared.close() // no link uses it any more
}

func (c *Crew) process(proc int) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.procs[proc]
}

func (c *Crew) link(rank int) *boot.Link {
	at, ok := c.at[rank]
	if !ok {
		return nil
	}
	if p := c.process(at.proc); p != nil {
		return p.links[at.k]
	}
	return nil
}
