package agree

import "fmt"

// Outgoing is a message to be sent.
type Outgoing struct {
	To int
	Message
}

// Decision is the outcome of an agreement at this member. Its value must not be changed.
type Decision struct {
	Number uint64
	Value  Value
}

// Machine is one member's part in the agreements of a group. Not safe for concurrent use.
type Machine struct {
	self, n int

	failed  Set        // members known to have failed
	left    Set        // those that are in no tree any more: agreed to have failed
	tree    tree       // of those that are not in left; made when it is needed
	started uint64     // agreements begun here; number of the next one
	waiting []Value    // contributions to agreements that begin when those before are decided
	open    []instance // by number: those that a member may still ask about, and one that others have begun

	sends     []Outgoing
	decisions []Decision
	near      []int // scratch
}

// New is member self of a group of n, 1 to MaxMembers.
func New(self, n int) *Machine {
	if n < 1 || n > MaxMembers || self < 0 || self >= n {
		panic(fmt.Sprintf("agree: bug: member %d of a group of %d", self, n))
	}
	return &Machine{self: self, n: n}
}

// Start contributes v to the next agreement. v.Failed and v.Known are the caller's own part; what
// the machine has been informed of failures it adds. It takes over v.
func (m *Machine) Start(v Value) {
	m.waiting = append(m.waiting, v)
	m.startNext()
}

// Receive takes a message of another member, which it may keep. It reports false, and does nothing,
// if no correct member would have sent it.
func (m *Machine) Receive(from int, msg *Message) bool {
	if from < 0 || from >= m.n || from == m.self || msg.Number > m.started {
		return false
	}
	if x := m.instance(msg.Number); x != nil {
		x.receive(m, from, msg)
		x.advance(m)
		m.settle()
	}
	return true
}

// Fail says that a member has failed. Its messages may come before and after.
func (m *Machine) Fail(r int) {
	if m.failed.Has(r) {
		return
	}
	m.failed.Add(r)
	for i := range m.open {
		m.open[i].advance(m)
	}
	m.settle()
}

// IsBusy reports whether an agreement that was started here is not decided.
func (m *Machine) IsBusy() bool {
	return len(m.waiting) > 0 || m.started > 0 && len(m.open) > 0 && !m.open[m.at(m.started-1)].decided
}

// Take returns what is to be sent and what was decided since the last call, in order. Both are
// valid until the next call of any method.
func (m *Machine) Take() ([]Outgoing, []Decision) {
	sends, decisions := m.sends, m.decisions
	m.sends, m.decisions = m.sends[:0], m.decisions[:0]
	return sends, decisions
}

// at is the place of an open agreement.
func (m *Machine) at(number uint64) int { return int(number - m.open[0].number) }

// instance is the agreement with the number, which is at most the next one; nil if it is over at
// all members.
func (m *Machine) instance(number uint64) *instance {
	if len(m.open) == 0 {
		if number < m.started {
			return nil
		}
		m.open = append(m.open, instance{number: number, ballot: -1})
	}
	if number < m.open[0].number {
		return nil
	}
	for i := m.at(number); i >= len(m.open); {
		m.open = append(m.open, instance{number: m.open[len(m.open)-1].number + 1, ballot: -1})
	}
	return &m.open[m.at(number)]
}

// startNext begins the next agreement if there is something to contribute and the one before is
// decided.
func (m *Machine) startNext() {
	if len(m.waiting) == 0 || m.started > 0 && !m.open[m.at(m.started-1)].decided {
		return
	}
	v := m.waiting[0]
	m.waiting = m.waiting[1:]
	v.Failed.AddAll(m.failed)
	v.Failed.AddAll(m.left)
	x := m.instance(m.started)
	m.started++
	x.start(m, v)
	x.advance(m)
	m.settle()
}

// settle forgets agreements that no member can ask about any more, and begins the next one if its
// time has come.
//
// All members that live have contributed to what is proposed, or decided, in an agreement, and they
// had decided the one before.
func (m *Machine) settle() {
	over := 0
	for i := range m.open {
		if m.open[i].ballot >= 0 || m.open[i].decided {
			over = i
		}
	}
	if over > 0 {
		m.open = append(m.open[:0], m.open[over:]...)
	}
	m.startNext()
}

// currentTree is the tree of the next agreement.
func (m *Machine) currentTree() tree {
	if m.tree.members == nil || len(m.tree.members)+m.left.Len() != m.n {
		m.tree = newTree(m.n, m.left)
	}
	return m.tree
}

func (m *Machine) send(to int, msg Message) { m.sends = append(m.sends, Outgoing{to, msg}) }

// Awaited appends the members that the current agreement waits for: the one that was begun here and
// is not decided. Something must come from each of them before it goes on. It appends none if there
// is no such agreement.
func (m *Machine) Awaited(list []int) []int {
	if m.started == 0 {
		return list
	}
	x := &m.open[m.at(m.started-1)]
	if x.decided {
		return list
	}
	s, p := x.covered, x.tree.parent(m.self, m.failed)
	if x.ballot >= 0 {
		s = x.accepted
	}
	below := len(list)
	for _, r := range x.tree.members {
		if !s.Has(r) && !m.failed.Has(r) && (p < 0 || x.tree.isBelow(r, m.self)) {
			list = append(list, r)
		}
	}
	if len(list) == below && p >= 0 {
		list = append(list, p)
	}
	return list
}
