//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// findPace is how many steps of work a millisecond has on a core of this machine: the most that
// fitbench finds in a few runs. Every contender is told it, so that all do the same work: each by
// itself would find another pace, by some percent, as the clock of its core goes then.
func findPace(ctx context.Context, bin string) (int, error) {
	const (
		runs  = 3
		limit = 20 * time.Second
	)
	line := strings.Fields("solve -ranks 2 -case work-1 -sizes 1M -iterations 1 -warmup 0 -csv") // its work is a millisecond
	most := 0
	for range runs {
		out, err := execute(ctx, append([]string{filepath.Join(bin, "fitbench")}, line...), nil, limit)
		if err != nil {
			return 0, fmt.Errorf("calibrate the work of test solve: %w", err)
		}
		steps, err := stepsIn(out)
		if err != nil {
			return 0, err
		}
		most = max(most, steps)
	}
	return most, nil
}

// stepsIn finds the steps of the work in what fitbench wrote.
func stepsIn(out string) (int, error) {
	rows, err := parseCSV(out)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(rows, func(r bench.Row) bool { return r.Measure == "steps" && r.Median >= 1 })
	if i < 0 {
		return 0, errors.New("fitbench solve does not say how many steps its work has")
	}
	return int(rows[i].Median), nil
}

// needsPace reports whether any of the experiments tells its contenders the pace of work.
func needsPace(list []*experiment) bool {
	return slices.ContainsFunc(list, func(e *experiment) bool { return strings.Contains(e.args, "{pace}") })
}
