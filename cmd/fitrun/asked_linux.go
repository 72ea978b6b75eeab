package main

import (
	"context"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/hang"
	"github.com/fitmpi/fitmpi/internal/hang/quiesce"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// asked is what runs for package quiesce: the ranks as the view knows them, by place.
type asked struct{ *view.View }

// Ranks implements quiesce.Viewer.
func (a asked) Ranks() []quiesce.Rank {
	var ranks []quiesce.Rank
	for _, r := range a.View.Ranks() {
		ranks = append(ranks, quiesce.Rank{
			Job: r.Job, Rank: r.Rank, Number: r.Number, Phase: phaseOf(r), Host: r.Host, PID: r.State.PID, Since: r.Since, Pulsed: r.Pulsed, StuckAt: r.StuckAt,
		})
	}
	return ranks
}

// AskSome implements quiesce.Viewer.
func (a asked) AskSome(ctx context.Context, question string, which func(at int) bool) []*telemetry.Report {
	ranks := make(map[int]int) // by number: the place
	for at, r := range a.View.Ranks() {
		if !r.Vacant {
			ranks[r.Number] = at
		}
	}
	return a.View.AskSome(ctx, question, func(r *view.Rank) bool {
		at, ok := ranks[r.Number]
		return ok && which(at)
	})
}

// phaseOf is how far a rank is.
func phaseOf(r view.Rank) hang.Phase {
	switch {
	case r.Vacant:
		return hang.Vacant
	case r.State.Dead:
		return hang.Dead
	}
	return phases[r.State.Phase]
}

var phases = map[launch.Phase]hang.Phase{
	launch.Waiting: hang.Absent, launch.Started: hang.Outside, launch.Joined: hang.Inside, launch.Idle: hang.Idle,
	launch.Finalizing: hang.Gone, launch.Over: hang.Gone,
}
