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
	lost := ""
	if m := p.gone.Lost; m != nil {
		n, _ := unsigned(m.Length, m.Elem)
		lost = fmt.Sprintf("; its message of %d bytes with tag %d was on its way, and is lost", n, m.Tag)
	}
	if p.gone.Left {
		return fmt.Sprintf("world rank %d on %s has finalized%s", p.world, p.host, lost)
	}
	return fmt.Sprintf("world rank %d on %s failed: %v%s", p.world, p.host, p.gone.Cause, lost)
}

func (p *peerCause) Unwrap() error { return p.gone }
