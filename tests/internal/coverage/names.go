package main

import (
	"slices"
	"strings"
)

// handles are the Go types of the standard's handles, where a procedure's first word names one.
var handles = map[string]string{
	"Comm": "Comm", "Group": "Group", "Request": "Request", "Info": "Info", "Type": "Datatype", "Win": "Win",
	"File": "File", "Session": "Session", "Errhandler": "Errhandler", "Op": "Op", "Status": "Status",
}

// camel joins words of a procedure's name as Go does: Ireduce_scatter_block becomes
// IreduceScatterBlock.
func camel(words []string) string {
	var b strings.Builder
	for _, w := range words {
		if w != "" {
			b.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	return b.String()
}

// goNames lists the Go names that a procedure may have, best first. "*.M" stands for a method M of
// any type. By the rule
//
//   - Ireduce_scatter_block is the function IreduceScatterBlock, or a method of that name;
//   - Comm_split_type is the method SplitType of Comm, and Comm_get_name may also be Name;
//   - Type_create_hvector is the function Hvector too, as nothing is gained by saying that it
//     creates a type.
func goNames(p procedure) []string {
	if p.gos != nil {
		return p.gos
	}
	words := strings.Split(p.name, "_")
	whole := camel(words)
	names := []string{whole}
	if handle, ok := handles[words[0]]; ok && len(words) > 1 {
		rest := words[1:]
		names = append(names, handle+"."+camel(rest))
		short := rest
		if slices.Contains([]string{"get", "create"}, rest[0]) && len(rest) > 1 {
			short = rest[1:]
			names = append(names, handle+"."+camel(short))
		}
		if handle == "Datatype" {
			names = append(names, camel(short), "New"+camel(short))
		}
		return append(names, "*."+whole)
	}
	return append(names, "Comm."+whole, "*."+whole)
}

// find returns the first of the names that exists, "" if none does.
func find(names []string, exported map[string]export) string {
	for _, n := range names {
		method, any := strings.CutPrefix(n, "*.")
		if !any {
			if _, ok := exported[n]; ok {
				return n
			}
			continue
		}
		var found []string
		for e, x := range exported {
			if _, m, ok := strings.Cut(e, "."); ok && m == method && !x.promoted {
				found = append(found, e)
			}
		}
		if len(found) > 0 {
			return slices.Min(found)
		}
	}
	return ""
}
