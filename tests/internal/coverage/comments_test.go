package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

var citation = regexp.MustCompile(`MPI\s+4\.1,\s+(section|chapter|annex)|fault\s+tolerance\s+as\s+proposed`)

// uncommented returns a sentence for each exported name whose comment is missing or does not begin
// with it, and for each function and method that is a procedure's whose comment cites no section.
func uncommented(chapters []chapter, c *code) []string {
	procedureOf := map[string]string{}
	for _, j := range classify(chapters, c) {
		for _, v := range j.verdicts {
			if v.goName != "" && !j.isNames {
				procedureOf[v.goName] = v.name
			}
		}
	}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(c.exported)) {
		x := c.exported[name]
		last := name[strings.LastIndex(name, ".")+1:]
		switch {
		case x.kind != "func" && x.kind != "method" && x.kind != "type" || x.promoted:
		case x.doc == "":
			faults = append(faults, name+" has no comment")
		case !strings.HasPrefix(x.doc, last+" "):
			faults = append(faults, "the comment of "+name+" does not begin with "+last)
		case procedureOf[name] != "" && x.kind != "type" && !citation.MatchString(x.doc):
			faults = append(faults, "the comment of "+name+" does not say in which section of MPI 4.1 MPI_"+procedureOf[name]+" is")
		}
	}
	return faults
}
