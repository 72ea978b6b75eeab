//go:build !linux || fitmpi_portable

package boot

import (
	"errors"
	"fmt"
	"net"
)

// errNeedsLinux says why a process cannot be a rank of a launcher's job.
const errNeedsLinux = "FitMPI joins the jobs of launchers on Linux only; here %s runs ranks as threads of one process (%s=none: this process is a job of its own)"

// findOther refuses to be a rank of a job that a launcher has started: without Linux its ranks
// would not find each other, and each would take itself for a job of one.
func findOther(environ []string) (Session, error) {
	c, err := claimHere(environ)
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return newSingle("none"), nil
	case c.size > 1:
		return nil, fmt.Errorf("boot: %s=%d and %s=%d are set: "+errNeedsLinux, c.rankVar, c.rank, c.sizeVar, c.size, RanksVariable, envLauncher)
	}
	return newSingle(c.source), nil
}

// claimHere is what a launcher says of this process, nil if none does.
func claimHere(environ []string) (*claim, error) {
	wanted, err := wantedSource(environ)
	if err != nil || wanted == "none" {
		return nil, err
	}
	if _, ok := lookup(environ, envPMIPort); ok && (wanted == "" || wanted == "pmi") {
		return nil, fmt.Errorf("boot: %s is set: "+errNeedsLinux, envPMIPort, RanksVariable, envLauncher)
	}
	return findClaim(environ, wanted, nil)
}

// otherRanks is RanksHere without fitrun.
func otherRanks(environ []string) int {
	if c, err := claimHere(environ); err == nil && c == nil {
		return 0
	}
	return 1 // FindAll says what is wrong
}

// inherit takes over a socket of fitrun, which there is on Linux only.
func inherit(string, string) (net.Conn, error) {
	return nil, errors.New("fitrun and its ranks run on Linux only")
}
