//go:build linux

package mpi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// local is what the ranks of this process have in common in one job.
type local struct {
	// Immutable after newLocal.
	token   string          // names this process among those of the job; "" if it wants TCP
	process *engine.Process // nil if this process has one rank, or wants TCP
	segment *shm.Segment    // memory shared with other processes of this host; nil if there is none
	why     error           // why there is none, where there might be
	bound   bound           // of the machine that it is bound to as the job begins

	mu     sync.Mutex
	within int                                // guarded by mu: ranks of this process that have not left
	common map[engine.ContextID]*commonMemory // guarded by mu: of windows whose ranks share it; nil before the first
	wins   map[engine.ContextID][]*win        // guarded by mu: the windows that live, by rank; nil before the first
}

// newLocal prepares for the ranks of this process, of which info describes one. Each
// whose job does not begin must leave.
func newLocal(info boot.Info, transport string) (*local, error) {
	l := &local{within: max(info.ProcessRanks, 1), bound: boundTo(sys.AllowedCPUs())}
	if transport == transportTCP {
		return l, nil
	}
	if info.LocalSize <= shm.MaxRanks {
		l.token = rand.Text()
		if l.within > 1 {
			l.process = engine.NewProcess(info.LocalSize)
		}
		l.why = l.open(info)
	} else {
		l.why = fmt.Errorf("%d ranks on this host: memory is shared by at most %d", info.LocalSize, shm.MaxRanks)
	}
	if l.why != nil && transport == transportShm {
		return nil, fmt.Errorf("%s=%s: %w", nameTransport, transport, l.why)
	}
	return l, nil
}

// open maps the memory that the launcher has made for the ranks of this host, if it
// has made any.
func (l *local) open(info boot.Info) error {
	if info.Segment == nil {
		return nil
	}
	if info.Bell == nil {
		return errors.New("the launcher gave a shared memory segment, but no bell")
	}
	s, err := shm.Open(info.Segment)
	if err != nil {
		return err
	}
	if s.Ranks() != info.LocalSize {
		err := fmt.Errorf("shared memory segment for %d ranks on a host of %d", s.Ranks(), info.LocalSize)
		return errors.Join(err, s.Close())
	}
	l.segment = s
	return nil
}

// leave ends the part of one rank, and of the process with the last.
//
// Preconditions:
//   - the rank's engine is closed or was never made, and no goroutine is inside a call of it.
//   - called once for a rank.
func (l *local) leave() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.within--; l.within > 0 || l.segment == nil {
		return nil
	}
	return l.segment.Close()
}
