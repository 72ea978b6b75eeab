//go:build linux

package mpi

import (
	"fmt"

	"github.com/fitmpi/fitmpi/engine"
)

// sendMode is the communication mode of a send (MPI 4.1, section 3.4).
type sendMode uint8

const (
	modeStandard sendMode = iota
	modeSync
	modeBuffered
	modeReady // a standard send: being sure of the receiver buys nothing here
)

// peerCause says which process is gone, where it was, and why.
type peerCause struct {
	world int
	host  string
	gone  *engine.PeerError
}

func (p *peerCause) Error() string {
	if p.gone.Left {
		return fmt.Sprintf("world rank %d on %s has finalized", p.world, p.host)
	}
	return fmt.Sprintf("world rank %d on %s failed: %v", p.world, p.host, p.gone.Cause)
}

func (p *peerCause) Unwrap() error { return p.gone }
