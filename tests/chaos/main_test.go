//go:build linux

package chaos

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
)

var (
	seedFlag = flag.Uint64("chaos.seed", 0, "seed of the first schedule; 0: some fixed ones")
	runsFlag = flag.Int("chaos.runs", 0, "number of schedules, from the seed on; 0: as -chaos.for says, else a few")
	modeFlag = flag.String("chaos.mode", "", "only the seeds of this mode: plain, resume, recover, both or restart")
	forFlag  = flag.Duration("chaos.for", 0, "draw schedules for as long")
)

func TestMain(m *testing.M) {
	if text := os.Getenv(envOrders); text != "" {
		rankMain(text)
		return
	}
	executable.HearSignals()
	goleak.VerifyTestMain(testMain{m})
}

// testMain removes what the tests have built before goroutines are counted.
type testMain struct{ *testing.M }

func (m testMain) Run() int {
	effort.Beside(6) // those that look at verdicts wait for most of their time
	defer func() {
		if fitrunDir != "" {
			os.RemoveAll(fitrunDir)
		}
	}()
	return m.M.Run()
}

var fitrunDir string // where builtFitrun has put it, "" if it has not

var builtFitrun = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "chaos-build-")
	if err != nil {
		return "", err
	}
	fitrunDir = dir
	path := filepath.Join(dir, "fitrun")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "github.com/fitmpi/fitmpi/cmd/fitrun").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building fitrun: %w\n%s", err, out)
	}
	return path, nil
})

func fitrunPath(t *testing.T) string {
	t.Helper()
	path, err := builtFitrun()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// since rounds what has passed.
func since(t time.Time) time.Duration { return time.Since(t).Round(time.Millisecond) }
