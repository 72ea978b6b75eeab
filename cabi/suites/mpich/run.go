package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// run builds and runs a test.
func (t *test) run(ctx context.Context, s *settings, b *builder) {
	path, err := b.program(ctx, t)
	if err != nil {
		t.outcome, t.text = notBuilt, firstError(err.Error())
		return
	}
	began := time.Now()
	out, err, late := t.launch(ctx, s, path)
	t.took = time.Since(began)
	switch {
	case late && t.result == "TestErrFatal": // it waits to be ended
		t.outcome = passed
		return
	case late:
		t.outcome = tooLong
	case t.hasPassed(out, err):
		t.outcome = passed
		return
	default:
		t.outcome = failed
	}
	t.text = tail(out)
	if err != nil {
		t.text += " [" + err.Error() + "]"
	}
}

// noErrors is what a test says that has passed.
var noErrors = regexp.MustCompile(`No [Ee]rrors`)

// exits is the result of a test whose exit status is all that says how it went.
const exits = "exit status"

// launch runs a job of the program, and kills it if it takes too long.
func (t *test) launch(ctx context.Context, s *settings, path string) (out string, err error, late bool) {
	ctx, cancel := context.WithTimeout(ctx, t.within(s.limit))
	defer cancel()
	args := append(append([]string{}, s.args...), "-n", strconv.Itoa(t.ranks), path)
	cmd := exec.CommandContext(ctx, s.fitrun, append(args, t.args...)...)
	cmd.Env = append(append(os.Environ(), "FITMPI_CABI="+s.lib), t.env...)
	cmd.Dir = s.place(t, path)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	err = cmd.Run()
	return all.String(), err, ctx.Err() != nil
}

// place is a directory in which the program of a test is found by the name of the test, which some
// start themselves: one of its own, as others may write files of the same name at the same time,
// unless it starts programs of others.
func (s *settings) place(t *test, path string) string {
	dir := filepath.Join(s.work, "in", t.dir)
	if os.MkdirAll(dir, 0o755) != nil {
		return dir
	}
	if !strings.Contains(t.dir, "spawn") {
		if own, err := os.MkdirTemp(dir, t.name+"-"); err == nil {
			dir = own
		}
	}
	_ = os.Symlink(path, filepath.Join(dir, t.name)) // it may be there
	return dir
}

// within is how long a test may run: not longer than all, and not longer than its list says, if
// that is how it ends.
func (t *test) within(all time.Duration) time.Duration {
	if t.result == "TestErrFatal" && t.limit > 0 {
		return min(all, t.limit)
	}
	return all
}

// hasPassed reports whether a program has said so: MPICH's print No Errors, others end with 0, or,
// if their list says so, with another code.
func (t *test) hasPassed(out string, err error) bool {
	switch t.result {
	case "TestErrFatal", "TestStatus": // programs that end with an error, or with a code that is not 0
		return err != nil
	case exits:
		return err == nil
	case "TestStatusNoErrors":
		return err != nil && noErrors.MatchString(out)
	case "TestBogus":
		return true
	}
	return err == nil && noErrors.MatchString(out)
}

// line is what is printed of a test.
func (t *test) line() string {
	s := fmt.Sprintf("%-9s %s/%s %d %s (%.1fs)", t.outcome, t.dir, t.name, t.ranks, strings.Join(t.args, " "), t.took.Seconds())
	if t.outcome != passed {
		s += "\n    " + strings.ReplaceAll(t.text, "\n", "\n    ")
	}
	return s
}

// tail is the end of an output.
func tail(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	const most = 12
	if len(lines) > most {
		lines = append(lines[:4:4], lines[len(lines)-(most-4):]...)
	}
	return strings.Join(lines, "\n")
}

// firstError is the first line of a compiler's output that says error.
func firstError(out string) string {
	for line := range strings.SplitSeq(out, "\n") {
		if strings.Contains(line, "error") || strings.Contains(line, "undefined") {
			return line
		}
	}
	return tail(out)
}
