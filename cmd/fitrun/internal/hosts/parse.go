package hosts

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// MaxHosts is the most hosts that any list may name.
const MaxHosts = 1 << 16

// Parse reads the value of the option -H: hosts with commas between them, each NAME or NAME:SLOTS,
// perhaps with USER@ before it, and in the form of Slurm also names with brackets (n[1-3,7]). A
// host named twice has the slots of both; where neither says how many, one for each time.
func Parse(list string) ([]Host, error) {
	var all merged
	for _, item := range splitOutside(list) {
		if item = strings.TrimSpace(item); item == "" {
			return nil, fmt.Errorf("%q: a host without a name between its commas; write for example a:2,b:2", list)
		}
		h, err := parseHost(item)
		if err != nil {
			return nil, err
		}
		if err := all.add(h); err != nil {
			return nil, err
		}
	}
	return all.hosts, nil
}

// parseHost reads [USER@]NAME[:SLOTS]. An IPv6 address with slots is in brackets.
func parseHost(item string) (Host, error) {
	var h Host
	rest := item
	if user, name, ok := strings.Cut(item, "@"); ok {
		if h.User, rest = user, name; user == "" {
			return h, fmt.Errorf("host %q: no user before the @", item)
		}
	}
	name, slots, err := splitSlots(rest)
	if err != nil {
		return h, fmt.Errorf("host %q: %w", item, err)
	}
	h.Name, h.Slots = name, slots
	return h, nil
}

// splitSlots cuts the :SLOTS off, if there are any.
func splitSlots(s string) (name string, slots int, err error) {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		addr, after, ok := strings.Cut(inner, "]")
		if _, err := netip.ParseAddr(addr); ok && err == nil {
			if after == "" {
				return addr, 0, nil
			}
			slots, err := parseSlots(strings.TrimPrefix(after, ":"))
			return addr, slots, err
		}
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return s, 0, nil // also an IPv6 address without brackets
	}
	name, count, ok := strings.Cut(s, ":")
	if !ok {
		return s, 0, nil
	}
	slots, err = parseSlots(count)
	return name, slots, err
}

func parseSlots(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxSlots {
		return 0, fmt.Errorf("%q slots: want a number from 1 to %d", s, maxSlots)
	}
	return n, nil
}

// maxSlots is far beyond any machine; it keeps sums small.
const maxSlots = 1 << 20

// check refuses what no host is called: above all a name that a program would take for one of its
// options.
func (h Host) check() error {
	for _, s := range []string{h.Name, h.User, h.Domain} {
		if strings.HasPrefix(s, "-") {
			return fmt.Errorf("host %q: %q begins with -", h, s)
		}
		if i := strings.IndexFunc(s, isOdd); i >= 0 {
			return fmt.Errorf("host %q: %q in a name; names consist of letters, digits, and . _ - : %%", h, s[i:i+1])
		}
	}
	if h.Name == "" {
		return fmt.Errorf("host %q: no name; write for example node1:4", h)
	}
	return nil
}

func isOdd(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-:%", r):
		return false
	default:
		return r < 0x80 // others: a resolver may know them
	}
}

// merged is a list of hosts in which none is twice.
type merged struct {
	hosts []Host
	index map[string]int
	bare  []int // by host: how often it was named without slots
}

// add adds h, whose name may stand for many (n[1-3]).
func (m *merged) add(h Host) error {
	names, err := Expand(h.Name)
	if err != nil {
		return err
	}
	if len(m.hosts)+len(names) > MaxHosts {
		return fmt.Errorf("more than %d hosts", MaxHosts)
	}
	for _, name := range names {
		h.Name = name
		if err := m.addOne(h); err != nil {
			return err
		}
	}
	return nil
}

func (m *merged) addOne(h Host) error {
	if err := h.check(); err != nil {
		return err
	}
	if m.index == nil {
		m.index = make(map[string]int)
	}
	bare := 0
	if h.Slots == 0 {
		bare = 1
	}
	i, ok := m.index[h.Name]
	if !ok {
		m.index[h.Name] = len(m.hosts)
		m.hosts, m.bare = append(m.hosts, h), append(m.bare, bare)
		return nil
	}
	old := &m.hosts[i]
	if old.User != h.User || old.Port != h.Port || old.Agent != h.Agent || old.Domain != h.Domain {
		return fmt.Errorf("host %s is named twice, with different users, ports, agents or domains", h.Name)
	}
	switch m.bare[i] += bare; {
	case old.Slots == 0 && h.Slots == 0:
		old.Slots = m.bare[i]
	default:
		old.Slots += max(h.Slots, bare)
	}
	if old.Max > 0 && h.Max > 0 {
		old.Max += h.Max
	} else {
		old.Max = 0
	}
	return nil
}

// splitOutside splits at commas that are not inside brackets.
func splitOutside(s string) []string {
	var items []string
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth <= 0 {
				items = append(items, s[start:i])
				start = i + 1
			}
		}
	}
	return append(items, s[start:])
}
