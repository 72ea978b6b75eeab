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

// execute runs one command line and returns what it wrote on standard output. Its
// error says why there is none, in one line.
func execute(ctx context.Context, line, env []string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("took more than %v", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	// A launcher that gets SIGTERM ends its ranks; it and they are one process group, of
	// which nobody may outlive the run, or the next one would be disturbed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var stdout bytes.Buffer
	stderr := &ending{}
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	err := cmd.Run()
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails if nobody is left, as it should be
	}
	switch {
	case err == nil:
		return stdout.String(), nil
	case context.Cause(ctx) != nil:
		return "", context.Cause(ctx)
	}
	if said := lastLine(stderr.String()); said != "" {
		return "", errors.New(said)
	}
	return "", err
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

// perform does one run and returns its rows, labelled for the merged file.
func (r run) perform(ctx context.Context, s setting) ([]bench.Row, error) {
	var err error
	if s.places, err = os.MkdirTemp("", "fitmpi-places-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(s.places)
	// One that knows no way to a link would run over loopback, and nobody would see it.
	if r.experiment.network != loopback && !r.contender.placeRanks && r.contender.onLink == nil {
		return nil, fmt.Errorf("cannot put ranks of %s at the two ends of a link", r.contender.peer)
	}
	before := tcpSegments()
	out, err := execute(ctx, command(r.contender, r.experiment, s), environment(r.contender, r.experiment), r.experiment.limit(s.quick))
	if err != nil {
		return nil, err
	}
	parse := r.contender.output
	if parse == nil {
		parse = parseCSV
	}
	rows, err := parse(out)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("no rows")
	}
	if err := r.checkWire(rows, tcpSegments()-before); err != nil {
		return nil, err
	}
	return r.label(rows)
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
