//go:build linux

package executable

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// TestWriteBesideForks: what was written runs, although processes are started all the time.
func TestWriteBesideForks(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts many processes")
	var stop atomic.Bool
	var starters sync.WaitGroup
	for range 4 {
		starters.Go(func() {
			for !stop.Load() {
				if err := exec.Command("true").Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	dir := t.TempDir()
	for i := range 300 {
		path := filepath.Join(dir, strconv.Itoa(i))
		Write(t, path, "#!/bin/sh\n")
		if err := exec.Command(path).Run(); err != nil {
			t.Errorf("program %d: %v", i, err)
			break
		}
	}
	stop.Store(true)
	starters.Wait()
}
