package facts

import (
	"embed"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed table/*.txt
var files embed.FS

// namesFile is no table but a list, one name a line.
const namesFile = "names.txt"

// Load returns the table.
func Load() (*Table, error) {
	dir, err := fs.Sub(files, "table")
	if err != nil {
		return nil, err
	}
	return Parse(dir)
}

// Parse returns the table that the files of a directory make together. The error joins all errors,
// and each of them names a line.
func Parse(dir fs.FS) (*Table, error) {
	names, err := fs.Glob(dir, "*.txt")
	if err != nil {
		return nil, err
	}
	p := &parser{table: &Table{}}
	for _, name := range names {
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		p.file(path.Base(name), string(text))
	}
	if len(p.errs) == 0 {
		p.errs = p.table.check()
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return p.table, nil
}

// parser builds a table. The fields but errs are what the next line may belong to.
type parser struct {
	table   *Table
	errs    []error
	chapter *Chapter         // of this file, nil before the statement
	body    func(line) error // takes an indented line; nil: none may come
}

// statements are the parsers of statements, by their first field. Each sets p.body if lines may
// follow.
var statements = map[string]func(*parser, line) error{
	"chapter":   (*parser).parseChapter,
	"proc":      (*parser).parseProc,
	"callback":  (*parser).parseCallback,
	"alias":     (*parser).parseAlias,
	"kind":      (*parser).parseKind,
	"integer":   (*parser).parseInteger,
	"struct":    (*parser).parseStruct,
	"handle":    (*parser).parseHandle,
	"constants": (*parser).parseConstants,
	"values":    (*parser).parseValues,
}

// file adds what a file says to the table.
func (p *parser) file(name, text string) {
	p.chapter, p.body = nil, nil
	for _, l := range scan(name, text) {
		if err := p.line(name, l); err != nil {
			p.errs = append(p.errs, err)
		}
	}
}

// line adds what a line says.
func (p *parser) line(file string, l line) error {
	if file == namesFile {
		return p.parseName(l)
	}
	if l.body {
		if p.body == nil {
			return l.at.errorf("an indented line belongs to no statement")
		}
		return p.body(l)
	}
	p.body = nil
	parse := statements[l.fields[0]]
	if parse == nil {
		return l.at.errorf("unknown statement %q", l.fields[0])
	}
	return parse(p, l)
}

// parseName adds a line of the list of names.
func (p *parser) parseName(l line) error {
	if len(l.fields) != 1 || l.body {
		return l.at.errorf("want one name a line")
	}
	if slices.Contains(p.table.Names, l.fields[0]) {
		return l.at.errorf("%s twice", l.fields[0])
	}
	p.table.Names = append(p.table.Names, l.fields[0])
	return nil
}

// parseConstants starts a group of constants.
func (p *parser) parseConstants(l line) error {
	if err := l.need(4, "constants FORM C-TYPE TITLE"); err != nil {
		return err
	}
	g := &Group{Form: Form(l.fields[1]), C: l.fields[2], Title: strings.Join(l.fields[3:], " "), at: l.at}
	if !slices.Contains([]Form{FormEnum, FormMacro, FormHandle, FormCast}, g.Form) {
		return l.at.errorf("unknown form %q", g.Form)
	}
	p.table.Groups = append(p.table.Groups, g)
	p.body = func(l line) error { return parseConstant(g, l) }
	return nil
}

// parseConstant adds a constant to g.
func parseConstant(g *Group, l line) error {
	if err := l.need(2, "NAME VALUE"); err != nil {
		return err
	}
	o, err := l.options(2, "deprecated=")
	if err != nil {
		return err
	}
	c := &Constant{Name: l.fields[0], Text: l.fields[1], Deprecated: o["deprecated"], at: l.at}
	if strings.HasPrefix(c.Text, "MPI_") {
		c.Same = c.Text
	} else if v, err := strconv.ParseInt(c.Text, 0, 32); err != nil {
		return l.at.errorf("the value %q is no number", c.Text)
	} else {
		c.Value = int(v)
	}
	g.Constants = append(g.Constants, c)
	return nil
}

// parseValues adds the constants of a kind.
func (p *parser) parseValues(l line) error {
	if err := l.need(4, "values KIND one|bits CONSTANT..."); err != nil {
		return err
	}
	if how := l.fields[2]; how != "one" && how != "bits" {
		return l.at.errorf("%q, want one or bits", how)
	}
	v := &Values{Name: l.fields[1], Bits: l.fields[2] == "bits", Constants: l.fields[3:], at: l.at}
	p.table.Values = append(p.table.Values, v)
	return nil
}
