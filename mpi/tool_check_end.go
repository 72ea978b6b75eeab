package mpi

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/callsite"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// What is wrong without any operation failing: requests that are never completed, messages that are
// never received, and buffers that are changed while they are sent. With FITMPI_CHECK=1 the last is
// an error of Wait, and the others are errors of Finalize. By then each rank must "locally complete
// all MPI operations that it initiated and must execute matching calls needed to complete MPI
// communications initiated by other processes" (MPI 4.1, section 11.2.2). Session.Finalize says of
// its communicators what is here.
//
// A message of a collective that is never received mostly says that the ranks have called different
// ones, or with different roots: to see that at Finalize costs nothing, and every job warns of it.
// It is no error, since a rank may have given up its part in one that failed elsewhere.

// checker remembers the requests of a rank that are to be completed.
type checker struct {
	mu   sync.Mutex
	open map[*Request]bool           // guarded by mu
	made map[engine.ContextID]*scope // guarded by mu: the open scope of the communicator of each context
}

func newChecker() *checker {
	return &checker{open: make(map[*Request]bool), made: make(map[engine.ContextID]*scope)}
}

// saw takes note of a communicator. One that has yet to get its own context has that of another.
func (c *checker) saw(x *comm) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made[x.p2p] == nil {
		c.made[x.p2p] = x.scope
	}
}

// of returns the messages of communicators of a scope, which is over: it is asked once of each.
func (c *checker) of(all []engine.Unreceived, s *scope) (us []engine.Unreceived) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range all {
		if c.made[p2pOf(m.Ctx)] == s {
			us = append(us, m)
		}
	}
	maps.DeleteFunc(c.made, func(_ engine.ContextID, of *scope) bool { return of == s })
	return us
}

// checked is what a checker knows of a request.
type checked struct {
	// Immutable.
	by *checker
	op string
	at [12]uint32 // as the origin of a schedule

	sent *sentData // owned by the goroutine that waits, and starts; nil if it is not known
}

// started takes note of r, which the call k returns.
func (c *checker) started(k *Call, r *Request) {
	if r == nil || r.c == nil {
		return
	}
	if r.work == nil { // over already, and yet to be completed
		r.work = &work{op: k.Op, peer: -1}
	}
	x := &checked{by: c, op: k.Op, sent: k.sent}
	if r.rare != nil && r.rare.sent != nil {
		x.sent, r.rare.sent = r.rare.sent, nil
	}
	callsite.Note(x.at[:])
	r.more().checked = x
	x.told(r, r.delivered)
}

// told takes note of whether r is complete.
func (x *checked) told(r *Request, told bool) {
	x.by.mu.Lock()
	defer x.by.mu.Unlock()
	if told {
		delete(x.by.open, r)
	} else {
		x.by.open[r] = true
	}
}

// heard takes note that the caller knows how r has ended, or need not know.
func (r *Request) heard() {
	if r.work != nil && r.rare != nil && r.rare.checked != nil {
		r.rare.checked.told(r, true)
	}
}

// sentData is what a request sends, and what that was at the beginning.
type sentData struct {
	now  func() []byte // a copy
	then []byte
}

// begin takes note of what is sent by the operation, or the round, that begins.
func (s *sentData) begin() { s.then = s.now() }

func sentOf(p payload) *sentData {
	if p.class == classObject { // what is sent is a copy
		return nil
	}
	s := &sentData{now: func() []byte { return p.apart().b }}
	s.begin()
	return s
}

// keepSent keeps what buf, which a nonblocking call between two ranks of a rank that is checked
// sends, holds now; unless it shares memory with what the call receives into. Ibsend, which copies
// it, is complete.
func keepSent[T any](k *Call, c *Comm, buf []T, into []byte) {
	e := elemOf[T]()
	if k.tools == nil || k.tools.checks == nil || formOf(k.Op) != nonblocking || k.Op == "Ibsend" || !e.plain || e.err != nil || overlap(bytesOf(buf), into) {
		return
	}
	if b, o, err := travels(c, k.Op, c.sendType, buf); err == nil {
		k.sent = sentOf(payload{b: b, o: o, class: e.class})
	}
}

// sends is what a collective sends of its operand in: nil if the rank is not checked, or if in
// shares memory with out, into which it receives, as then the library may change it.
func (c *Comm) sends(in, out []byte, whole coll.Buf) *sentData {
	if !c.job.checks {
		return nil // and without memory of its own
	}
	return c.sendsParts(in, out, []coll.Buf{whole})
}

// sendsParts is sends of parts of in.
func (c *Comm) sendsParts(in, out []byte, parts []coll.Buf) *sentData {
	if !c.job.checks || overlap(in, out) {
		return nil
	}
	return &sentData{now: func() (b []byte) {
		for _, p := range parts {
			at := len(b)
			b = append(b, make([]byte, p.Len())...)
			p.Pack(b[at:], 0)
		}
		return b
	}}
}

// sendsBlocks is sends of blocks of in.
func (c *Comm) sendsBlocks(in, out []byte, x *operand) *sentData {
	if !c.job.checks {
		return nil
	}
	return c.sendsParts(in, out, x.parts())
}

// memoryOrNone is the memory of buf, none if its elements are serialised.
func memoryOrNone[T any](buf []T) []byte {
	if !elemOf[T]().plain {
		return nil
	}
	return bytesOf(buf)
}

// changed is the error of a request whose send buffer is not what it was.
func (x *checked) changed(op string) *Error {
	if x.sent == nil {
		return nil
	}
	now, then := x.sent.now(), x.sent.then
	x.sent = nil
	i := differAt(now, then)
	if i < 0 {
		return nil
	}
	return opErrorf(ErrBuffer, op, "the buffer was changed, at byte %d of %d that are sent, before the request was complete: "+
		"until Wait or Test says so it belongs to the request of %s at %s", i, len(then), x.op, x.site())
}

// differAt is where a and b, which are as long, first differ; -1 if they do not.
func differAt(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	i := 0
	for a[i] == b[i] {
		i++
	}
	return i
}

func (x *checked) site() string { return callsite.OfNote(x.at[:]).At }

// mostNamed bounds how many of a kind an error names.
const mostNamed = 8

// unfinished is the error of requests made of a scope that are not complete.
func (c *checker) unfinished(op string, of *scope) *Error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var named []string
	n := 0
	for r := range c.open {
		if r.c.scope != of {
			continue
		}
		if n++; len(named) < mostNamed {
			named = append(named, fmt.Sprintf("%s at %s", r.rare.checked.op, r.rare.checked.site()))
		}
	}
	if n == 0 {
		return nil
	}
	return opErrorf(ErrRequest, op, "%s never completed: %s: call Wait, Test or one of their family, or Free",
		counted(n, "request was", "requests were"), listed(named, n))
}

// unfinished is the error of Finalize about requests of the world's.
func (j *job) unfinished() error {
	if err := j.checker.unfinished("Finalize", &j.worldScope); err != nil {
		return err.on(j.engine.Rank(), "")
	}
	return nil
}

// leftBehind is the error of a rank whose engine is closed, if it is left with what others have
// sent, or with requests.
func (j *job) leftBehind() error {
	if err := j.unfinished(); err != nil {
		return err
	}
	if err := j.unreceived("Finalize", j.engine.Unreceived()); err != nil {
		return err
	}
	return nil
}

// worldLeft is the error of a rank that goes on, or is idle, when its world is over.
func (j *job) worldLeft() error {
	left := j.unfinished()
	if err := j.leftOf("Finalize", &j.worldScope); err != nil {
		left = errors.Join(left, err)
	}
	return left
}

// leftOf is the error of the end of a scope, if messages of its communicators are here that nothing
// can receive any more. What comes after that, of a rank that has not ended its part, is not told.
func (j *job) leftOf(op string, s *scope) *Error {
	if !j.checks {
		return nil
	}
	return j.unreceived(op, j.checker.of(j.engine.Unreceived(), s))
}

// unreceived is the error of messages that nothing has received; of those of collectives it warns.
func (j *job) unreceived(op string, left []engine.Unreceived) *Error {
	if j.faults.hasFT || j.collFailed.Load() { // messages to operations that have failed remain
		return nil
	}
	var users, colls []string
	for i := range left {
		switch m := &left[i]; {
		case m.Ctx&purposes != 0:
		case m.Ctx&collectiveBit != 0:
			colls = append(colls, j.describeCall(m))
		default:
			users = append(users, j.describeMessage(m))
		}
	}
	if len(colls) > 0 {
		j.logger.Warn(fmt.Sprintf("%s of a collective never received: %s. Unless that was given up, the ranks have called different ones, or with different roots: %s",
			counted(len(colls), "message was", "messages were"), listed(colls, len(colls)), checkHint), "rank", j.engine.Rank())
	}
	if len(users) > 0 && j.checks {
		return opErrorf(ErrOther, op, "%s never received: %s: each needs a receive before %s",
			counted(len(users), "message was", "messages were"), listed(users, len(users)), op).on(j.engine.Rank(), "")
	}
	return nil
}

func (j *job) describeCall(m *engine.Unreceived) string {
	text := fmt.Sprintf("from world rank %d", m.Source)
	if op := callMark(m.Elem).op(); op != "" {
		text += ", which called " + op
	}
	return text + j.over(m)
}

func (j *job) describeMessage(m *engine.Unreceived) string {
	n, class := unsigned(m.Bytes, m.Elem)
	text := fmt.Sprintf("%d bytes", n)
	if class.isKind() {
		text += " of " + class.String()
	}
	return fmt.Sprintf("%s from world rank %d with tag %d%s", text, m.Source, m.Tag, j.over(m))
}

// over names the communicator of a message, if it lives.
func (j *job) over(m *engine.Unreceived) string {
	if _, e, ok := j.comms.entry(m.Ctx); ok {
		if c := e.c.Value(); c != nil {
			return " over " + *c.name.Load()
		}
	}
	return ""
}

// counted is a number with what there are so many of.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// listed joins the first of n.
func listed(first []string, n int) string {
	if len(first) > mostNamed {
		first = first[:mostNamed]
	}
	text := strings.Join(first, "; ")
	if more := n - len(first); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
