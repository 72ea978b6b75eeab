package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: each fault is found in its line, and what is allowed is not one.
func TestCheck(t *testing.T) {
	wide := strings.Repeat("wide ", 20) // 100 columns
	for name, tc := range map[string]struct {
		src  string
		want []int
	}{
		"as wide as may be":  {"// " + strings.Repeat("x ", 48) + "x\npackage p\n", nil},
		"too wide":           {"package p\n\n// " + wide + "\nvar x int\n", []int{3}},
		"a tab counts four":  {"package p\n\nfunc f() {\n\t// " + strings.Repeat("x ", 46) + "xx\n}\n", []int{4}},
		"at the end of code": {"package p\n\nvar x int // " + wide + "\n", nil},
		"a word":             {"package p\n\n// https://" + strings.Repeat("x", 100) + "\nvar x int\n", nil},
		"preformatted":       {"package p\n\n// f is called so:\n//\n//\t" + wide + "\nfunc f() {}\n", nil},
		"a directive":        {"package p\n\n//go:generate " + wide + "\n", nil},
		"output": {"package p\n\nfunc Example() {\n\t// Output:\n\t// " + wide + "\n\t// " + wide + "\n}\n\n// " + wide + "\n",
			[]int{9}},
		"a person":        {"package p\n\n// f is for Whoever waits.\nfunc f() {}\n", []int{3}},
		"a person behind": {"package p\n\nvar x int // nobody\n", []int{3}},
		"a string":        {"package p\n\nvar x = \"nobody // knows\"\n", nil},
		"whole words":     {"package p\n\n// whole, whose, 0032-who-is-dead.md\n", nil},
		"a block":         {"package p\n\n/*\nwide " + wide + "\nnobody\n*/\n", []int{4, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, f := range check([]byte(tc.src)) {
				got = append(got, f.line)
			}
			if len(got) != len(tc.want) {
				t.Fatalf("faults in lines %v, want %v", got, tc.want)
			}
			for i := range got {
				if got[i] != tc.want[i] {
					t.Errorf("faults in lines %v, want %v", got, tc.want)
				}
			}
		})
	}
}

// TestRun: files are named with their lines, and what cannot be read is an error.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.go")
	if err := os.WriteFile(file, []byte("// nobody\npackage p\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if n, err := run([]string{file}, &out); n != 1 || err != nil || !strings.HasPrefix(out.String(), file+":1: ") {
		t.Errorf("%d faults, %v:\n%s", n, err, out.String())
	}
	if _, err := run([]string{file + "x"}, &out); err == nil {
		t.Error("a file that is not there is no error")
	}
}
