package quiesce

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/internal/hang"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a job whose ranks say what the test says. All is done on one goroutine of a bubble at a
// time.
type fake struct {
	t       *testing.T
	ranks   []Rank
	reports []telemetry.Report
	silent  []bool
	asked   map[string]int
	before  func(question string) // what happens just before the answers
}

// newFake is a job of n ranks, each of which waits in a receive from the next: a deadlock.
func newFake(t *testing.T, n int) *fake {
	f := &fake{t: t, asked: make(map[string]int), silent: make([]bool, n)}
	for r := range n {
		f.ranks = append(f.ranks, Rank{Host: "a", Phase: hang.Inside, PID: 100 + r})
		f.reports = append(f.reports, telemetry.Report{
			Pulse: telemetry.Pulse{Blocked: 1, Activity: 10, FramesIn: 3, FramesOut: 3},
			Pending: &telemetry.Pending{
				Calls:      []telemetry.Call{{Op: "Recv", At: "main.go:7", Need: 1, Waits: []int{0}}},
				Operations: []telemetry.Operation{{Op: "Recv", At: "main.go:7", Kind: telemetry.Receive, Peer: (r + 1) % n, Bytes: 8}},
			},
		})
	}
	return f
}

func (f *fake) Ranks() []Rank { return slices.Clone(f.ranks) }

func (f *fake) FoundStuck(rank, pid int, activity uint64) {
	if f.ranks[rank].PID != pid {
		f.t.Errorf("rank %d is found stuck in process %d", rank, pid)
	}
	f.ranks[rank].StuckAt = activity
}

func (f *fake) Ask(ctx context.Context, question string) []*telemetry.Report {
	return f.AskSome(ctx, question, func(int) bool { return true })
}

func (f *fake) AskSome(ctx context.Context, question string, which func(int) bool) []*telemetry.Report {
	f.asked[question]++
	if f.before != nil {
		f.before(question)
	}
	answers := make([]*telemetry.Report, len(f.ranks))
	if ctx.Err() != nil {
		return answers
	}
	all := true
	for r := range f.ranks {
		if f.ranks[r].isDead() || !which(r) {
			continue // it is not asked
		}
		if f.silent[r] || f.ranks[r].Phase != hang.Inside {
			all = false
			continue
		}
		a := f.reports[r]
		if question == telemetry.AskPending {
			a.Pending = new(*a.Pending) // which fitrun may change
		} else {
			a.Pending = nil
		}
		answers[r], f.ranks[r].Pulsed = &a, time.Now()
	}
	if !all {
		<-ctx.Done()
	}
	return answers
}

// watched is what a Watch has said.
type watched struct {
	deadlocks []*hang.Explanation
	stalls    []string
	at        []time.Duration // of deadlocks
}

// run watches the job for a time.
func (f *fake) run(d time.Duration) *watched {
	var said watched
	began := time.Now()
	w := &Watch{
		View: f,
		Deadlocked: func(e *hang.Explanation) {
			said.deadlocks, said.at = append(said.deadlocks, e), append(said.at, time.Since(began))
		},
		Stalled: func(text string) { said.stalls = append(said.stalls, text) },
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), d)
	defer cancel()
	w.Run(ctx)
	return &said
}

// wantQuiet checks that nothing was said.
func (w *watched) wantQuiet(t *testing.T, why string) {
	t.Helper()
	if len(w.deadlocks)+len(w.stalls) > 0 {
		t.Errorf("%s: %d deadlocks and %q are told", why, len(w.deadlocks), w.stalls)
	}
}

func TestDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3)
		said := f.run(5 * time.Minute)
		if len(said.deadlocks) != 1 || len(said.stalls) != 0 || said.at[0] > 2*leastPause {
			t.Fatalf("%d deadlocks at %v, %q", len(said.deadlocks), said.at, said.stalls)
		}
		if e := said.deadlocks[0]; !e.IsDeadlock() || !slices.Equal(e.Stuck, []int{0, 1, 2}) {
			t.Errorf("%+v", e)
		}
		if n := f.asked[telemetry.AskPending]; n > 10 {
			t.Errorf("the ranks were stopped %d times in 5 minutes", n)
		}
		if n := f.asked[telemetry.AskCollect]; n != 1 {
			t.Errorf("the ranks have collected garbage %d times", n)
		}
	})
}

// A large job is asked less often.
func TestLargeJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 500)
		f.run(time.Minute)
		if n := f.asked[telemetry.AskPulse]; n > 10 {
			t.Errorf("%d rounds in a minute", n)
		}
	})
}

// Nothing is said of a job that may go on.
func TestNoAlarm(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(f *fake)
	}{
		{"one does something now and then", func(f *fake) {
			f.before = func(string) { f.reports[2].Pulse.Activity++ }
		}},
		{"one does something between its pulse and its answer", func(f *fake) {
			f.before = func(q string) {
				if q == telemetry.AskPending {
					f.reports[1].Pulse.Activity++
				}
			}
		}},
		{"one does something after its answer", func(f *fake) {
			var last string
			f.before = func(q string) {
				if q == telemetry.AskPulse && last == telemetry.AskPending {
					f.reports[1].Pulse.Activity++
				}
				last = q
			}
		}},
		{"one computes in another goroutine", func(f *fake) {
			f.reports[1].Pending.Goroutines = []telemetry.Goroutine{{State: "running", May: true}}
		}},
		{"one computes", func(f *fake) {
			f.reports[1].Pulse.Blocked = 0
			f.reports[1].Pending = &telemetry.Pending{Goroutines: []telemetry.Goroutine{{State: "running", May: true}}}
		}},
		{"a context may end a call", func(f *fake) {
			f.reports[1].Pulse.Blocked, f.reports[1].Pulse.Bounded = 0, 1
			f.reports[1].Pending.Calls[0].Bounded = true
		}},
		{"a timer is set in one", func(f *fake) { f.reports[1].Pending.Timer = true }},
		{"one waits for the garbage collector", func(f *fake) {
			f.before = func(q string) {
				if q == telemetry.AskCollect {
					f.reports[1].Pulse.Activity++
				}
			}
		}},
		{"the garbage collector starts something in one each time", func(f *fake) {
			f.before = func(q string) {
				if q == telemetry.AskCollect {
					f.reports[1].Functions += 2
				}
			}
		}},
		{"one does not collect its garbage", func(f *fake) { f.before = func(q string) { f.silent[1] = q == telemetry.AskCollect } }},
		{"one does not answer", func(f *fake) { f.silent[1] = true }},
		{"one has not called Init", func(f *fake) { f.ranks[1].Phase = hang.Outside }},
		{"one has finished", func(f *fake) { f.ranks[1].Phase = hang.Gone }},
		{"the job has not begun", func(f *fake) { f.ranks = nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 3)
				tc.change(f)
				f.run(5*time.Minute).wantQuiet(t, tc.name)
			})
		})
	}
}

// What is collected once, and starts something that changes nothing, only makes it take longer.
func TestGarbage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3)
		f.before = func(q string) {
			if q == telemetry.AskCollect && f.asked[q] == 1 {
				f.reports[1].Functions += 2
			}
		}
		said := f.run(time.Minute)
		if n := f.asked[telemetry.AskCollect]; len(said.deadlocks) != 1 || said.at[0] != 3*leastPause || n != 2 {
			t.Errorf("%d deadlocks at %v, %d collections", len(said.deadlocks), said.at, n)
		}
	})
}

// TestTimerOfTheRuntime: a rank that can never go on has set no timer since that was found, so a
// timer there is the runtime's. It is not if the rank has gone on.
func TestTimerOfTheRuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 2)
		f.run(time.Minute)
		f.reports[0].Pending.Timer = true
		if e := Look(t.Context(), f, "", time.Second); !e.IsDeadlock() || f.asked[telemetry.AskCollect] != 1 {
			t.Errorf("%d collections: %s", f.asked[telemetry.AskCollect], e.Text())
		}
		f.reports[0].Pulse.Activity++
		if e := Look(t.Context(), f, "", time.Second); len(e.Stuck) > 0 {
			t.Errorf("%s", e.Text())
		}
	})
}

// TestSignal: no report shows what a signal starts. Only ranks that wait for no signal, and for no
// rank that waits for one, are called deadlocked for certain.
func TestSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3)
		f.reports[1].Pending.Signal = true
		said := f.run(5 * time.Minute)
		if len(said.deadlocks) != 1 {
			t.Fatalf("%d deadlocks", len(said.deadlocks))
		}
		e := said.deadlocks[0]
		if e.IsDeadlock() || !e.IsStuck() || !slices.Equal(e.Signals, []int{1}) || !slices.Equal(e.Stuck, []int{0, 1, 2}) {
			t.Errorf("%+v", e)
		}
		f.reports[0].Pending.Timer = true // which a signal may have set
		if e := Look(t.Context(), f, "", time.Second); len(e.Stuck) > 0 {
			t.Errorf("%s", e.Text())
		}
	})
}

// A job goes on without the dead, and so does the watch: what they had sent, or what was sent to
// them, does not count.
func TestDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 4)
		f.ranks[3].Phase = hang.Dead
		f.reports[2].Pending.Operations[0].Peer = 0
		said := f.run(time.Minute)
		if len(said.deadlocks) != 1 || said.at[0] > 2*leastPause {
			t.Fatalf("%d deadlocks at %v", len(said.deadlocks), said.at)
		}
		e := said.deadlocks[0]
		if !slices.Equal(e.Stuck, []int{0, 1, 2}) || e.Ranks[3].Phase != hang.Dead || !strings.Contains(e.Text(), "rank 3: has died") {
			t.Errorf("%s", e.Text())
		}
		if e := Look(t.Context(), f, "", time.Second); !e.IsDeadlock() {
			t.Errorf("no deadlock: %s", e.Text())
		}
	})
}

// One dies while the job is looked at: what was found before does not hold.
func TestDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3)
		f.before = func(q string) {
			if q == telemetry.AskPending {
				f.ranks[2].Phase = hang.Dead
			}
		}
		if e := Look(t.Context(), f, "", time.Second); e.IsDeadlock() {
			t.Errorf("%s", e.Text())
		}
		f.before, f.ranks[0].Phase, f.ranks[1].Phase = nil, hang.Dead, hang.Dead
		f.run(time.Minute).wantQuiet(t, "all are dead")
	})
}

// A rank that was stopped is asked again when it goes on, and not before.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 2)
		f.silent[1] = true
		f.run(time.Hour).wantQuiet(t, "a rank is stopped")
		if n := f.asked[telemetry.AskPulse]; n > 200 {
			t.Errorf("%d questions", n)
		}
		f.silent[1] = false
		if said := f.run(time.Minute); len(said.deadlocks) != 1 {
			t.Errorf("%d deadlocks", len(said.deadlocks))
		}
	})
}

// What is under way is no deadlock, and worth a word if it does not move.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3)
		f.reports[0].Pulse.FramesOut++
		said := f.run(9 * time.Second)
		said.wantQuiet(t, "a frame is under way")
		f.reports[1].Pulse.Unsent = 500
		if said = f.run(time.Hour); len(said.deadlocks) != 0 || len(said.stalls) != 1 ||
			!strings.Contains(said.stalls[0], " 1 messages") || !strings.Contains(said.stalls[0], "500 bytes of rank 1") {
			t.Errorf("%d deadlocks, %q", len(said.deadlocks), said.stalls)
		}
		if n := f.asked[telemetry.AskPending]; n != 0 {
			t.Errorf("the ranks were stopped %d times", n)
		}
	})
}

// A deadlock of ranks that wait in no call is seen too, later: most likely they compute.
func TestOutsideOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 2)
		f.reports[1].Pulse.Blocked = 0
		f.reports[1].Pending = &telemetry.Pending{Goroutines: []telemetry.Goroutine{{State: "sync.Mutex.Lock"}}}
		said := f.run(time.Minute)
		if len(said.deadlocks) != 1 || said.at[0] < busyRounds*leastPause {
			t.Errorf("%d deadlocks at %v", len(said.deadlocks), said.at)
		}
	})
}

// A deadlock that a rank comes out of, such as of a context that ends, and into again is another
// one.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 2)
		began := time.Now()
		f.before = func(string) {
			if time.Since(began) > time.Minute {
				f.reports[0].Pulse.Activity = 11
			}
		}
		if said := f.run(5 * time.Minute); len(said.deadlocks) != 2 {
			t.Errorf("%d deadlocks", len(said.deadlocks))
		}
	})
}

// Look explains at once, and calls it a deadlock only if it is one for certain.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 2)
		if e := Look(t.Context(), f, "", time.Second); !e.IsDeadlock() {
			t.Errorf("no deadlock: %s", e.Text())
		}
		f.reports[0].Pulse.FramesOut++
		if e := Look(t.Context(), f, "", time.Second); e.IsDeadlock() || len(e.Stuck) != 2 {
			t.Errorf("something is under way: %s", e.Text())
		}
		f.reports[0].Pulse.FramesOut--
		f.before = func(q string) {
			if q == telemetry.AskPending {
				f.reports[0].Pulse.Activity++
			}
		}
		if e := Look(t.Context(), f, "", time.Second); len(e.Stuck) != 2 {
			t.Errorf("a rank did something only before it was asked: %s", e.Text())
		}
		f.before = func(q string) {
			if q == telemetry.AskCollect {
				f.reports[0].Functions++
			}
		}
		if e := Look(t.Context(), f, "", time.Second); e.IsDeadlock() || len(e.Stuck) != 2 {
			t.Errorf("the garbage collector starts something: %s", e.Text())
		}
		f.before, f.ranks[1].Phase = nil, hang.Outside
		asked := f.asked[telemetry.AskPulse]
		if e := Look(t.Context(), f, "", time.Second); !e.Ranks[0].Silent || e.Ranks[1].Phase != hang.Outside || f.asked[telemetry.AskPulse] != asked {
			t.Errorf("a rank has not called Init: %s", e.Text())
		}
		f.ranks[1].Phase, f.silent[1] = hang.Inside, true
		began := time.Now()
		if e := Look(t.Context(), f, "", time.Second); e.IsDeadlock() || e.Ranks[0].Silent || !e.Ranks[1].Silent || time.Since(began) > 2*time.Second {
			t.Errorf("a rank is silent, %v: %s", time.Since(began), e.Text())
		}
	})
}

// What ranks of a job that goes on say one after the other makes no circle, nor a message beside
// the one that is waited for: only what was so twice is told.
func TestLookAtARunningJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 4)
		f.reports[1].Pending.Messages = []telemetry.Message{{Source: 2, Tag: 9, Bytes: 8}}
		moving := []int{0, 1, 2, 3}
		f.before = func(string) {
			for _, r := range moving {
				f.reports[r].Pulse.Activity++
			}
		}
		for _, silent := range []bool{false, true} {
			f.silent[3] = silent
			e := Look(t.Context(), f, "", time.Second)
			if len(e.Stuck)+len(e.Knots)+len(e.Mismatches) > 0 || strings.Contains(e.Text(), "a deadlock") || e.Ranks[0].Stuck {
				t.Errorf("all ranks go on: %s", e.Text())
			}
			if !strings.Contains(e.Text(), "no deadlock is seen\n") || !strings.Contains(e.Text(), "Recv from rank ") {
				t.Errorf("it does not say what the ranks wait for: %s", e.Text())
			}
		}
		f.silent[3], moving = false, []int{2, 3} // of which each waits for another, at times
		f.reports[1].Pending.Operations[0].Peer, f.reports[1].Pending.Messages[0].Source = 0, 0
		began := time.Now()
		e := Look(t.Context(), f, "", time.Second)
		if !slices.Equal(e.Stuck, []int{0, 1}) || e.IsStuck() || len(e.Knots) != 1 || len(e.Mismatches) != 1 || time.Since(began) != betweenLooks {
			t.Errorf("ranks 0 and 1 do not go on, after %v: %s", time.Since(began), e.Text())
		}
		moving = []int{2}
		f.reports[3].Pending.Operations[0].Peer = 2
		e = Look(t.Context(), f, "", time.Second)
		if !slices.Equal(e.Stuck, []int{0, 1}) {
			t.Errorf("rank 3 waits for one that goes on: %s", e.Text())
		}
	})
}

// Two ranks of one process are known as such, ranks of other hosts with the same process id are
// not.
func TestProcesses(t *testing.T) {
	f := newFake(t, 4)
	f.ranks[1].PID, f.ranks[2].PID, f.ranks[2].Host = 100, 100, "b"
	j := jobOf(&pulses{ranks: f.ranks}, os.TempDir(), false)
	var ps []int
	for _, r := range j.Ranks {
		ps = append(ps, r.Process)
	}
	if !slices.Equal(ps, []int{0, 0, 2, 3}) {
		t.Errorf("processes %v", ps)
	}
}
