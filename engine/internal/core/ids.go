package core

// ids is the table behind the numbers that frames carry: a number names a slot
// and its generation, so that a late or invented number finds nothing.
type ids struct {
	slots []idSlot
	free  []uint32
}

type idSlot struct {
	m   *MSO
	gen uint32 // 1 or more: an id is never 0
}

func (t *ids) add(m *MSO) uint64 {
	var i uint32
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		i = uint32(len(t.slots))
		t.slots = append(t.slots, idSlot{gen: 1})
	}
	t.slots[i].m = m
	return uint64(t.slots[i].gen)<<32 | uint64(i)
}

func (t *ids) get(id uint64) *MSO {
	i := uint32(id)
	if uint64(i) >= uint64(len(t.slots)) || t.slots[i].gen != uint32(id>>32) {
		return nil
	}
	return t.slots[i].m
}

func (t *ids) drop(id uint64) {
	s := &t.slots[uint32(id)]
	s.m = nil
	if s.gen++; s.gen == 0 {
		s.gen = 1
	}
	t.free = append(t.free, uint32(id))
}
