package facts

// Binding is a function or a type of C: a procedure, or its twin for large counts.
type Binding struct {
	*Procedure
	Twin bool
}

// Bindings returns p's functions: one, or two.
func (p *Procedure) Bindings() []Binding {
	b := []Binding{{p, false}}
	if p.Large != "" {
		b = append(b, Binding{p, true})
	}
	return b
}

// Bindings returns the functions of c: its procedures, each with its twin after it.
func (c *Chapter) Bindings() []Binding {
	var all []Binding
	for _, p := range c.Procedures {
		all = append(all, p.Bindings()...)
	}
	return all
}

// CName is the name in C.
func (b Binding) CName() string {
	if b.Twin {
		return b.Name + "_c"
	}
	return b.Name
}

// Parameters returns the arguments that b has.
func (b Binding) Parameters() []*Argument {
	var args []*Argument
	for _, a := range b.Arguments {
		if b.Twin || !a.LargeOnly {
			args = append(args, a)
		}
	}
	return args
}

// CType returns the type of k's values in a binding.
func (k *Kind) CType(twin bool) string {
	if twin && k.Large != "" {
		return k.Large
	}
	return k.C
}

// Procedures returns all procedures, by chapter.
func (t *Table) Procedures() []*Procedure {
	var all []*Procedure
	for _, c := range t.Chapters {
		all = append(all, c.Procedures...)
	}
	return all
}

// Callback returns the callback of that name, or nil.
func (t *Table) Callback(name string) *Procedure {
	for _, c := range t.Callbacks {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Constant returns the constant of that name, or nil.
func (t *Table) Constant(name string) *Constant {
	for _, g := range t.Groups {
		for _, c := range g.Constants {
			if c.Name == name {
				return c
			}
		}
	}
	return nil
}

// Handle returns the type of handles of that name, or nil.
func (t *Table) Handle(name string) *Handle {
	for _, h := range t.Handles {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// ValuesOf returns the constants of a kind, or nil.
func (t *Table) ValuesOf(kind string) *Values {
	for _, v := range t.Values {
		if v.Name == kind {
			return v
		}
	}
	return nil
}
