package pmi

import (
	"fmt"
	"strconv"
	"strings"
)

// maxLine bounds a line, newline included. The longest that a launcher sends has a value of
// vallen_max bytes.
const maxLine = 16 << 10

// reply is a line of the launcher, taken apart.
type reply struct {
	cmd    string
	fields map[string]string // without cmd
}

// consumeLine takes a line apart, which comes without its newline.
func consumeLine(line string) (reply, error) {
	r := reply{fields: make(map[string]string)}
	if strings.ContainsFunc(line, isControl) {
		return r, fmt.Errorf("the line %.60q has control characters", line)
	}
	for i, word := range strings.Fields(line) {
		key, value, ok := strings.Cut(word, "=")
		switch {
		case !ok || key == "":
			return r, fmt.Errorf("the word %.60q is not key=value", word)
		case i == 0 && key != "cmd":
			return r, fmt.Errorf("the line begins with %.60q, want cmd=", word)
		case i == 0:
			r.cmd = value
			continue
		}
		if _, twice := r.fields[key]; twice || key == "cmd" {
			return r, fmt.Errorf("the key %.60q came twice", key)
		}
		r.fields[key] = value
	}
	if r.cmd == "" {
		return r, fmt.Errorf("the line %.60q has no command", line)
	}
	return r, nil
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// want checks that r is the answer cmd, and that its rc, if it has one, is 0.
func (r reply) want(cmd string) error {
	if r.cmd != cmd {
		return fmt.Errorf("the launcher answers %.60q, want %q", r.cmd, cmd)
	}
	if rc, ok := r.fields["rc"]; ok && rc != "0" {
		if msg := r.fields["msg"]; msg != "" {
			return fmt.Errorf("the launcher refuses: %.200s (rc=%.20s)", msg, rc)
		}
		return fmt.Errorf("the launcher refuses (rc=%.20s)", rc)
	}
	return nil
}

// number is the field key, which must be a number from low to high.
func (r reply) number(key string, low, high int) (int, error) {
	s, ok := r.fields[key]
	if !ok {
		return 0, fmt.Errorf("the answer %q has no %s", r.cmd, key)
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("the answer %q has %s=%.30s: want a number from %d to %d", r.cmd, key, s, low, high)
	}
	return n, nil
}
