package engine

import (
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
)

// A caller under worker that computes next gives its core away for what a worker is to write that
// no wake-up brings there: one that is awake. Not where the worker has a core of its own.
func TestGivesWay(t *testing.T) {
	for _, tt := range []struct {
		name       string
		place      progress.Place
		moderation time.Duration
		next       manner
		want       bool
	}{
		{"awake", progress.Awake, time.Millisecond, leaves, true},
		{"awake, and the operation is complete", progress.Awake, time.Millisecond, done, true},
		{"awake, and the caller waits", progress.Awake, time.Millisecond, waits, false},
		{"awake, and the caller blocks", progress.Awake, time.Millisecond, returns, false},
		{"asleep", progress.Idle, time.Millisecond, leaves, false},
		{"asleep with its P", progress.Holding, time.Millisecond, leaves, false},
		{"awake on a core of its own", progress.Awake, 0, leaves, false},
	} {
		e := &Engine{}
		e.cfg.Moderation = tt.moderation
		_, x := progress.State(0).Sit(tt.place).Kick(true)
		if got := e.givesWay(tt.next, x); got != tt.want {
			t.Errorf("worker %s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
