package mpi

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// BenchmarkAgree compares an agreement with an Allreduce of one number and a Barrier, in turn, so
// that what disturbs one disturbs all.
func BenchmarkAgree(b *testing.B) {
	for _, n := range []int{2, 3, 4, 8, 16, 32, 64} {
		b.Run(fmt.Sprint("ranks=", n), func(b *testing.B) {
			const batch = 20
			var agree, reduce, barrier time.Duration
			rounds := 0
			err := RunThreads(n, func(_ context.Context, c *Comm) error {
				in, out, more := []int{1}, []int{0}, []int{1}
				for {
					if c.Rank() == 0 && !b.Loop() {
						more[0] = 0
					}
					if err := Bcast(c, more, 0); err != nil || more[0] == 0 {
						return err
					}
					begin := time.Now()
					for range batch {
						if _, err := c.Agree(1); err != nil {
							return err
						}
					}
					middle := time.Now()
					for range batch {
						if err := Allreduce(c, in, out, Sum); err != nil {
							return err
						}
					}
					end := time.Now()
					for range batch {
						if err := Barrier(c); err != nil {
							return err
						}
					}
					if c.Rank() == 0 {
						agree += middle.Sub(begin)
						reduce += end.Sub(middle)
						barrier += time.Since(end)
						rounds += batch
					}
				}
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(agree.Nanoseconds())/float64(rounds), "ns/Agree")
			b.ReportMetric(float64(reduce.Nanoseconds())/float64(rounds), "ns/Allreduce")
			b.ReportMetric(float64(barrier.Nanoseconds())/float64(rounds), "ns/Barrier")
			b.ReportMetric(float64(agree)/float64(reduce), "ratio")
			b.ReportMetric(float64(agree)/float64(barrier), "to-Barrier")
		})
	}
}
