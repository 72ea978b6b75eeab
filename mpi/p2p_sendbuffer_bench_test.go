package mpi_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// BenchmarkSendBuffer measures what the library send buffer buys: a sender makes
// bursts of 8 MiB in messages of one size, to a receiver that is busy meanwhile.
//
//	send-us   time in all Sends of a burst
//	burst-ms  from the first Send to the end of the burst at the receiver
//
// docs/decisions/0004 quotes it.
func BenchmarkSendBuffer(b *testing.B) {
	const burst = 8 << 20
	for _, size := range []int{16 << 10, 256 << 10, 2 << 20} {
		for _, buffer := range []int{1, 2, 4, 8, 16, 32} {
			b.Run(fmt.Sprintf("message=%dK/buffer=%dM", size>>10, buffer), func(b *testing.B) {
				b.Setenv("FITMPI_SEND_BUFFER", fmt.Sprintf("%dM", buffer))
				b.SetBytes(burst)
				var inSend, whole time.Duration
				err := mpi.RunThreads(2, func(_ context.Context, w *mpi.Comm) error {
					return bursts(b, w, size, burst/size, &inSend, &whole)
				})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(inSend.Microseconds())/float64(b.N), "send-us")
				b.ReportMetric(float64(whole.Microseconds())/float64(b.N)/1e3, "burst-ms")
			})
		}
	}
}

// bursts runs b.N bursts; rank 0 sends.
func bursts(b *testing.B, w *mpi.Comm, size, count int, inSend, whole *time.Duration) error {
	buf := make([]byte, size)
	for range b.N {
		if err := mpi.Barrier(w); err != nil {
			return err
		}
		start := time.Now()
		for range count {
			if w.Rank() == 0 {
				if err := mpi.Send(w, buf, 1, 0); err != nil {
					return err
				}
			}
		}
		if w.Rank() == 0 {
			*inSend += time.Since(start)
			if _, err := mpi.Recv(w, buf[:0], 1, 1); err != nil {
				return err
			}
			*whole += time.Since(start)
			continue
		}
		for time.Since(start) < 5*time.Millisecond { // the receiver computes
		}
		for range count {
			if _, err := mpi.Recv(w, buf, 0, 0); err != nil {
				return err
			}
		}
		if err := mpi.Send(w, buf[:0], 0, 1); err != nil {
			return err
		}
	}
	return nil
}
