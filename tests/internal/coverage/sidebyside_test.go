package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/NAMES.md has the names of C, mpi4py and Go side by side, and says of each procedure what
// docs/COVERAGE.md says.

const namesPage = "docs/NAMES.md"

// receivers are the variables by which the page writes methods and fields, as it explains at its
// top.
var receivers = map[string]string{
	"c": "Comm", "r": "Request", "st": "Status", "t": "Datatype", "g": "Group", "info": "Info",
	"s": "Session", "k": "Keyval", "tk": "TypeKeyval", "w": "Win", "wk": "WinKeyval", "v": "Variable", "f": "File",
}

// nameRow is a row of the page.
type nameRow struct {
	line    int
	py, gc  string   // its second and third cell
	cs, gos []string // the names in the first and the third
	notes   []string // the code in the last
}

// nameRows reads the tables with names side by side.
func nameRows(text string) []nameRow {
	var rows []nameRow
	isIn := false
	for i, line := range strings.Split(text, "\n") {
		cells := strings.Split(line, "|")
		switch {
		case line == "| C | mpi4py | FitMPI | what differs |":
			isIn = true
		case !strings.HasPrefix(line, "|"):
			isIn = false
		case isIn && !strings.HasPrefix(line, "|---"):
			for len(cells) < 6 {
				cells = append(cells, "")
			}
			for k := range cells {
				cells[k] = strings.TrimSpace(cells[k])
			}
			rows = append(rows, nameRow{
				line: i + 1, py: cells[2], gc: cells[3],
				cs: spans(cells[1]), gos: spans(cells[3]), notes: spans(cells[4]),
			})
		}
	}
	return rows
}

// spans are the pieces of code in a cell.
func spans(cell string) []string {
	var all []string
	for _, m := range span.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// goName is what COVERAGE.md calls a name that the page writes as mpi.F, or as x.M with one of the
// receivers.
func goName(written string) string {
	x, name, isQualified := strings.Cut(written, ".")
	switch {
	case !isQualified:
		return written
	case x == "mpi":
		return name
	case receivers[x] != "":
		return receivers[x] + "." + name
	}
	return ""
}

// beside is the Go name that belongs to the i-th name of C, "" if Go needs none.
func (r nameRow) beside(i int) string {
	switch len(r.gos) {
	case 0:
		return ""
	case 1:
		return goName(r.gos[0])
	}
	return goName(r.gos[i])
}

// shape says what is wrong with the form of a row, "" if nothing is.
func (r nameRow) shape() string {
	switch {
	case len(r.cs) == 0:
		return "no name of C"
	case len(r.gos) == 0 && r.gc != "-":
		return "neither a name of Go nor -"
	case len(r.gos) > 1 && len(r.gos) != len(r.cs):
		return fmt.Sprintf("%d names of Go beside %d of C", len(r.gos), len(r.cs))
	case len(spans(r.py)) == 0 && r.py != "-":
		return "neither a name of mpi4py nor -"
	}
	return ""
}

// counterpart is the Go name in the verdict, "" if there is none.
func (v verdict) counterpart() string {
	switch {
	case v.status == proven || v.status == untested:
		return v.goName
	case v.status == notNeeded && (v.reason == "nil" || v.reason == "_"):
		return v.reason
	}
	return ""
}

var firstName = regexp.MustCompile(`^\w+`)

// expected maps the names of C, with their prefix, to what is said about them.
func expected(all []classified) map[string]verdict {
	m := map[string]verdict{}
	for _, j := range all {
		prefix := "MPI_"
		if strings.Contains(j.sections, "MPIX_") {
			prefix = "MPIX_"
		}
		for _, v := range j.verdicts {
			m[prefix+firstName.FindString(v.name)] = v
		}
	}
	return m
}

var mention = regexp.MustCompile(`\b(\w+)\.([A-Z]\w*)`)

// namesFaults returns a sentence for each place where the page and the verdicts differ.
func namesFaults(text string, all []classified, exported map[string]export) []string {
	var faults []string
	fault := func(line int, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%s:%d: ", namesPage, line)+fmt.Sprintf(format, args...))
	}
	verdicts, lines := expected(all), map[string]int{}
	for _, r := range nameRows(text) {
		if s := r.shape(); s != "" {
			fault(r.line, "%s", s)
			continue
		}
		for i, name := range r.cs {
			got := r.beside(i)
			v, isListed := verdicts[name]
			switch _, exists := exported[got]; {
			case lines[name] != 0:
				fault(r.line, "%s is in line %d too", name, lines[name])
			case isListed && v.status == notYet:
				fault(r.line, "%s is not there yet", name)
			case isListed && got != v.counterpart():
				fault(r.line, "%s stands beside %q, %s has %q", name, got, target, v.counterpart())
			case !isListed && strings.ToUpper(name) != name:
				fault(r.line, "%s is no procedure of the list", name)
			case !isListed && !exists:
				fault(r.line, "%s stands beside %q, which package mpi does not export", name, got)
			}
			lines[name] = r.line
		}
		for _, m := range mention.FindAllStringSubmatch(strings.Join(r.notes, " "), -1) {
			if _, exists := exported[goName(m[0])]; !exists && (m[1] == "mpi" || receivers[m[1]] != "") {
				fault(r.line, "package mpi does not export %s", m[0])
			}
		}
	}
	for name, v := range verdicts {
		if v.counterpart() != "" && lines[name] == 0 {
			faults = append(faults, fmt.Sprintf("%s lacks %s, which is %s", namesPage, name, v.counterpart()))
		}
	}
	slices.Sort(faults)
	return faults
}

func TestNamesPage(t *testing.T) {
	chapters, err := parse(procedures)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ours()
	if err != nil {
		t.Fatal(err)
	}
	text := documents(t)[namesPage]
	if n := len(nameRows(text)); n < 150 {
		t.Errorf("found only %d rows in %s", n, namesPage)
	}
	for _, fault := range namesFaults(text, classify(chapters, c), c.exported) {
		t.Error(fault)
	}
}

// Every way in which the page can be wrong.
func TestNamesFaults(t *testing.T) {
	chapters, err := parse(`
chapter 1 | 6 | Some | 6.3, 6.4
plan later
Send
Recv
Bcast
Comm_dup
Comm_spawn
Op_free - nothing to free
chapter 2 | 0 | Names | Handles.
plan later
COMM_NULL - nil
DOUBLE_INT and others = Pair
chapter 3 | 1 | Proposed | with MPIX_
plan later
Comm_shrink = Comm.Free
`)
	if err != nil {
		t.Fatal(err)
	}
	c := fake(t)
	all := classify(chapters, c)
	const right = "| C | mpi4py | FitMPI | what differs |\n|---|---|---|---|\n" +
		"| `MPI_Send`, `MPI_Recv` | `comm.Send`, `comm.Recv` | `mpi.Send`, `mpi.Recv` | see `mpi.Bare(c.Free)`, `errors.Is` |\n" +
		"| `MPI_Bcast` | `comm.Bcast` | `mpi.Bcast` | |\n" +
		"| `MPI_Comm_dup` | `comm.Dup` | `c.Dup` | |\n" +
		"| `MPI_Op_free` | `op.Free` | - | nothing to free |\n" +
		"| `MPI_COMM_NULL` | `MPI.COMM_NULL` | `nil` | |\n" +
		"| `MPI_DOUBLE_INT` | - | `mpi.Pair` | |\n" +
		"| `MPIX_Comm_shrink` | `comm.Shrink` | `c.Free` | |\n" +
		"| `MPI_ALONE` | - | `mpi.Alone` | |\n"
	if faults := namesFaults(right, all, c.exported); len(faults) > 0 {
		t.Errorf("found fault with what is right: %q", faults)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"| `MPI_Bcast` | `comm.Bcast` | `mpi.Bcast` | |\n", "", "lacks MPI_Bcast, which is Bcast"},
		{"`MPI_Send`, `MPI_Recv`", "`MPI_Recv`, `MPI_Send`", `MPI_Recv stands beside "Send", docs/COVERAGE.md has "Recv"`},
		{"`mpi.Send`, `mpi.Recv`", "`mpi.Send`", `MPI_Recv stands beside "Send"`},
		{"`mpi.Bcast`", "`mpi.Broadcast`", `:4: MPI_Bcast stands beside "Broadcast", docs/COVERAGE.md has "Bcast"`},
		{"`c.Dup`", "`r.Dup`", `stands beside "Request.Dup", docs/COVERAGE.md has "Comm.Dup"`},
		{"`c.Dup`", "`x.Dup`", `stands beside "", docs/COVERAGE.md has "Comm.Dup"`},
		{"| `op.Free` | - |", "| `op.Free` | `mpi.Alone` |", `MPI_Op_free stands beside "Alone", docs/COVERAGE.md has ""`},
		{"`MPI_Op_free`", "`MPI_Comm_spawn`", "MPI_Comm_spawn is not there yet"},
		{"`MPI_Op_free`", "`MPI_Op_fre`", "MPI_Op_fre is no procedure of the list"},
		{"`MPI_Op_free`", "`MPI_Send`", "MPI_Send is in line 3 too"},
		{"`MPIX_Comm", "`MPI_Comm", "lacks MPIX_Comm_shrink, which is Comm.Free"},
		{"`mpi.Alone`", "`mpi.Gone`", `MPI_ALONE stands beside "Gone", which package mpi does not export`},
		{"`mpi.Bare(c.Free)`", "`mpi.Bare(c.Fly)`", "package mpi does not export c.Fly"},
		{"`mpi.Bare(c.Free)`", "`mpi.Bear`", "package mpi does not export mpi.Bear"},
		{"`mpi.Bcast`", "Bcast", "neither a name of Go nor -"},
		{"`mpi.Bcast`", "`mpi.Bcast`, `mpi.Send`", "2 names of Go beside 1 of C"},
		{"| `comm.Bcast` |", "| |", "neither a name of mpi4py nor -"},
		{"`MPI_Bcast`", "Bcast", "no name of C"},
	} {
		faults := strings.Join(namesFaults(strings.Replace(right, tt.old, tt.new, 1), all, c.exported), "\n")
		if !strings.Contains(right, tt.old) || !strings.Contains(faults, tt.want) {
			t.Errorf("%q in place of %q: %q lacks %q", tt.new, tt.old, faults, tt.want)
		}
	}
}
