package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/summary"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// summaryPart says at the end what the job has done. Ranks tell it when they finalize; as those
// that fail do not, all are asked from time to time as well.
type summaryPart struct {
	text bool     // on stderr
	file *os.File // as JSON, nil if not asked for
}

// summaryParts are the progress line and the summary, as far as they are wanted.
func (o *options) summaryParts(*view.View, io.Writer) (parts []part, err error) {
	if o.progressLine {
		parts = append(parts, &progressLine{verbose: o.verbose})
	}
	if !o.summary && o.summaryFile == "" {
		return parts, nil
	}
	p, err := newSummaryPart(o.summary, o.summaryFile)
	if err != nil {
		return parts, err
	}
	return append(parts, p), nil
}

// newSummaryPart makes the file, if there is to be one.
func newSummaryPart(text bool, file string) (*summaryPart, error) {
	p := &summaryPart{text: text}
	if file == "" {
		return p, nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o600) // what is there stays until there is a summary
	if err != nil {
		return nil, fmt.Errorf("--summary-file: %w", err)
	}
	p.file = f
	return p, nil
}

// How often ranks are asked for their counters, each time some 10 kB of JSON of every rank.
const (
	firstAsk   = 50 * time.Millisecond // a job may be short
	lastAsk    = time.Second
	askPerRank = 20 * time.Millisecond
)

func (p *summaryPart) run(ctx context.Context, v *view.View) {
	for pause := firstAsk; sleep(ctx, pause); {
		ranks := v.Ranks()
		isAsked := areFresh(ranks, pause/2) // by another part: this one did before it slept
		pause = min(2*pause, max(lastAsk, time.Duration(len(ranks))*askPerRank))
		if !isAsked {
			ask(ctx, v, pause)
		}
	}
}

// sleep returns after d, or reports false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// areFresh reports whether all ranks that take part have said their counters in the last time d.
func areFresh(ranks []view.Rank, d time.Duration) bool {
	for i := range ranks {
		if ranks[i].State.Phase == launch.Joined && time.Since(ranks[i].Counted) >= d {
			return false
		}
	}
	return true
}

// ask asks all ranks for their counters, and waits for a time at most.
func ask(ctx context.Context, v *view.View, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v.Ask(ctx, telemetry.AskCounters)
}

// hasAfterword says that after writes on stderr.
func (p *summaryPart) hasAfterword() bool { return p.text }

// hasAfterword reports whether some part writes on stderr when the job is over.
func (w *watch) hasAfterword() bool {
	for _, p := range w.parts {
		if a, ok := p.(interface{ hasAfterword() bool }); ok && a.hasAfterword() {
			return true
		}
	}
	return false
}

// Close gives the file back if the job is not run.
func (p *summaryPart) Close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

func (p *summaryPart) after(v *view.View, stderr io.Writer) {
	start, end := v.Times()
	spawned, _ := v.Totals()
	s := summary.Make(v.Ranks(), end.Sub(start), spawned)
	if p.text && len(s.Ranks) > 0 {
		s.WriteText(stderr, cmp.Or(launch.Columns(stderr), summary.Width))
	}
	if p.file == nil {
		return
	}
	if err := errors.Join(p.write(s), p.file.Close()); err != nil {
		fmt.Fprintf(launch.Folded(stderr), "fitrun: --summary-file: %v\n", sys.ExplainLimit(err))
	}
}

// write puts s in the place of what the file held.
func (p *summaryPart) write(s *summary.Summary) error {
	if st, err := p.file.Stat(); err == nil && st.Mode().IsRegular() {
		if err := p.file.Truncate(0); err != nil {
			return err
		}
	}
	enc := json.NewEncoder(p.file)
	enc.SetIndent("", "  ")
	return enc.Encode(s)
}
