//go:build linux

package mpi

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// errDied is what the others hear of a rank that has called Die.
var errDied = errors.New("the rank has died, as its program wanted (Die)")

// Die ends the calling rank at once and without a word, as a crash does, so that a program can try
// how it recovers. It does not return. A rank of RunThreads is cut off from the others, which hear
// of its failure. The calling goroutine ends, deferred calls included; other goroutines of the rank
// get errors. Where the job does not tolerate failures ([Threads].FaultTolerant, FITMPI_FT=1) the
// job ends with an error. Any other rank kills its process by SIGKILL, with all its ranks. No
// counterpart in MPI.
func (c *Comm) Die() {
	j := c.job
	if j.session.Info().Source != sourceThreads {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // what could be wrong with it? The signal may take a moment
		select {}
	}
	refuseCallbacks() // it would wait for the engine, which waits for the function that has called it
	j.died.Store(true)
	j.mute.Store(true)
	j.mourn(errDied)
	_ = j.kill() // descriptors of an engine that is cut off: nothing is left to hear of an error
	runtime.Goexit()
}
