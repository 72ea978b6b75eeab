package facts

import (
	"fmt"
	"slices"
	"strings"
)

// position is a line of a file.
type position struct {
	file string
	line int
}

// errorf returns an error that names the line.
func (p position) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.file, p.line, fmt.Sprintf(format, args...))
}

// line is a line that has something to say.
type line struct {
	at     position
	body   bool // indented: it belongs to the statement above
	fields []string
}

// scan returns the lines of a file that are not empty.
func scan(file, text string) []line {
	var lines []line
	n := 0
	for s := range strings.Lines(text) {
		n++
		fields := strings.Fields(uncomment(s))
		if len(fields) > 0 {
			lines = append(lines, line{position{file, n}, s[0] == ' ' || s[0] == '\t', fields})
		}
	}
	return lines
}

// uncomment cuts off a comment: a # at the start or after a space, and what follows.
func uncomment(s string) string {
	for i := range len(s) {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			return s[:i]
		}
	}
	return s
}

// need says that a line lacks fields.
func (l line) need(n int, usage string) error {
	if len(l.fields) < n {
		return l.at.errorf("too few fields, want %s", usage)
	}
	return nil
}

// options returns the fields from the n-th on as options. Those of known that end in = have a
// value, those that end in ? may have one.
func (l line) options(n int, known ...string) (map[string]string, error) {
	o := map[string]string{}
	for _, f := range l.fields[n:] {
		key, value, has := strings.Cut(f, "=")
		switch {
		case slices.Contains(known, key+"?"):
		case slices.Contains(known, key+"=") && value == "":
			return nil, l.at.errorf("option %s without a value", key)
		case !slices.Contains(known, key+"=") && (has || !slices.Contains(known, key)):
			return nil, l.at.errorf("unknown option %q, known are %v", f, known)
		}
		if _, twice := o[key]; twice {
			return nil, l.at.errorf("option %s twice", key)
		}
		o[key] = value
	}
	return o, nil
}
