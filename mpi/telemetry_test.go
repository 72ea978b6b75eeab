//go:build linux

package mpi

import (
	"context"
	"slices"
	"testing"
)

// A rank with more peers than a report has room for tells of all of them in some reports.
func TestTrafficTakesTurns(t *testing.T) {
	err := RunThreads(5, func(_ context.Context, c *Comm) error {
		if err := Alltoall(c, make([]int, 5), make([]int, 5)); err != nil {
			return err
		}
		var told []int
		for range 3 {
			ps := c.job.traffic(2)
			if len(ps) != 2 {
				t.Errorf("rank %d tells of %d peers, want 2", c.Rank(), len(ps))
			}
			for _, p := range ps {
				told = append(told, p.Rank)
			}
		}
		slices.Sort(told)
		if told = slices.Compact(told); len(told) < 4 {
			t.Errorf("rank %d has told of %v only", c.Rank(), told)
		}
		if all := c.job.traffic(mostPeers); len(all) < 4 {
			t.Errorf("rank %d tells of %d peers, want all", c.Rank(), len(all))
		}
		return Barrier(c)
	})
	if err != nil {
		t.Error(err)
	}
}
