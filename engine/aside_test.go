//go:build linux && !fitmpi_portable

package engine

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// localSchedule is one of local steps only, which are foreign, one after the other.
func localSchedule(steps ...func() error) *Schedule {
	s := NewSchedule(1, 0, []PeerID{0})
	s.Foreign = true
	var after []int32
	for _, f := range steps {
		after = []int32{s.Do(f, after...)}
	}
	return s
}

// TestForeignSteps: a step that ends its goroutine fails its schedule, which says where, and
// nothing else: the goroutine that runs the steps goes on, waits in the same call, and the engine
// can be closed.
func TestForeignSteps(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		e := job(t, 1, p, nil)[0]
		ran := 0
		fine := func() error { ran++; return nil }
		for range 3 {
			good, bad := localSchedule(fine, fine, fine), localSchedule(fine, func() error { runtime.Goexit(); return nil }, fine)
			also, wrong := localSchedule(fine), localSchedule(func() error { panic("boom") })
			all := []*MSO{&good.MSO, &bad.MSO, &also.MSO, &wrong.MSO}
			for _, s := range []*Schedule{good, bad, also, wrong} {
				e.StartSchedule(s, Computes)
			}
			e.WaitMany(len(all), all)
			if good.MSO.Err != nil || also.MSO.Err != nil {
				t.Errorf("schedules beside one that has failed ended with %v and %v", good.MSO.Err, also.MSO.Err)
			}
			if ended, ok := errors.AsType[*EndedError](bad.MSO.Err); !ok || !strings.Contains(ended.At, "aside_test.go:") {
				t.Errorf("a schedule whose step ended its goroutine ended with %v", bad.MSO.Err)
			}
			if wrong.MSO.Err == nil || wrong.MSO.Err.Error() != "panic: boom" {
				t.Errorf("a schedule whose step panicked ended with %v", wrong.MSO.Err)
			}
		}
		if ran != 3*5 {
			t.Errorf("%d steps ran, want %d", ran, 3*5)
		}
		if err := e.Close(failsafe); err != nil {
			t.Error(err)
		}
	})
}

// TestAllocsForeign: the worker keeps the goroutine beside it.
func TestAllocsForeign(t *testing.T) {
	e := job(t, 1, Worker, silently)[0]
	s := localSchedule(func() error { return nil })
	round := func() {
		s.MSO.Reset()
		e.StartSchedule(s, Computes)
		e.Wait(&s.MSO)
	}
	for range 50 {
		round()
	}
	if a := testing.AllocsPerRun(50, round); a != 0 {
		t.Errorf("%v allocations for a foreign step", a)
	}
}
