package hosts

// ByLoad puts the next rank where the most of a core is left, by what hosts say of their load.
const ByLoad By = "load"

// Idle is how busy a machine is.
type Idle struct {
	Cores int
	Load  float64 // processes that run or want to, over the last minute
}

// PlaceByLoad is Place by what machines say of their load: each rank goes where load and ranks
// together are least for a core, and of equals to the host that is named first. Slots and Max bound
// it as ever; a host without slots takes any number. machine says which of idle a host is: several
// may be one. Ranks are numbered by RankBy, by default host by host.
func PlaceByLoad(hosts []Host, p Policy, groups []Group, machine []int, idle []Idle) (place []int, counts []int, err error) {
	l := &loads{machine: machine, idle: idle, on: make([]int, len(idle))}
	return placeBy(hosts, p, groups, l)
}

// loads is what is known of machines while ranks are placed.
type loads struct {
	machine []int // by host
	idle    []Idle
	on      []int // by machine: ranks that were put there
}

// after is what a core of a host would have to do with one more rank.
func (l *loads) after(host int) float64 {
	m := l.machine[host]
	return (l.idle[m].Load + float64(l.on[m]) + 1) / float64(max(l.idle[m].Cores, 1))
}

// fill takes up to ranks of what is free on the hosts, by load.
func (l *loads) fill(m *mapping, free []int, ranks int) (order []int) {
	for len(order) < ranks {
		best := -1
		for _, h := range m.on {
			if free[h] > 0 && (best < 0 || l.after(h) < l.after(best)) {
				best = h
			}
		}
		if best < 0 {
			break
		}
		order = append(order, best)
		free[best]--
		m.used[best]++
		l.on[l.machine[best]]++
	}
	return order
}
