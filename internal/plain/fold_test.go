package plain

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFold(t *testing.T) {
	for _, tc := range []struct {
		what, text, want string
		width, hang      int
	}{
		{"a message", "fitrun: one two three\n", "fitrun: one\n  two three\n", 12, 2},
		{"what fits", "fitrun: one\n  two", "fitrun: one\n  two", 12, 2},
		{"a line with an indent", "  one two three four\n", "  one two\n    three\n    four\n", 10, 2},
		{"an option", "  -n N    one two three\n", "  -n N    one two\n          three\n", 21, 0},
		{"an option, narrow", "  -n N    one two three\n", "  -n N\n  one two\n  three\n", 11, 0},
		{"a word that is too long", "see /a/long/path/indeed there\n", "see\n  /a/long/path/indeed\n  there\n", 8, 2},
		{"only such a word", "/a/long/path/indeed", "/a/long/path/indeed", 8, 2},
		{"characters, not bytes", "ääää öööö\n", "ääää öööö\n", 9, 2},
		{"no terminal", "one two three", "one two three", 0, 2},
	} {
		if got := Fold(tc.text, tc.width, tc.hang); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.what, got, tc.want)
		}
	}
}

// Paragraphs that were broken by hand are filled anew; lists stay lists.
func TestRefold(t *testing.T) {
	long := strings.Repeat("word ", 18) + "end"
	text := long + "\nand more\n\n  -a  " + long + "\n      and more\n  -b  short\n  -c  short\n"
	got := Refold(text, 60)
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 60 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	for _, want := range []string{"end and more\n\n  -a  word", "end and more\n  -b  short\n  -c  short\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(text), " ") {
		t.Errorf("words were lost or doubled:\n%s", got)
	}
}

// Folding loses no word and comes to an end.
func FuzzFold(f *testing.F) {
	f.Add("  -n N    one two three\n  x", 11, 2)
	f.Fuzz(func(t *testing.T, text string, width, hang int) {
		hang = max(0, min(hang, 10))
		got := Fold(text, width, hang)
		if strings.ReplaceAll(strings.ReplaceAll(got, " ", ""), "\n", "") != strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "\n", "") {
			t.Errorf("%q became %q", text, got)
		}
	})
}
