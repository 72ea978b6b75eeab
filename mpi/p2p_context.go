package mpi

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
)

// rankKey is the key of a rank's job in the context of its function.
type rankKey struct{}

// jobOf is the rank that ctx belongs to: that to whose function Main or RunThreads gave it, or the
// only one that this process has by Init; nil if there is none.
func jobOf(ctx context.Context) *job {
	if j, ok := ctx.Value(rankKey{}).(*job); ok {
		return j
	}
	if jobs := process.Load(); jobs != nil && len(*jobs) == 1 {
		return (*jobs)[0]
	}
	return nil
}

// Region marks what the calling goroutine does from now on, until it calls end, as a phase of the
// program. name is the name of the phase:
//
//	ctx, end := mpi.Region(ctx, "assemble")
//	defer end()
//
// CPU profiles have the name as the label fitmpi_region, and the rank in world as fitmpi_rank. So
// go tool pprof tells the phases apart (-tagfocus, or -tagroot for a flame graph of each).
// Goroutines that are started inside inherit both labels. Execution traces (runtime/trace) have a
// region of the name. Tools hear of it: see [RegionTool].
//
// ctx is the one that Main or RunThreads gave to the rank's function, or derived from it, and says
// which rank it is. Where the process has one rank, by Init, any context will do. With a context of
// no rank there is no label of a rank, and no tool hears of the region. Regions nest: begin the
// inner one with the context that the outer one has returned, or the label of the outer one is lost
// when the inner one ends. Region does not block. No counterpart in MPI.
func Region(ctx context.Context, name string) (inner context.Context, end func()) {
	labels := []string{"fitmpi_region", name}
	var tools *toolchain
	if j := jobOf(ctx); j != nil {
		labels = append(labels, "fitmpi_rank", strconv.Itoa(j.engine.Rank()))
		tools = j.tools
	}
	inner = pprof.WithLabels(ctx, pprof.Labels(labels...))
	pprof.SetGoroutineLabels(inner)
	region := trace.StartRegion(inner, name)
	tools.beginRegion(name)
	noteEnd := tools.noteRegion(name)
	return inner, func() {
		noteEnd()
		tools.endRegion(name)
		region.End()
		pprof.SetGoroutineLabels(ctx)
	}
}

// beginRegion tells tools that a region begins.
func (ts *toolchain) beginRegion(name string) {
	if ts == nil {
		return
	}
	for _, t := range ts.regions {
		ts.region(t, name, true)
	}
}

// endRegion tells them that it ends, in the opposite order.
func (ts *toolchain) endRegion(name string) {
	if ts == nil {
		return
	}
	for i := len(ts.regions) - 1; i >= 0; i-- {
		ts.region(ts.regions[i], name, false)
	}
}

func (ts *toolchain) region(t RegionTool, name string, begins bool) {
	returned := false
	if begins {
		defer ts.guard(&returned, false, t, "BeginRegion of ", name)
		t.BeginRegion(name)
	} else {
		defer ts.guard(&returned, false, t, "EndRegion of ", name)
		t.EndRegion(name)
	}
	returned = true
}

// Pcontrol tells the tools of the calling rank a level, and whatever they understand besides: see
// [ControlTool]. By convention level 0 switches them off, 1 is what they do by default, 2 makes
// them write out what they have; the library itself does nothing. c is any communicator of the
// rank. It does not block (MPI 4.1, section 15.2.4).
func (c *Comm) Pcontrol(level int, args ...any) (err error) {
	defer c.begin("Pcontrol").endAt(&err)
	if err := c.present("Pcontrol"); err != nil {
		return c.fail(err)
	}
	if ts := c.job.tools; ts != nil {
		for _, t := range ts.controls {
			ts.control(t, level, args)
		}
	}
	return nil
}

func (ts *toolchain) control(t ControlTool, level int, args []any) {
	returned := false
	defer ts.guard(&returned, false, t, "Control", "")
	t.Control(level, args...)
	returned = true
}
