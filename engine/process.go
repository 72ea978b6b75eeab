package engine

import (
	"sync"

	"github.com/fitmpi/fitmpi/internal/shm"
)

// Process is what the ranks of one process share: each other's engines, and the rings
// between them, which are made when they are first used. (McMPI: thread as rank.)
type Process struct {
	ringBytes int // immutable

	mu      sync.Mutex
	engines map[PeerID]*Engine // guarded by mu
	rings   map[[2]int][]byte  // guarded by mu: by index of writer and reader
}

// NewProcess is the registry for a process of a host that has so many ranks in all.
func NewProcess(ranks int) *Process {
	return &Process{
		ringBytes: shm.RingBytes(ranks),
		engines:   make(map[PeerID]*Engine), rings: make(map[[2]int][]byte),
	}
}

func (p *Process) join(e *Engine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.engines[PeerID(e.cfg.Rank)] = e
}

// engine is a rank's, nil if it has not joined.
func (p *Process) engine(id PeerID) *Engine {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.engines[id]
}

// ring is the memory of the ring from one rank to another, by their indices.
func (p *Process) ring(from, to int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := [2]int{from, to}
	mem := p.rings[k]
	if mem == nil {
		mem = shm.Alloc(p.ringBytes)
		p.rings[k] = mem
	}
	return mem
}
