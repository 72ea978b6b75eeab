package mpi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// TestAgreeMany: agreements of many thread ranks, several outstanding, on two communicators at
// once.
func TestAgreeMany(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8, 16} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			err := RunThreads(n, func(_ context.Context, c *Comm) error {
				for k := range 20 {
					got, err := c.Agree(^(1 << c.Rank()) &^ (k << 32))
					if want := ^(1<<n - 1) &^ (k << 32); err != nil || got != want {
						return fmt.Errorf("Agree gives %x, %v, want %x", got, err, want)
					}
				}
				d, err := c.Shrink()
				if err != nil || d.Size() != n || d.Rank() != c.Rank() {
					return fmt.Errorf("Shrink gives %v, %v", d, err)
				}
				flags := make([]int, 10)
				var rs []*Request
				for i := range flags {
					flags[i] = ^(1 << (c.Rank() + i))
					on := c
					if i%2 == 1 {
						on = d
					}
					rs = append(rs, on.Iagree(&flags[i]))
				}
				_, err = WaitAll(rs...)
				for i, f := range flags {
					if want := ^((1<<n - 1) << i); f != want {
						err = errors.Join(err, fmt.Errorf("Iagree %d gives %x, want %x", i, f, want))
					}
				}
				return errors.Join(err, Barrier(d))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAgreePending: a report on an agreement says which ranks it waits for: those that have not
// called it, and those through which their answers come.
func TestAgreePending(t *testing.T) {
	want := map[int][]int{0: {1, 3}, 1: {3}, 2: {0}}
	err := RunThreads(4, func(_ context.Context, c *Comm) error {
		var flag int
		var r *Request
		if want := want[c.Rank()]; want != nil {
			r = c.Iagree(&flag)
			for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
				p := c.job.report(telemetry.AskPending).Pending
				i := slices.IndexFunc(p.Operations, func(o telemetry.Operation) bool { return o.Kind == telemetry.Agreement })
				if i >= 0 && slices.Equal(p.Operations[i].From, want) && p.Operations[i].Op == "Iagree" && p.Operations[i].Comm == p.Comms[0].Context {
					break
				}
				if time.Now().After(end) {
					return fmt.Errorf("rank %d reports %+v, want one that waits for %v", c.Rank(), p.Operations, want)
				}
			}
		}
		if err := Barrier(c); err != nil {
			return err
		}
		if r == nil {
			r = c.Iagree(&flag)
		}
		_, err := r.Wait()
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
