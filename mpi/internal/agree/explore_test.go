package agree

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

var deepFlag = flag.Bool("deep", false, "explore also what takes minutes")

// TestModel explores small groups exhaustively.
func TestModel(t *testing.T) {
	for _, x := range []struct {
		n, rounds, crashes int
		late, deep         bool
		at                 int
	}{
		{n: 1, rounds: 2},
		{n: 2, rounds: 2, crashes: 1},
		{n: 2, rounds: 2, crashes: 1, late: true},
		{n: 3, rounds: 1, crashes: 2},
		{n: 3, rounds: 1, crashes: 2, late: true},
		{n: 3, rounds: 2, crashes: 1},
		{n: 3, rounds: 2, crashes: 2},
		{n: 3, rounds: 2, crashes: 2, late: true},
		{n: 4, rounds: 1, crashes: 1, at: 1},
		{n: 4, rounds: 1, crashes: 2, at: 1},
		{n: 4, rounds: 1, crashes: 3, at: 1},
		{n: 4, rounds: 1, crashes: 3, deep: true},
		{n: 4, rounds: 2, crashes: 1, at: 1, deep: true},
		{n: 5, rounds: 1, crashes: 1, at: 1, deep: true},
		{n: 5, rounds: 1, crashes: 2, at: 1, deep: true},
	} {
		if x.deep && !*deepFlag {
			continue
		}
		name := fmt.Sprintf("n=%d rounds=%d crashes=%d late=%v at=%d", x.n, x.rounds, x.crashes, x.late, x.at)
		t.Run(name, func(t *testing.T) {
			m := newModel(x.n, x.rounds, x.crashes)
			m.late, m.at = x.late, x.at
			if wrong := m.run(t); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// TestModelFindsBugs plants a fault in the machines and sees that the exploration says what is
// wrong.
func TestModelFindsBugs(t *testing.T) {
	undecided := func(m *Machine) *instance {
		if m.started == 0 || len(m.open) == 0 {
			return nil
		}
		if x := &m.open[m.at(m.started-1)]; !x.decided {
			return x
		}
		return nil
	}
	for name, x := range map[string]struct {
		n, crashes int
		bug        bug
		says       string
	}{
		"decides what is proposed": {n: 3, crashes: 2, says: "somebody else has decided", bug: bug{
			after: func(m *Machine, _ int32, sends []Outgoing) []Outgoing {
				if x := undecided(m); x != nil && x.ballot >= 0 {
					x.decide(m, x.value)
				}
				return sends
			},
		}},
		"a new coordinator forgets what it has accepted": {n: 3, crashes: 2, says: "somebody else has decided", bug: bug{
			before: func(m *Machine, event int32, _ *Message) {
				if x := undecided(m); x != nil && event < 0 && event != startEvent {
					x.ballot = -1
				}
			},
		}},
		"accepts whatever comes": {n: 4, crashes: 3, says: "waits for ever", bug: bug{
			before: func(m *Machine, _ int32, msg *Message) {
				if x := undecided(m); x != nil && msg != nil && msg.Kind == Propose {
					x.ballot = -1
				}
			},
		}},
		"nobody mends the tree": {n: 3, crashes: 1, says: "waits for ever", bug: bug{
			after: func(_ *Machine, event int32, sends []Outgoing) []Outgoing {
				if event < 0 && event != startEvent {
					return nil
				}
				return sends
			},
		}},
		"who has decided forgets it": {n: 4, crashes: 1, says: "waits for ever", bug: bug{
			before: func(m *Machine, _ int32, _ *Message) {
				for i := range m.open {
					if m.open[i].decided {
						m.open[i].know.AddAll(Set{1<<m.n - 1})
					}
				}
			},
		}},
		"the coordinator does not wait for all": {n: 3, crashes: 0, says: "which lives", bug: bug{
			before: func(m *Machine, _ int32, msg *Message) {
				if x := undecided(m); x != nil && msg != nil && msg.Kind == Gather {
					x.covered.AddAll(Set{1<<m.n - 1})
				}
			},
		}},
		"bits are lost": {n: 2, crashes: 0, says: "nobody has contributed", bug: bug{
			before: func(_ *Machine, _ int32, msg *Message) {
				if msg != nil && msg.Kind == Gather {
					msg.Value.Flag &^= 1 << 40
				}
			},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(x.n, 1, x.crashes)
			m.bug, m.at = x.bug, 1
			if wrong := m.run(t); !strings.Contains(wrong, x.says) {
				t.Errorf("the exploration says %q, want %q", wrong, x.says)
			}
		})
	}
}
