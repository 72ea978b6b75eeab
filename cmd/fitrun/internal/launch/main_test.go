//go:build linux

package launch

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/agent"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
)

// TestMain also is what the ranks of the jobs here run, and fitrun as an agent and as a guard.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == agent.Arg:
		os.Exit(agent.Main(os.Args[2:]))
	case len(os.Args) > 1 && os.Args[1] == crew.GuardArg:
		crew.GuardMain(os.Stdin)
		return
	case filepath.Base(os.Args[0]) == "lines":
		passLines()
		return
	case os.Getenv(fitrunVariable) != "":
		os.Exit(fitrunMain(os.Getenv(fitrunVariable)))
	case os.Getenv("LAUNCH_TEST_RANK") != "":
		rankMain(os.Getenv("LAUNCH_TEST_RANK"))
		return
	}
	executable.HearSignals()
	effort.Beside(8)
	goleak.VerifyTestMain(m)
}

// passLines copies standard input to standard output, each line when it is complete.
func passLines() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		os.Stdout.Write(line)
	}
}
