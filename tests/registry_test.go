//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fitmpi/fitmpi/metrics"
	"github.com/fitmpi/fitmpi/mpi"
)

// TestMetricsRegister: the ranks of a process go into one registry of the program's, and can be
// read there during the job and after it.
func TestMetricsRegister(t *testing.T) {
	t.Parallel()
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
		err := metrics.Register(c.Counters(), reg)
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

// TestMetricsRegisterError: a registry's error is that of the call, and so is that there is none.
func TestMetricsRegisterError(t *testing.T) {
	t.Parallel()
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		reg := prometheus.NewPedanticRegistry()
		if err := metrics.Register(c.Counters(), reg); err != nil {
			return err
		}
		if families, err := reg.Gather(); err != nil || len(families) < 40 {
			return fmt.Errorf("%d metrics: %v", len(families), err)
		}
		if err := metrics.Register(c.Counters(), reg); !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
			return fmt.Errorf("twice: %v", err)
		}
		if err := metrics.Register(c.Counters(), nil); err == nil {
			return errors.New("no registry, and no error")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
