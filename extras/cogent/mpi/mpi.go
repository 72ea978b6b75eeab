// Package mpi has the calls of Cogent Core's package of the same name (cogentcore.org/lab/base/mpi)
// on FitMPI: a program that changes its import needs cgo no more. New programs are better off with
// FitMPI's own package mpi, whose functions take any type.
//
// A Comm may be used by several goroutines, but collective calls are made in the same order at all
// ranks, so by one goroutine at a time. Errors of FitMPI end the job, as those of C libraries do,
// unless FITMPI_ERRHANDLER=return; those that this package finds are returned.
package mpi

import (
	"errors"
	"fmt"
	"log"
	"sync/atomic"

	fit "github.com/fitmpi/fitmpi/mpi"
)

//go:generate go run ../gen

// LogErrors says whether errors that calls return are logged too. Set it before Init.
var LogErrors = true

// Root is rank 0.
const Root int = 0

// ErrNotMember is what calls of a communicator return at a rank that it does not have.
var ErrNotMember = errors.New("this rank is not in the communicator")

// errNoInit is what NewComm says too early.
var errNoInit = errors.New("call Init first")

// world is the communicator of all ranks; nil before Init.
var world atomic.Pointer[fit.Comm]

// IsOn reports whether Init was called; it does so after Finalize too.
func IsOn() bool { return world.Load() != nil }

// Init joins the job that the launcher has started, or a job of one rank. It blocks until all have
// come. A process that cannot join ends with a message (MPI 4.1, section 11.2).
func Init() {
	if err := InitThreadSafe(); err != nil {
		log.Fatalln(err)
	}
}

// InitThreadSafe is Init that returns its error. Any goroutine may then communicate: so it is after
// Init too (MPI 4.1, section 11.6).
func InitThreadSafe() error {
	w, err := fit.Init()
	if err != nil {
		return fmt.Errorf("mpi: Init: %w", err)
	}
	world.Store(w)
	return nil
}

// Finalize waits for all ranks and ends communication (MPI 4.1, section 11.2). Before Init it does
// nothing. An error is logged, as it has no other way out.
func Finalize() {
	if !IsOn() {
		return
	}
	if err := fit.Finalize(); err != nil {
		log.Println("mpi: Finalize:", err)
	}
}

// WorldRank is the number of this rank; 0 before Init.
func WorldRank() int {
	if w := world.Load(); w != nil {
		return w.Rank()
	}
	return 0
}

// WorldSize is how many ranks the job has; 1 before Init.
func WorldSize() int {
	if w := world.Load(); w != nil {
		return w.Size()
	}
	return 1
}

// Comm is a communicator. It is immutable after NewComm.
type Comm struct {
	c *fit.Comm // nil at a rank that is not in it
}

// NewComm is a communicator of all ranks, if ranks is empty, else of these, in this order. The
// first is local; the second is collective over all ranks of the job, with the same ranks, and
// blocks (MPI 4.1, section 7.4.2).
func NewComm(ranks []int) (*Comm, error) {
	w := world.Load()
	switch {
	case w == nil:
		return nil, told("NewComm", errNoInit)
	case len(ranks) == 0:
		return &Comm{w}, nil
	}
	g, err := w.Group().Incl(ranks...)
	if err != nil {
		return nil, told("NewComm", err)
	}
	c, err := w.Create(g)
	if err != nil {
		return nil, told("NewComm", err)
	}
	return &Comm{c}, nil
}

// Rank is the number of this rank in cm; -1 if it is not in it.
func (cm *Comm) Rank() int {
	if cm.c == nil {
		return -1
	}
	return cm.c.Rank()
}

// Size is how many ranks cm has; 0 at a rank that is not in it.
func (cm *Comm) Size() int {
	if cm.c == nil {
		return 0
	}
	return cm.c.Size()
}

// Abort ends the job, with exit code 1 (MPI 4.1, section 11.4.2).
func (cm *Comm) Abort() error {
	return cm.call("Abort", func(c *fit.Comm) error {
		c.Abort(1, "the program has called Abort")
		return nil
	})
}

// Barrier blocks until all ranks of cm have called it. Collective (MPI 4.1, section 6.3).
func (cm *Comm) Barrier() error { return cm.call("Barrier", fit.Barrier) }

// call makes a call of a rank that is in cm.
func (cm *Comm) call(name string, f func(c *fit.Comm) error) error {
	if cm.c == nil {
		return told(name, ErrNotMember)
	}
	return told(name, f(cm.c))
}

// told is err with the call that has it, logged if there is one and the program wants that.
func told(name string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("mpi: %s: %w", name, err)
	if LogErrors {
		log.Println(err)
	}
	return err
}
