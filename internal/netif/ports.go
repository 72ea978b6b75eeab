package netif

import (
	"fmt"
	"strconv"
	"strings"
)

// Ports is a range of TCP ports. The zero value means any that the system picks.
type Ports struct {
	From, To uint16 // both are in it
}

// ParsePorts reads a range as FROM-TO, or a single port. "" is the zero value.
func ParsePorts(s string) (Ports, error) {
	if s == "" {
		return Ports{}, nil
	}
	from, to, isRange := strings.Cut(s, "-")
	if !isRange {
		to = from
	}
	a, errA := strconv.ParseUint(from, 10, 16)
	b, errB := strconv.ParseUint(to, 10, 16)
	if errA != nil || errB != nil || a == 0 || a > b {
		return Ports{}, fmt.Errorf("%q is no range of ports: write FROM-TO, such as 40000-40999, within 1 and 65535", s)
	}
	return Ports{uint16(a), uint16(b)}, nil
}

// IsSet reports whether there is a range.
func (p Ports) IsSet() bool { return p.From != 0 }

// Len is the number of ports in the range.
func (p Ports) Len() int {
	if !p.IsSet() {
		return 0
	}
	return int(p.To) - int(p.From) + 1
}

// String is the range as ParsePorts reads it.
func (p Ports) String() string {
	switch {
	case !p.IsSet():
		return ""
	case p.From == p.To:
		return strconv.Itoa(int(p.From))
	default:
		return fmt.Sprintf("%d-%d", p.From, p.To)
	}
}
