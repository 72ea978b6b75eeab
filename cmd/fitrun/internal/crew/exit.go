//go:build linux

package crew

import (
	"fmt"
	"syscall"
)

// Exit is how a process ended.
type Exit struct {
	Code   int            // if Signal is 0
	Signal syscall.Signal // that killed it, or 0
	Core   bool           // it left a core dump
	Ended  bool           // it was still running when it was signalled by Crew.Signal, so its end says nothing about it
	Last   []string       // the last lines that it wrote to stderr
	Cause  string         // that of them by which a Go program says why it dies, "" if there is none
}

// optionOf are the options of ulimit whose limits the kernel enforces by signals.
var optionOf = map[syscall.Signal]string{syscall.SIGXFSZ: ": ulimit -f", syscall.SIGXCPU: ": ulimit -t"}

// Status is e as a shell would put it.
func (e Exit) Status() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return e.Code
}

func (e Exit) String() string {
	switch {
	case e.Signal != 0 && e.Core:
		return fmt.Sprintf("was killed by signal %d (%v), core dumped", int(e.Signal), e.Signal)
	case e.Signal != 0:
		return fmt.Sprintf("was killed by signal %d (%v%s)", int(e.Signal), e.Signal, optionOf[e.Signal])
	default:
		return fmt.Sprintf("exited with code %d", e.Code)
	}
}
