package mpi_test

import (
	"context"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// "cancel_fn ... complete = true if MPI_GREQUEST_COMPLETE was already called on the request, and
// complete = false otherwise" (MPI 4.1, section 13.2). Once the request is completed there is
// nothing to cancel.
func TestCancelGeneralised(t *testing.T) {
	var told []bool
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		r := c.GrequestStart(mpi.GeneralCallbacks{Cancel: func(complete bool) error { told = append(told, complete); return nil }})
		for _, step := range []func() error{r.Cancel, r.Complete, r.Cancel, func() error { return second(r.Wait()) }, r.Cancel} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !slices.Equal(told, []bool{false, true}) {
		t.Errorf("%v, %v", told, err)
	}
}
