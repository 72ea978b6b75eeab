package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// status is what became of a procedure.
type status int

const (
	proven    status = iota // it has a Go name, which a test calls
	untested                // it has one that no test calls
	notNeeded               // Go needs no counterpart
	notYet                  // it has none yet
)

// verdict is a procedure and what the code says about it.
type verdict struct {
	procedure
	status  status
	goName  string
	proof   *proof
	example string
}

// classified is a chapter with the verdicts on its procedures.
type classified struct {
	chapter
	verdicts []verdict
}

func (j classified) count(s status) int {
	n := 0
	for _, v := range j.verdicts {
		if v.status == s {
			n++
		}
	}
	return n
}

// classify looks every procedure up in the code.
func classify(chapters []chapter, c *code) []classified {
	var all []classified
	for _, ch := range chapters {
		j := classified{chapter: ch}
		for _, p := range ch.procedures {
			v := verdict{procedure: p, goName: find(goNames(p), c.exported)}
			if v.goName != "" {
				v.proof, v.example = best(c.proofs, v.goName, ch.sections), exampleOf(c.proofs, v.goName)
			}
			switch {
			case v.proof != nil:
				v.status = proven
			case v.goName != "" && c.exported[v.goName].kind != "type":
				v.status = untested
			case p.reason != "":
				v.status = notNeeded
			case v.goName != "":
				v.status = untested
			default:
				v.status = notYet
			}
			j.verdicts = append(j.verdicts, v)
		}
		all = append(all, j)
	}
	return all
}

const head = `# Coverage of MPI

Every procedure of MPI 4.1 and 5.0, its name in package mpi, and the test that shows what it does. Language-independent
names without ` + "`MPI_`" + `; the large-count twins are left out, as Go's int has 64 bits. Generated from the code by

` + "```sh\n" + command + "\n```" + `

and a test fails when it is stale, so edit ` + "`tests/internal/coverage/procedures.txt`" + `, not this. *Proven* means that a case of the
conformance suite (in ` + "`tests`" + `, written as its name, such as ` + "`request/waitany`" + `), a test or an example calls it.
Cases run over all transports, progress policies, kinds of communicators and 1 to 5 ranks. [NAMES.md](NAMES.md) has the names
beside those of mpi4py.

`

// core is the number of the last chapter of the core of the standard.
const core = 21

// page renders the document.
func page(all []classified, c *code) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	summary(&b, all)
	for _, j := range all {
		section(&b, j)
	}
	beyond(&b, all, c)
	return b.Bytes()
}

// summary is the table of counts.
func summary(b *bytes.Buffer, all []classified) {
	b.WriteString("| # | chapter | procedures | proven | untested | not needed in Go | not yet |\n|---:|---|---:|---:|---:|---:|---:|\n")
	var sum [5]int
	for i, j := range all {
		if j.isNames {
			continue
		}
		row := [5]int{len(j.verdicts), j.count(proven), j.count(untested), j.count(notNeeded), j.count(notYet)}
		fmt.Fprintf(b, "| %d | [%s](#%s) | %d | %d | %d | %d | %d |\n", j.number, j.title, anchor(j.heading()), row[0], row[1], row[2], row[3], row[4])
		for k := range row {
			sum[k] += row[k]
		}
		if j.number == core || i == len(all)-1 || all[i+1].isNames {
			title := "all of it"
			if j.number == core {
				title = "the core: chapters 1 to 21"
			}
			fmt.Fprintf(b, "| | **%s** | **%d** | **%d** | **%d** | **%d** | **%d** |\n", title, sum[0], sum[1], sum[2], sum[3], sum[4])
		}
	}
}

func (c chapter) heading() string {
	if c.isNames {
		return c.title
	}
	return fmt.Sprintf("%d. %s", c.number, c.title)
}

// anchor is the fragment by which a heading can be linked to.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// section is the table of one chapter.
func section(b *bytes.Buffer, j classified) {
	fmt.Fprintf(b, "\n## %s\n\n", j.heading())
	switch {
	case j.isNames:
		b.WriteString(j.sections)
	case j.number > core:
		fmt.Fprintf(b, "%s.", j.sections)
	default:
		fmt.Fprintf(b, "MPI 4.1, section %s.", j.sections)
	}
	if n := j.count(notYet); n > 0 {
		fmt.Fprintf(b, " Not yet there: %d. The plan: %s.", n, j.plan)
	}
	b.WriteString("\n\n| MPI | Go | shown by |\n|---|---|---|\n")
	for _, v := range j.verdicts {
		name, tail, _ := strings.Cut(v.name, ",")
		if tail != "" {
			tail = "," + tail
		}
		fmt.Fprintf(b, "| `%s`%s | %s | %s |\n", name, tail, v.goCell(), v.proofCell())
	}
}

func (v verdict) goCell() string {
	switch v.status {
	case notNeeded:
		if v.reason == "nil" || v.reason == "_" {
			return "`" + v.reason + "`"
		}
		return "not needed: " + v.reason
	case notYet:
		return "not yet"
	}
	return "`" + v.goName + "`"
}

func (v verdict) proofCell() string {
	var cell string
	switch {
	case v.status == untested:
		return "**no test calls it**"
	case v.proof == nil:
		return ""
	default:
		cell = "`" + v.proof.name + "`"
	}
	if v.example != "" && v.example != v.proof.name {
		cell += ", `" + v.example + "`"
	}
	return cell
}

// beyond lists the functions and methods that are no procedure's.
func beyond(b *bytes.Buffer, all []classified, c *code) {
	taken := map[string]bool{}
	for _, j := range all {
		for _, v := range j.verdicts {
			taken[v.goName] = true
		}
	}
	b.WriteString("\n## Beyond MPI\n\nFunctions and methods that are no procedure's, with the first sentence of their documentation.\n\n")
	b.WriteString("| Go | what it is | shown by |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(c.exported)) {
		x := c.exported[name]
		if taken[name] || x.promoted || x.kind != "func" && x.kind != "method" || isConvention(name) {
			continue
		}
		v := verdict{status: untested, goName: name, proof: best(c.proofs, name, ""), example: exampleOf(c.proofs, name)}
		if v.proof != nil {
			v.status = proven
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, strings.ReplaceAll(x.synopsis, "|", "\\|"), v.proofCell())
	}
}

// isConvention reports whether a method is there for the standard library, which calls it: nothing
// of MPI.
func isConvention(name string) bool {
	_, method, _ := strings.Cut(name, ".")
	return slices.Contains([]string{"Error", "Is", "String", "Unwrap"}, method)
}
