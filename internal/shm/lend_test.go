//go:build linux && !fitmpi_portable

package shm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

const (
	lent     = 3 << 12 // bytes
	greeting = "of the lender"
	mark     = 77 // what the borrower leaves in the last byte
)

// lend is a process that lends a file, and is content if the borrower has left its mark there when
// its input ends.
func lend() error {
	f, l, err := Lend("test", lent)
	if err != nil {
		return err
	}
	defer f.Close()
	mem, err := MapFile(f)
	if err != nil {
		return err
	}
	defer UnmapFile(mem)
	copy(mem, greeting)
	fmt.Println(l.PID, l.FD, l.Name)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	if mem[lent-1] != mark {
		return fmt.Errorf("the last byte is %d, the borrower wrote %d", mem[lent-1], mark)
	}
	return nil
}

// TestBorrow: a process maps the memory of another, which outlives that one.
func TestBorrow(t *testing.T) {
	_, segment := newSegment(t, 2)
	out, wait := start(t, "lend", segment)
	var l Loan
	if _, err := fmt.Fscanln(out, &l.PID, &l.FD, &l.Name); err != nil {
		t.Fatal(errors.Join(err, wait()))
	}
	f, err := Borrow(l)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, err := MapFile(f)
	if err != nil {
		t.Fatal(err)
	}
	defer UnmapFile(mem)
	if len(mem) != lent || !strings.HasPrefix(string(mem), greeting) {
		t.Errorf("%d bytes are mapped, which begin with %q", len(mem), mem[:len(greeting)])
	}
	mem[lent-1] = mark
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(mem), greeting) {
		t.Error("the memory does not outlive its lender")
	}
	if f, err := Borrow(l); err == nil {
		f.Close()
		t.Error("borrowed of a process that has ended")
	} else if !strings.Contains(err.Error(), "has ended") {
		t.Errorf("of a process that has ended: %v", err)
	}
}

// TestBorrowKnowsItsFile: what is at the place that a loan names and is not its file is not even
// opened.
func TestBorrowKnowsItsFile(t *testing.T) {
	mine, l, err := Lend("test", lent)
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	other, k, err := Lend("test", lent)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if l.Name == k.Name {
		t.Errorf("two files have the name %s", l.Name)
	}
	f, err := Borrow(l)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for what, bad := range map[string]Loan{
		"another file":       {l.PID, k.FD, l.Name},
		"a pipe":             {l.PID, int(r.Fd()), l.Name},
		"no descriptor":      {l.PID, 1 << 20, l.Name},
		"no process":         {1 << 30, l.FD, l.Name},
		"a negative process": {-1, l.FD, l.Name},
		"another process":    {os.Getppid(), l.FD, l.Name},
	} {
		if f, err := Borrow(bad); err == nil {
			f.Close()
			t.Errorf("%s: borrowed", what)
		}
	}
}
