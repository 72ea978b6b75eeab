//go:build linux

package mpi

import (
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

func hostname() string { return sys.Hostname() }

// ProcessorName is the name of the host that the calling rank of c runs on
// (MPI 4.1, section 9.1.2).
func ProcessorName(c *Comm) string { return c.job.host }

var timeBase = time.Now()

// Wtime is the time in seconds since some moment in the past, by a clock that
// never goes back (MPI 4.1, section 9.6).
func Wtime() float64 { return time.Since(timeBase).Seconds() }

// Wtick is the resolution of Wtime in seconds (MPI 4.1, section 9.6).
func Wtick() float64 { return 1e-9 }
