// Package tracetest reads a trace as its viewers do and checks it by the rules of the Trace Event
// format: for tests.
package tracetest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Trace is a file in the Trace Event format.
type Trace struct {
	DisplayTimeUnit string         `json:"displayTimeUnit"`
	Events          []Event        `json:"traceEvents"`
	OtherData       map[string]any `json:"otherData"`
}

// Event is one event of it. What an event does not have is the zero value.
type Event struct {
	Ph, Cat, Name string
	ID            string
	BP            string
	PID, TID      int
	TS            *json.Number
	Dur           *json.Number
	Args          map[string]any
}

// Slice is an event of phase X.
type Slice struct {
	Event
	Begin, End int64 // nanoseconds
}

// Flow is one message, from the slice that it begins in to the one that it ends in.
type Flow struct {
	From, To   Slice
	Begin, End int64
}

// Read reads a trace from a file, which may be compressed.
func Read(path string) (*Trace, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		if b, err = io.ReadAll(z); err != nil {
			return nil, err
		}
	}
	return Parse(b)
}

// Parse reads a trace. A field that the format does not have is an error.
func Parse(b []byte) (*Trace, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	t := new(Trace)
	if err := d.Decode(t); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the trace")
	}
	return t, nil
}

// nanos reads microseconds with at most three digits behind the point.
func nanos(n *json.Number) (int64, error) {
	if n == nil {
		return 0, errors.New("a time is missing")
	}
	whole, part, _ := strings.Cut(n.String(), ".")
	ns, err := strconv.ParseInt(whole+(part + "000")[:3], 10, 64)
	if len(part) > 3 || strings.ContainsAny(n.String(), "eE") || err != nil {
		return 0, fmt.Errorf("time %s", n)
	}
	return ns, nil
}

// Slices returns the slices of a category, of all processes, in the order of their beginnings.
func (t *Trace) Slices(category string) []Slice {
	var all []Slice
	for _, e := range t.Events {
		if e.Ph != "X" || category != "" && e.Cat != category {
			continue
		}
		begin, _ := nanos(e.TS)
		length, _ := nanos(e.Dur)
		all = append(all, Slice{e, begin, begin + length})
	}
	slices.SortStableFunc(all, func(a, b Slice) int { return cmp.Compare(a.Begin, b.Begin) })
	return all
}

// Processes returns the names of the processes by number.
func (t *Trace) Processes() map[int]string {
	names := make(map[int]string)
	for _, e := range t.Events {
		if e.Ph == "M" && e.Name == "process_name" {
			names[e.PID], _ = e.Args["name"].(string)
		}
	}
	return names
}

// Check checks every event, that slices of a track nest, and that flows are whole. slack is how
// much earlier a message may arrive than it was sent, in nanoseconds. It returns the flows.
func (t *Trace) Check(slack int64) ([]Flow, error) {
	c := checker{t: t, threads: make(map[[2]int]bool)}
	for i := range t.Events {
		c.event(&t.Events[i])
	}
	for i := range t.Events {
		if e := &t.Events[i]; e.Ph != "M" && !c.threads[[2]int{e.PID, e.TID}] {
			c.wrong(e, "of a track without a name")
		}
	}
	c.nest()
	flows := c.flows(slack)
	if len(c.errs) > 20 {
		c.errs = append(c.errs[:20], fmt.Errorf("and %d more", len(c.errs)-20))
	}
	return flows, errors.Join(c.errs...)
}

type checker struct {
	t       *Trace
	threads map[[2]int]bool // that have a name
	errs    []error
}

func (c *checker) wrong(e *Event, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("event %s %q of %d/%d: %s", e.Ph, e.Name, e.PID, e.TID, fmt.Sprintf(format, args...)))
}

// event checks what the format asks of one event.
func (c *checker) event(e *Event) {
	if e.PID <= 0 || e.Name == "" {
		c.wrong(e, "no process, or no name")
	}
	if e.Ph != "M" {
		if ts, err := nanos(e.TS); err != nil || ts < -math.MaxInt32 {
			c.wrong(e, "ts: %v", err)
		}
		if e.TID <= 0 || e.Cat == "" {
			c.wrong(e, "no thread, or no category")
		}
	}
	switch e.Ph {
	case "M":
		name, isName := e.Args["name"].(string)
		_, isIndex := e.Args["sort_index"].(float64)
		switch e.Name {
		case "thread_name":
			c.threads[[2]int{e.PID, e.TID}] = true
			fallthrough
		case "process_name":
			if !isName || name == "" {
				c.wrong(e, "args %v", e.Args)
			}
		case "process_sort_index", "thread_sort_index":
			if !isIndex {
				c.wrong(e, "args %v", e.Args)
			}
		default:
			c.wrong(e, "no such metadata")
		}
	case "X":
		if d, err := nanos(e.Dur); err != nil || d < 0 {
			c.wrong(e, "dur %v: %v", e.Dur, err)
		}
	case "s", "f":
		if e.ID == "" || (e.BP == "e") != (e.Ph == "f") {
			c.wrong(e, "id %q, bp %q", e.ID, e.BP)
		}
	default:
		c.wrong(e, "no phase that we write")
	}
}

// nest checks that no slice of a track goes beyond one that it begins in.
func (c *checker) nest() {
	tracks := make(map[int][]Slice)
	for _, s := range c.t.Slices("") {
		tracks[s.TID] = append(tracks[s.TID], s)
	}
	for _, all := range tracks {
		slices.SortStableFunc(all, func(a, b Slice) int { return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(b.End, a.End)) })
		var open []Slice
		for _, s := range all {
			for len(open) > 0 && open[len(open)-1].End <= s.Begin {
				open = open[:len(open)-1]
			}
			if len(open) > 0 && s.End > open[len(open)-1].End {
				o := open[len(open)-1]
				c.wrong(&s.Event, "from %d to %d, begins in %q from %d to %d and ends behind it", s.Begin, s.End, o.Name, o.Begin, o.End)
			}
			if len(open) > 0 && s.PID != open[0].PID {
				c.wrong(&s.Event, "its thread is of two processes")
			}
			open = append(open, s)
		}
	}
}

// flows pairs the ends of the flows.
func (c *checker) flows(slack int64) []Flow {
	type ends struct{ s, f []*Event }
	all := make(map[string]*ends)
	var ids []string
	for i := range c.t.Events {
		e := &c.t.Events[i]
		if e.Ph != "s" && e.Ph != "f" {
			continue
		}
		x := all[e.ID]
		if x == nil {
			x = new(ends)
			all[e.ID], ids = x, append(ids, e.ID)
		}
		if e.Ph == "s" {
			x.s = append(x.s, e)
		} else {
			x.f = append(x.f, e)
		}
	}
	tracks := make(map[int][]Slice)
	for _, s := range c.t.Slices("") {
		tracks[s.TID] = append(tracks[s.TID], s)
	}
	var flows []Flow
	for _, id := range ids {
		x := all[id]
		if len(x.s) != 1 || len(x.f) != 1 {
			c.errs = append(c.errs, fmt.Errorf("flow %s has %d beginnings and %d ends", id, len(x.s), len(x.f)))
			continue
		}
		s, f := x.s[0], x.f[0]
		var w Flow
		var ok1, ok2 bool
		w.Begin, _ = nanos(s.TS)
		w.End, _ = nanos(f.TS)
		w.From, ok1 = around(tracks[s.TID], w.Begin)
		w.To, ok2 = around(tracks[f.TID], w.End)
		switch {
		case !ok1 || w.From.Cat != "send":
			c.wrong(s, "flow %s begins at %d in no send", id, w.Begin)
		case !ok2 || w.To.Cat != "receive":
			c.wrong(f, "flow %s ends at %d in no receive", id, w.End)
		case w.End < w.Begin-slack:
			c.wrong(f, "flow %s ends %d ns before it begins", id, w.Begin-w.End)
		}
		flows = append(flows, w)
	}
	return flows
}

// around finds the slice that a moment is in, the innermost one.
func around(track []Slice, at int64) (Slice, bool) {
	i, _ := slices.BinarySearchFunc(track, at+1, func(s Slice, t int64) int { return cmp.Compare(s.Begin, t) })
	for i--; i >= 0; i-- {
		if at < track[i].End {
			return track[i], true
		}
	}
	return Slice{}, false
}
