//go:build linux

package launch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/plain"
)

// A job that failed is started again as a whole, up to Request.Restarts times: new processes, a new
// secret, and the ranks find what they have saved (mpi.Checkpoint). Between attempts fitrun waits,
// the longer the sooner they failed.

const (
	firstPause = 250 * time.Millisecond // before the second attempt
	lastPause  = 30 * time.Second       // it doubles up to here
	soundRun   = time.Minute            // a job that ran for so long did not fail at once: the pause is the first again
)

// outcome is how an attempt ended.
type outcome struct {
	code    int
	again   bool   // another attempt may end better: the job failed, and neither was it stopped nor can it not be started at all
	why     string // what the job failed of; "" if it did not, or said so itself
	refused string // of a job that was spawned: why no rank was started
	left    int    // of a job that goes on without its dead: exit code of a survivor, or of what ended them all; 0 if there is none
}

// attempts runs a job until an attempt ends well, or is not worth another.
type attempts struct {
	r        Request
	cfg      Config
	observer *persistent
	until    time.Time // of --timeout, for all attempts together; zero if never
	input    int64     // where standard input was at first, -1 if it cannot be wound back
	pause    time.Duration
	first    string // why the first attempt failed
}

// Execute runs the job that r asks for, on this machine or on hosts, and returns its exit code:
// that of the last attempt, if there are several.
func Execute(ctx context.Context, r Request, cfg Config) int {
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	if r.Restarts == 0 {
		return executeOnce(ctx, r, cfg).code
	}
	a := &attempts{r: r, cfg: cfg, input: -1, pause: firstPause}
	if cfg.Observer != nil {
		a.observer = &persistent{Observer: cfg.Observer}
		a.cfg.Observer = a.observer
		defer a.observer.end()
	}
	if r.Timeout > 0 {
		a.until = time.Now().Add(r.Timeout)
	}
	if at, err := cfg.Stdin.Seek(0, io.SeekCurrent); err == nil { // a nil file is an error
		a.input = at
	}
	return a.run(ctx)
}

func (a *attempts) run(ctx context.Context) int {
	for {
		began := time.Now()
		out := executeOnce(ctx, a.r, a.cfg)
		if a.first == "" {
			a.first = out.why
		}
		a.r.Attempt++
		switch isLater := a.r.Attempt > 1; {
		case out.code == 0 && isLater:
			a.say("the job ended well in attempt %d", a.r.Attempt)
			return 0
		case !out.again:
			return out.code
		case a.r.Attempt > a.r.Restarts:
			a.say("the job has failed in each of %d attempts and is given up; the first failed because %s", a.r.Attempt, a.first)
			return out.code
		}
		if code, stopped := a.wait(ctx, time.Since(began), out.why); stopped {
			return code
		}
	}
}

// wait waits before the next attempt, unless the user, or the time, wants the end; then it returns
// the exit code.
func (a *attempts) wait(ctx context.Context, ran time.Duration, why string) (code int, stopped bool) {
	if ran >= soundRun {
		a.pause = firstPause
	}
	a.say("the job is started again, attempt %d of %d, in %v", a.r.Attempt+1, a.r.Restarts+1, a.pause)
	pause := a.pause
	if !a.until.IsZero() {
		pause = min(pause, time.Until(a.until))
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	a.pause = min(2*a.pause, lastPause)
	select {
	case sig := <-a.cfg.Signals:
		a.say("%v: the job is not started again", sig)
		return 128 + int(sig.(syscall.Signal)), true
	case <-ctx.Done():
		return 128 + int(syscall.SIGTERM), true
	case <-timer.C:
	}
	if !a.until.IsZero() {
		if a.r.Timeout = time.Until(a.until); a.r.Timeout <= 0 {
			a.say("timeout: all attempts together took longer than --timeout allows; the last failed because %s", why)
			return ExitTimeout, true
		}
	}
	if a.input >= 0 {
		a.cfg.Stdin.Seek(a.input, io.SeekStart) // it could be asked where it is
	}
	return 0, false
}

func (a *attempts) say(format string, args ...any) {
	text := plain.Text(fmt.Sprintf(format, args...))
	if a.observer != nil {
		a.observer.Said(text)
	}
	io.WriteString(Folded(a.cfg.Stderr), message(text))
}

// executeOnce is one attempt.
func executeOnce(ctx context.Context, r Request, cfg Config) outcome {
	cfg.origin = &r
	if r.Hosts != nil {
		return executeAcross(ctx, r, cfg)
	}
	job, err := Plan(r)
	if err != nil && cfg.outer != nil {
		return outcome{refused: err.Error()}
	}
	if err != nil {
		io.WriteString(Folded(cfg.Stderr), message(err.Error()))
		return outcome{code: ExitUsage}
	}
	if cfg.Verbose {
		fmt.Fprintf(Folded(cfg.Stderr), "fitrun: %s of %s in %s, %d of %s each\n", plain.Count(len(job.Ranks), "rank"), r.Apps[0].Program.Path,
			plain.Count(len(job.Processes), "process"), job.Ranks[0].Cores, plain.Count(r.Cores, "core"))
	}
	job.showBindings(cfg)
	return runHere(ctx, job, cfg)
}

// persistent is an observer of all attempts: each begins, and they end once.
type persistent struct {
	Observer
	begun bool // owned by the caller of Execute, as Begin is called by it
}

func (p *persistent) Begin(job *Job, to Control) {
	p.begun = true
	p.Observer.Begin(job, to)
}

// End is that of an attempt.
func (p *persistent) End() {}

func (p *persistent) end() {
	if p.begun {
		p.Observer.End()
	}
}

// outcome is how the job ended, when it is over.
func (s *supervisor) outcome() outcome {
	code := s.exitCode()
	out := outcome{code: code, again: code != 0 && s.code == 0 && !s.unstartable && !s.stopped, why: s.failure}
	if s.hasFT() {
		out.left = cmp.Or(s.code, s.verdict)
	}
	return out
}

// failedOf notes what the job failed of, the first time.
func (s *supervisor) failedOf(text string) {
	if s.failure == "" {
		s.failure = text
	}
}
