// Package timing is for examples that other programs time: with -time N an example does its
// computation N times and prints a line for each, in a form that is made to be read by programs.
// bench/compare puts them beside the lines of programs in C that do the same (bench/peers/apps),
// which print the same form. A line says how long the computation took, without the making of its
// input, and what came out: programs whose answers differ have not done the same.
package timing

import (
	"fmt"
	"io"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// Ways are the two ways in which an example exchanges.
const (
	Overlap  = "overlap"  // messages move while the ranks compute, as far as the library can do that
	Blocking = "blocking" // messages have arrived before the ranks compute
)

// Both are the ways of an example that has both, in the order in which it takes turns with them.
var Both = []string{Overlap, Blocking}

// Line is what an example says of one computation.
type Line struct {
	Program string // its name
	Size    int    // of the problem, in the program's own unit
	Way     string // Overlap or Blocking
	Answer  Hash   // of a result that must be the same to the last bit, wherever it is computed
	Value   float64
	// Value is a number that depends on all of a result which is the same but for rounding; 0 if
	// Answer says it all.
}

// Clock times what all ranks of a communicator do together. The goroutine that started it owns it.
type Clock struct {
	comm   *mpi.Comm
	began  time.Time
	took   time.Duration
	waited time.Duration
}

// Start waits until all ranks of c are here, and starts a clock on each. It is collective over c.
func Start(c *mpi.Comm) (*Clock, error) {
	if err := mpi.Barrier(c); err != nil {
		return nil, err
	}
	return &Clock{comm: c, began: time.Now()}, nil
}

// Stop ends the time of this rank. waited is how much of it the rank has spent in calls that wait
// for messages.
func (k *Clock) Stop(waited time.Duration) { k.took, k.waited = time.Since(k.began), waited }

// Report writes l with the times of the slowest rank to w. It is collective over the communicator
// of the clock, on all ranks of which Stop was called; only rank 0 writes, and only there l and w
// matter.
func (k *Clock) Report(w io.Writer, l Line) error {
	t := []int64{int64(k.took), int64(k.waited)}
	if err := mpi.Reduce(k.comm, t, t, mpi.Max, 0); err != nil || k.comm.Rank() != 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "time %s ranks=%d size=%d way=%s seconds=%.9f waited=%.9f answer=%016x value=%.17g\n",
		l.Program, k.comm.Size(), l.Size, l.Way, time.Duration(t[0]).Seconds(), time.Duration(t[1]).Seconds(), uint64(l.Answer), l.Value)
	return err
}
