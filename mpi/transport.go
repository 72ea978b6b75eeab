//go:build linux

package mpi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/engine"
)

// The values of FITMPI_TRANSPORT.
const (
	transportAuto = "auto" // memory where two ranks share it, else TCP
	transportTCP  = "tcp"  // TCP between all ranks
	transportShm  = "shm"  // as auto, but it is an error if two ranks share no memory
)

// Transport says how messages between the calling rank and another rank of c travel:
// "thread" between ranks of one process, "shared" through memory that processes of
// one host share, "tcp" over a connection, "self" if it is the same rank, and "" if c
// has no such rank. Both ranks of a pair get the same answer. No counterpart in MPI.
func (c *Comm) Transport(rank int) string {
	if rank < 0 || rank >= len(c.peers) {
		return ""
	}
	if int(c.peers[rank]) == c.job.engine.Rank() {
		return "self"
	}
	return c.job.engine.Peer(c.peers[rank]).Way.String()
}

// transports says how this rank reaches the others, for people.
func (j *job) transports(peers []engine.PeerInfo) string {
	var count [3]int
	var relayed []string
	for r, p := range peers {
		if r == j.engine.Rank() {
			continue
		}
		count[p.Way]++
		if p.Way == engine.TCP && isRelayed(p.Routes) {
			relayed = append(relayed, strconv.Itoa(r))
		}
	}
	s := fmt.Sprintf("thread %d, shared %d", count[engine.Thread], count[engine.Shared])
	if count[engine.Shared] > 0 {
		s += " (long messages " + j.longMessages() + ")"
	}
	s += fmt.Sprintf(", tcp %d", count[engine.TCP])
	if relayed != nil {
		s += fmt.Sprintf(" (by gateway to %s)", strings.Join(relayed, ","))
	}
	if j.local.why != nil && count[engine.TCP] > 0 {
		s += fmt.Sprintf(" (%v)", j.local.why)
	}
	return s
}

// isRelayed reports whether a rank is reached by a gateway. A connection straight to a rank needs
// no preamble that says which rank it is for.
func isRelayed(routes []engine.Route) bool {
	return slices.ContainsFunc(routes, func(r engine.Route) bool { return r.Preamble != nil })
}

// longMessages says how long messages come from the processes that we share memory with.
func (j *job) longMessages() string {
	switch fetched, piped := j.engine.LongMessages(); {
	case piped == 0:
		return "by process_vm_readv"
	case fetched == 0:
		return "through the ring"
	default:
		return fmt.Sprintf("of %d by process_vm_readv, of %d through the ring", fetched, piped)
	}
}
