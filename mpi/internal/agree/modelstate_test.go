package agree

import (
	"encoding/binary"
	"slices"
)

func (m *Machine) clone() *Machine {
	c := *m
	c.failed, c.left = m.failed.Clone(), m.left.Clone()
	c.waiting = slices.Clone(m.waiting)
	c.open = slices.Clone(m.open)
	c.sends, c.decisions, c.near = nil, nil, nil
	for i := range c.open {
		x := &c.open[i]
		x.gathered, x.value = x.gathered.clone(), x.value.clone()
		for _, s := range []*Set{&x.gave, &x.covered, &x.accepted, &x.informed, &x.know} {
			*s = s.Clone()
		}
	}
	return &c
}

// appendState appends all that makes a difference to what m does. Members are at most 64.
func (m *Machine) appendState(b []byte) []byte {
	put := func(v uint64) { b = binary.AppendUvarint(b, v) }
	set := func(s Set) {
		if len(s) > 0 {
			put(s[0])
		} else {
			put(0)
		}
	}
	flag := func(v bool) {
		if v {
			put(1)
		} else {
			put(0)
		}
	}
	put(uint64(m.self))
	set(m.failed)
	set(m.left)
	put(m.started)
	put(uint64(len(m.waiting)))
	for i := range m.open {
		x := &m.open[i]
		put(x.number)
		flag(x.begun)
		flag(x.decided)
		flag(x.some)
		for _, s := range []Set{x.gave, x.covered, x.accepted, x.informed, x.know} {
			set(s)
		}
		put(uint64(x.gatherTo + 1))
		put(uint64(x.ballot + 1))
		put(uint64(x.ackTo + 1))
		for _, v := range []*Value{&x.gathered, &x.value} {
			b = (&Message{Kind: Commit, Value: *v}).Append(b)
		}
	}
	return b
}
