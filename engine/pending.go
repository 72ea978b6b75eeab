package engine

import (
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// The core's descriptions, as the packages above use them.
type (
	Operation  = core.Operation
	Unreceived = core.Unreceived
)

// States of operations.
const (
	Queued   = core.Queued
	Awaiting = core.Awaiting
	Moving   = core.Moving

	KindSched = core.KindSched
	KindParts = core.KindParts
)

// Blocked is a caller that waits.
type Blocked struct {
	Since   time.Duration // for how long
	PCs     []uintptr     // where it was called from, for callsite.Of
	Need    int           // how many of Ops must complete
	Ops     []int         // what it waits for, as indices of Pending.Operations; not all if they are very many
	More    int           // how many others may do instead of one of Ops; 0 if all are listed, or if all are needed
	Besides int           // how many others must complete as well, if all are needed and not all are listed
	Bounded bool          // see WaitBounded
}

// Pending is what a rank has begun and not finished, all at one moment.
type Pending struct {
	Blocked    []Blocked
	Operations []Operation // those first that callers wait for
	Messages   []Unreceived
	// How many there are of each.
	AllBlocked, AllOperations, AllMessages int
}

// Pending says what the rank waits for. Of each list it returns so many at most. It may be called
// at any time, and holds the mutex for as long as it takes to look at all that is pending.
func (e *Engine) Pending(blocked, operations, messages int) Pending {
	e.mu.Lock()
	defer e.mu.Unlock()
	var p Pending
	ws := e.waits.blocked()
	var first []*MSO
	for _, w := range ws {
		first = append(first, w.ms...)
	}
	p.Operations, p.AllOperations = e.core.Operations(first, operations)
	p.Messages, p.AllMessages = e.core.Unreceived(messages)
	index := make(map[*MSO]int, len(p.Operations))
	for i := range p.Operations {
		index[p.Operations[i].MSO] = i
	}
	p.AllBlocked = len(ws)
	now := sys.Nanotime()
	for _, w := range ws[:min(blocked, len(ws))] {
		p.Blocked = append(p.Blocked, w.describe(now, index))
	}
	return p
}

// Callers says which callers wait, the one that has waited longest first, n at most, without what
// they wait for. However much is pending, that costs little.
func (e *Engine) Callers(n int) []Blocked {
	e.mu.Lock()
	defer e.mu.Unlock()
	ws := e.waits.blocked()
	now := sys.Nanotime()
	var bs []Blocked
	for _, w := range ws[:min(n, len(ws))] {
		bs = append(bs, w.describe(now, nil))
	}
	return bs
}

// blocked returns the callers whose wait is not over, the one that has waited longest first.
func (c *waitClock) blocked() []*wait {
	var ws []*wait
	for i := range c.slots {
		if w := &c.slots[i]; w.since != 0 && countDone(w.ms) < w.need {
			ws = append(ws, w)
		}
	}
	slices.SortFunc(ws, func(a, b *wait) int { return int(a.since - b.since) })
	return ws
}

func (w *wait) describe(now int64, index map[*MSO]int) Blocked {
	b := Blocked{Since: time.Duration(max(now-w.since, 0)), PCs: slices.Clone(w.pcs[:]), Bounded: w.bounded}
	open := w.more
	for _, m := range w.ms {
		if m == nil || m.IsDone() {
			continue
		}
		open++
		if i, ok := index[m]; ok {
			b.Ops = append(b.Ops, i)
		}
	}
	b.Need = w.need - (len(w.ms) + w.more - open)
	if b.More = open - len(b.Ops); b.Need == open {
		b.Need, b.More, b.Besides = len(b.Ops), 0, b.More // all of them, so all of those that are listed
	}
	b.Need = min(b.Need, len(b.Ops))
	return b
}
