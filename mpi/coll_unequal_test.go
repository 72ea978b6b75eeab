package mpi

import (
	"context"
	"testing"
)

// TestAlltoallvUnequal: a receiver that expects another length than the one that comes is told. It
// is told although long blocks go in pieces of which some are equally long.
func TestAlltoallvUnequal(t *testing.T) {
	const mebi = 1 << 20
	for _, tc := range []struct{ sent, expected int }{
		{2 * mebi, mebi}, {mebi, 2 * mebi}, {3 * mebi, 2 * mebi}, {2 * mebi, 3 * mebi}, {2*mebi + 1, 2 * mebi}, {2 * mebi, 2*mebi + 1},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		err := RunThreads(2, func(_ context.Context, c *Comm) error {
			c.SetErrhandler(ErrorsReturn)
			buf, none := make([]byte, max(tc.sent, tc.expected)), []int{0, 0}
			if c.Rank() == 0 {
				_ = Alltoallv(c.WithContext(ctx), buf[:tc.sent], []int{0, tc.sent}, nil, nil, none, nil) // perhaps no receive takes the rest
				return nil
			}
			defer cancel()
			err := Alltoallv(c, nil, none, nil, buf[:tc.expected], []int{tc.expected, 0}, nil)
			if ClassOf(err) != ErrTruncate {
				t.Errorf("%d bytes were sent, %d expected: %v", tc.sent, tc.expected, err)
			}
			return nil
		})
		cancel()
		if err != nil {
			t.Error(err)
		}
	}
}
