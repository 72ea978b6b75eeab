package hang

import (
	"slices"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

const (
	mostOps   = 6 // different operations that are named for one call
	mostOther = 4 // different calls, goroutines, operations and messages that are named for one rank
)

// call is a call that waits, with what it waits for.
func (s *wording) call(p *telemetry.Pending, comms map[uint64]*telemetry.Comm, c *telemetry.Call) string {
	if c.Op == finalizeOp {
		return sprintf("Finalize%s: it is done, and waits for the others", s.at(c.At))
	}
	var ops []*telemetry.Operation
	for _, w := range c.Waits {
		if w >= 0 && w < len(p.Operations) {
			ops = append(ops, &p.Operations[w])
		}
	}
	n := waitsFor(c)
	switch {
	case len(ops) == 0:
		return c.Op + s.at(c.At)
	case n == 1 && ops[0].Op == c.Op:
		return s.op(c.Op, ops[0], commName(comms[ops[0].Comm], ops[0].Comm), []int{ops[0].Peer}) + comma(s.at(c.At))
	case n == 1:
		return c.Op + s.at(c.At) + " for " + s.ops(c, comms, ops)
	case n > len(c.Waits):
		return sprintf("%s%s for %s, such as %s", c.Op, s.at(c.At), howMany(c), s.ops(c, comms, ops))
	default:
		return sprintf("%s%s for %s: %s", c.Op, s.at(c.At), howMany(c), s.ops(c, comms, ops))
	}
}

// waitsFor is how many operations a call waits for, listed or not.
func waitsFor(c *telemetry.Call) int { return len(c.Waits) + c.More + c.Besides }

// howMany of them must complete.
func howMany(c *telemetry.Call) string {
	if n := waitsFor(c); c.Need+c.Besides < n {
		return sprintf("%d of %d", max(c.Need, 1), n)
	}
	return sprintf("all of %d", waitsFor(c))
}

// ops names the operations that a call waits for; those that differ in their rank only are named
// together. c is nil if no call waits for them.
func (s *wording) ops(c *telemetry.Call, comms map[uint64]*telemetry.Comm, ops []*telemetry.Operation) string {
	var kinds []*telemetry.Operation
	var with [][]int
	for _, o := range ops {
		k := slices.IndexFunc(kinds, func(k *telemetry.Operation) bool { return isAlike(k, o) && (s.self < 0 || k.Peer == o.Peer) })
		if k < 0 {
			kinds, with = append(kinds, o), append(with, nil)
			k = len(kinds) - 1
		}
		with[k] = append(with[k], o.Peer)
	}
	var texts []string
	for i, o := range kinds {
		if i == mostOps {
			texts = append(texts, sprintf("and %d more", len(kinds)-i))
			break
		}
		texts = append(texts, s.alike(c, comms, o, with[i]))
	}
	return strings.Join(texts, "; ")
}

// alike names operations that are like o, with these ranks.
func (s *wording) alike(c *telemetry.Call, comms map[uint64]*telemetry.Comm, o *telemetry.Operation, ranks []int) string {
	name, at := o.Op, ""
	if c != nil && o.Op == c.Op {
		name = kindName(o.Kind)
	}
	if c == nil || o.At != c.At {
		at = s.aside(o.At)
	}
	slices.Sort(ranks)
	n := len(ranks)
	ranks = slices.Compact(ranks)
	text := s.op(name, o, commName(comms[o.Comm], o.Comm), ranks) + at
	if n > len(ranks) {
		text = sprintf("%d times %s", n, text)
	}
	return text
}

// isAlike reports whether two operations differ in their rank at most.
func isAlike(a, b *telemetry.Operation) bool {
	return a.Op == b.Op && a.Kind == b.Kind && a.At == b.At && a.Comm == b.Comm && a.Tag == b.Tag && a.Bytes == b.Bytes
}

// picture is a rank's situation in words, without times.
type picture struct {
	head string
	more []string
}

func (p picture) key() string { return strings.Join(append([]string{p.head}, p.more...), "\n") }

// picture puts a situation into words. late are the ranks that have not called Init.
func (s *wording) picture(w *Situation, late []int) picture {
	switch {
	case w.Phase == Absent:
		return picture{head: "its process is not started yet"}
	case w.Phase == Outside:
		return picture{head: "has not called mpi.Init"}
	case w.Phase == Idle:
		return picture{head: "rests: all its sessions are finalized"}
	case w.Phase == Gone:
		return picture{head: "has finished"}
	case w.Phase == Dead:
		return picture{head: "has died"}
	case w.Silent && len(late) > 0:
		return picture{head: "is in mpi.Init, which waits for " + s.job.Names(late)}
	case w.Silent:
		return picture{head: "does not answer: it may be stopped, held in a debugger, or short of processor time"}
	}
	lines := slices.Concat(s.calls(w.Pending), s.goroutines(w.Pending), s.loose(w.Pending), s.messages(w.Pending))
	if len(lines) == 0 {
		return picture{head: "is in no call, and no goroutine of the program is seen"}
	}
	return picture{lines[0], lines[1:]}
}

// tally counts equal texts, in the order of their first.
type tally struct {
	texts  []string
	counts map[string]int
}

func (t *tally) add(text string) {
	if t.counts == nil {
		t.counts = make(map[string]int)
	}
	if t.counts[text]++; t.counts[text] == 1 {
		t.texts = append(t.texts, text)
	}
}

// lines are the texts with their numbers, what is beyond most left out.
func (t *tally) lines(most int, many func(n int, text string) string) []string {
	var ls []string
	for i, text := range t.texts {
		if i == most {
			ls = append(ls, sprintf("and %d more such lines", len(t.texts)-i))
			break
		}
		if n := t.counts[text]; n > 1 {
			text = many(n, text)
		}
		ls = append(ls, text)
	}
	return ls
}

func (s *wording) calls(p *telemetry.Pending) []string {
	comms := commsOf(p)
	var t tally
	for i := range p.Calls {
		text := s.call(p, comms, &p.Calls[i])
		if p.Calls[i].Bounded {
			text += " (its context may end it)"
		}
		t.add(text)
	}
	ls := t.lines(mostOther, func(n int, text string) string { return sprintf("%d goroutines in %s", n, text) })
	if p.AllCalls > len(p.Calls) {
		ls = append(ls, sprintf("%d calls in all", p.AllCalls))
	}
	return ls
}

// goroutines are those outside of calls, those first that may go on.
func (s *wording) goroutines(p *telemetry.Pending) []string {
	var t tally
	for _, may := range []bool{true, false} {
		for i := range p.Goroutines {
			if g := &p.Goroutines[i]; g.May == may {
				t.add(s.goroutine(g))
			}
		}
	}
	ls := t.lines(mostOther, func(n int, text string) string { return sprintf("%d goroutines, each: %s", n, text) })
	if p.Timer {
		ls = append(ls, "a timer is set: what it starts may let the rank go on")
	}
	return ls
}

func (s *wording) goroutine(g *telemetry.Goroutine) string {
	at := s.at(g.At)
	if g.Func != "" {
		at += " in " + g.Func
	}
	switch {
	case g.State == "running" || g.State == "runnable":
		return "computes" + at
	case g.State == "sleep":
		return "sleeps" + at
	case g.May:
		return sprintf("waits outside of MPI%s (%s)", at, g.State)
	default:
		return sprintf("waits for another goroutine%s (%s)", at, g.State)
	}
}

// loose are the operations that no call waits for.
func (s *wording) loose(p *telemetry.Pending) []string {
	waited := make(map[int]bool)
	for i := range p.Calls {
		for _, w := range p.Calls[i].Waits {
			waited[w] = true
		}
	}
	var sends, others []*telemetry.Operation
	for i := range p.Operations {
		switch op := &p.Operations[i]; {
		case waited[i]:
		case op.Detached:
			sends = append(sends, op)
		default:
			others = append(others, op)
		}
	}
	var ls []string
	if len(others) > 0 {
		ls = append(ls, "posted, and not waited for: "+s.ops(nil, commsOf(p), others))
	}
	if len(sends) > 0 {
		ls = append(ls, "sent, and not received: "+s.ops(nil, commsOf(p), sends))
	}
	return ls
}

// messages are those that no receive has taken. Messages of collectives are left out, as they say
// nothing: their rank is not in the collective yet.
func (s *wording) messages(p *telemetry.Pending) []string {
	type kind struct {
		tag, bytes int
		comm       uint64
	}
	comms := commsOf(p)
	var kinds []kind
	from := make(map[kind][]int)
	for i := range p.Messages {
		if m := &p.Messages[i]; !m.Internal {
			k := kind{m.Tag, m.Bytes, m.Comm}
			if from[k] == nil {
				kinds = append(kinds, k)
			}
			from[k] = append(from[k], m.Source)
		}
	}
	var ls []string
	for i, k := range kinds {
		if i == mostOther {
			ls = append(ls, sprintf("and %d more kinds of messages", len(kinds)-i))
			break
		}
		n := len(from[k])
		slices.Sort(from[k])
		ls = append(ls, sprintf("has not received %s from %s, tag %d, %s, %s", count(n, "message"), s.peers(slices.Compact(from[k])),
			k.tag, bytesText(k.bytes), commName(comms[k.comm], k.comm)))
	}
	if p.AllMessages > len(p.Messages) {
		ls = append(ls, sprintf("%d messages in all", p.AllMessages))
	}
	return ls
}

// since is for how long the rank has waited in its oldest call; false if it is in none.
func (w *Situation) since() (time.Duration, bool) {
	if w.Pending == nil || len(w.Pending.Calls) == 0 {
		return 0, false
	}
	longest := w.Pending.Calls[0].Since
	for i := range w.Pending.Calls {
		longest = max(longest, w.Pending.Calls[i].Since)
	}
	return longest, true
}
