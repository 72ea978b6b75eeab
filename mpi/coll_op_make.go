package mpi

import (
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/mpi/internal/vec"
)

// OpOf makes an operation of a function of two values: x comes from the lower ranks. f must be
// associative, and keeps to what [Op] says. Declare the result by [Commutative] where f is that. It
// is MPI_Op_create for functions over values (MPI 4.1, section 6.9.5).
func OpOf[T any](f func(x, y T) T) Op[T] {
	if f == nil {
		return nil
	}
	return func(acc, in []T) {
		in = in[:len(acc)]
		for i := range acc {
			acc[i] = f(acc[i], in[i])
		}
	}
}

// Adder is a type that adds by its own method, as vectors and matrices do.
type Adder[T any] interface{ Add(T) T }

// Add adds by the method Add: acc[i] = acc[i].Add(in[i]). The library keeps to the order of ranks;
// declare it by [Commutative] where the method is commutative. Of [BFloat16] and [Float16] it knows
// that. No counterpart in MPI.
//
//go:noinline
func Add[T Adder[T]](acc, in []T) {
	if len(acc) == 0 {
		answerProbe(opAdd)
	}
	in = in[:len(acc)]
	if k := elemOf[T]().vector; k == vec.BFloat16 || k == vec.Float16 { // of others the method may be anything
		acc, in = byVector(vec.Sum, acc, in)
	}
	for i := range acc {
		acc[i] = acc[i].Add(in[i])
	}
}

// Generic code that passes a predefined operation with its own type parameter, as mpi.Sum[T],
// passes a function that the compiler has made around ours. Its name does not tell. But it does
// nothing else, and the runtime leaves it out of the list of callers: so ours, called for no
// elements, finds its caller's caller where its own caller would be, and answers.

// probes is the number of functions that are asked just now.
var probes atomic.Int32

// probed is the answer of a predefined operation: it panics with that.
type probed struct{ kind opKind }

// probe asks op, by a call for no elements, which of the predefined operations it is. What a user's
// function does instead, panic or end its goroutine, is no answer.
func probe[T any](op Op[T]) opKind {
	probes.Add(1)
	defer probes.Add(-1)
	answer := make(chan opKind, 1)
	go askOp(op, answer)
	return <-answer
}

func askOp[T any](op Op[T], answer chan<- opKind) {
	defer func() {
		a, _ := recover().(probed)
		answer <- a.kind
	}()
	op(nil, nil)
}

// answerProbe is the beginning of a predefined operation that is called for no elements.
func answerProbe(k opKind) {
	if probes.Load() == 0 {
		return
	}
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])]) // from this function on
	frames.Next()
	frames.Next() // the operation
	if caller, _ := frames.Next(); strings.HasPrefix(caller.Function, thisPackage+"askOp[") {
		panic(probed{k})
	}
}
