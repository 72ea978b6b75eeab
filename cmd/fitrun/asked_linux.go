package main

import (
	"context"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/hang"
	"github.com/fitmpi/fitmpi/internal/hang/quiesce"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// asked is a job for package quiesce: the ranks as the view of it knows them.
type asked struct{ *view.View }

// Ranks implements quiesce.Viewer.
func (a asked) Ranks() []quiesce.Rank {
	var ranks []quiesce.Rank
	for _, r := range a.View.Ranks() {
		ranks = append(ranks, quiesce.Rank{
			Phase: phaseOf(r.State), Host: r.Host, PID: r.State.PID, Since: r.Since, Pulsed: r.Pulsed, StuckAt: r.StuckAt,
		})
	}
	return ranks
}

// AskSome implements quiesce.Viewer.
func (a asked) AskSome(ctx context.Context, question string, which func(rank int) bool) []*telemetry.Report {
	return a.View.AskSome(ctx, question, func(r *view.Rank) bool { return which(r.Rank) })
}

// phaseOf is how far a rank is.
func phaseOf(s launch.State) hang.Phase {
	if s.Dead {
		return hang.Dead
	}
	return phases[s.Phase]
}

var phases = map[launch.Phase]hang.Phase{
	launch.Waiting: hang.Absent, launch.Started: hang.Outside, launch.Joined: hang.Inside, launch.Idle: hang.Idle,
	launch.Finalizing: hang.Gone, launch.Over: hang.Gone,
}
