package mpi

import (
	"cmp"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/params"
)

// Tool sees every call that a rank makes of this package, as a profiling library sees those of an
// MPI program (MPI 4.1, section 15.2). [UseTool] registers it; every rank of the process has a Tool
// of its own.
//
// Begin is called first thing in a call and End last, on the goroutine that calls, so by several
// goroutines at once if several call. Only the user's calls are told, not those that the library
// makes of itself. What a tool does takes the caller's time.
//
// A tool may call this package in Begin and End. What it does is told to tools too, to itself
// first, unless it does it through [Comm.WithoutTools], the counterpart of the names with PMPI_: it
// should. In Begin and End of "Finalize" communication is still possible, and over, in this order.
//
// A Tool that is also a [MessageTool], a [TurnTool], a [RegionTool] or a [ControlTool] is told of
// that too. A panic of a tool ends the job, with the tool's type in the message. So does a tool
// that ends its goroutine (runtime.Goexit, and so FailNow of a test); in Message and Turn that ends
// the process, also one that has called RunThreads, as its ranks could never go on.
type Tool interface {
	// Begin says that call begins.
	Begin(call *Call)
	// End says that it ends, with what it returns: err is the error that the caller gets, nil if
	// there is none, or if it is a request's and comes with its completion.
	End(call *Call, err error)
}

// MessageTool is a [Tool] that is told of every message of its rank, those between the ranks of
// collective and other operations among them.
//
// Message is called in the order in which things happen, one call at a time, beside Begin and End,
// by whichever goroutine makes progress, while the engine of the rank stands still. It must be
// short, must not wait, and must not call this package at all, or the rank would wait for itself
// for ever.
type MessageTool interface {
	Tool
	Message(ev MessageEvent)
}

// TurnTool is a [Tool] that is told what moved its rank's messages, and what slept in wait for
// them; for tracers. Turn is called when a turn is over, or a sleep, under the rules of
// [MessageTool], except that sleeps are told beside turns.
type TurnTool interface {
	Tool
	Turn(ev TurnEvent)
}

// RegionTool is a [Tool] that is told of the phases that the program marks by [Region]. They are
// told on the goroutine that marks them; of one goroutine, they are nested.
type RegionTool interface {
	Tool
	BeginRegion(name string)
	EndRegion(name string)
}

// ControlTool is a [Tool] that is told of [Pcontrol].
type ControlTool interface {
	Tool
	Control(level int, args ...any)
}

// ToolRank is the rank that a tool is for.
type ToolRank struct {
	Rank, Size int    // in world
	Host       string // of its name
}

// TurnEvent is a turn of progress that moved something and has just ended, or a sleep.
type TurnEvent struct {
	Slept bool
	By    string        // which goroutine: "worker", "caller" (blocked in a call) or "visitor" (a thread rank that delivers)
	Took  time.Duration // it has just ended
}

// registered are the makers of tools, in order.
var registered struct {
	mu    sync.Mutex
	tools []*toolMaker // guarded by mu
}

type toolMaker struct{ attach func(ToolRank) Tool }

// UseTool registers a tool for every rank of this process that joins a job from now on, by Init,
// Main or RunThreads. attach is called once for each rank, before it communicates, and returns its
// tool, nil if the rank needs none. attach may be called for several ranks at once. Of several
// tools the first to be registered is the first to hear of a beginning and the last to hear of an
// end. remove takes the registration back, for ranks that join later. UseTool does not block.
//
// Packages may register tools in their init functions: a program gets one by importing it. (MPI
// 4.1, section 15.2.)
func UseTool(attach func(rank ToolRank) Tool) (remove func()) {
	m := &toolMaker{attach}
	registered.mu.Lock()
	defer registered.mu.Unlock()
	registered.tools = append(slices.Clone(registered.tools), m)
	return func() {
		registered.mu.Lock()
		defer registered.mu.Unlock()
		registered.tools = slices.DeleteFunc(slices.Clone(registered.tools), func(x *toolMaker) bool { return x == m })
	}
}

// makers returns those that are registered now.
func makers() []*toolMaker {
	registered.mu.Lock()
	defer registered.mu.Unlock()
	return registered.tools
}

// WithoutTools returns c so that no [Tool] is told of calls that are made through it, nor through
// the requests that they return. It is for tools, whose own calls are of no concern to any tool
// (MPI 4.1, section 15.2: the names that begin with PMPI_). Communicators that are made through it
// are as any other.
func (c *Comm) WithoutTools() *Comm {
	n := *c
	n.unobserved = true
	return &n
}

// ContextID is a number that tells the messages of c from those of all other communicators of the
// job; the same at all of its ranks. It is for tools: a [MessageEvent] has it, and has not the
// communicator. No counterpart in MPI.
func (c *Comm) ContextID() uint64 { return uint64(c.p2p) }

// Variable is one parameter of a rank: what MPI calls a control variable (MPI 4.1, section 15.3.6).
// It is set by an environment variable, by an option of fitrun, or by nothing, and does not change
// once the rank has joined its job.
type Variable struct {
	Name    string // of the environment variable, such as "FITMPI_EAGER_MAX"
	Group   string // what it is about, such as "messages"; MPI's category
	Text    string // what it is for
	Kind    string // of its values: "choice", "size", "duration", "switch", "number" or "text"
	Allowed string // which values it takes, for people
	Default string // what holds without it, as a value or in words
	Alike   bool   // all ranks of a job need the same

	Value  string // in force at this rank, as it could be written into the environment; "" if Default, in words, is all that can be said
	Origin string // what has chosen it: "default", "automatic" (by the machine and the job), "environment", "launcher", or fitrun's option for it
}

// Variables returns all parameters of the calling rank, with the values that are in force at it and
// where these come from, in the order of docs/CONFIG.md, which explains them. c is any communicator
// of the rank. It is what fitrun --print-config says before a job, seen from inside one. It does
// not block, and may be called after Finalize (MPI 4.1, section 15.3.6, MPI_T_cvar_get_info and
// MPI_T_cvar_read).
func (c *Comm) Variables() []Variable {
	e := c.job.engine.InForce()
	var all []Variable
	for _, p := range params.Of(params.Rank) {
		all = append(all, c.job.set.variable(&p, &e))
	}
	return all
}

func (set *settings) variable(p *params.Variable, e *engine.Config) Variable {
	origin := originDefault
	if p.Auto {
		origin = originAutomatic
	}
	return Variable{
		Name: p.Name, Group: string(p.Group), Text: p.Text, Kind: string(p.Kind), Allowed: p.Allowed(), Default: p.Default, Alike: p.Alike,
		Value: takers[p.Name].get(set, e), Origin: cmp.Or(set.origins[p.Name], origin),
	}
}

// warned are the warnings that this process has given: by text.
var warned sync.Map

// warnUnknown warns once in a job of variables that look like ours and are none. Of a job of
// fitrun's, fitrun has done so.
func (j *job) warnUnknown(info boot.Info) {
	if info.Rank != 0 || info.Source == "fitrun" {
		return
	}
	for _, text := range params.Unknown(os.Environ()) {
		if _, again := warned.LoadOrStore(text, true); !again {
			j.logger.Warn(text)
		}
	}
}
