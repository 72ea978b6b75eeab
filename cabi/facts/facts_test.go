package facts

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// load returns the table.
func load(t *testing.T) *Table {
	t.Helper()
	table, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// The table has each procedure of the ABI's header, and no other.
func TestNames(t *testing.T) {
	table := load(t)
	var have []string
	for _, c := range table.Chapters {
		for _, b := range c.Bindings() {
			have = append(have, b.CName())
		}
	}
	for _, name := range table.Names {
		if !slices.Contains(have, name) {
			t.Errorf("%s is not in the table", name)
		}
	}
	for _, name := range have {
		if !slices.Contains(table.Names, name) {
			t.Errorf("%s is not in the header of the ABI", name)
		}
	}
	if len(have) != 664 {
		t.Errorf("%d procedures, want 664", len(have))
	}
}

// Chapters and the procedures in them are in order, so that a new one has one place.
func TestOrder(t *testing.T) {
	last := 0
	for _, c := range load(t).Chapters {
		if c.Number <= last {
			t.Errorf("chapter %d comes after %d", c.Number, last)
		}
		last = c.Number
		byName := func(a, b *Procedure) int {
			return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
		}
		if !slices.IsSortedFunc(c.Procedures, byName) {
			t.Errorf("chapter %d is not sorted by name", c.Number)
		}
	}
}

// Spot checks of what the generators will rely on.
func TestArguments(t *testing.T) {
	table := load(t)
	for _, want := range []struct{ procedure, argument, text string }{
		{"MPI_Send", "count", "in count int MPI_Count"},
		{"MPI_Alltoallw", "sdispls", "in displacement int MPI_Aint"},
		{"MPI_Neighbor_alltoallw", "sdispls", "in aint MPI_Aint MPI_Aint"},
		{"MPI_Type_create_hindexed", "array_of_displacements", "in span MPI_Aint MPI_Count"},
		{"MPI_Win_create", "disp_unit", "in unit int MPI_Aint"},
		{"MPI_Waitall", "array_of_statuses", "out status MPI_Status MPI_Status"},
	} {
		p := table.find(t, want.procedure)
		i := slices.IndexFunc(p.Arguments, func(a *Argument) bool { return a.Name == want.argument })
		if i < 0 {
			t.Errorf("%s has no argument %s", p.Name, want.argument)
			continue
		}
		a := p.Arguments[i]
		text := strings.Join([]string{string(a.Direction), a.Kind.Name, a.Kind.CType(false), a.Kind.CType(true)}, " ")
		if text != want.text {
			t.Errorf("%s of %s is %q, want %q", want.argument, p.Name, text, want.text)
		}
	}
}

func (t *Table) find(tt *testing.T, name string) *Procedure {
	tt.Helper()
	for _, p := range t.Procedures() {
		if p.Name == name {
			return p
		}
	}
	tt.Fatalf("no %s", name)
	return nil
}

// small is a table that has one of everything.
const small = `
kind rank integer int
kind count integer int large=MPI_Count
kind error-code integer int
kind comm handle MPI_Comm
kind buffer buffer void
kind function function
handle MPI_Comm MPI_ABI_Comm 0x100 0x107
constants handle MPI_Comm communicators
  MPI_COMM_NULL 0x100
callback MPI_Fn returns=none
  in rank rank
chapter 3 Messages
proc MPI_Send since=1.0 large # a comment
  in buf   buffer of=count
  in count count
  in comm  comm   or=MPI_COMM_NULL
`

// parse parses one file.
func parse(text string) (*Table, error) {
	return Parse(fstest.MapFS{"a.txt": &fstest.MapFile{Data: []byte(text)}})
}

// What is wrong with a table is said with the line.
func TestErrors(t *testing.T) {
	if _, err := parse(small); err != nil {
		t.Fatal(err)
	}
	last := strings.Count(small, "\n") + 1
	if last != 18 {
		t.Fatalf("the small table has %d lines; the cases below count on 18", last)
	}
	for line, want := range map[string]string{
		"  in comm2 nothing":                 `a.txt:18: unknown kind "nothing"`,
		"  to rank rank":                     `a.txt:18: unknown direction "to"`,
		"  in rank":                          "a.txt:18: too few fields, want DIRECTION NAME KIND",
		"  in rank rank or=MPI_X":            `a.txt:18: unknown constant "MPI_X"`,
		"  in rank rank len=n":               "a.txt:18: n is no argument and no constant",
		"  in rank rank len=n+":              `a.txt:18: "n+" is no length`,
		"  in rank rank of=count":            "a.txt:18: of= for what is no buffer",
		"  in rank rank fn=MPI_Fn":           "a.txt:18: rank is of kind rank and has fn=MPI_Fn",
		"  in fn function":                   "a.txt:18: fn is of kind function and has fn=",
		"  in rank rank what":                `a.txt:18: unknown option "what"`,
		"  in rank rank root root":           "a.txt:18: option root twice",
		"  in rank rank len=":                "a.txt:18: option len without a value",
		"  in rank rank only=small":          "a.txt:18: only=small, want only=large",
		"  in count rank":                    "a.txt:14: MPI_Send has two arguments of one name",
		"proc MPI_Send since=1.0":            "a.txt:18: MPI_Send twice, first at a.txt:14",
		"proc MPI_A":                         "a.txt:18: too few fields, want proc NAME since=VERSION",
		"proc MPI_A since=9":                 `a.txt:18: MPI_A: version "9" does not fit`,
		"proc MPI_A since=2.0 large":         "a.txt:18: MPI_A has a twin: true; it has arguments that grow: false",
		"proc MPI_A since=2.0 returns=x":     `a.txt:18: unknown kind "x"`,
		"procedure MPI_A":                    `a.txt:18: unknown statement "procedure"`,
		"chapter 4":                          "a.txt:18: too few fields, want chapter NUMBER TITLE",
		"chapter four Title":                 `a.txt:18: the chapter "four" is no number`,
		"kind rank integer int":              "a.txt:18: kind rank twice",
		"kind x thing int":                   `a.txt:18: unknown class "thing"`,
		"handle A B 1":                       "a.txt:18: want handle NAME TAG [FIRST LAST]",
		"constants sum int a":                `a.txt:18: unknown form "sum"`,
		"constants handle MPI_Op a":          "a.txt:18: MPI_Op is no type of handles with a range",
		"constants enum int a\n  X":          "a.txt:19: too few fields, want NAME VALUE",
		"constants enum int a\n  X y":        `a.txt:19: the value "y" is no number`,
		"constants enum int a\n  X MPI_Y":    "a.txt:19: unknown constant MPI_Y",
		"constants handle MPI_Comm a\n  X 1": "a.txt:19: X is out of the range of MPI_Comm, 0x100 to 0x107",
		"alias A B C":                        "a.txt:18: want alias NAME CALLBACK",
		"alias A B\n  in":                    "a.txt:19: an indented line belongs to no statement",
		"struct A\n  int":                    "a.txt:19: want C-TYPE FIELD [LENGTH]",
		"struct A\n  int x y":                `a.txt:19: the length "y" is no positive number`,
	} {
		_, err := parse(small + line + "\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}

// Whatever the text, the parser returns.
func FuzzParse(f *testing.F) {
	f.Add(small)
	f.Add("struct A\n  int a 3\ninteger MPI_Aint intptr_t\nalias A B\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := parse(text)
		if (table == nil) == (err == nil) {
			t.Errorf("table %v, error %v", table, err)
		}
	})
}
