package main

import (
	"fmt"
	"strconv"
	"strings"
)

// chapter is one group of procedures of the standard, as procedures.txt has it.
type chapter struct {
	number     int
	title      string
	sections   string // of MPI 4.1; "" if there are none
	plan       string // what becomes of procedures that have no Go name yet
	isNames    bool   // of names that are no procedures
	procedures []procedure
}

// procedure is one line of procedures.txt.
type procedure struct {
	name   string   // without the prefix MPI_
	gos    []string // Go names that it may have, the first that exists counts; nil: by the rule
	reason string   // why Go needs none; "" if it does
}

// parse reads the text of procedures.txt, whose head describes it.
func parse(text string) ([]chapter, error) {
	var chapters []chapter
	counts := map[int]int{} // by index of the chapter
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		keyword, rest, _ := strings.Cut(line, " ")
		var err error
		switch {
		case line == "" || line[0] == '#':
		case keyword == "chapter":
			var c chapter
			var n int
			if c, n, err = parseChapter(rest); err == nil {
				counts[len(chapters)] = n
				chapters = append(chapters, c)
			}
		case len(chapters) == 0:
			err = fmt.Errorf("%q comes before the first chapter", line)
		case keyword == "plan":
			chapters[len(chapters)-1].plan = rest
		default:
			c := &chapters[len(chapters)-1]
			p := parseProcedure(line)
			if seen[p.name] {
				err = fmt.Errorf("%s is listed twice", p.name)
			}
			seen[p.name] = true
			c.procedures = append(c.procedures, p)
		}
		if err != nil {
			return nil, fmt.Errorf("procedures.txt:%d: %w", i+1, err)
		}
	}
	for i, c := range chapters {
		switch {
		case !c.isNames && len(c.procedures) != counts[i]:
			return nil, fmt.Errorf("procedures.txt: chapter %d says %d procedures and lists %d", c.number, counts[i], len(c.procedures))
		case c.plan == "":
			return nil, fmt.Errorf("procedures.txt: chapter %d has no plan", c.number)
		}
	}
	return chapters, nil
}

// parseChapter reads "N | COUNT | TITLE | SECTIONS".
func parseChapter(s string) (c chapter, count int, err error) {
	fields := strings.Split(s, "|")
	if len(fields) != 4 {
		return c, 0, fmt.Errorf("chapter %q: need N | COUNT | TITLE | SECTIONS", s)
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	if c.number, err = strconv.Atoi(fields[0]); err != nil {
		return c, 0, fmt.Errorf("chapter %q: %w", fields[0], err)
	}
	if count, err = strconv.Atoi(fields[1]); err != nil {
		return c, 0, fmt.Errorf("count of chapter %d: %w", c.number, err)
	}
	c.title, c.sections, c.isNames = fields[2], fields[3], count == 0
	return c, count, nil
}

// parseProcedure reads "NAME = GO, GO - REASON", of which all but the name may be missing.
func parseProcedure(line string) procedure {
	line, reason, _ := strings.Cut(line, " - ")
	name, gos, explicit := strings.Cut(line, " = ")
	p := procedure{name: strings.TrimSpace(name), reason: reason}
	if explicit {
		for g := range strings.SplitSeq(gos, ",") {
			p.gos = append(p.gos, strings.TrimSpace(g))
		}
	}
	return p
}
