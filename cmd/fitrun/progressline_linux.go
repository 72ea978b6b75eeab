package main

import (
	"context"
	"io"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/summary"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
)

// progressLine shows below the output what the job does now.
type progressLine struct {
	verbose bool
}

// How often the line changes.
const (
	lineEvery   = 500 * time.Millisecond
	linePerRank = 10 * time.Millisecond
)

func (p *progressLine) run(ctx context.Context, v *view.View) {
	select {
	case <-v.Begun():
	case <-ctx.Done():
		return
	}
	to, ok := v.Control().(launch.StatusLine)
	if !ok || !to.Status("") {
		if p.verbose {
			v.Control().Say("--progress-line shows nothing: stderr is no terminal that moves its cursor")
		}
		return
	}
	start, _ := v.Times()
	var m summary.Meter
	every := lineEvery
	for sleep(ctx, every) {
		every = max(lineEvery, time.Duration(len(v.Ranks()))*linePerRank)
		if !areFresh(v.Ranks(), every) {
			ask(ctx, v, every/2)
		}
		to.Status(m.Line(v.Ranks(), time.Since(start)))
	}
}

// asksOnly says that the line has no use for what ranks say when they leave.
func (p *progressLine) asksOnly() {}

func (p *progressLine) after(*view.View, io.Writer) {}
