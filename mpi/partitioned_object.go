//go:build linux

package mpi

import (
	"fmt"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
)

// incomingObjects deserialises the sender's partitions of a receive of objects, each once in a
// round, when a caller asks for it.
type incomingObjects struct {
	// Immutable.
	p    *engine.Parts
	take func(k int) (b []byte, ok bool)      // the k-th of the sender's partitions, once in a round
	into func(b []byte, first, end int) error // elements of the buffer
	n    int                                  // elements of the buffer

	mu  sync.Mutex
	bad map[int]error // guarded by mu: why partitions of this round cannot be deserialised
}

func newIncomingObjects[T any](e *engine.Engine, p *engine.Parts, buf []T) *incomingObjects {
	in := &incomingObjects{p: p, n: len(buf), bad: make(map[int]error)}
	in.take = func(k int) ([]byte, bool) { return e.TakePayload(p, k) }
	in.into = func(b []byte, first, end int) error {
		n, err := decodeObjects(b, buf[first:end])
		if err == nil && n < end-first {
			err = fmt.Errorf("a partition of %d elements arrived with %d", end-first, n)
		}
		return err
	}
	return in
}

// reset begins a round.
func (in *incomingObjects) reset() {
	in.mu.Lock()
	defer in.mu.Unlock()
	clear(in.bad)
}

// decode makes sure that the sender's partitions first to before end are in the buffer,
// if a round was ever started.
//
// Preconditions:
//   - they have arrived.
func (in *incomingObjects) decode(first, end int) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	each := in.n / in.p.Blocks()
	for k := first; k < end; k++ {
		if b, ok := in.take(k); ok {
			if err := in.into(b, k*each, (k+1)*each); err != nil {
				in.bad[k] = err
			}
		}
		if err := in.bad[k]; err != nil {
			return err
		}
	}
	return nil
}
