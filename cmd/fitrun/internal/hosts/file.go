package hosts

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ReadFile reads a host file; name is for messages. Each line is one host, in the form of Open MPI
// or of Hydra:
//
//	node1 slots=4 max_slots=8
//	node2:4
//	alice@node3 port=2222 domain=west
//	node4 agent=7000            reached by the fitrun agent that listens there
//
// What follows # is a comment. Besides those shown it takes max-slots, cpus and count (as slots),
// user and username, and passes over what Hydra and Open MPI use for binding (binding, ifname,
// sockets_per_node).
func ReadFile(name string, r io.Reader) ([]Host, error) {
	var all merged
	sc := bufio.NewScanner(r)
	for line := 1; sc.Scan(); line++ {
		text, _, _ := strings.Cut(sc.Text(), "#")
		words := strings.Fields(joinEquals(text))
		if len(words) == 0 {
			continue
		}
		h, err := parseLine(words)
		if err == nil {
			err = all.add(h)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
	switch err := sc.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s: a line of more than %d bytes; is it a host file?", name, bufio.MaxScanTokenSize)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(all.hosts) == 0:
		return nil, fmt.Errorf("%s: no host in it; write one per line, for example node1 slots=4", name)
	}
	return all.hosts, nil
}

// joinEquals takes the space around equal signs away, which Open MPI allows.
func joinEquals(s string) string {
	parts := strings.Split(s, "=")
	for i := range parts {
		if i > 0 {
			parts[i] = strings.TrimLeft(parts[i], " \t")
		}
		if i < len(parts)-1 {
			parts[i] = strings.TrimRight(parts[i], " \t")
		}
	}
	return strings.Join(parts, "=")
}

func parseLine(words []string) (Host, error) {
	h, err := parseHost(words[0])
	if err != nil {
		return h, err
	}
	for _, word := range words[1:] {
		key, value, ok := strings.Cut(word, "=")
		if !ok && key != "agent" {
			return h, fmt.Errorf("%q: want KEY=VALUE, for example slots=4", word)
		}
		if err := h.set(strings.ReplaceAll(strings.ToLower(key), "-", "_"), value); err != nil {
			return h, fmt.Errorf("%q: %w", word, err)
		}
	}
	if h.Slots == 0 {
		h.Slots = h.Max // what it takes at most is all that is known
	}
	if h.Max > 0 && h.Max < h.Slots {
		return h, fmt.Errorf("host %s: max_slots=%d is less than its %d slots", h.Name, h.Max, h.Slots)
	}
	return h, nil
}

// set takes one KEY=VALUE of a host file.
func (h *Host) set(key, value string) (err error) {
	switch key {
	case "slots", "cpus", "count":
		h.Slots, err = parseSlots(value)
	case "max_slots":
		h.Max, err = parseSlots(value)
	case "port":
		h.Port, err = parsePort(value)
	case "agent":
		if h.Agent = true; value != "" {
			h.Port, err = parsePort(value)
		}
	case "user", "username":
		h.User = value
	case "domain":
		h.Domain = value
	case "binding", "ifname", "sockets_per_node", "boards", "cores":
	default:
		return errors.New("unknown key; there are slots, max_slots, port, user, domain and agent")
	}
	return err
}

func parsePort(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("port %q: want a number from 1 to 65535", s)
	}
	return int(n), nil
}
