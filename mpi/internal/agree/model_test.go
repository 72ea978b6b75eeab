package agree

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
)

// The model check: all interleavings of a small group, its starts, messages, crashes and notices of
// failures. A state consists of the machines' states, what is under way, which members live and
// what was decided. The machines' states and the messages are numbered as they are met. What an
// event does to a machine is computed once, so that a state is a few numbers.

// model is what is explored.
type model struct {
	n       int
	rounds  int  // agreements that each member starts
	crashes int  // members that may fail, at most n-1
	late    bool // messages of a failed member may come after the notice of its failure
	at      int  // members start by events if 0, else all have started so many agreements at first
	most    int  // states beyond which the exploration is given up; 0 = none
	bug     bug  // planted
	machine map[string]int32
	states  []*Machine
	send    map[string]int32
	sends   []flight
	value   map[string]int32
	values  []Decision
	steps   map[step]effect
	seen    map[uint64]struct{}
	seed    maphash.Seed
	deepest int
	ends    int // states in which nothing is left to happen
}

// flight is a message under way.
type flight struct {
	from int
	Outgoing
}

// step is an event at a machine in some state: a message, the notice of a failure (-1-r), or the
// start of the next agreement.
type step struct {
	machine int32
	event   int32
}

const startEvent = int32(-1 << 20)

type effect struct {
	machine int32
	sends   []int32
	decided []int32
}

// world is one state of the exploration.
type world struct {
	machines [9]int32
	dead     uint16
	flights  []int32 // sorted
	decided  [2]int32
}

// bug changes what a machine does, to see that the check finds it: before is called before an
// event, after with what was sent. Either may be nil.
type bug struct {
	before func(m *Machine, event int32, msg *Message)
	after  func(m *Machine, event int32, sends []Outgoing) []Outgoing
}

func newModel(n, rounds, crashes int) *model {
	return &model{
		n: n, rounds: rounds, crashes: crashes, seed: maphash.MakeSeed(),
		machine: map[string]int32{}, send: map[string]int32{}, value: map[string]int32{}, steps: map[step]effect{}, seen: map[uint64]struct{}{},
	}
}

// contribution of a member: its flag lacks its own bit, so that a decision shows which members have
// contributed.
func contribution(r int, number uint64) Value {
	return Value{Flag: ^(uint64(1) << r), Kinds: 1, Token: number<<8 | uint64(r)}
}

func (x *model) begin() world {
	w := world{decided: [2]int32{-1, -1}}
	for r := range x.n {
		w.machines[r] = x.machineID(New(r, x.n))
	}
	for range x.at {
		for r := range x.n {
			w, _ = x.apply(w, r, startEvent)
		}
	}
	return w
}

// apply is what happens when member r has an event; the text is of what is wrong then.
func (x *model) apply(w world, r int, event int32) (world, string) {
	e := x.effect(r, w.machines[r], event)
	w.machines[r] = e.machine
	w.flights = slices.Clone(w.flights)
	if event >= 0 {
		i, _ := slices.BinarySearch(w.flights, event)
		w.flights = slices.Delete(w.flights, i, i+1)
	}
	for _, l := range e.sends {
		if w.dead>>x.sends[l].To&1 == 0 {
			i, _ := slices.BinarySearch(w.flights, l)
			w.flights = slices.Insert(w.flights, i, l)
		}
	}
	for _, id := range e.decided {
		d := &x.values[id]
		switch {
		case w.decided[d.Number] < 0:
			w.decided[d.Number] = id
			if wrong := x.check(&w, d); wrong != "" {
				return w, wrong
			}
		case w.decided[d.Number] != id:
			return w, fmt.Sprintf("agreement %d: member %d decides %v, somebody else has decided %v", d.Number, r, *d, x.values[w.decided[d.Number]])
		}
	}
	return w, ""
}

// check checks a decision when it is made first.
func (x *model) check(w *world, d *Decision) string {
	for r := range x.n {
		contributed, failed, dead := d.Value.Flag>>r&1 == 0, d.Value.Failed.Has(r), w.dead>>r&1 != 0
		switch {
		case !contributed && !dead:
			return fmt.Sprintf("agreement %d is decided without member %d, which lives: %v", d.Number, r, *d)
		case !contributed && !failed:
			return fmt.Sprintf("agreement %d is decided without member %d, which is not said to have failed: %v", d.Number, r, *d)
		case failed && !dead:
			return fmt.Sprintf("agreement %d says that member %d has failed, which lives: %v", d.Number, r, *d)
		}
	}
	if d.Value.Flag|(1<<x.n-1) != ^uint64(0) || d.Value.Token>>8 != d.Number || d.Value.Kinds != 1 {
		return fmt.Sprintf("agreement %d decides what nobody has contributed: %v", d.Number, *d)
	}
	return ""
}

func (x *model) effect(r int, machine, event int32) effect {
	key := step{machine, event}
	if e, ok := x.steps[key]; ok {
		return e
	}
	m := x.states[machine].clone()
	if x.bug.before != nil {
		var msg *Message
		if event >= 0 {
			msg = &x.sends[event].Message
		}
		x.bug.before(m, event, msg)
	}
	switch {
	case event == startEvent:
		m.Start(contribution(r, m.started+uint64(len(m.waiting))))
	case event < 0:
		m.Fail(int(-1 - event))
	default:
		f := x.sends[event]
		if !m.Receive(f.from, &f.Message) {
			panic(fmt.Sprintf("member %d refuses %v of %d", r, f.Message, f.from))
		}
	}
	if x.bug.after != nil {
		m.sends = x.bug.after(m, event, m.sends)
	}
	sends, decisions := m.Take()
	e := effect{machine: -1}
	for _, l := range sends {
		e.sends = append(e.sends, x.outgoingID(flight{r, l}))
	}
	for _, d := range decisions {
		e.decided = append(e.decided, x.valueID(d))
	}
	m.sends, m.decisions = nil, nil
	e.machine = x.machineID(m)
	x.steps[key] = e
	return e
}

func (x *model) machineID(m *Machine) int32 {
	return intern(x.machine, &x.states, string(m.appendState(nil)), m)
}

func (x *model) outgoingID(f flight) int32 {
	return intern(x.send, &x.sends, string(f.Message.Append([]byte{byte(f.from), byte(f.To)})), f)
}

func (x *model) valueID(d Decision) int32 {
	return intern(x.value, &x.values, string((&Message{Kind: Commit, Number: d.Number, Value: d.Value}).Append(nil)), d)
}

func intern[T any](ids map[string]int32, list *[]T, key string, v T) int32 {
	id, ok := ids[key]
	if !ok {
		id = int32(len(*list))
		ids[key] = id
		*list = append(*list, v)
	}
	return id
}

// event is something that may happen.
type event struct {
	member int
	what   int32 // as in step; crashEvent
}

const crashEvent = startEvent - 1

func (e event) String() string {
	switch {
	case e.what == startEvent:
		return fmt.Sprintf("%d starts", e.member)
	case e.what == crashEvent:
		return fmt.Sprintf("%d fails", e.member)
	}
	return fmt.Sprintf("%d learns that %d has failed", e.member, -1-e.what)
}

func (x *model) describe(e event) string {
	if e.what >= 0 {
		f := x.sends[e.what]
		return fmt.Sprintf("%d gets of %d: kind %d, number %d, ballot %d, %+v", f.To, f.from, f.Kind, f.Number, f.Ballot, f.Value)
	}
	return e.String()
}

// events lists what may happen, crashes last; moves is how many are none.
func (x *model) events(w *world) (list []event, moves int) {
	for i, l := range w.flights {
		if i > 0 && l == w.flights[i-1] {
			continue
		}
		list = append(list, event{x.sends[l].To, l})
	}
	for r := range x.n {
		if w.dead>>r&1 != 0 {
			continue
		}
		m := x.states[w.machines[r]]
		if int(m.started)+len(m.waiting) < x.rounds {
			list = append(list, event{r, startEvent})
		}
		for p := range x.n {
			if w.dead>>p&1 != 0 && !m.failed.Has(p) {
				list = append(list, event{r, int32(-1 - p)})
			}
		}
	}
	moves = len(list)
	dead := Set{uint64(w.dead)}.Len()
	for r := range x.n {
		if w.dead>>r&1 == 0 && dead < x.crashes && dead < x.n-1 {
			list = append(list, event{r, crashEvent})
		}
	}
	return list, moves
}

// happen is the world after e.
func (x *model) happen(w world, e event) (world, string) {
	switch {
	case e.what == crashEvent:
		w.dead |= 1 << e.member
		w.flights = slices.DeleteFunc(slices.Clone(w.flights), func(l int32) bool { return x.sends[l].To == e.member })
		return w, ""
	case e.what < 0 && e.what != startEvent && !x.late:
		dead := int(-1 - e.what)
		w.flights = slices.DeleteFunc(slices.Clone(w.flights), func(l int32) bool { return x.sends[l].from == dead && x.sends[l].To == e.member })
	}
	return x.apply(w, e.member, e.what)
}

// atEnd is what is wrong in a world in which nothing more happens by itself.
func (x *model) atEnd(w *world) string {
	for r := range x.n {
		m := x.states[w.machines[r]]
		if w.dead>>r&1 == 0 && m.IsBusy() {
			return fmt.Sprintf("member %d waits for ever in agreement %d", r, m.started-1)
		}
		if w.dead>>r&1 == 0 && int(m.started) != x.rounds {
			return fmt.Sprintf("member %d has begun %d agreements, want %d", r, m.started, x.rounds)
		}
	}
	return ""
}

// deepMost bounds the events of one run: no member sends messages for ever.
const deepMost = 300

// explore visits every world that can come from w, and returns the way to one in which something is
// wrong.
func (x *model) explore(w world, depth int) (string, []event) {
	h := maphash.Bytes(x.seed, w.append(nil, x.n))
	if _, ok := x.seen[h]; ok {
		return "", nil
	}
	if x.most > 0 && len(x.seen) >= x.most {
		return "", nil
	}
	x.seen[h] = struct{}{}
	x.deepest = max(x.deepest, depth)
	if depth > deepMost {
		return "no end", []event{}
	}
	events, moves := x.events(&w)
	if moves == 0 {
		x.ends++
		if wrong := x.atEnd(&w); wrong != "" {
			return wrong, []event{}
		}
	}
	for _, e := range events {
		next, wrong := x.happen(w, e)
		if wrong != "" {
			return wrong, []event{e}
		}
		if wrong, way := x.explore(next, depth+1); wrong != "" {
			return wrong, append(way, e)
		}
	}
	return "", nil
}

func (w *world) append(b []byte, n int) []byte {
	b = binary.LittleEndian.AppendUint16(b, w.dead)
	for _, m := range w.machines[:n] {
		b = binary.AppendVarint(b, int64(m))
	}
	for _, d := range w.decided {
		b = binary.AppendVarint(b, int64(d))
	}
	for _, l := range w.flights {
		b = binary.AppendVarint(b, int64(l))
	}
	return b
}

// run explores everything and says how much that was.
func (x *model) run(t *testing.T) (wrong string) {
	t.Helper()
	wrong, way := x.explore(x.begin(), 0)
	if wrong != "" {
		var b strings.Builder
		for _, e := range slices.Backward(way) {
			b.WriteString("\n\t" + x.describe(e))
		}
		wrong += b.String()
	}
	t.Logf("%d members, %d agreements, up to %d failures: %d states, %d ends, %d states of machines, %d messages, at most %d events",
		x.n, x.rounds, x.crashes, len(x.seen), x.ends, len(x.states), len(x.sends), x.deepest)
	return wrong
}
