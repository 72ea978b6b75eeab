package main

import (
	_ "embed"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

//go:embed reasons.txt
var reasonsText string

// reason says why a test does not pass.
type reason struct{ pattern, kind, text string }

// reasons are those of the list. Lines that begin with cc: are for programs that MPICH's compiler
// has made, and come before others.
func reasons(foreign bool) (all []reason) {
	for line := range strings.SplitSeq(reasonsText, "\n") {
		line, also := strings.CutPrefix(line, "cc:")
		if also && !foreign {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		if len(fields) != 3 || strings.HasPrefix(line, "#") {
			continue
		}
		at := len(all)
		if also {
			at = 0
		}
		all = slices.Insert(all, at, reason{fields[0], fields[1], fields[2]})
	}
	return all
}

// reasonOf is why a test has not passed: the most particular reason that fits.
func (t *test) reasonOf(all []reason) reason {
	for _, r := range all {
		if r.pattern == t.dir+"/"+t.name {
			return r
		}
	}
	for _, r := range all {
		if ok, err := path.Match(r.pattern, t.dir+"/"+t.name); ok && err == nil {
			return r
		}
	}
	return reason{"", "ours", "not explained yet"}
}

// unexplained is an error if a test has not passed without a reason.
func (s *settings) unexplained(all []*test) error {
	known, n := reasons(s.compiler != ""), 0
	for _, t := range all {
		if t.outcome != passed && t.reasonOf(known).pattern == "" {
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("%d tests did not pass, and reasons.txt does not say why", n)
	}
	return nil
}

// write puts the tables of a run between two lines of a document that say what it was; the rest is
// kept.
func (s *settings) write(what string, all []*test, dirs []string) error {
	begin, end := "<!-- "+what+": begin -->\n", "<!-- "+what+": end -->\n"
	text, err := os.ReadFile(s.doc)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, also := strings.Cut(rest, end)
	if !ok || !also {
		return fmt.Errorf("%s has no lines %q and %q", s.doc, begin, end)
	}
	return os.WriteFile(s.doc, []byte(head+begin+"\n"+table(all, dirs)+"\n"+s.failures(all)+"\n"+end+tail), 0o644)
}

// failures is a table of what has not passed, a line for each program.
func (s *settings) failures(all []*test) string {
	var w strings.Builder
	w.WriteString("| test | runs that did not pass | kind | why |\n|---|---|---|---|\n")
	known := reasons(s.compiler != "")
	count := map[string]int{}
	for _, t := range all {
		if t.outcome != passed {
			count[t.dir+"/"+t.name]++
		}
	}
	for _, t := range all {
		name := t.dir + "/" + t.name
		if n := count[name]; t.outcome != passed && n > 0 {
			r := t.reasonOf(known)
			fmt.Fprintf(&w, "| %s | %d | %s | %s |\n", name, n, r.kind, r.text)
			delete(count, name)
		}
	}
	return w.String()
}
