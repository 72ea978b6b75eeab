package facts

import (
	"slices"
	"strconv"
	"strings"
)

// parseChapter starts a chapter, to which the procedures of the file belong.
func (p *parser) parseChapter(l line) error {
	if err := l.need(3, "chapter NUMBER TITLE"); err != nil {
		return err
	}
	n, err := strconv.Atoi(l.fields[1])
	if err != nil {
		return l.at.errorf("the chapter %q is no number", l.fields[1])
	}
	p.chapter = &Chapter{Number: n, Title: strings.Join(l.fields[2:], " ")}
	p.table.Chapters = append(p.table.Chapters, p.chapter)
	return nil
}

// parseProc starts a procedure.
func (p *parser) parseProc(l line) error {
	if p.chapter == nil {
		return l.at.errorf("a procedure before the file's chapter")
	}
	if err := l.need(3, "proc NAME since=VERSION"); err != nil {
		return err
	}
	o, err := l.options(2, "since=", "large?", "deprecated=", "returns=", "anytime", "starts")
	if err != nil {
		return err
	}
	f := &Procedure{Name: l.fields[1], Since: o["since"], Deprecated: o["deprecated"], result: o["returns"], at: l.at}
	if _, ok := o["returns"]; !ok {
		f.result = "error-code"
	}
	f.Large = largeSince(o, max(f.Since, "4.0"))
	_, f.Anytime = o["anytime"]
	_, f.Starts = o["starts"]
	p.chapter.Procedures = append(p.chapter.Procedures, f)
	p.body = f.parseArgument
	return nil
}

// parseCallback starts the type of a function.
func (p *parser) parseCallback(l line) error {
	if err := l.need(3, "callback NAME returns=KIND"); err != nil {
		return err
	}
	o, err := l.options(2, "large?", "deprecated=", "returns=")
	if err != nil {
		return err
	}
	f := &Procedure{Name: l.fields[1], Deprecated: o["deprecated"], result: o["returns"], at: l.at}
	f.Large = largeSince(o, "4.0")
	p.table.Callbacks = append(p.table.Callbacks, f)
	p.body = f.parseArgument
	return nil
}

// largeSince returns since when there is a large twin: what the option says, else the default, and
// "" if there is none.
func largeSince(o map[string]string, byDefault string) string {
	v, ok := o["large"]
	switch {
	case !ok:
		return ""
	case v == "":
		return byDefault
	}
	return v
}

// parseArgument adds an argument to f.
func (f *Procedure) parseArgument(l line) error {
	if err := l.need(3, "DIRECTION NAME KIND"); err != nil {
		return err
	}
	o, err := l.options(3, "len=", "of=", "or=", "fn=", "only=", "root", "kept", "plain", "byref")
	if err != nil {
		return err
	}
	a := &Argument{
		Direction: Direction(l.fields[0]), Name: l.fields[1], kind: l.fields[2], at: l.at,
		Length: o["len"], Extent: o["of"], function: o["fn"],
	}
	if !slices.Contains([]Direction{In, Out, InOut}, a.Direction) {
		return l.at.errorf("unknown direction %q", a.Direction)
	}
	if s, ok := o["or"]; ok {
		a.Sentinels = strings.Split(s, ",")
	}
	if only, ok := o["only"]; ok && only != "large" {
		return l.at.errorf("only=%s, want only=large", only)
	}
	_, a.LargeOnly = o["only"]
	_, a.Root = o["root"]
	_, a.Kept = o["kept"]
	_, a.Plain = o["plain"]
	_, a.ByRef = o["byref"]
	f.Arguments = append(f.Arguments, a)
	return nil
}
