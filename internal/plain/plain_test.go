package plain

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		`as it is, \ "ä" 🙂`:    `as it is, \ "ä" 🙂`,
		"\x1b[2Jgone":          `\x1b[2Jgone`,
		"a\nfitrun: b\r\tc\a":  `a\nfitrun: b\r\tc\x07`,
		"\x7f\u009b2J":         `\x7f\u009b2J`,
		"\u202eesrever\u2028x": `\u202eesrever\u2028x`,
		"\xff\xfeno UTF-8":     `\xff\xfeno UTF-8`,
		"was \uFFFD already":   "was \uFFFD already",
		"a tag \U000e0041":     `a tag \U000e0041`,
	} {
		if got := Line(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"one\ttab":                         "one\ttab",
		"one\nfitrun: the job was ended\n": "one\n  fitrun: the job was ended",
		"title\n  indented\n    more":      "title\n  indented\n    more",
		"a\r\nb\x1b[1A\n\nc\r\n":           "a\n  b\\x1b[1A\n\n  c",
		"over\rwritten":                    `over\rwritten`,
	} {
		if got := Text(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// FuzzPlain: whatever comes in, nothing that cannot be seen comes out, no line but the first begins
// at the margin, and doing it twice is doing it once.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{"", "a\nb", "\x1b[2J", "\xff", "\u202e", "\r\n\r"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line, text := Line(s), Text(s)
		if Line(line) != line || Text(text) != text {
			t.Errorf("%q changes again", s)
		}
		for i, l := range strings.Split(text, "\n") {
			if i > 0 && l != "" && !strings.HasPrefix(l, indent) {
				t.Errorf("%q has a line at the margin: %q", s, text)
			}
			line += strings.ReplaceAll(l, "\t", "")
		}
		if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) }) {
			t.Errorf("%q is %q", s, line)
		}
	})
}
