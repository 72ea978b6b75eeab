package engine

import "github.com/fitmpi/fitmpi/engine/internal/core"

// Parts is one end of a partitioned message; see core.Parts.
type Parts = core.Parts

// PartLayout is the layout of a partitioned message.
type PartLayout = core.PartLayout

// UnequalError is the cause of the failure of a partitioned message whose ends do not fit.
type UnequalError = core.UnequalError

// MaxPartitions is how many partitions a message may have at most.
const MaxPartitions = core.MaxPartitions

// NoteLen is the length of the Note of a partitioned message, in bytes.
const NoteLen = core.NoteLen

// Errors of Ready.
var (
	ErrInactive     = core.ErrInactive
	ErrReadyAlready = core.ErrReadyAlready
)

// InitParts matches p with the other end, in the order of calls at both ends. It does
// not wait.
func (e *Engine) InitParts(p *Parts) {
	e.mu.Lock()
	if e.stopping.Load() {
		e.core.RefuseParts(p, ErrStopped)
	} else {
		e.core.InitParts(p)
	}
	e.unlockPosted(leaves, nil)
}

// StartParts starts a round of p: of a receive all partitions, of a send none until
// they are Ready. Wait for p.MSO.
//
// Preconditions:
//   - p is not in a round.
func (e *Engine) StartParts(p *Parts) {
	e.mu.Lock()
	p.MSO.Reset()
	if e.stopping.Load() {
		e.core.Refuse(&p.MSO, ErrStopped)
	} else {
		e.core.StartParts(p)
	}
	e.unlockPosted(leaves, &p.MSO)
}

// Ready sends n partitions of p, that which at says for 0, 1, ... Each leaves by
// itself, but the mutex is taken once. If one cannot be sent it returns which, and why;
// then none has been, except for those before it if it is named twice.
func (e *Engine) Ready(p *Parts, n int, at func(int) int) (partition int, err error) {
	e.mu.Lock()
	for k := range n {
		if err := p.CanReady(at(k)); err != nil {
			e.mu.Unlock()
			return at(k), err
		}
	}
	for k := range n {
		i := at(k)
		if err = p.CanReady(i); err != nil { // named twice, or by another goroutine meanwhile
			partition = i
			break
		}
		e.readyLocked(p, i, nil)
	}
	e.unlockPosted(leaves, nil)
	return partition, err
}

// ReadyObject is Ready of partition i, which is serialised as b.
func (e *Engine) ReadyObject(p *Parts, i int, b []byte) error {
	e.mu.Lock()
	err := p.CanReady(i)
	if err == nil {
		e.readyLocked(p, i, b)
	}
	e.unlockPosted(leaves, nil)
	return err
}

func (e *Engine) readyLocked(p *Parts, i int, b []byte) {
	if j, ok := e.core.Ready(p, i, b); ok {
		e.runJob(&j)
	}
}

// Arrived reports whether the i-th of the receiver's partitions is in place. It costs
// an atomic load for each of the sender's that overlap it, and a turn where Test makes one.
func (e *Engine) Arrived(p *Parts, i int) (bool, error) {
	if ok, err := p.Arrived(i); ok {
		return ok, err
	}
	e.progressForTest()
	return p.Arrived(i)
}

// TakePayload returns what came for the k-th of the sender's partitions of objects, once.
func (e *Engine) TakePayload(p *Parts, k int) (b []byte, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return p.TakePayload(k)
}
