package facts

import (
	"strings"
	"testing"
)

// dialects returns the dialects of the table, by name.
func dialects(t *testing.T) (*Table, map[string]*Dialect) {
	t.Helper()
	table, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	list, err := table.Dialects()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*Dialect{}
	for _, d := range list {
		all[d.Name] = d
	}
	return table, all
}

// Both libraries are there, with numbers from their headers.
func TestDialects(t *testing.T) {
	_, all := dialects(t)
	m, o := all["mpich"], all["openmpi"]
	if m == nil || o == nil || m.Library != "libmpich.so.12" || o.Library != "libmpi.so.40" {
		t.Fatal(all)
	}
	if m.Values["MPI_INT"] != 0x4c000405 || m.Values["MPI_PROC_NULL"] != -1 || o.Values["MPI_PROC_NULL"] != -2 {
		t.Error(m.Values["MPI_INT"], m.Values["MPI_PROC_NULL"], o.Values["MPI_PROC_NULL"])
	}
}

// Constants that an argument may be have different numbers, or one could not be told from another.
func TestDialectValuesDiffer(t *testing.T) {
	table, all := dialects(t)
	for name, d := range all {
		for _, v := range table.Values {
			seen := map[int64]string{}
			for _, c := range v.Constants {
				n, ok := d.Values[c]
				if other := seen[n]; ok && other != "" {
					t.Errorf("%s: %s and %s are both %d", name, c, other, n)
				}
				seen[n] = c
			}
		}
	}
}

// What a dialect must have: the null handle of each type, and the last error code.
func TestDialectsAreWhole(t *testing.T) {
	_, all := dialects(t)
	for name, d := range all {
		has := map[string]bool{}
		for c := range d.Values {
			has[c] = true
		}
		for _, o := range d.Objects {
			has[o.Constant] = true
		}
		for c := range strings.FieldsSeq("MPI_COMM_NULL MPI_GROUP_NULL MPI_DATATYPE_NULL MPI_OP_NULL MPI_REQUEST_NULL MPI_INFO_NULL " +
			"MPI_ERRHANDLER_NULL MPI_MESSAGE_NULL MPI_WIN_NULL MPI_FILE_NULL MPI_ERR_LASTCODE MPI_IN_PLACE") {
			if !has[c] {
				t.Errorf("%s has no %s", name, c)
			}
		}
	}
}

// Lines that say nothing are errors.
func TestDialectErrors(t *testing.T) {
	table, _ := dialects(t)
	for text, want := range map[string]string{
		"values x\n  MPI_NOTHING 1":                "unknown constant",
		"values x\n  MPI_INT one":                  "is no number",
		"values x\n  MPI_INT 1\n  MPI_INT 2":       "MPI_INT twice",
		"objects MPI_Nothing 512":                  "want objects",
		"objects MPI_Comm 1":                       "from 64",
		"objects MPI_Comm 512\n  MPI_COMM_WORLD":   "want CONSTANT SYMBOL",
		"nothing":                                  "unknown statement",
		"  MPI_INT 1":                              "belongs to no statement",
		"library mpich":                            "want library",
		"values x\n  MPI_INT 1":                    "no library",
		"library a b 4.0\nvalues x\n  MPI_INT 1 2": "want CONSTANT NUMBER",
	} {
		d := &Dialect{Values: map[string]int64{}}
		errs := d.parse("x.txt", text, table)
		found := false
		for _, err := range errs {
			found = found || strings.Contains(err.Error(), want)
		}
		if !found {
			t.Errorf("%q: %v, want %q", text, errs, want)
		}
	}
}
