package mpi_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// SendrecvReplace copies what it sends, not what lies between.
func TestReplaceMemory(t *testing.T) {
	effort.Need(t, effort.Usual, "it moves hundreds of megabytes")
	const run, stride, n = 1000, 16_000, 4_000_000
	span := n / run * stride
	strided := mpi.Resized(mpi.Vector(n/run, run, stride, mpi.TypeOf[byte]()), 0, span)
	got := allocated(t, func(c *mpi.Comm) func() error {
		buf := bytes.Repeat([]byte{byte(c.Rank())}, span)
		left, right := (c.Rank()+memoryRanks-1)%memoryRanks, (c.Rank()+1)%memoryRanks
		return func() error {
			if _, err := mpi.SendrecvReplace(c.WithType(strided), buf, right, 0, left, 0); err != nil {
				return err
			}
			if last := span - stride; buf[last] != byte(left) || buf[last+run] != byte(c.Rank()) {
				return fmt.Errorf("rank %d has %d of rank %d, and %d behind it", c.Rank(), buf[last], left, buf[last+run])
			}
			return nil
		}
	})
	if limit := uint64(n + 2<<20); got > limit {
		t.Errorf("a rank allocates %d bytes for a message of %d in %d: want at most %d", got, n, span, limit)
	}
}
