//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// execute runs one command line and returns what it wrote on standard output. An error
// says in one line why that may not be all.
func execute(ctx context.Context, line, env []string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("took more than %v", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	// A launcher that gets SIGTERM ends its ranks. It and they are one process group. No process of
	// it may outlive the run, or it would disturb the next one.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var stdout bytes.Buffer
	stderr := &ending{}
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	err := cmd.Run()
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails if no process is left, as it should be
	}
	switch {
	case err == nil:
		return stdout.String(), nil
	case context.Cause(ctx) != nil:
		return stdout.String(), context.Cause(ctx)
	}
	if said := lastLine(stderr.String()); said != "" {
		return stdout.String(), errors.New(said)
	}
	return stdout.String(), err
}

// ending keeps the end of what is written to it.
type ending struct{ b []byte }

const endingMax = 16 << 10

func (e *ending) Write(p []byte) (int, error) {
	e.b = append(e.b, p...)
	if over := len(e.b) - endingMax; over > 0 {
		e.b = e.b[over:]
	}
	return len(p), nil
}

func (e *ending) String() string { return string(e.b) }

// lastLine is the last line of what a program said that says something: not a ruler of
// dashes, nor a line of progress that was overwritten.
func lastLine(s string) string {
	last := ""
	for line := range strings.Lines(s) {
		line = line[strings.LastIndexByte(strings.TrimRight(line, "\r\n"), '\r')+1:]
		line = strings.TrimSpace(strings.TrimPrefix(line, "\x1b[K"))
		if strings.Trim(line, "-=*# ") != "" {
			last = line
		}
	}
	return last
}

// perform does one run and returns its rows, labelled for the merged file. A note says
// what was wrong with a run whose rows are good all the same.
func (r run) perform(ctx context.Context, s setting) (rows []bench.Row, note string, err error) {
	if s.places, err = os.MkdirTemp("", "fitmpi-places-"); err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(s.places)
	// A contender that knows no way to a link would run over loopback, and nothing would show it.
	if r.experiment.network != loopback && !r.contender.placeRanks && r.contender.onLink == nil {
		return nil, "", fmt.Errorf("cannot put ranks of %s at the two ends of a link", r.contender.peer)
	}
	segments, began := tcpSegments(), time.Now()
	out, err := execute(ctx, command(r.contender, r.experiment, s), environment(r.contender, r.experiment), r.limit(s.quick))
	wall := time.Since(began)
	if err != nil {
		var isWhole bool
		if out, isWhole = r.whole(out); !isWhole || ctx.Err() != nil {
			return nil, "", err
		}
		note = "all rows are there, but the job ended badly: " + err.Error()
	}
	if rows, err = r.parse(out); err != nil {
		return nil, "", err
	}
	if err := s.answers.check(r, out); err != nil {
		return nil, "", err
	}
	if err := r.checkWire(rows, tcpSegments()-segments); err != nil {
		return nil, "", err
	}
	if rows, err = r.label(rows); err == nil && r.experiment.wall {
		rows = []bench.Row{wallRow(rows[0], wall)}
	}
	return rows, note, err
}

// whole is the rows in what a program of C wrote whose job failed, if it had written all
// of them: an empty line follows, and then what the launcher has to say. MPICH hangs in
// MPI_Finalize now and then, which is after that. What the whole job takes is worth
// nothing then.
func (r run) whole(out string) (rows string, ok bool) {
	rows, _, ok = strings.Cut(out, "\n\n")
	return rows + "\n", ok && r.contender.finishes && !r.experiment.wall
}

// parse makes rows of what the program wrote.
func (r run) parse(out string) ([]bench.Row, error) {
	parse := r.contender.output
	if parse == nil {
		parse = parseCSV
	}
	rows, err := parse(out)
	if err == nil && len(rows) == 0 {
		err = errors.New("no rows")
	}
	return rows, err
}

// wallCase is the case of how long a whole job takes.
const wallCase = "job"

// wallRow is the row of how long a whole job took, from the start of its launcher to
// its end; like is any row of it.
func wallRow(like bench.Row, wall time.Duration) bench.Row {
	like.Case, like.Size, like.Measure, like.Unit = wallCase, 0, "wall", "ms"
	like.Summary = single(float64(wall) / float64(time.Millisecond))
	return like
}

// label checks that rows are what was asked for, and marks them with what their
// program did not know.
func (r run) label(rows []bench.Row) ([]bench.Row, error) {
	c, e := r.contender, r.experiment
	for i := range rows {
		row := &rows[i]
		if row.Peer != c.peer || row.Transport != c.transport || row.Policy != c.policy {
			return nil, fmt.Errorf("measured %s over %s (%s), but %s over %s (%s) was asked for",
				row.Peer, row.Transport, row.Policy, c.peer, c.transport, c.policy)
		}
		row.Transport += e.network.suffix()
		row.Case += e.mark
	}
	return rows, nil
}
