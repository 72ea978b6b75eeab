//go:build linux

package mpi

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// With FITMPI_CHECK=1 every collective begins with a comparison: each rank tells rank 0 what it
// calls, rank 0 tells each what it found, and nothing else moves before that. So a difference is an
// error at all ranks, and the communicator goes on. It takes two messages for each rank, one after
// the other at rank 0, and every collective waits for all ranks.

// call is what a rank calls: callName bytes of the operation's name, eight of the root,
// little-endian, and the signature of the elements, whatever their number.
type call [callName + 8 + signatureLen]byte

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
}

// noteCall keeps what checkColl sees of a collective until it starts.
func (c *Comm) noteCall(op string, root int) {
	c.calling.op, c.calling.class = op, classBytes
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
		now = calling{op, noRoot, anyElems, classBytes}
	}
	var k call
	copy(k[:callName], op)
	binary.LittleEndian.PutUint64(k[callName:], uint64(now.root))
	copy(k[callName+8:], now.elems[:])
	return &k
}

func (k *call) op() string            { return string(bytes.TrimRight(k[:callName], "\x00")) }
func (k *call) root() int             { return int(binary.LittleEndian.Uint64(k[callName:])) }
func (k *call) signature() *signature { return (*signature)(k[callName+8:]) }

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

// judge compares the calls of all ranks with that of rank 0.
func judge(calls []call) (v verdict) {
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
		default:
			continue
		}
		return v
	}
	return v
}

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
			*v = judge(calls)
			return nil
		}, heard...)
		for r := 1; r < len(calls); r++ {
			told = append(told, g.Send(r, coll.Memory(v[:]), judged))
		}
		pass = g.Do(v.err, append(told, judged)...)
	}
	g.gate = append(g.gate, int32(pass))
}
