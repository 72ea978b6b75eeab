package calls

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// world is what MPI_Init makes.
type world struct {
	world, self *comm
	main        int // thread of the system that has initialized
}

// theWorld is nil before MPI_Init and after MPI_Finalize.
var theWorld atomic.Pointer[world]

// States of the world, as fitmpi.h has them.
const (
	stateBefore = iota
	stateInitialized
	stateFinalized
)

// mustBeCallable ends the call, and the process, if MPI is not initialized or is finalized, unless
// the function may be called at any time.
func (c *call) mustBeCallable() {
	if theWorld.Load() != nil || openSessions.Load() > 0 || anytime[c.id] || isTool[c.id] {
		return
	}
	when := "before MPI_Init"
	if shared.state().Load() == stateFinalized {
		when = "after MPI_Finalize"
	}
	fmt.Fprintf(os.Stderr, "fitmpi: %s: called %s\n", c.name(), when)
	os.Exit(1)
}

// anytime are the functions that may be called before and after MPI is used, and those that start
// it.
var anytime = map[procedure.ID]bool{}

func init() {
	for _, id := range []procedure.ID{
		procedure.Init, procedure.InitThread, procedure.SessionInit, procedure.GetLibraryVersion,
		procedure.ErrhandlerFree, procedure.ErrorClass, procedure.ErrorString, procedure.AddErrorClass, procedure.AddErrorCode,
		procedure.AddErrorString, procedure.RemoveErrorClass, procedure.RemoveErrorCode, procedure.RemoveErrorString,
		procedure.SessionCallErrhandler, procedure.SessionCreateErrhandler, procedure.AbiGetInfo,
	} {
		anytime[id] = true
	}
	register(procedure.Init, func(c *call) error { _, err := initialize(mpi.ThreadSingle); return err })
	register(procedure.InitThread, initThread)
	register(procedure.Finalize, finalize)
	register(procedure.QueryThread, func(c *call) error { c.setInt(0, levels[provided]); return nil })
	register(procedure.IsThreadMain, func(c *call) error { c.setBool(0, theWorld.Load().main == threadID()); return nil })
	register(procedure.Abort, abort)
	register(procedure.GetLibraryVersion, func(c *call) error {
		c.setText(0, mpi.LibraryVersion()+" (C, standard ABI)", abi.MaxLibraryVersionString, 1)
		return nil
	})
	register(procedure.GetProcessorName, func(c *call) error {
		c.setText(0, theWorld.Load().world.ProcessorName(), abi.MaxProcessorName, 1)
		return nil
	})
}

// levels are the levels of threads as the ABI has them.
var levels = map[mpi.ThreadLevel]int{
	mpi.ThreadSingle: abi.ThreadSingle, mpi.ThreadFunneled: abi.ThreadFunneled,
	mpi.ThreadSerialized: abi.ThreadSerialized, mpi.ThreadMultiple: abi.ThreadMultiple,
}

var (
	startMu  sync.Mutex
	provided mpi.ThreadLevel // guarded by startMu until there is a world
)

func initThread(c *call) error {
	level := mpi.ThreadMultiple
	for l, n := range levels {
		if n == c.int(2) {
			level = l
		}
	}
	got, err := initialize(level)
	if err == nil {
		c.setInt(3, levels[got])
	}
	return err
}

func initialize(level mpi.ThreadLevel) (mpi.ThreadLevel, error) {
	startMu.Lock()
	defer startMu.Unlock()
	if shared.state().Load() != stateBefore {
		return 0, failf(abi.ErrOther, "called twice, or after MPI_Finalize")
	}
	w, got, err := mpi.InitThread(level)
	if err != nil {
		return 0, err
	}
	w.SetErrhandler(mpi.ErrorsReturn[*mpi.Comm])
	w.Self().SetErrhandler(mpi.ErrorsReturn[*mpi.Comm])
	provided = got
	progressAlone.Store(hasWorker(w))
	joins(w)
	theWorld.Store(&world{
		world: predefinedComm(abi.CommWorld, w, "MPI_COMM_WORLD"), self: predefinedComm(abi.CommSelf, w.Self(), "MPI_COMM_SELF"),
		main: threadID(),
	})
	shared.state().Store(stateInitialized)
	return got, nil
}

// hasWorker reports whether the rank makes progress while no call does.
func hasWorker(w *mpi.Comm) bool {
	return slices.ContainsFunc(w.Variables(), func(v mpi.Variable) bool { return v.Name == "FITMPI_PROGRESS" && v.Value != "caller" })
}

// finalize deletes the attributes of MPI_COMM_SELF first, while all works (MPI 5.0, section
// 11.2.4).
func finalize(c *call) error {
	w := theWorld.Load()
	if err := w.self.attrs.clear(w.self.h); err != nil {
		return err
	}
	if err := w.world.attrs.clear(w.world.h); err != nil {
		return err
	}
	c.on = w.world
	if err := mpi.Finalize(); err != nil {
		return err
	}
	theWorld.Store(nil)
	shared.state().Store(stateFinalized)
	return nil
}

func abort(c *call) error {
	m, code := c.comm(0), c.int(1)
	m.Abort(code, fmt.Sprintf("MPI_Abort was called with code %d", code))
	os.Exit(code)
	return nil
}
