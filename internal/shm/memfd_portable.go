//go:build !linux || fitmpi_portable

package shm

import (
	"errors"
	"os"
)

// Processes share no memory here, so no file of ours is ever made, and none can be opened.

// errNoSharing says why.
var errNoSharing = errors.New("FitMPI shares memory between processes on Linux only: here the ranks of a job are threads of one process")

func createMemfd(string) (*os.File, error)    { return nil, errNoSharing }
func seal(*os.File) error                     { return errNoSharing }
func checkSeals(*os.File) error               { return errNoSharing }
func mapShared(*os.File, int) ([]byte, error) { return nil, errNoSharing }
func unmap([]byte) error                      { return errNoSharing }

// Borrow fails: no process lends anything.
func Borrow(Loan) (*os.File, error) { return nil, errNoSharing }

// Join permits nothing: no process reads the memory of another.
func Join(*Block, bool) {}

// Probe fails: no process reads the memory of another.
func Probe(*Block) error { return errNoSharing }

// ReadsFast reports that no process reads the memory of another.
func ReadsFast() bool { return false }

// Part is a piece of another process's memory that is to be copied.
type Part struct {
	Dst  []byte // where to; not empty
	Addr uint64
	Err  error // what ReadParts says of it
}

// ReadParts says of each part that it cannot be read.
func ReadParts(_ int, parts []Part) {
	for i := range parts {
		parts[i].Err = errNoSharing
	}
}
