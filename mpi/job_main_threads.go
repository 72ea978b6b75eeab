package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/shm"
)

// Main of a process that no launcher has started, whose ranks are to be its threads.

// mainState is how far such a Main is.
var mainState atomic.Int32

const (
	mainNone = iota // it was not called
	mainRuns
	mainOver // it has returned
)

func errMainTwice() *Error { return opErrorf(ErrOther, "Main", "called after Init, or twice") }

// ranksAsked is how many ranks the user wants in this process, 0 if a launcher has started it or
// nothing is said.
func ranksAsked() (int, error) {
	s := os.Getenv(boot.RanksVariable)
	if s == "" || RanksHere() > 0 {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > shm.MaxRanks {
		return 0, fmt.Errorf("mpi: %s=%.40s: want the number of ranks of this process, 1 to %d", boot.RanksVariable, s, shm.MaxRanks)
	}
	return n, nil
}

// mainThreads runs fn as n ranks. It returns if all went well.
func mainThreads(n int, fn func(ctx context.Context, world *Comm) error) {
	if err := beginMain(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	onSignalThreads(cancel)
	err := Threads{Ranks: n}.Run(ctx, fn)
	mainState.Store(mainOver)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fitmpi:", err)
		os.Exit(exitCodeOf(err))
	}
}

// beginMain makes sure that there is one Main and no Init.
func beginMain() error {
	processMu.Lock()
	defer processMu.Unlock()
	if Initialized() {
		return errMainTwice()
	}
	mainState.Store(mainRuns)
	return nil
}

// signalError is the end of a job by a signal to its process.
type signalError struct{ sig os.Signal }

func (e *signalError) Error() string { return fmt.Sprintf("signal: %v", e.sig) }

// code is the exit code of a process that such a signal has ended.
func (e *signalError) code() int {
	n, _ := e.sig.(syscall.Signal)
	return 128 + int(n)
}

// onSignalThreads ends the ranks on SIGINT and SIGTERM, and the process if the program does not
// return soon.
func onSignalThreads(cancel context.CancelCauseFunc) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	go func() { // ends with the process
		err := &signalError{<-c}
		cancel(err)
		time.Sleep(exitGrace)
		fmt.Fprintf(os.Stderr, "fitmpi: %v, and the program has not returned in %v\n", err, exitGrace)
		os.Exit(err.code())
	}()
}

// exitCodeOf is the exit code of a process whose ranks have ended with an error.
func exitCodeOf(err error) int {
	if aborted, ok := errors.AsType[*abortedError](err); ok {
		return aborted.code
	}
	if sig, ok := errors.AsType[*signalError](err); ok {
		return sig.code()
	}
	return 1
}
