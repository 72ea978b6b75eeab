//go:build linux

package agent

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// Leader hears what happens on another host.
type Leader interface {
	crew.Leader
	Counted()        // a census is complete
	Say(text string) // to be shown with --verbose
	Lost(err error)  // the host has failed; nothing more comes from it. Once, and not after Client.Wait has returned
}

// Client is fitrun's view of the crew on another host. Its methods do not block, but for Wait; what
// they ask for is sent.
type Client struct {
	fleet  *Fleet
	target Target
	facts  *Facts // owned by the caller of Fleet's methods; nil until reached

	done chan struct{} // closed when nothing more comes from the host

	// set by Plan, before any frame of the job comes
	plan  crew.Plan
	size  int
	input *outflow // credit for standard input, nil if that is not for this host

	mu      sync.Mutex
	to      Leader               // nil until Plan; guarded by mu
	lost    error                // why the host failed, nil if it has not; guarded by mu
	early   int                  // frames that came before to was known, but for that of the loss; guarded by mu
	over    bool                 // done is closed; guarded by mu
	flows   map[streamID]*inflow // guarded by mu
	counted map[int]crew.Leaving // ranks that do not stay, nil until a census is complete; guarded by mu
	asked   bool                 // for a census; guarded by mu
	stdin   *os.File             // that is being read, or nil; guarded by mu
	looks   looks                // at its clock
	use     *Use                 // of the host when nothing of the job was left there, nil until then; guarded by mu
}

func newClient(f *Fleet, t Target) *Client {
	return &Client{fleet: f, target: t, done: make(chan struct{}), flows: make(map[streamID]*inflow)}
}

// Facts are those of the host, once it is reached.
func (c *Client) Facts() Facts { return *c.facts }

// Use is how busy the host was when nothing of the job was left there, nil if it has not come to
// that.
func (c *Client) Use() *Use {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.use
}

// String is the host as messages name it.
func (c *Client) String() string { return c.target.String() }

// failure is why the host failed.
func (c *Client) failure(f frame) *HostError {
	t, err := unpack[text](f)
	if err != nil {
		t.Text = err.Error()
	}
	return &HostError{c.target.String(), t.Text}
}

// Plan says what is to run on the host, and to which leader it is reported. size is the number of
// ranks of the job.
func (c *Client) Plan(plan crew.Plan, size int, to Leader) {
	for _, p := range plan.Processes {
		c.send(kindProcess, p)
	}
	c.plan, c.size = plan, size
	if slices.ContainsFunc(plan.Processes, func(p crew.Process) bool { return p.Stdin }) {
		c.input = newOutflow(0)
	}
	c.mu.Lock()
	c.to = to
	c.mu.Unlock()
}

func (c *Client) send(k kind, v any) { c.fleet.root.down(pack(k, c.target.Host, v), false) }

// Start starts the planned processes. stdin is read if one of them is to read the standard input;
// nil is an empty one.
func (c *Client) Start(stdin *os.File) {
	c.mu.Lock()
	to, lost := c.to, c.lost
	c.stdin = stdin
	c.mu.Unlock()
	if lost != nil {
		go func() { // ends at once; the caller's loop, which hears it, may not run yet
			to.Lost(lost)
			c.end()
		}()
		return
	}
	c.send(kindStart, start{Processes: len(c.plan.Processes), Transport: c.plan.Transport, Trace: c.plan.Trace, Looks: c.plan.Looks, Size: c.size})
	if c.input != nil {
		go c.pump(stdin, c.input) // ends with the input or the job; at worst with this process, if stdin cannot be interrupted
	}
}

// pump sends standard input as far as there is credit.
func (c *Client) pump(stdin *os.File, input *outflow) {
	for stdin != nil {
		room := input.take(maxPiece)
		if room == 0 {
			return
		}
		piece := make([]byte, room)
		n, err := stdin.Read(piece)
		if n > 0 {
			c.fleet.root.down(frame{kindInput, uint32(c.target.Host), piece[:n]}, false)
		}
		input.give(room - n)
		if err != nil {
			break
		}
	}
	c.fleet.root.down(frame{kindInput, uint32(c.target.Host), nil}, false)
}

// StopStarting makes what is not started yet be reported by Leader.NotStarted.
func (c *Client) StopStarting() { c.send(kindStop, nil) }

// Tell sends a rank an event.
func (c *Client) Tell(rank int, ev boot.Event) { c.send(kindTell, tell{rank, ev}) }

// Deal sends a rank all cards.
func (c *Client) Deal(rank int, table *boot.Cards) {
	c.fleet.sendTable(table)
	c.send(kindDeal, rankOnly{rank})
}

// Signal sends sig to the process group of proc.
func (c *Client) Signal(proc int, sig syscall.Signal) { c.send(kindSignal, procSignal{proc, int(sig)}) }

// Pause stops all processes, and those that the host starts from now on, until Continue.
func (c *Client) Pause() { c.send(kindHalt, nil) }

// Continue lets all processes go on.
func (c *Client) Continue() { c.send(kindContinue, nil) }

// Examine asks the host to look at a process; Leader.Examined says what was found.
func (c *Client) Examine(proc int) { c.send(kindExamine, procOnly{proc}) }

// Census asks the host which of its ranks leave; Leader.Counted says that LeavingOf knows.
func (c *Client) Census() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked && !c.over {
		c.asked = true
		c.send(kindCensus, nil)
	}
}

// LeavingOf says whether a rank leaves the job. As long as a census is not complete it may hang up.
func (c *Client) LeavingOf(rank int) crew.Leaving {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked && c.counted == nil && !c.over {
		return crew.HangsUp
	}
	return c.counted[rank]
}

// Finish makes the host end what processes have left behind. To be called when all have exited, or
// will not.
func (c *Client) Finish() {
	c.mu.Lock()
	stdin := c.stdin
	c.mu.Unlock()
	if c.input != nil {
		c.input.close()
		if stdin != nil {
			stdin.SetReadDeadline(time.Now()) // not every file knows deadlines
		}
	}
	c.send(kindFinish, nil)
}

// Wait waits, after Finish, until nothing of the job is left on the host, or the host is lost.
func (c *Client) Wait() { <-c.done }

// end is called when nothing more comes from the host.
func (c *Client) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.over = true
	for _, f := range c.flows {
		f.put(nil)
	}
	if c.input != nil {
		c.input.close()
	}
	close(c.done)
}

// take takes a frame of the host. It does not block. An error means that the host says what it was
// not asked for, so the conversation is of no use.
func (c *Client) take(f frame) error {
	if f.kind == kindClock {
		return handleAs(f, c.looks.answered)
	}
	c.mu.Lock()
	to, over, again := c.to, c.over, f.kind == kindLost && c.lost != nil
	if f.kind == kindLost && !again {
		c.lost = c.failure(f)
	}
	if to == nil && f.kind != kindLost {
		c.early++
	}
	early := c.early
	c.mu.Unlock()
	switch {
	case over:
	case to == nil && again: // it is known
	case to == nil && f.kind != kindLost && early > maxEarly:
		return fmt.Errorf("host %s says more than it was asked: a frame of kind %d", c, f.kind)
	case to == nil:
		c.fleet.inbox <- f // there is room
	default:
		if err := c.report(to, f); err != nil {
			to.Lost(&HostError{c.String(), err.Error()})
			c.end()
		}
	}
	return nil
}

// report tells the leader what a frame says.
func (c *Client) report(to Leader, f frame) error {
	switch f.kind {
	case kindStarted:
		return handleAs(f, func(p procPID) error { return c.started(to, p) })
	case kindNotStarted:
		return handleAs(f, func(p procError) error {
			var err error
			if p.Error != "" {
				err = errors.New(p.Error)
			}
			return c.checked(p.Proc, func() { to.NotStarted(p.Proc, err) })
		})
	case kindExited:
		return handleAs(f, func(p procExit) error { return c.checked(p.Proc, func() { to.Exited(p.Proc, p.Exit) }) })
	case kindNoticed:
		return handleAs(f, func(n rankNotice) error {
			return c.checkedRank(n.Rank, func() { to.Noticed(n.Rank, n.Notice) })
		})
	case kindBroken:
		return handleAs(f, func(b rankError) error {
			return c.checkedRank(b.Rank, func() { to.LinkBroken(b.Rank, errors.New(b.Error)) })
		})
	case kindOutput:
		return c.output(f)
	case kindCredit:
		return handleAs(f, c.takeCredit)
	case kindExamined:
		return handleAs(f, func(p procCondition) error {
			return c.checked(p.Proc, func() { to.Examined(p.Proc, p.Condition) })
		})
	case kindGone:
		return handleAs(f, func(g gone) error {
			c.count(g)
			to.Counted()
			return nil
		})
	case kindSay:
		return handleAs(f, func(t text) error {
			to.Say(c.String() + ": " + t.Text)
			return nil
		})
	case kindLost:
		to.Lost(c.failure(f))
		c.end()
		return nil
	case kindDone:
		return handleAs(f, func(u *Use) error {
			c.mu.Lock()
			c.use = u
			c.mu.Unlock()
			c.end()
			return nil
		})
	default:
		return fmt.Errorf("frame of kind %d from an agent", f.kind)
	}
}

// checked does what a frame about a process of the plan asks for.
func (c *Client) checked(proc int, do func()) error {
	if proc < 0 || proc >= len(c.plan.Processes) {
		return fmt.Errorf("news of process %d of %d", proc, len(c.plan.Processes))
	}
	do()
	return nil
}

func (c *Client) checkedRank(rank int, do func()) error {
	for i := range c.plan.Processes {
		if slices.ContainsFunc(c.plan.Processes[i].Ranks, func(info boot.Info) bool { return info.Rank == rank }) {
			do()
			return nil
		}
	}
	return fmt.Errorf("news of rank %d, which is not there", rank)
}

// started is the start of a process, and of its streams.
func (c *Client) started(to Leader, p procPID) error {
	return c.checked(p.Proc, func() {
		to.Started(p.Proc, p.PID)
		streams := []crew.Stream{crew.Stdout, crew.Stderr}
		if c.plan.Trace > 0 {
			streams = append(streams, crew.Trace)
		}
		for _, s := range streams {
			in := newInflow(func(n int) { c.send(kindCredit, credit{p.Proc, s, n}) })
			c.mu.Lock()
			c.flows[streamID{p.Proc, s}] = in
			if c.over {
				in.put(nil)
			}
			c.mu.Unlock()
			to.Show(p.Proc, s, in, nil)
		}
	})
}

func (c *Client) output(f frame) error {
	proc, s, piece, err := unpackOutput(f)
	if err != nil {
		return err
	}
	c.mu.Lock()
	in := c.flows[streamID{proc, s}]
	c.mu.Unlock()
	if in == nil {
		return fmt.Errorf("output of process %d, which does not run", proc)
	}
	return in.put(piece)
}

func (c *Client) takeCredit(cr credit) error {
	if c.input == nil || cr.Stream != stdinStream || cr.Bytes < 0 {
		return fmt.Errorf("credit of %d for stream %d", cr.Bytes, cr.Stream)
	}
	c.input.give(cr.Bytes)
	return nil
}

// count takes the answer to a census.
func (c *Client) count(g gone) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counted = make(map[int]crew.Leaving, len(g.Ranks))
	for _, r := range g.Ranks {
		c.counted[r] = crew.HangsUp
	}
	for _, r := range g.Exits {
		c.counted[r] = crew.Exits
	}
}
