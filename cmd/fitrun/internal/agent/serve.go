//go:build linux

package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// agent is what runs on a host for a fitrun on another one. Its conn's reader is the only goroutine
// that handles frames from above.
type agent struct {
	// immutable after Serve has begun
	parent *conn
	guard  *crew.Guard
	cache  cache
	below  *node
	ctx    context.Context // ends with the agent
	cancel context.CancelFunc

	// owned by the reader
	greeted  bool
	plan     crew.Plan
	copies   map[string]*copying // by sum: files that are coming
	table    *boot.Cards         // once the job is started
	stdin    *inflow             // for the process of rank 0, nil if it is not here
	started  bool                // kindStart has come
	finished bool                // kindFinish has come

	host     int // index in the job; set by hello, before any other goroutine asks
	threads  sync.WaitGroup
	showing  sync.WaitGroup // of output
	draining atomic.Bool    // every process is dead

	mu      sync.Mutex
	crew    *crew.Crew            // nil until started; guarded by mu
	needed  map[string]Program    // by sum: programs that were asked for; guarded by mu
	flows   map[streamID]*outflow // guarded by mu
	streams []crew.Source         // guarded by mu
	pipes   []io.Closer           // of standard input; guarded by mu
}

type streamID struct {
	proc   int
	stream crew.Stream
}

// Serve is the agent: it serves the fitrun, or the agent, at the other end of in and out, until in
// ends. Then it ends all that it has started. A neighbour that says nothing for silence is taken
// for dead. executable is the agent's own binary.
func Serve(in io.Reader, out io.WriteCloser, silence time.Duration, executable string) error {
	sys.AdoptOrphans() // where that cannot be, as under some emulators, only process groups are cleaned up
	guard, err := crew.StartGuard()
	if err != nil {
		guard = nil // without, only an agent that is killed leaves something
	}
	defer guard.Close()
	store, err := cacheOf(executable)
	if err != nil {
		return err
	}
	a := newAgent(in, out, silence, executable, store, guard)
	a.cache.clean(filepath.Base(filepath.Dir(executable)))
	ended := make(chan error, 1)
	a.parent.send(pack(kindFacts, 0, factsHere()))
	a.parent.begin(a.handle, func(err error) { ended <- err })
	err = <-ended
	a.end()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func newAgent(in io.Reader, out io.WriteCloser, silence time.Duration, executable string, store cache, guard *crew.Guard) *agent {
	ctx, cancel := context.WithCancel(context.Background())
	a := &agent{
		guard: guard, cache: store, ctx: ctx, cancel: cancel,
		copies: make(map[string]*copying), needed: make(map[string]Program), flows: make(map[streamID]*outflow),
	}
	a.parent = newConn(bufio.NewReader(in), out, silence, func(error) {
		if c, ok := in.(io.Closer); ok {
			c.Close()
		}
		out.Close()
	})
	own := sync.OnceValues(func() (Binary, error) {
		sum, size, err := SumFile(executable)
		return Binary{executable, sum, size}, err
	})
	a.below = &node{
		up: a.relayUp, silence: silence, guard: guard,
		binary: func(_ context.Context, arch string) (Binary, error) {
			if arch != runtime.GOARCH {
				return Binary{}, fmt.Errorf("it is %s, and the host from which it is to be reached is %s: with hosts of several architectures use a fan-out that lets fitrun reach all of them itself", arch, runtime.GOARCH)
			}
			return own()
		},
	}
	return a
}

func (a *agent) relayUp(f frame) error {
	a.parent.send(f)
	return nil
}

// handle takes a frame from above.
func (a *agent) handle(f frame) error {
	if !a.greeted {
		if f.kind != kindHello {
			return fmt.Errorf("a frame of kind %d before the greeting", f.kind)
		}
		return a.greet(f)
	}
	if f.host == everyHost || int(f.host) != a.host {
		a.below.down(f, true)
	}
	if f.host != everyHost && int(f.host) != a.host {
		return nil
	}
	switch f.kind {
	case kindPrepare:
		return handleAs(f, a.prepare)
	case kindFile:
		return a.takeFile(f.payload)
	case kindProcess:
		return handleAs(f, func(p crew.Process) error {
			if len(p.Ranks) == 0 {
				return errors.New("a process without ranks")
			}
			a.plan.Processes = append(a.plan.Processes, p)
			return nil
		})
	case kindStart:
		return handleAs(f, a.start)
	case kindInput:
		return a.takeInput(f.payload)
	case kindCards:
		return handleAs(f, a.takeCards)
	case kindCredit:
		return handleAs(f, a.takeCredit)
	case kindFinish:
		a.finish()
		return nil
	case kindClock:
		return handleAs(f, func(c clock) error {
			c.Now = sys.Monotonic()
			a.send(kindClock, c)
			return nil
		})
	default:
		return a.handleRunning(f)
	}
}

// isForRanks reports whether fitrun sends ranks events of a kind.
func isForRanks(k boot.EventKind) bool {
	switch k {
	case boot.PeerFailed, boot.JobAborted, boot.Asked, boot.ForeignFailed, boot.Spawned:
		return true
	default:
		return false
	}
}

// handleRunning takes a frame that needs a crew.
func (a *agent) handleRunning(f frame) error {
	c := a.crewNow()
	if c == nil && a.started {
		return nil // nothing could be started, which was said
	}
	if c == nil {
		return fmt.Errorf("a frame of kind %d before the start", f.kind)
	}
	switch f.kind {
	case kindStop:
		c.StopStarting()
		return nil
	case kindTell:
		return handleAs(f, func(t tell) error {
			if !isForRanks(t.Event.Kind) {
				return fmt.Errorf("event %v, which is not for ranks", t.Event.Kind)
			}
			c.Tell(t.Rank, t.Event)
			return nil
		})
	case kindDeal:
		return handleAs(f, func(r rankOnly) error {
			if !a.table.IsComplete() {
				return errors.New("cards are dealt before all of them have come")
			}
			c.Deal(r.Rank, a.table)
			return nil
		})
	case kindSignal:
		return handleAs(f, func(s procSignal) error {
			if s.Proc < 0 || s.Proc >= len(a.plan.Processes) {
				return fmt.Errorf("signal to process %d of %d", s.Proc, len(a.plan.Processes))
			}
			c.Signal(s.Proc, syscall.Signal(s.Signal))
			return nil
		})
	case kindExamine:
		return handleAs(f, func(p procOnly) error {
			if p.Proc < 0 || p.Proc >= len(a.plan.Processes) {
				return fmt.Errorf("a look at process %d of %d", p.Proc, len(a.plan.Processes))
			}
			c.Examine(p.Proc)
			return nil
		})
	case kindHalt:
		c.Pause()
		return nil
	case kindContinue:
		c.Continue()
		return nil
	case kindCensus:
		a.send(kindGone, gone{Ranks: c.Gone(crew.HangsUp), Exits: c.Gone(crew.Exits)})
		return nil
	default:
		return fmt.Errorf("frame of kind %d from above", f.kind)
	}
}

// handleAs unpacks a frame for take.
func handleAs[T any](f frame, take func(T) error) error {
	v, err := unpack[T](f)
	if err != nil {
		return err
	}
	return take(v)
}

func (a *agent) send(k kind, v any) { a.parent.send(pack(k, a.host, v)) }

func (a *agent) crewNow() *crew.Crew {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.crew
}

// greet learns which host the agent is, and begins to reach the hosts behind it.
func (a *agent) greet(f frame) error {
	h, err := unpack[hello](f)
	if err != nil {
		return err
	}
	a.greeted, a.host = true, h.Host
	a.below.way, a.below.fanOut = h.Way, h.FanOut
	ctx, cancel := context.WithTimeout(a.ctx, h.Timeout)
	a.below.reach(ctx, h.Below)
	a.threads.Go(func() { // ends with the last of them, or with ctx
		a.below.threads.Wait()
		cancel()
	})
	return nil
}

// start starts the job, of which the plan is complete.
func (a *agent) start(s start) error {
	switch {
	case a.started:
		return errors.New("a second start")
	case s.Processes != len(a.plan.Processes):
		return fmt.Errorf("start of %d processes, of which %d are planned", s.Processes, len(a.plan.Processes))
	case s.Size < 1:
		return fmt.Errorf("start of a job of %d ranks; it has 1 or more", s.Size)
	}
	a.started = true
	a.plan.Transport, a.plan.Trace, a.plan.Looks = s.Transport, s.Trace, s.Looks
	a.table = boot.NewCards(s.Size)
	c, err := crew.New(a.plan, a, a.guard)
	if err != nil {
		for i := range a.plan.Processes {
			a.NotStarted(i, err)
		}
		return nil
	}
	if err := c.Without(); err != nil {
		a.send(kindSay, text{fmt.Sprintf("%v; processes will use TCP", err)})
	}
	stdin, err := a.openStdin()
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.crew = c
	a.mu.Unlock()
	c.Start(stdin)
	return nil
}

// openStdin makes the pipe by which rank 0, if it is here, reads the standard input of the job.
func (a *agent) openStdin() (*os.File, error) {
	if !slices.ContainsFunc(a.plan.Processes, func(p crew.Process) bool { return p.Stdin }) {
		return nil, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe for the standard input: %w", err)
	}
	a.stdin = newInflow(func(n int) { a.send(kindCredit, credit{Stream: stdinStream, Bytes: n}) })
	a.mu.Lock()
	a.pipes = []io.Closer{r, w}
	a.mu.Unlock()
	go func() { // ends with the input, or when the pipe is closed
		defer w.Close()
		io.Copy(w, a.stdin)
		a.stdin.Close() // the process does not read any more
	}()
	a.stdin.took(window)
	return r, nil
}

func (a *agent) takeInput(piece []byte) error {
	if a.stdin == nil {
		return errors.New("standard input for a host that has no use for it")
	}
	return a.stdin.put(piece)
}

func (a *agent) takeCards(c cards) error {
	for i, card := range c.Cards {
		if a.table == nil {
			return errors.New("cards before the start")
		}
		if err := a.table.Put(c.First+i, card); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) takeCredit(c credit) error {
	a.mu.Lock()
	flow := a.flows[streamID{c.Proc, c.Stream}]
	a.mu.Unlock()
	if flow == nil || c.Bytes < 0 {
		return fmt.Errorf("credit of %d for stream %d of process %d", c.Bytes, c.Stream, c.Proc)
	}
	flow.give(c.Bytes)
	return nil
}
