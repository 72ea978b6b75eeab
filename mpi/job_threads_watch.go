package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/fitmpi/fitmpi/internal/callsite"
	"github.com/fitmpi/fitmpi/internal/hang"
	"github.com/fitmpi/fitmpi/internal/hang/quiesce"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// threadsPause is between two rounds of questions to the ranks of RunThreads; one question to each
// takes some microseconds.
var threadsPause = time.Second

// soon is how far away a timer may be that counts as about to let ranks go on. What is set for
// later is, in a test, what ends all tests that take too long; elsewhere the ranks are said to be
// deadlocked, but not ended.
const soon = time.Minute

// threadsWatch notices that thread ranks can never go on, as fitrun does for its ranks.
type threadsWatch struct {
	t     *threads
	watch quiesce.Watch
	pause *sys.Pauser
	done  chan struct{} // closed when the goroutine has ended

	// Owned by the goroutine.
	known []quiesce.Rank // what Ranks adds to: when ranks have answered, and what they were found
	later bool           // a timer was set, for later, when the ranks were asked last
	test  bool           // this process runs tests, likewise
}

// watch begins to watch the ranks of t until stop is called.
func (t *threads) watch() (stop func()) {
	pause, err := sys.NewPauser()
	if err != nil {
		t.set.Logger.Warn("the ranks are not watched for deadlocks", "err", err)
		return func() {}
	}
	w := &threadsWatch{t: t, pause: pause, done: make(chan struct{}), known: make([]quiesce.Rank, t.n)}
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // source files are named in full
	}
	w.watch = quiesce.Watch{View: w, Dir: dir, AtOnce: true, Pause: threadsPause, Deadlocked: w.deadlocked, Stalled: func(string) {}}
	go w.run() // ended by stop
	return func() {
		pause.End()
		<-w.done
		pause.Close()
	}
}

func (w *threadsWatch) run() {
	defer close(w.done)
	for !w.pause.Pause(threadsPause) && w.t.ctx.Err() == nil {
		w.watch.Round(w.t.ctx)
	}
}

// deadlocked ends the job, unless something that the watch cannot see may let it go on.
func (w *threadsWatch) deadlocked(e *hang.Explanation) {
	var may string
	switch {
	case !e.IsDeadlock():
		may = "a signal"
	case !sys.TellsTimers:
		may = "a timer, of which this system does not tell,"
	case w.later && !w.test:
		may = "a timer that is set"
	default:
		w.t.abort(e.Stuck[0], opError(ErrOther, "RunThreads", errors.New(e.Text())))
		return
	}
	fmt.Fprintf(os.Stderr, "mpi: RunThreads: %s\n  The job is left as it is: %s may let it go on.\n", e.Text(), may)
}

// Ranks implements quiesce.Viewer.
func (w *threadsWatch) Ranks() []quiesce.Rank {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	for r := range w.known {
		k := &w.known[r]
		phase := hang.Absent
		switch {
		case t.failed[r] != nil:
			phase = hang.Dead
		case t.gone[r]:
			phase = hang.Gone
		case t.jobs[r] != nil:
			phase = hang.Inside
		}
		if k.Phase != phase || k.PID == 0 {
			k.Host, k.PID, k.Phase, k.Since = hostname(), os.Getpid(), phase, time.Now()
		}
	}
	return slices.Clone(w.known)
}

// FoundStuck implements quiesce.Viewer.
func (w *threadsWatch) FoundStuck(rank, _ int, activity uint64) { w.known[rank].StuckAt = activity }

// Ask implements quiesce.Viewer.
func (w *threadsWatch) Ask(ctx context.Context, question string) []*telemetry.Report {
	return w.AskSome(ctx, question, func(int) bool { return true })
}

// AskSome implements quiesce.Viewer.
func (w *threadsWatch) AskSome(_ context.Context, question string, which func(rank int) bool) []*telemetry.Report {
	reports := make([]*telemetry.Report, w.t.n)
	timer := false
	switch question {
	case telemetry.AskCollect:
		collectGarbage()
	case telemetry.AskPending:
		timer = w.isTimerSet()
	}
	var js []*job
	for r, j := range w.inside() {
		if j == nil || !which(r) {
			js = append(js, nil)
			continue
		}
		js = append(js, j)
		s := j.engine.Stats()
		reports[r] = &telemetry.Report{Pulse: j.pulse(&s), Functions: functionsOf()}
		if question == telemetry.AskPending {
			reports[r].Pending = j.begun()
		}
		w.known[r].Pulsed = time.Now()
	}
	if question == telemetry.AskPending {
		w.addProcess(js, reports, timer)
	}
	return reports
}

// addProcess adds to the reports what the ranks have in common.
func (w *threadsWatch) addProcess(js []*job, reports []*telemetry.Report, timer bool) {
	rs, whole := callsite.Routines()
	w.test = slices.ContainsFunc(rs, func(r callsite.Routine) bool { return r.Test })
	for r, j := range js {
		if j != nil {
			addGoroutines(reports[r].Pending, rs, whole)
			j.addTimer(reports[r].Pending, timer)
		}
	}
}

// inside are the jobs of the ranks that take part, nil where a rank does not.
func (w *threadsWatch) inside() []*job {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	js := slices.Clone(t.jobs)
	for r, gone := range t.gone {
		if gone {
			js[r] = nil
		}
	}
	return js
}

// isTimerSet reports whether a timer will end soon, and notes whether one is set for later.
func (w *threadsWatch) isTimerSet() bool {
	sys.StirPoller()
	until, known := sys.NextTimer()
	w.later = known && until < sys.LongTimer
	return until < soon
}
