//go:build linux

package launch

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain also is what the ranks of run_test.go run.
func TestMain(m *testing.M) {
	if act := os.Getenv("LAUNCH_TEST_RANK"); act != "" {
		rankMain(act)
		return
	}
	goleak.VerifyTestMain(m)
}
