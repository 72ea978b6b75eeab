//go:build linux

package mpi

import (
	"fmt"

	"github.com/fitmpi/fitmpi/engine"
)

// Every message of a collective has a mark in the byte of its header that is the element class of
// other messages: which operation its sender is in, and of which class its elements are. The
// receiver compares it with its own. So ranks that call different collectives, or one with
// different types, learn it where their messages meet, at the cost of a comparison. Where they do
// not meet, as with different roots, or each rank would find another difference first,
// FITMPI_CHECK=1 says it (check_coll.go): there the marks are 0.

// callMark is an operation in the upper four bits, an elemClass in the others; 0 is none.
type callMark uint8

// markOps are the operations that have a code of their own, which is their place. All that make
// communicators, windows and files share the first. The codes are part of the wire protocol.
var markOps = [16]string{
	1: "one that makes or frees a communicator, a window or a file", 2: "Barrier", 3: "Bcast", 4: "Gather", 5: "Scatter", 6: "Allgather", 7: "Alltoall",
	8: "Reduce", 9: "Allreduce", 10: "ReduceScatter", 11: "Scan", 12: "Exscan", 13: "NeighborAllgather", 14: "NeighborAlltoall",
}

// markForms are the operations whose messages look like those of another.
var markForms = map[string]string{
	"Gatherv": "Gather", "Scatterv": "Scatter", "Allgatherv": "Allgather", "Alltoallv": "Alltoall", "Alltoallw": "Alltoall",
	"ReduceScatterBlock": "ReduceScatter", "NeighborAllgatherv": "NeighborAllgather",
	"NeighborAlltoallv": "NeighborAlltoall", "NeighborAlltoallw": "NeighborAlltoall",
}

// markOf is the mark of an operation, in its blocking form, of elements of any class.
func markOf(op string) callMark {
	if form, ok := markForms[op]; ok {
		op = form
	}
	for i, name := range markOps {
		if i > 0 && name == op {
			return callMark(i << 4)
		}
	}
	return 1 << 4
}

func (m callMark) op() string       { return markOps[m>>4] }
func (m callMark) class() elemClass { return elemClass(m & 0xf) }

// mark is what messages of g have in their headers: the mark of the collective op of c.
func (g *graph) mark(c *Comm, op string, m callMark) {
	if c.job.checks {
		return
	}
	g.s.Elem, g.s.Differ = uint8(m|callMark(c.takeClass(op))), differ
}

// takeClass is the class of the elements of the collective op, which is about to start; classBytes
// if it is not known.
func (c *comm) takeClass(op string) elemClass {
	now := c.calling
	c.calling.op, c.calling.class = "", classBytes
	if now.op != op {
		return classBytes
	}
	return now.class
}

// differ is the error of a collective that is marked own at this rank and got at another, nil if
// they match.
func differ(own, got uint8, from engine.PeerID) error {
	a, b := callMark(own), callMark(got)
	if a.op() == "" || b.op() == "" || a.op() == b.op() && a.class().suits(b.class()) {
		return nil
	}
	return &markError{a, b, from}
}

// suits reports whether the elements of two ranks of a collective may be of classes c and d: they
// are of one, or both travel as memory and one is bytes or composite, or one is not known.
func (c elemClass) suits(d elemClass) bool {
	switch {
	case c == d || c == classBytes || d == classBytes:
		return true
	case c == classObject || d == classObject:
		return false
	}
	return !c.isKind() || !d.isKind()
}

// markError says that two ranks are in different collectives.
type markError struct {
	own, got callMark
	from     engine.PeerID
}

func (e *markError) Error() string { return e.text(fmt.Sprint("rank ", e.from)) }

// text says it of the other rank by a name.
func (e *markError) text(other string) string {
	text := fmt.Sprintf("this rank calls %s, %s calls %s", e.own.op(), other, e.got.op())
	if e.own.op() == e.got.op() {
		text = fmt.Sprintf("the elements are %s at this rank and %s at %s", e.own.class(), e.got.class(), other)
	}
	return text + ": " + checkHint
}

func (e *markError) Unwrap() error {
	if e.own.op() == e.got.op() {
		return ErrType
	}
	return ErrNotSame
}

// checkHint is what to do where ranks have been found to call different collectives, but perhaps
// not the first ones.
const checkHint = "run it with fitrun --check (FITMPI_CHECK=1), which compares what all ranks call before anything moves"
