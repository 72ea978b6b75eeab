package main

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/cabi/facts"
)

// converter writes what is about one dialect.
type converter struct {
	t *facts.Table
	d *facts.Dialect
}

// handleKinds are the kinds of handles that have predefined ones.
func (c *converter) handleKinds() []*facts.Kind {
	var list []*facts.Kind
	for _, k := range c.t.Kinds {
		if k.Class == facts.ClassHandle && c.t.Handle(k.C).First != 0 {
			list = append(list, k)
		}
	}
	return list
}

// header returns the conversions that are worth an inline function.
func (c *converter) header() string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "/* %s */\n\n/* From what %s has to what the standard ABI has (in), and back (out). */\n", notice, c.d.Library)
	c.externs(w)
	for _, k := range c.handleKinds() {
		switch h := c.t.Handle(k.C); {
		case c.d.Objects != nil:
			c.objectHandle(w, k, h)
		case isAddress(c.d, h):
			c.addressHandle(w, k, h)
		default:
			c.numberHandle(w, k, h)
		}
	}
	for _, v := range c.t.Values {
		if v.Bits {
			c.bits(w, v, "in")
			c.bits(w, v, "out")
		} else {
			c.one(w, v, "in")
			c.one(w, v, "out")
		}
	}
	c.addresses(w)
	return w.String()
}

// numbers are the constants of a handle that the dialect has, with their numbers in the standard.
func (c *converter) handles(h *facts.Handle) (names []string, ours []int) {
	for _, g := range c.t.Groups {
		if g.Form != facts.FormHandle || g.C != h.Name {
			continue
		}
		for _, k := range g.Constants {
			if _, ok := c.d.Values[k.Name]; ok && k.Same == "" {
				names, ours = append(names, k.Name), append(ours, k.Value)
			}
		}
	}
	if h.Name == "MPI_Datatype" {
		for _, name := range []string{"MPI_LB", "MPI_UB"} {
			names, ours = append(names, name), append(ours, facts.Removed[name])
		}
	}
	return names, ours
}

// numberHandle writes the conversions of handles that are numbers: those that are not predefined
// have the same in both. in looks into a table that is hashed without a collision, out into one by
// the number.
func (c *converter) numberHandle(w *strings.Builder, k *facts.Kind, h *facts.Handle) {
	names, ours := c.handles(h)
	var theirs []uint32
	for _, name := range names {
		theirs = append(theirs, uint32(c.d.Values[name]))
	}
	factor, size := perfect(theirs)
	shift := 32 - bits.Len(uint(size-1))
	fmt.Fprintf(w, "\nstatic const struct fit_pair %s_pairs[%d] = {\n", k.Name, size)
	for i, v := range theirs {
		fmt.Fprintf(w, "    [%d] = {%#x, %#x}, /* %s */\n", v*factor>>shift, v, ours[i], names[i])
	}
	fmt.Fprintf(w, "};\nstatic const unsigned %s_theirs[%d] = {\n", k.Name, h.Last-h.First+1)
	for v := h.First; v <= h.Last; v++ {
		i := max(slices.Index(ours, v), 0) // what the dialect does not have is null there
		fmt.Fprintf(w, "    %#x,%s", theirs[i], ending(v-h.First, h.Last-h.First))
	}
	fmt.Fprintf(w, "};\nstatic inline uintptr_t %s_in(%s h)\n{\n", k.Name, k.C)
	fmt.Fprintf(w, "    const struct fit_pair *p = &%s_pairs[(uint32_t)h * %#xu >> %d];\n", k.Name, factor, shift)
	w.WriteString("    return p->theirs == (uint32_t)h ? p->ours : (uint32_t)h;\n}\n")
	fmt.Fprintf(w, "static inline %s %s_out(uintptr_t h)\n{\n", k.C, k.Name)
	fmt.Fprintf(w, "    return (%s)(h - %#x < %d ? %s_theirs[h - %#x] : (uint32_t)h);\n}\n", k.C, h.First, h.Last-h.First+1, k.Name, h.First)
}

// ending breaks the lines of a table.
func ending(i, last int) string {
	if i%8 == 7 || i == last {
		return "\n"
	}
	return ""
}

// perfect returns a factor and a size, a power of two, by which values have different hashes: the
// upper bits of the product.
func perfect(values []uint32) (factor uint32, size int) {
	for size = 2; ; size *= 2 {
		shift := 32 - bits.Len(uint(size-1))
		for factor = 1; factor < 1<<16 && size >= len(values); factor += 2 {
			f := factor * 0x9e3779b1 // spreads the bits
			seen := make([]bool, size)
			if !slices.ContainsFunc(values, func(v uint32) bool {
				i := v * f >> shift
				was := seen[i]
				seen[i] = true
				return was
			}) {
				return f, size
			}
		}
	}
}

// addressHandle writes the conversions of handles that are addresses, of which null is zero.
func (c *converter) addressHandle(w *strings.Builder, k *facts.Kind, h *facts.Handle) {
	fmt.Fprintf(w, "\nstatic inline uintptr_t %s_in(%s h) { return h ? (uintptr_t)h : %#x; }\n", k.Name, k.C, h.First)
	fmt.Fprintf(w, "static inline %s %s_out(uintptr_t h) { return h == %#x ? 0 : (%s)h; }\n", k.C, k.Name, h.First, k.C)
}

// differs reports whether a constant is another one in the dialect, or not there.
func (c *converter) differs(name string) bool {
	v, ok := c.d.Values[name]
	return !ok || int(v) != c.t.Number(name)
}

// converts reports whether values of a kind are converted.
func (c *converter) converts(kind string) bool {
	v := c.t.ValuesOf(kind)
	return kind == "error-code" || kind == "error-class" || v != nil && slices.ContainsFunc(v.Constants, c.differs)
}

// function is the conversion of a kind.
func function(kind, way string) string {
	if kind == "error-code" || kind == "error-class" {
		return "fit_error_" + way
	}
	return strings.ReplaceAll(kind, "-", "_") + "_" + way
}

// one writes a conversion of values that may be one of some constants. What means nothing on the
// side that it comes from, and something on the other, is MPI_UNDEFINED, which is no value of any.
func (c *converter) one(w *strings.Builder, v *facts.Values, way string) {
	typ := "int"
	if v.Name == "offset" {
		typ = "MPI_Offset"
	}
	fmt.Fprintf(w, "\nstatic inline %s %s(%s v)\n{\n    switch (v) {\n", typ, function(v.Name, way), typ)
	from, to := map[int64]bool{}, []int64{}
	for _, name := range v.Constants {
		theirs, ok := c.d.Values[name]
		if !ok {
			continue
		}
		ours := int64(c.t.Number(name))
		if way == "out" {
			theirs, ours = ours, theirs
		}
		from[theirs], to = true, append(to, ours)
		fmt.Fprintf(w, "    case %d: return %d; /* %s */\n", theirs, ours, name)
	}
	for _, n := range to {
		if !from[n] && n < 0 {
			fmt.Fprintf(w, "    case %d: return -32766;\n", n)
		}
	}
	w.WriteString("    }\n    return v;\n}\n")
}

// bits writes a conversion of bits. Those that mean nothing become one that means nothing either.
func (c *converter) bits(w *strings.Builder, v *facts.Values, way string) {
	fmt.Fprintf(w, "\nstatic inline int %s(int v)\n{\n", function(v.Name, way))
	all := int64(0)
	var lines strings.Builder
	for _, name := range v.Constants {
		theirs, ours := c.d.Values[name], int64(c.t.Number(name))
		if way == "out" {
			theirs, ours = ours, theirs
		}
		all |= theirs
		lines.WriteString(fmt.Sprintf("    r |= v & %d ? %d : 0; /* %s */\n", theirs, ours, name))
	}
	fmt.Fprintf(w, "    int r = v & ~%#x ? 1 << 30 : 0;\n%s    return r;\n}\n", all, lines.String())
}

// addresses writes the conversions of addresses that stand for something.
func (c *converter) addresses(w *strings.Builder) {
	fmt.Fprintf(w, "\nstatic inline const void *buffer_in(const void *p)\n{\n    return p == (const void *)(intptr_t)%d ? (const void *)%d : p;\n}\n",
		c.d.Values["MPI_IN_PLACE"], c.t.Number("MPI_IN_PLACE"))
	unweighted, empty := "MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY" // variables
	if v, ok := c.d.Values["MPI_UNWEIGHTED"]; ok {
		unweighted, empty = fmt.Sprintf("(int *)%d", v), fmt.Sprintf("(int *)%d", c.d.Values["MPI_WEIGHTS_EMPTY"])
	} else {
		w.WriteString("\nextern int *const MPI_UNWEIGHTED, *const MPI_WEIGHTS_EMPTY;\n")
	}
	fmt.Fprintf(w, "\nstatic inline const int *weights_in(const int *p)\n{\n    return p == %s ? (const int *)%d : p == %s ? (const int *)%d : p;\n}\n",
		unweighted, c.t.Number("MPI_UNWEIGHTED"), empty, c.t.Number("MPI_WEIGHTS_EMPTY"))
}

// before are error classes by what was said in their place before they were there.
var before = map[string]string{"MPI_ERR_ERRHANDLER": "MPI_ERR_ARG"}

// codes returns the file with the conversions of error codes. Codes that a program adds follow the
// last predefined one; what is no code keeps its number, above those.
func (c *converter) codes() string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "/* %s */\n#include \"dialect.h\"\n", notice)
	last := c.d.Values["MPI_ERR_LASTCODE"]
	for _, way := range []string{"in", "out"} {
		fmt.Fprintf(w, "\nint %s(int code)\n{\n    switch (code) {\n    case 0: return 0;\n", function("error-code", way))
		for _, g := range c.t.Groups {
			for _, k := range g.Constants {
				theirs, ok := c.d.Values[k.Name]
				switch {
				case !isErrorCode(k.Name) || !ok && way == "in":
				case way == "in":
					fmt.Fprintf(w, "    case %d: return ABI_%s;\n", theirs, strings.TrimPrefix(k.Name, "MPI_"))
				case !ok:
					fmt.Fprintf(w, "    case ABI_%s: return %d;\n", strings.TrimPrefix(k.Name, "MPI_"), c.d.Values[cmp.Or(before[k.Name], "MPI_ERR_OTHER")])
				default:
					fmt.Fprintf(w, "    case ABI_%s: return %d;\n", strings.TrimPrefix(k.Name, "MPI_"), theirs)
				}
			}
		}
		fmt.Fprintf(w, "    }\n    return fit_added_%s(code, %d);\n}\n", way, last)
	}
	return w.String()
}

// isErrorCode reports whether a constant is an error code.
func isErrorCode(name string) bool {
	return name != "MPI_ERR_LASTCODE" && (strings.HasPrefix(name, "MPI_ERR_") || strings.HasPrefix(name, "MPI_T_ERR_"))
}
