//go:build linux && !fitmpi_portable

package metrics_test

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fitmpi/fitmpi/metrics"
	"github.com/fitmpi/fitmpi/mpi"
)

// A program with a registry of its own shows the counters of its rank there.
func ExampleRegister() {
	err := mpi.RunThreads(1, func(_ context.Context, world *mpi.Comm) error {
		reg := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
		if err := metrics.Register(world.Counters(), reg); err != nil {
			return err
		}
		families, err := reg.Gather()
		fmt.Println(len(families) > 40)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: true
}
