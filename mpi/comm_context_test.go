package mpi_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// TestContextIDs: the number of a communicator is the same at all of its ranks, and no other's.
func TestContextIDs(t *testing.T) {
	err := mpi.RunThreads(3, func(_ context.Context, c *mpi.Comm) error {
		dup, err := c.Dup(nil)
		if err != nil {
			return err
		}
		for _, x := range []*mpi.Comm{c, dup} {
			all, err := mpi.AllgatherValue(x, x.ContextID())
			if err != nil || slices.Max(all) != slices.Min(all) {
				return fmt.Errorf("%v, %w", all, err)
			}
		}
		if dup.ContextID() == c.ContextID() || c.Restarts() != 0 {
			return fmt.Errorf("a duplicate has number %d, as the original; the job was started anew %d times", dup.ContextID(), c.Restarts())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
