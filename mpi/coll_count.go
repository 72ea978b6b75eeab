package mpi

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Collectives are counted by operation and by the name of their communicator. The first mostCounted
// names with which a rank calls collectives are counted apart, and all others together as
// otherComms. So a program that makes communicators without end does not make series without end.

const (
	mostCounted  = 32
	otherComms   = "other"
	longestLabel = 48 // bytes of a name
)

// callTable is what a rank has counted.
type callTable struct {
	mu     sync.Mutex
	byName map[string]*commCalls // guarded by mu
}

// commCalls counts the collectives of communicators of one name.
type commCalls struct {
	mu  sync.Mutex                 // held to add to ops
	ops atomic.Pointer[[]calledAs] // replaced, never changed: a few, which are searched in order
}

// calledAs is a form of an operation: Iallreduce and AllreduceInit are counted as Allreduce is.
type calledAs struct {
	op string
	*callCount
}

type callCount struct {
	op     string
	mark   callMark
	begun  atomic.Uint64
	waited atomic.Int64 // nanoseconds
}

// count counts a collective of c that begins.
func (c *comm) count(op string) *callCount {
	calls := c.calls.Load()
	if calls == nil {
		calls = c.job.calls.of(*c.name.Load())
		c.calls.Store(calls)
	}
	n := calls.of(op)
	n.begun.Add(1)
	return n
}

// end notes that callers have waited for a collective whose MSO is m. The engine has timed that,
// where it was worth it: to read clocks here would be a tenth of what a short collective of threads
// costs.
func (n *callCount) end(m *engine.MSO) {
	if m.Waited > 0 {
		n.waited.Add(m.Waited)
	}
}

// of is where the collectives of communicators with a name are counted.
func (t *callTable) of(name string) *commCalls {
	t.mu.Lock()
	defer t.mu.Unlock()
	label := labelOf(name)
	if t.byName[label] == nil && len(t.byName) >= mostCounted {
		label = otherComms
	}
	if t.byName == nil {
		t.byName = make(map[string]*commCalls)
	}
	if t.byName[label] == nil {
		t.byName[label] = new(commCalls)
	}
	return t.byName[label]
}

// labelOf is the name of a communicator as the value of a label: of bounded length, valid UTF-8 and
// on one line.
func labelOf(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r // of a byte that is none, U+FFFD
	}, name)
	if len(name) > longestLabel {
		end := longestLabel
		for !utf8.RuneStart(name[end]) {
			end--
		}
		name = name[:end]
	}
	return cmp.Or(name, "unnamed")
}

func (n *commCalls) of(op string) *callCount {
	if p := n.ops.Load(); p != nil {
		for i := range *p {
			if (*p)[i].op == op {
				return (*p)[i].callCount
			}
		}
	}
	return n.add(op)
}

// add begins to count a form of an operation.
func (n *commCalls) add(op string) *callCount {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []calledAs
	if p := n.ops.Load(); p != nil {
		all = slices.Clone(*p)
	}
	called := calledAs{op: op}
	for _, other := range all {
		if other.op == op {
			return other.callCount
		}
		if other.callCount.op == blockingForm(op) {
			called.callCount = other.callCount
		}
	}
	if called.callCount == nil {
		form := blockingForm(op)
		called.callCount = &callCount{op: form, mark: markOf(form)}
	}
	all = append(all, called)
	n.ops.Store(&all)
	return called.callCount
}

// blockingForm is how the blocking form of a collective is called.
func blockingForm(op string) string {
	switch formOf(op) {
	case nonblocking:
		return strings.ToUpper(op[1:2]) + op[2:]
	case persistent:
		return strings.TrimSuffix(op, "Init")
	}
	return op
}

// read returns what is counted, by name and operation.
func (t *callTable) read() (all []telemetry.Calls) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, calls := range t.byName {
		p := calls.ops.Load()
		if p == nil {
			continue
		}
		seen := make(map[*callCount]bool, len(*p))
		for _, as := range *p {
			if n := as.callCount; !seen[n] {
				seen[n] = true
				all = append(all, telemetry.Calls{Comm: name, Op: n.op, Count: n.begun.Load(), Waited: time.Duration(n.waited.Load())})
			}
		}
	}
	slices.SortFunc(all, func(a, b telemetry.Calls) int {
		return cmp.Or(cmp.Compare(a.Comm, b.Comm), cmp.Compare(a.Op, b.Op))
	})
	return all
}
