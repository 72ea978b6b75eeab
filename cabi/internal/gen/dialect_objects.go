package main

import (
	"fmt"
	"strings"

	"github.com/fitmpi/fitmpi/cabi/facts"
)

// A handle that is the address of an object is found in the object: its first word is the handle of
// the standard ABI. The linker copies that word too, where it gives a program an object of its own.
// Handles that are not predefined are no addresses, but those of the standard ABI, which have a bit
// set where an address of an object has none.

// objectHandle writes the conversions of handles that are addresses of objects.
func (c *converter) objectHandle(w *strings.Builder, k *facts.Kind, h *facts.Handle) {
	if c.objectOf(h.First) == "" {
		return
	}
	n := h.Last - h.First + 1
	fmt.Fprintf(w, "\nextern const uintptr_t *const %s_theirs[%d];\n", k.Name, n)
	fmt.Fprintf(w, "static inline uintptr_t %s_in(%s h) { return fit_object(h); }\n", k.Name, k.C)
	fmt.Fprintf(w, "static inline %s %s_out(uintptr_t h)\n{\n", k.C, k.Name)
	fmt.Fprintf(w, "    return (%s)(h - %#x < %d ? (uintptr_t)%s_theirs[h - %#x] : h);\n}\n", k.C, h.First, n, k.Name, h.First)
}

// objectOf is the symbol of the object with a handle of the standard ABI, or "".
func (c *converter) objectOf(ours int) string {
	for _, o := range c.d.Objects {
		if o.Constant != "" && c.t.Number(o.Constant) == ours {
			return o.Symbol
		}
	}
	return ""
}

// externs writes the declarations of the objects.
func (c *converter) externs(w *strings.Builder) {
	c.eachObject(func(o facts.Object) {
		fmt.Fprintf(w, "extern uintptr_t %s[%d];\n", o.Symbol, o.Size/8)
	})
}

// eachObject calls f for each object once: some have two constants.
func (c *converter) eachObject(f func(facts.Object)) {
	seen := map[string]bool{}
	for _, o := range c.d.Objects {
		if !seen[o.Symbol] {
			f(o)
		}
		seen[o.Symbol] = true
	}
}

// objectFile returns the file with the objects, and with the tables by which they are found.
func (c *converter) objectFile() string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "/* %s */\n#include \"dialect.h\"\n\n#pragma GCC visibility push(default)\n", notice)
	c.eachObject(func(o facts.Object) {
		value := c.t.Handle(o.Handle).First // of what the standard does not have: null
		if o.Constant != "" {
			value = c.t.Number(o.Constant)
		}
		fmt.Fprintf(w, "__attribute__((aligned(64))) uintptr_t %s[%d] = {%#x};\n", o.Symbol, o.Size/8, value)
	})
	w.WriteString("#pragma GCC visibility pop\n")
	for _, k := range c.handleKinds() {
		h := c.t.Handle(k.C)
		null := c.objectOf(h.First)
		if null == "" {
			continue
		}
		fmt.Fprintf(w, "\nconst uintptr_t *const %s_theirs[%d] = {\n", k.Name, h.Last-h.First+1)
		for v := h.First; v <= h.Last; v++ {
			name := c.objectOf(v)
			if name == "" {
				name = null
			}
			fmt.Fprintf(w, "    %s,\n", name)
		}
		w.WriteString("};\n")
	}
	return w.String()
}
