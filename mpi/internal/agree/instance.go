package agree

// instance is one agreement at one member. It goes from gathering to having accepted (ballot >= 0)
// to decided; a member that becomes coordinator, or gets a proposal of a later one, accepts again.
type instance struct {
	number  uint64
	begun   bool // the member has contributed
	decided bool

	tree     tree   // once begun
	gathered Value  // contributions so far: the AND of none has all bits
	mine     uint64 // own Token
	some     bool   // gathered has any
	gave     Set    // members that have sent Gather
	covered  Set    // once begun: members that have contributed, by any path, or were dead to a member that said so
	gatherTo int    // parent that Gather was sent to; -1 for none

	ballot   int   // of the accepted proposal, -1 if there is none
	value    Value // proposed, or decided
	accepted Set   // members that have accepted that ballot, or were dead to a member that said so
	informed Set   // children that the proposal was forwarded to
	ackTo    int   // parent that Ack was sent to; -1 for none

	know Set // members that know the decision: they have said so, or were informed
}

// start contributes v.
func (x *instance) start(m *Machine, v Value) {
	x.begun, x.gatherTo, x.ackTo = true, -1, -1
	x.tree = m.currentTree()
	x.mine = v.Token
	x.contribute(&v)
	x.covered.Add(m.self)
	for _, r := range x.gave.Members() {
		x.tree.addSubtree(&x.covered, r)
	}
}

func (x *instance) contribute(v *Value) {
	if !x.some {
		x.gathered, x.some = v.clone(), true
		return
	}
	x.gathered.merge(v)
}

// receive notes what another member says.
func (x *instance) receive(m *Machine, from int, msg *Message) {
	switch {
	case !x.begun && msg.Kind != Gather: // nothing is proposed without this member's contribution
	case msg.Kind == Commit:
		x.know.Add(from)
		x.decide(m, msg.Value)
	case x.decided:
		x.tell(m, from) // it may not know: it cannot have decided when it said this
	case msg.Kind == Gather:
		x.gave.Add(from)
		x.contribute(&msg.Value)
		if x.begun {
			x.tree.addSubtree(&x.covered, from)
		}
	case msg.Kind == Propose:
		if msg.Ballot > x.ballot {
			x.accept(m, msg.Ballot, msg.Value)
		}
	case msg.Kind == Ack:
		if msg.Ballot == x.ballot {
			x.tree.addSubtree(&x.accepted, from)
		}
	}
}

// advance does all that has become possible. It may be called at any time.
func (x *instance) advance(m *Machine) {
	if !x.begun {
		return
	}
	if !x.decided {
		x.lead(m)
	}
	if !x.decided {
		x.report(m)
	}
	if !x.decided && x.ballot >= 0 {
		x.forward(m)
	}
	if x.decided {
		x.spread(m)
	}
}

// lead is the coordinator's part: it proposes, and decides.
func (x *instance) lead(m *Machine) {
	if x.tree.coordinator(m.failed) != m.self {
		return
	}
	if x.ballot != m.self {
		switch {
		case x.ballot >= 0:
			x.accept(m, m.self, x.value)
		case x.all(x.covered, m.failed):
			v := x.gathered.clone()
			v.Failed.AddAll(m.failed)
			v.Token = x.mine
			x.accept(m, m.self, v)
		default:
			return
		}
	}
	if x.all(x.accepted, m.failed) {
		x.decide(m, x.value)
	}
}

// report is the part of a member that has a parent. It tells the parent what is true of its whole
// subtree, and says it again if it gets another parent.
func (x *instance) report(m *Machine) {
	p := x.tree.parent(m.self, m.failed)
	if p < 0 {
		return
	}
	if x.gatherTo != p && x.isComplete(m, x.covered) {
		x.gatherTo = p
		v := x.gathered.clone()
		v.Failed.AddAll(m.failed)
		m.send(p, Message{Kind: Gather, Number: x.number, Value: v})
	}
	if x.ballot >= 0 && x.ackTo != p && !m.failed.Has(x.ballot) && x.isComplete(m, x.accepted) {
		x.ackTo = p
		m.send(p, Message{Kind: Ack, Number: x.number, Ballot: x.ballot})
	}
}

// forward passes the proposal on.
func (x *instance) forward(m *Machine) {
	m.near = x.tree.children(m.near[:0], m.self, m.failed)
	for _, r := range m.near {
		if !x.informed.Has(r) {
			x.informed.Add(r)
			m.send(r, Message{Kind: Propose, Number: x.number, Ballot: x.ballot, Value: x.value})
		}
	}
}

// spread tells the neighbours what is decided.
func (x *instance) spread(m *Machine) {
	m.near = x.tree.children(m.near[:0], m.self, m.failed)
	if p := x.tree.parent(m.self, m.failed); p >= 0 {
		m.near = append(m.near, p)
	}
	for _, r := range m.near {
		x.tell(m, r)
	}
}

func (x *instance) tell(m *Machine, r int) {
	if !x.know.Has(r) {
		x.know.Add(r)
		m.send(r, Message{Kind: Commit, Number: x.number, Value: x.value})
	}
}

// accept takes a proposal of a ballot higher than any before.
func (x *instance) accept(m *Machine, ballot int, v Value) {
	x.ballot, x.value = ballot, v
	x.accepted = append(x.accepted[:0], make(Set, len(x.accepted))...)
	x.accepted.Add(m.self)
	x.accepted.Add(ballot)
	x.informed = append(x.informed[:0], make(Set, len(x.informed))...)
	x.ackTo = -1
	if x.all(x.accepted, m.failed) { // no other member is left that could decide anything else
		x.decide(m, v)
	}
}

func (x *instance) decide(m *Machine, v Value) {
	if x.decided {
		return
	}
	x.decided, x.value = true, v
	m.left.AddAll(v.Failed)
	m.decisions = append(m.decisions, Decision{x.number, v})
}

// all reports whether every member is in s or has failed.
func (x *instance) all(s, failed Set) bool {
	for _, r := range x.tree.members {
		if !s.Has(r) && !failed.Has(r) {
			return false
		}
	}
	return true
}

// isComplete reports whether every member of the own subtree is in s or has failed.
func (x *instance) isComplete(m *Machine, s Set) bool {
	var sub Set
	x.tree.addSubtree(&sub, m.self)
	return sub.within(s, m.failed)
}
