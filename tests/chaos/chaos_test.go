//go:build linux

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// TestChaos runs schedules: those of fixed seeds, or as the flags say.
func TestChaos(t *testing.T) {
	table := newTable()
	defer table.log(t)
	seed, began, few := *seedFlag, time.Now(), 3
	switch level := effort.Now(); {
	case level == effort.Short:
		few = 1
	case level > effort.Usual:
		few = 6
	}
	if seed == 0 {
		seed = 1
	}
	for k := 0; ; k++ {
		switch {
		case *forFlag > 0:
			if time.Since(began) > *forFlag {
				return
			}
		case k == max(*runsFlag, 1) && *seedFlag > 0, k == few && *seedFlag == 0:
			return
		}
		m := modeOf(seed + uint64(k))
		if *modeFlag != "" && *modeFlag != m.String() {
			continue
		}
		oneRun(t, table, newPlan(seed+uint64(k), m, 40))
	}
}

// oneRun runs a plan and classifies how it ends.
func oneRun(t *testing.T, table *table, p plan) {
	t.Helper()
	began := time.Now()
	r := runPlan(t, p, "", 0)
	v := r.classify()
	table.add(r, v)
	if len(v.bad) > 0 {
		os.WriteFile(filepath.Join(t.ArtifactDir(), fmt.Sprint("seed", p.seed)), []byte(r.out), 0o600)
		t.Errorf("%v\n%d faults were applied; the code is %d, %v after the last\n%s\nreplay with -run 'TestChaos$' -chaos.seed %d -chaos.runs 1\noutput:\n%s",
			&p, len(r.applied), r.code, r.ended, join(v.bad), p.seed, tail(r.out))
		return
	}
	if testing.Verbose() {
		t.Logf("%v\n%d faults; %s, code %d, %v after the last, %v in all", &p, len(r.applied), v.outcome, r.code, r.ended, since(began))
	}
}
