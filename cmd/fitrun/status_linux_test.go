package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/control"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
)

// TestStatusTooEarly: a user that asks before the job has begun is told so.
func TestStatusTooEarly(t *testing.T) {
	const want = "the job has not begun: fitrun reaches its hosts, or copies the program there; ask again soon"
	p := &statusPart{program: "prog"}
	for _, what := range []string{control.Text, control.Data} {
		if a := p.answer(t.Context(), view.New(), what); a.Error != want || a.Text != "" || a.Data != nil {
			t.Errorf("%s: %+v, want %s", what, a, want)
		}
	}
	if _, err := explain(t.Context(), view.New()); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestStatusIsPrintable: a process that pretends to be a fitrun cannot move the cursor in the
// terminal of a user that asks it.
func TestStatusIsPrintable(t *testing.T) {
	d, err := control.Open(func(context.Context, string) control.Answer {
		return control.Answer{Program: "prog\x1b[2J", Began: time.Now(), Text: "2 ranks\n  rank 0\r\x1b]0;title\a"}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, cancel := context.WithTimeout(context.Background(), failsafe)
	defer cancel()
	var shown bytes.Buffer
	if err := showJob(ctx, &shown, os.Getpid(), false); err != nil {
		t.Fatal(err)
	}
	want := `prog\x1b[2J, running for 0s` + "\n2 ranks\n" + `  rank 0\r\x1b]0;title\x07` + "\n"
	if got := regexp.MustCompile(`running for \d+s`).ReplaceAllString(shown.String(), "running for 0s"); got != want {
		t.Errorf("shown is %q, want %q", got, want)
	}
}
