package mpi

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/internal/callsite"
)

// Functions of the user's that the engine calls, as those of reductions, run while their rank makes
// no other progress, on whichever goroutine makes it. If one communicated it would wait for what
// only its own return can bring. The standard forbids it, and here such a call is refused, instead
// of never returning: it panics, so that the function ends there, and the operation that has called
// it fails.
//
// A goroutine has no name by which a call could know that it is in such a function. So while such a
// function runs, anywhere in the process, each call that begins to communicate looks at its own
// stack for the function that calls it.

// callbacks is how many functions of the user's run so. It is one for all ranks of the process, as
// one may run another's function.
var callbacks atomic.Int32

// calledBack has f combine acc and in. Its name is what caller looks for, as that of calledBackFor.
//
//go:noinline
func calledBack[T any](f Op[T], acc, in []T) (err error) {
	callbacks.Add(1)
	defer endCallback(&err)
	f(acc, in)
	return nil
}

// calledBackFor is calledBack of f, which calls functions of the user's.
//
//go:noinline
func calledBackFor(f func() error) (err error) {
	callbacks.Add(1)
	defer endCallback(&err)
	return f()
}

// endCallback ends what calledBack has begun. What the function has called and must not is its
// error; other panics go on.
func endCallback(err *error) {
	callbacks.Add(-1)
	switch r := recover().(type) {
	case nil:
	case *forbiddenCallError:
		*err = r
	default:
		panic(r)
	}
}

// forbiddenCallError is a call by a function that must not communicate.
type forbiddenCallError struct {
	by   string // the function
	call callsite.Site
}

// Error says which function has called what, and where.
func (e *forbiddenCallError) Error() string {
	at := ""
	if e.call.At != "" {
		at = " at " + e.call.At
	}
	return fmt.Sprintf("%s has called %s%s: a function that a reduction calls must not communicate, as its rank makes no progress until it returns "+
		"(MPI 4.1, section 6.9.5); communicate before or after the reduction", cmp.Or(e.by, "it"), cmp.Or(e.call.Op, "the library"), at)
}

// refuseCallbacks does not return to a function of the user's that the engine has called.
func refuseCallbacks() {
	if callbacks.Load() != 0 {
		pcs := stack()
		if by, ok := calledBackBy(pcs); ok {
			panic(&forbiddenCallError{by, callsite.Of(pcs)})
		}
	}
}

// stack is the return addresses of the calls on this goroutine's stack.
func stack() []uintptr {
	for n := 64; ; n *= 4 {
		pcs := make([]uintptr, n)
		if k := runtime.Callers(2, pcs); k < n {
			return pcs[:k]
		}
	}
}

// calledBackBy reports whether calledBack, or calledBackFor, is among calls, and which function of
// the user's it has called.
func calledBackBy(pcs []uintptr) (function string, ok bool) {
	for frames := runtime.CallersFrames(pcs); ; {
		f, more := frames.Next()
		name, isOurs := strings.CutPrefix(f.Function, thisPackage)
		switch {
		case isOurs && strings.HasPrefix(name, "calledBack"):
			return function, true
		case !callsite.IsOurs(f.Function, f.File) && callsite.IsUsers(f.Function):
			function = f.Function
		}
		if !more {
			return "", false
		}
	}
}
