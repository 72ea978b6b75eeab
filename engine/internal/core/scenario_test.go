package core

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what happens into the scenarios of testdata")

// TestScenarios plays testdata/*.txt: blocks of commands, a line of dashes, and
// what they printed, separated by empty lines. Commands are the methods below.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) { playFile(t, name) })
	}
}

func playFile(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &play{t: t, named: make(map[string]*actor), attached: make(map[int]*Attached)}
	var out []string
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		commands, want, found := strings.Cut(strings.TrimSpace(block)+"\n", "----\n")
		if !found && isComment(commands) {
			out = append(out, strings.TrimSpace(commands))
			continue
		}
		got := p.block(commands)
		if !*rewrite && got != want {
			t.Errorf("%s:\n%s---- got\n%s---- want\n%s", name, commands, got, want)
		}
		out = append(out, strings.TrimSpace(commands)+"\n----\n"+strings.TrimRight(got, "\n"))
	}
	if *rewrite {
		if err := os.WriteFile(name, []byte(strings.Join(out, "\n\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func isComment(s string) bool {
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// play is one scenario in progress.
type play struct {
	t        *testing.T
	net      *fakeNet
	named    map[string]*actor
	attached map[int]*Attached // by rank
	order    []string          // names in order of appearance
	out      strings.Builder
}

// actor is an MSO, or a schedule, with a name.
type actor struct {
	rank    int
	m       *MSO
	s       *Schedule
	ackSent string // what was last said of it
}

func (p *play) block(commands string) string {
	p.out.Reset()
	for line := range strings.Lines(commands) {
		if f := strings.Fields(line); len(f) > 0 && f[0] != "#" {
			p.command(f)
			p.changes()
		}
	}
	if p.out.Len() == 0 {
		return "nothing\n"
	}
	return p.out.String()
}

func (p *play) say(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

// changes reports every named MSO whose state is not what it was.
func (p *play) changes() {
	for _, name := range p.order {
		a := p.named[name]
		if s := describe(a.m); s != a.ackSent {
			a.ackSent = s
			p.say("  %s: %s", name, s)
		}
	}
}

// describe is the debug form of an MSO.
func describe(m *MSO) string {
	s := m.State().String()
	if m.State() != Done {
		return s
	}
	switch {
	case m.Cancelled:
		s += " cancelled"
	case m.Kind == KindRecv || m.Kind == KindProbe || m.Kind == KindMprobe:
		if m.Err == nil || errors.Is(m.Err, ErrTruncated) {
			s += fmt.Sprintf(" from=%d tag=%d len=%d", m.Source, m.GotTag, m.Length)
		}
	}
	if m.Kind == KindRecv && m.Err == nil && !m.Cancelled && !bytes.Equal(m.Buf[:m.Length], pattern(m.Length, int(m.GotTag))) {
		s += " WRONG BYTES"
	}
	if m.Err != nil {
		s += " error: " + m.Err.Error()
	}
	return s
}

// args are the words of a command behind the first: name, route, options.
type args []string

func (a args) has(name string) bool {
	return slices.Contains(a, name)
}

func (a args) num(name string, otherwise int) int {
	for _, x := range a {
		if v, ok := strings.CutPrefix(x, name+"="); ok {
			if v == "*" {
				return -1
			}
			n, err := strconv.Atoi(v)
			if err != nil {
				panic(err)
			}
			return n
		}
	}
	return otherwise
}

// route finds "0->1", "1<-0", "1<-*" or "0-1" and returns both sides, * being -1.
func (a args) route() (left, right int) {
	for _, x := range a {
		for _, sep := range []string{"->", "<-", "-"} {
			if l, r, ok := strings.Cut(x, sep); ok && l != "" {
				left, _ = strconv.Atoi(l)
				if right, _ = strconv.Atoi(r); r == "*" {
					right = -1
				}
				return left, right
			}
		}
	}
	panic("no route in " + strings.Join(a, " "))
}

func (p *play) add(name string, a *actor) {
	a.ackSent = Idle.String()
	p.named[name] = a
	p.order = append(p.order, name)
}
