package mpi

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// With FITMPI_CHECK=1 every collective begins with a comparison: each rank tells rank 0 what it
// calls, rank 0 tells each what it found, and nothing else moves before that. So a difference is an
// error at all ranks, and the communicator goes on. It takes two messages for each rank, one after
// the other at rank 0, and every collective waits for all ranks.

// call is what a rank calls: callName bytes of the operation's name, eight of the root,
// little-endian, the signature of the elements, whatever their number, and an opOrder.
type call [callName + 8 + signatureLen + 1]byte

const callName = 32

// noRoot stands for the root of an operation that has none that all ranks name alike.
const noRoot = -1

// anyElems is the signature of an operation without elements, or with such as are not known. It
// matches all.
var anyElems = newSignature(0, sigBytes, "anything")

// calling is what the arguments of the collective that is about to start say.
type calling struct {
	op    string
	root  int
	elems *signature
	class elemClass
	order opOrder
}

// opOrder is in which order the operation of a reduction may be carried out, on which the choice of
// algorithms depends.
type opOrder uint8

const (
	orderUnknown opOrder = iota // there is no operation, or the order makes no difference
	orderAny                    // it commutes
	orderOfRanks                // it does not, as far as is known
)

var opOrderNames = [...]string{"not known", "commutative", "not commutative"}

// noteOrder keeps for the collective that is about to start whether its operation commutes. Each
// group of an intercommunicator has an operation of its own.
func (c *Comm) noteOrder(commutes bool) {
	switch {
	case c.isInter():
	case commutes:
		c.calling.order = orderAny
	default:
		c.calling.order = orderOfRanks
	}
}

// noteCall keeps what checkColl sees of a collective until it starts.
func (c *Comm) noteCall(op string, root int) {
	c.calling.op, c.calling.class, c.calling.order = op, classBytes, orderUnknown
	if !c.job.checks {
		return
	}
	if c.isInter() {
		root = noRoot
	}
	c.calling.root, c.calling.elems = root, anyElems
}

// noteElem is noteCall for the elements.
func (c *Comm) noteElem(e *elem) {
	c.calling.class = e.class
	if c.job.checks && c.sendType == nil && c.recvType == nil && e.err == nil {
		c.calling.elems = elemSignature(e)
	}
}

// elemSignature tells elements of one kind from those of others, and from structs of several kinds,
// but not these from each other: how many of them make the same sequence of kinds depends on their
// number.
func elemSignature(e *elem) *signature {
	if !e.plain {
		return objectSignature(e)
	}
	switch k, one := e.m.OneKind(); {
	case isBytes(e.m):
		return anyElems
	case one:
		return newSignature(uint64(k), 0, typeText(e, nil))
	default:
		return newSignature(^uint64(0), 0, typeText(e, nil))
	}
}

// takeCall is the call that starts c's collective op.
func (c *Comm) takeCall(op string) *call {
	now := c.calling
	if c.calling = (calling{}); now.op != op {
		now = calling{op, noRoot, anyElems, classBytes, orderUnknown}
	}
	var k call
	copy(k[:callName], op)
	binary.LittleEndian.PutUint64(k[callName:], uint64(now.root))
	copy(k[callName+8:], now.elems[:])
	k[len(k)-1] = byte(now.order)
	return &k
}

func (k *call) op() string            { return string(bytes.TrimRight(k[:callName], "\x00")) }
func (k *call) root() int             { return int(binary.LittleEndian.Uint64(k[callName:])) }
func (k *call) signature() *signature { return (*signature)(k[callName+8:]) }
func (k *call) order() opOrder        { return opOrder(min(k[len(k)-1], byte(orderOfRanks))) }

// verdict is what rank 0 found: the class of the error, little-endian, and its text. It is zero if
// there is none.
type verdict [8 + 184]byte

func (v *verdict) set(class ErrorClass, format string, args ...any) {
	binary.LittleEndian.PutUint64(v[:], uint64(class))
	copy(v[8:], fmt.Sprintf(format, args...))
}

// err is the error of a step.
func (v *verdict) err() error {
	if *v == (verdict{}) {
		return nil
	}
	return &differentCalls{ErrorClass(binary.LittleEndian.Uint64(v[:])), string(bytes.TrimRight(v[8:], "\x00"))}
}

// differentCalls says that the ranks do not call the same collective.
type differentCalls struct {
	class ErrorClass
	text  string
}

func (e *differentCalls) Error() string { return e.text }
func (e *differentCalls) Unwrap() error { return e.class }

// classify compares the calls of all ranks with that of rank 0.
func classify(calls []call) (v verdict) {
	first := &calls[0]
	for r := 1; r < len(calls); r++ {
		k := &calls[r]
		a, b := first.signature(), k.signature()
		switch {
		case k.op() != first.op():
			v.set(ErrNotSame, "rank 0 calls %s, rank %d calls %s", first.op(), r, k.op())
		case k.root() != first.root():
			v.set(ErrNotSame, "the root is %d at rank 0 and %d at rank %d", first.root(), k.root(), r)
		case a[sigFlags] != sigBytes && b[sigFlags] != sigBytes && (a.hash() != b.hash() || a[sigFlags] != b[sigFlags]):
			v.set(ErrType, "the elements are %s at rank 0 and %s at rank %d", a.text(), b.text(), r)
		case !k.order().suits(first.order()):
			v.set(ErrNotSame, "the operation is %s at rank 0 and %s at rank %d: give the same one at all ranks, mpi.Commutative(op) at all or at none",
				opOrderNames[first.order()], opOrderNames[k.order()], r)
		default:
			continue
		}
		return v
	}
	return v
}

// suits reports whether two ranks of a reduction may have operations of orders o and p.
func (o opOrder) suits(p opOrder) bool { return o == p || o == orderUnknown || p == orderUnknown }

// agree begins g, which is empty, with the comparison; all steps that are added later wait for it.
//
// Preconditions:
//   - g is of all ranks of c.everyone().
func (g *graph) agree(c *Comm, op string) {
	all := c.everyone()
	mine, v := c.takeCall(op), new(verdict)
	var pass coll.Step
	if all.rank > 0 {
		sent := g.Send(0, coll.Memory(mine[:]))
		pass = g.Do(v.err, sent, g.Recv(0, coll.Memory(v[:]), sent))
	} else {
		calls := make([]call, all.Size())
		calls[0] = *mine
		var heard, told []coll.Step
		for r := 1; r < len(calls); r++ {
			heard = append(heard, g.Recv(r, coll.Memory(calls[r][:])))
		}
		judged := g.Do(func() error {
			*v = classify(calls)
			return nil
		}, heard...)
		for r := 1; r < len(calls); r++ {
			told = append(told, g.Send(r, coll.Memory(v[:]), judged))
		}
		pass = g.Do(v.err, append(told, judged)...)
	}
	g.gate = append(g.gate, int32(pass))
}

// Every message of a collective has a mark in the byte of its header that is the element class of
// other messages: which operation its sender is in, and of which class its elements are. The
// receiver compares it with its own. So ranks that call different collectives, or one with
// different types, learn it where their messages meet, at the cost of a comparison. Where they do
// not meet, as with different roots, or each rank would find another difference first,
// FITMPI_CHECK=1 says it (tool_check_coll.go): there the marks are 0.

// callMark is an operation in the upper four bits, an elemClass in the others; 0 is none.
type callMark uint8

// markOps are the operations that have a code of their own, which is their place. All that make
// communicators, windows and files share the first. The codes are part of the wire protocol.
var markOps = [16]string{
	1: "one that makes or frees a communicator, a window or a file", 2: "Barrier", 3: "Bcast", 4: "Gather", 5: "Scatter", 6: "Allgather", 7: "Alltoall",
	8: "Reduce", 9: "Allreduce", 10: "ReduceScatter", 11: "Scan", 12: "Exscan", 13: "NeighborAllgather", 14: "NeighborAlltoall",
	15: "a reduction whose operation does not commute",
}

// markInOrder stands for the mark of a reduction for which other algorithms are chosen if its
// operation does not commute. If ranks disagree about that they may wait for messages that never
// come: where messages meet before, or with FITMPI_CHECK=1, they are told.
const markInOrder callMark = 15 << 4

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
	g.elem, g.differ = uint8(c.takeMark(op, m)), differ
}

// takeMark is m with what is known of the elements and the operation of the collective op, which is
// about to start.
func (c *comm) takeMark(op string, m callMark) callMark {
	now := c.calling
	c.calling.op, c.calling.class, c.calling.order = "", classBytes, orderUnknown
	if now.op != op {
		return m
	}
	if now.order == orderOfRanks && m.isOrdered() {
		m = markInOrder
	}
	return m | callMark(now.class)
}

// isOrdered reports whether the choice of algorithms depends on whether the operation commutes.
func (m callMark) isOrdered() bool {
	switch m.op() {
	case "Reduce", "Allreduce", "ReduceScatter":
		return true
	}
	return false
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
