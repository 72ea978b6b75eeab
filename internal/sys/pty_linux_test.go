//go:build !fitmpi_portable

package sys

import (
	"io"
	"os"
	"testing"
)

// TestPty: a terminal carries what is written, knows its size, and belongs to no session of ours.
func TestPty(t *testing.T) {
	user, program, err := OpenPty()
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	defer program.Close()
	if _, err := program.WriteString("hello\n"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 7)
	if _, err := io.ReadFull(user, got); err != nil || string(got) != "hello\r\n" {
		t.Errorf("%q, %v", got, err)
	}
	fd := int(program.Fd())
	if w, ok := TerminalWidth(fd); w != 80 || !ok {
		t.Errorf("a new terminal of %d columns, %t", w, ok)
	}
	if err := SetTerminalSize(fd, 33, 10); err != nil {
		t.Error(err)
	}
	if w, ok := TerminalWidth(fd); w != 33 || !ok {
		t.Errorf("%d columns, %t; want 33", w, ok)
	}
	if !InForeground(fd) {
		t.Error("a terminal that controls nobody is another's")
	}
}

// TestNoTerminal: a pipe is none.
func TestNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if n, ok := TerminalWidth(int(w.Fd())); ok {
		t.Errorf("a pipe of %d columns", n)
	}
}
