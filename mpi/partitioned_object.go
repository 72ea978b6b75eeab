//go:build linux

package mpi

import (
	"fmt"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
)

// incomingObjects deserialises the sender's partitions of a receive of objects, each
// once in a round, when somebody asks for it.
type incomingObjects struct {
	p    *engine.Parts
	into func(b []byte, first, end int) error // elements of the buffer
	n    int                                  // elements of the buffer

	mu    sync.Mutex
	begun bool   // guarded by mu: at least one round was started
	done  []bool // guarded by mu: by the sender's partition; empty until one is there
}

func newIncomingObjects[T any](p *engine.Parts, buf []T) *incomingObjects {
	return &incomingObjects{p: p, n: len(buf), into: func(b []byte, first, end int) error {
		n, err := decodeObjects(b, buf[first:end])
		if err == nil && n < end-first {
			err = fmt.Errorf("a partition of %d elements arrived with %d", end-first, n)
		}
		return err
	}}
}

// reset begins a round.
func (in *incomingObjects) reset() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.begun = true
	clear(in.done)
}

// decode makes sure that the sender's partitions first to before end are in the buffer,
// if a round was ever started.
//
// Preconditions:
//   - they have arrived.
func (in *incomingObjects) decode(first, end int) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.begun {
		return nil
	}
	if in.done == nil {
		in.done = make([]bool, in.p.Blocks())
	}
	each := in.n / in.p.Blocks()
	for k := first; k < end; k++ {
		if in.done[k] {
			continue
		}
		if err := in.into(in.p.Payload(k), k*each, (k+1)*each); err != nil {
			return err
		}
		in.done[k] = true
	}
	return nil
}
