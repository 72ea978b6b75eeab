//go:build linux

package launch

import (
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// Messages, and help, are as wide as the terminal, within limits; what is no terminal gets messages
// as they are.
func TestTextFitsTheTerminal(t *testing.T) {
	text := "fitrun: " + strings.Repeat("some words ", 30) + "end\n"
	for _, tc := range []struct{ terminal, want int }{{80, 80}, {60, 60}, {20, fewestColumns}, {200, mostColumns}} {
		user, program, read := terminal(t)
		if err := sys.SetTerminalSize(int(program.Fd()), tc.terminal, 24); err != nil {
			t.Fatal(err)
		}
		if got := Columns(program); got != tc.want {
			t.Errorf("a terminal of %d columns: %d, want %d", tc.terminal, got, tc.want)
		}
		io.WriteString(Folded(program), text)
		newConsole().message(program, text)
		io.WriteString(program, HelpText(program, text))
		program.Close()
		shown := read()
		user.Close()
		for line := range strings.Lines(shown) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > tc.want {
				t.Errorf("a terminal of %d columns gets a line of %d: %q", tc.terminal, n, line)
			}
		}
		if n := strings.Count(shown, "words end\n"); n == 0 || strings.Count(shown, "end\n") != 3 {
			t.Errorf("a terminal of %d columns gets\n%s", tc.terminal, shown)
		}
	}
	var b strings.Builder
	io.WriteString(Folded(&b), text)
	newConsole().message(&b, text)
	if b.String() != text+text {
		t.Errorf("what is no terminal gets %q", b.String())
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if n := Columns(null); n != 0 {
		t.Errorf("%s has %d columns", os.DevNull, n)
	}
}
