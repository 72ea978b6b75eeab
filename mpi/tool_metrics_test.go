package mpi_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fitmpi/fitmpi/mpi"
)

// TestMetricsCollector: the ranks of a process go into one registry of the program's, and can be
// read there during the job and after it.
func TestMetricsCollector(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	sent := func() map[string]float64 {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "fitmpi_sent_messages_total" {
					for _, l := range m.GetLabel() {
						if l.GetName() == "rank" {
							n[l.GetValue()] += m.GetCounter().GetValue()
						}
					}
				}
			}
		}
		return n
	}
	var registered sync.WaitGroup
	registered.Add(2)
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		err := reg.Register(mpi.MetricsCollector(c))
		registered.Done()
		if err != nil {
			return err
		}
		registered.Wait()
		if c.Rank() == 0 {
			if got := sent(); len(got) != 2 || got["0"] != 0 {
				return fmt.Errorf("before anything is sent: %v", got)
			}
			return mpi.Send(c, []int64{1, 2}, 1, 0)
		}
		_, err = mpi.Recv(c, make([]int64, 2), 0, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := sent(); got["0"] < 1 {
		t.Errorf("after a message: %v", got)
	}
}

// A program with a registry of its own shows the counters of its rank there.
func ExampleMetricsCollector() {
	err := mpi.RunThreads(1, func(_ context.Context, world *mpi.Comm) error {
		reg := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
		if err := reg.Register(mpi.MetricsCollector(world)); err != nil {
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

// TestWithRegisterer: the name says what it does, and a registry's error is an error of the call.
func TestWithRegisterer(t *testing.T) {
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		reg := prometheus.NewPedanticRegistry()
		c.SetErrhandler(mpi.ErrorsReturn)
		if err := mpi.WithRegisterer(c, reg); err != nil {
			return err
		}
		if families, err := reg.Gather(); err != nil || len(families) < 40 {
			return fmt.Errorf("%d metrics: %v", len(families), err)
		}
		if err := mpi.WithRegisterer(c, reg); mpi.ClassOf(err) != mpi.ErrOther {
			return fmt.Errorf("twice: %v", err)
		}
		if err := mpi.WithRegisterer(c, nil); mpi.ClassOf(err) != mpi.ErrArg {
			return fmt.Errorf("no registry: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
