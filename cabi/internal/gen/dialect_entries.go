package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/cabi/facts"
)

// entries returns the functions of a dialect that are generated.
func (c *converter) entries() string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "/* %s */\n#include \"dialect.h\"\n\n#pragma GCC visibility push(default)\n", notice)
	for _, ch := range c.t.Chapters {
		first := true
		for _, b := range ch.Bindings() {
			if !c.d.Has(b) || slices.Contains(handWritten, b.CName()) {
				continue
			}
			if first {
				title(w, "%s (chapter %d).", ch.Title, ch.Number)
				first = false
			}
			c.entry(w, b)
		}
	}
	return w.String()
}

// conversion is the body of a function: what comes before the call, its arguments, and what comes
// after it.
type conversion struct {
	*converter
	b                facts.Binding
	pre, args, post  []string
	isStandardsOwn   bool // of the tool interface: no conversions of arrays
	keepsErrorValues bool // an error code that is any number
}

// entry writes one function.
func (c *converter) entry(w *strings.Builder, b facts.Binding) {
	declared := &strings.Builder{}
	declaration(declared, result(b)+" P"+b.CName(), b)
	x := &conversion{converter: c, b: b, isStandardsOwn: strings.HasPrefix(b.Name, "MPI_T_"), keepsErrorValues: b.Name == "MPI_Abort"}
	for _, a := range b.Parameters() {
		x.argument(a)
	}
	call := fmt.Sprintf("%s(%s)", innerName(b), strings.Join(x.args, ", "))
	fmt.Fprintf(w, "\n%s\n{\n", strings.TrimSuffix(declared.String(), ";\n"))
	for _, line := range x.pre {
		fmt.Fprintf(w, "    %s\n", line)
	}
	switch {
	case b.Result.Name != "error-code":
		fmt.Fprintf(w, "    return %s;\n", call)
	case x.post == nil:
		fmt.Fprintf(w, "    return error_out(%s);\n", call)
	default:
		fmt.Fprintf(w, "    int rc = %s;\n", call)
		for _, line := range x.post {
			fmt.Fprintf(w, "    %s\n", line)
		}
		w.WriteString("    return error_out(rc);\n")
	}
	fmt.Fprintf(w, "}\nFIT_ALIAS(%s);\n", b.CName())
}

func (x *conversion) before(format string, args ...any) {
	x.pre = append(x.pre, fmt.Sprintf(format, args...))
}

func (x *conversion) pass(format string, args ...any) {
	x.args = append(x.args, fmt.Sprintf(format, args...))
}

func (x *conversion) after(format string, args ...any) {
	x.post = append(x.post, fmt.Sprintf(format, args...))
}

// argument converts an argument.
func (x *conversion) argument(a *facts.Argument) {
	switch a.Kind.Class {
	case facts.ClassHandle:
		x.handle(a)
	case facts.ClassStatus:
		x.status(a)
	case facts.ClassInteger:
		x.integer(a)
	case facts.ClassString:
		x.string(a)
	case facts.ClassBuffer:
		if a.Extent != "" && x.differs("MPI_IN_PLACE") { // also where it may not stand: the library says so
			x.pass("%sbuffer_in(%s)", unread(a), a.Name)
		} else {
			x.pass("%s", a.Name)
		}
	case facts.ClassFunction:
		x.pass("(const void *)%s", a.Name)
	default:
		x.pass("%s", a.Name)
	}
}

// handle converts a handle or an array of them.
func (x *conversion) handle(a *facts.Argument) {
	isValue := a.Length == "" && a.Direction == facts.In
	kind, name := a.Kind.Name, a.Name
	switch predefined := x.t.Handle(a.Kind.C).First != 0; {
	case slices.Contains(a.Sentinels, "MPI_T_PVAR_ALL_HANDLES"):
		x.pass("(void *)%[1]s == FIT_ALL_HANDLES ? ABI_T_PVAR_ALL_HANDLES : (uintptr_t)%[1]s", name)
	case !predefined && isValue:
		x.pass("(uintptr_t)%s", name)
	case !predefined || a.Length != "" && x.isStandardsOwn:
		x.pass("(uintptr_t *)%s", name)
	case isValue:
		x.pass("%s_in(%s)", kind, name)
	case a.Length != "":
		x.before("uintptr_t few_%[2]s[FIT_FEW], *in_%[2]s = %[1]ss_in(%[2]s, %[3]s, few_%[2]s);", kind, name, x.length(a))
		x.pass("in_%s", name)
		if a.Direction == facts.InOut {
			x.after("%ss_out(%s, in_%[2]s, %[3]s);", kind, name, x.length(a))
		}
		x.after("fit_release(in_%[1]s, few_%[1]s);", name)
	default:
		start := "FIT_NONE"
		if a.Direction == facts.InOut {
			start = fmt.Sprintf("%[1]s ? %[2]s_in(*%[1]s) : FIT_NONE", name, kind)
		}
		x.before("uintptr_t h_%s = %s;", name, start)
		x.pass("%[1]s ? &h_%[1]s : NULL", name)
		x.after("if (%[1]s && h_%[1]s != FIT_NONE)", name)
		x.after("    *%[1]s = %[2]s_out(h_%[1]s);", name, kind)
	}
}

// status converts a status or an array of them.
func (x *conversion) status(a *facts.Argument) {
	name := a.Name
	if a.Length == "" {
		x.before("struct fit_status s_%[1]s, *p_%[1]s = status_in(%[1]s, &s_%[1]s);", name)
		x.pass("p_%s", name)
		if a.Direction != facts.In {
			x.after("status_out((MPI_Status *)%[1]s, p_%[1]s);", name)
		}
		return
	}
	x.before("struct fit_status few_%[1]s[FIT_FEW], *p_%[1]s = statuses_in(%[1]s, %[2]s, few_%[1]s);", name, x.length(a))
	x.pass("p_%s", name)
	x.after("statuses_out(%[1]s, p_%[1]s, %[2]s);", name, x.length(a))
	x.after("fit_release(p_%[1]s, few_%[1]s);", name)
}

// integer converts a number or an array of them.
func (x *conversion) integer(a *facts.Argument) {
	name, kind := a.Name, a.Kind.Name
	switch {
	case slices.Contains(a.Sentinels, "MPI_UNWEIGHTED"):
		x.pass("%sweights_in(%s)", unread(a), name)
	case !x.convertsArgument(a):
		x.pass("%s", name)
	case a.Length == "" && a.Direction == facts.In:
		x.pass("%s(%s)", function(kind, "in"), name)
	case a.Length == "" && a.Direction == facts.Out:
		x.pass("%s", name)
		x.after("if (!rc && %s)", name)
		x.after("    *%[1]s = %[2]s(*%[1]s);", name, function(kind, "out"))
	case a.Length == "":
		x.before("int v_%[1]s = %[1]s ? %[2]s(*%[1]s) : 0;", name, function(kind, "in"))
		x.pass("%[1]s ? &v_%[1]s : NULL", name)
		x.after("if (%s)", name)
		x.after("    *%[1]s = %[2]s(v_%[1]s);", name, function(kind, "out"))
	case a.Direction == facts.In:
		x.before("int few_%[1]s[FIT_FEW], *in_%[1]s = fit_ints(%[1]s, %[2]s, few_%[1]s, %[3]s);", name, x.length(a), function(kind, "in"))
		x.pass("in_%s", name)
		x.after("fit_release(in_%[1]s, few_%[1]s);", name)
	default:
		x.pass("%s", name)
		x.after("if (!rc)")
		x.after("    fit_each(%s, %s, %s);", name, x.length(a), function(kind, "out"))
	}
}

// unread casts an address to memory that is written: conversions know none but that which is read.
func unread(a *facts.Argument) string {
	if a.Direction == facts.In {
		return ""
	}
	return "(void *)"
}

// convertsArgument reports whether an argument that is a number, or an array of numbers, is
// converted.
func (x *conversion) convertsArgument(a *facts.Argument) bool {
	kind := a.Kind.Name
	switch {
	case !x.converts(kind), x.keepsErrorValues && kind == "error-code":
		return false
	case kind == "offset":
		return a.Sentinels != nil
	case kind == "rank" && a.Length != "": // ranks of a group, but for one function
		return slices.Contains(a.Sentinels, "MPI_PROC_NULL")
	}
	return true
}

// string passes a string. One that comes out is cut off where the dialect has less room for it.
func (x *conversion) string(a *facts.Argument) {
	room, ok := x.d.Values[a.Length]
	if !ok || int(room) >= x.t.Number(a.Length) {
		x.pass("%s", a.Name)
		return
	}
	x.before("char text_%s[%d];", a.Name, x.t.Number(a.Length))
	x.pass("%[1]s ? text_%[1]s : NULL", a.Name)
	x.after("if (!rc && %s)", a.Name)
	x.after("    fit_text(%[1]s, text_%[1]s, %[2]d);", a.Name, room)
	for _, b := range x.b.Parameters() {
		if b.Kind.Name == "string-length" && b.Direction == facts.Out {
			x.after("if (!rc && %s && %s)", b.Name, a.Name)
			x.after("    *%s = (int)strlen(%s);", b.Name, a.Name)
		}
	}
}

// length is the length of an array in C.
func (x *conversion) length(a *facts.Argument) string {
	s := a.Length
	if name, ok := strings.CutSuffix(s, "(comm)"); ok {
		s = fmt.Sprintf("fit_%s(comm_in(comm))", name)
	}
	if name, ok := strings.CutPrefix(s, "sum("); ok {
		s = fmt.Sprintf("fit_sum(%s, count)", strings.TrimSuffix(name, ")"))
	}
	if a.Root || a.Kind.Name == "error-code" { // of spawning: its numbers matter at the root alone
		s = fmt.Sprintf("(fit_at_root(comm_in(comm), root) ? %s : 0)", s)
	}
	return s
}
