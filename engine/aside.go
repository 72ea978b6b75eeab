package engine

import (
	"fmt"
	"iter"
	"runtime"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/callsite"
)

// aside is a goroutine beside that of the holder of the progress right. It runs jobs that are
// foreign: they call functions of the user's, which may end their goroutine, and nothing can stop
// that. The holder cannot be that goroutine. It would leave the right, and whatever its callers are
// about, forever as it was. And it may be the worker, or a caller of another rank, which has
// nothing to do with the function.
//
// The two are coroutines: one runs while the other waits. A change from one to the other bypasses
// the scheduler, costs some 50 ns and makes no system call. A channel, with a goroutine that waits
// at its other end, would go through the scheduler and make system calls, and would wake another
// thread where the worker's is locked.
//
// Coroutines are tied to how their maker is locked to its thread. A goroutine may use one only if
// it is locked as the maker was, or if neither is locked. That is not known of callers, so what a
// caller has made only that caller uses, until it ends.
//
// Owned by the holder of the progress right.
type aside struct {
	job  core.Job // that runs, or has run
	next func() (struct{}, bool)
	end  func() // lets the goroutine end
}

func newAside() *aside {
	a := new(aside)
	a.next, a.end = iter.Pull(a.serve)
	return a
}

// serve is that goroutine.
func (a *aside) serve(yield func(struct{}) bool) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if r := recover(); r != nil {
			panic(r) // a bug of ours
		}
		panic(Ended()) // what ends a goroutine would go on to the one that waits; a panic can be recovered from there
	}()
	for {
		a.job.Run()
		if !yield(struct{}{}) {
			returned = true
			return
		}
	}
}

// run runs j. It reports false if that has ended the goroutine: then j has failed, and a is of no
// use any more.
func (a *aside) run(j *core.Job) (lives bool) {
	a.job = *j
	defer func() {
		if !lives {
			r := recover()
			err, ok := r.(*EndedError)
			if !ok {
				panic(r)
			}
			a.job.Fail(err)
		}
		*j, a.job = a.job, core.Job{}
	}()
	a.next()
	return true
}

// EndedError says that a function of the user's that the library has called has ended its
// goroutine. It is the cause of the failure of a local step of a schedule that has called such a
// one.
type EndedError struct {
	Func string // the function, as the runtime names it; "" if it is not known
	At   string // file:line in it
}

// Ended is the error of a function that is ending its goroutine, to be called by what is deferred
// there.
func Ended() *EndedError {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		if !callsite.IsOurs(f.Function, f.File) && callsite.IsUsers(f.Function) {
			return &EndedError{Func: f.Function, At: fmt.Sprintf("%s:%d", f.File, f.Line)}
		}
		if !more {
			return new(EndedError)
		}
	}
}

// Error says which function it was.
func (e *EndedError) Error() string {
	who := "a function that was called"
	if e.Func != "" {
		who = e.Func + " at " + e.At
	}
	return who + " ended its goroutine instead of returning (runtime.Goexit, which Fatal, FailNow and SkipNow of a test call)"
}

// runForeign runs j beside the goroutine of the holder of the right.
func (d *driver) runForeign(j *core.Job) {
	a := &d.aside
	if d.byWorker {
		a = &d.workersAside
	}
	if *a == nil {
		*a = newAside()
	}
	if !(*a).run(j) {
		*a = nil
	}
}

// endAside is called before a caller that may have run foreign jobs gives the right back.
func (d *driver) endAside() {
	if d.aside != nil {
		d.aside.end()
		d.aside = nil
	}
}

// endWorkersAside is called by the worker at its end.
func (d *driver) endWorkersAside() {
	if d.workersAside != nil {
		d.workersAside.end()
		d.workersAside = nil
	}
}
