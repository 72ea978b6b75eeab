package engine

import (
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
)

// A caller under worker gives its core away for what a worker is to write that no wake-up brings
// there: one that is awake. Not where the worker has a core of its own, nor for nothing.
func TestGivesWay(t *testing.T) {
	for _, tt := range []struct {
		name       string
		place      progress.Place
		moderation time.Duration
		output     bool
		want       bool
	}{
		{"awake", progress.Awake, time.Millisecond, true, true},
		{"asleep", progress.Idle, time.Millisecond, true, false},
		{"asleep with its P", progress.Holding, time.Millisecond, true, false},
		{"awake on a core of its own", progress.Awake, 0, true, false},
		{"nothing to write", progress.Awake, time.Millisecond, false, false},
	} {
		e := &Engine{}
		e.cfg.Moderation = tt.moderation
		_, x := progress.State(0).Sit(tt.place).Kick(tt.output)
		if got := e.givesWay(tt.output, x); got != tt.want {
			t.Errorf("worker %s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
