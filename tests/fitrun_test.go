package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// The fitrun that all tests start: built once, by the first that needs it, and removed by TestMain.

var fitrunDir string // where builtFitrun has put it, "" if it has not

// raceFlags build fitrun as this test is built.
var raceFlags = map[bool][]string{true: {"-race"}}[raceEnabled]

var builtFitrun = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fitmpi-tests-")
	if err != nil {
		return "", err
	}
	fitrunDir = dir
	path := filepath.Join(dir, "fitrun")
	if out, err := exec.Command("go", slices.Concat([]string{"build", "-buildvcs=false"}, raceFlags, []string{"-o", path, module + "/cmd/fitrun"})...).CombinedOutput(); err != nil {
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

func removeFitrun() {
	if fitrunDir != "" {
		os.RemoveAll(fitrunDir)
	}
}
