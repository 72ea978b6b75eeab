//go:build linux

package launch

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/internal/agent"
	"github.com/fitmpi/fitmpi/internal/crew"
)

// TestMain also is what the ranks of the jobs here run, and fitrun as an agent and as a guard.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == agent.Arg:
		os.Exit(agent.Main(os.Args[2:]))
	case len(os.Args) > 1 && os.Args[1] == crew.GuardArg:
		crew.GuardMain(os.Stdin)
		return
	case os.Getenv(fitrunVariable) != "":
		os.Exit(fitrunMain(os.Getenv(fitrunVariable)))
	case os.Getenv("LAUNCH_TEST_RANK") != "":
		rankMain(os.Getenv("LAUNCH_TEST_RANK"))
		return
	}
	goleak.VerifyTestMain(m)
}
