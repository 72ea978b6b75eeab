package mpi_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// BenchmarkShortCalls measures what the calls of two ranks for one message of 8 bytes in memory
// take of a processor. One goroutine makes them all, so that nothing waits and no cache line
// travels. Beside other work the mean says little:
//
//	quick-ns  a message of the tenth of all batches that were quickest
//
// docs/decisions/0083 quotes it.
func BenchmarkShortCalls(b *testing.B) {
	in, out, sent := make([]byte, 8), make([]byte, 8), 0
	for _, x := range []struct {
		name string
		do   func(to, from *mpi.Comm) error
	}{
		{"Irecv-Send-Wait", func(to, from *mpi.Comm) error {
			r := mpi.Irecv(to, in, 1, 0)
			if err := mpi.Send(from, out, 0, 0); err != nil {
				return err
			}
			_, err := r.Wait()
			return err
		}},
		{"Send-Irecv-Wait", func(to, from *mpi.Comm) error {
			if err := mpi.Send(from, out, 0, 0); err != nil {
				return err
			}
			_, err := mpi.Irecv(to, in, 1, 0).Wait()
			return err
		}},
		{"Send-Recv", func(to, from *mpi.Comm) error {
			if err := mpi.Send(from, out, 0, 0); err != nil {
				return err
			}
			_, err := mpi.Recv(to, in, 1, 0)
			return err
		}},
		{"Bcast", func(to, from *mpi.Comm) error {
			if sent++; sent%64 == 0 { // a root that takes no credit would wait for its receiver
				if _, _, err := mpi.Iprobe(from, 0, 0); err != nil {
					return err
				}
			}
			if err := mpi.Bcast(from, out, 1); err != nil {
				return err
			}
			return mpi.Bcast(to, in, 1)
		}},
	} {
		b.Run(x.name, func(b *testing.B) { driveBoth(b, x.do) })
	}
}

// driveBoth runs do with the worlds of two ranks, of the receiver and of the sender.
func driveBoth(b *testing.B, do func(to, from *mpi.Comm) error) {
	senders, over := make(chan *mpi.Comm, 1), make(chan struct{})
	err := mpi.RunThreads(2, func(_ context.Context, w *mpi.Comm) error {
		if w.Rank() == 1 {
			senders <- w
			<-over
			return nil
		}
		defer close(over)
		from := <-senders
		const batch = 1000
		var batches []float64
		began := time.Now()
		for n := 1; b.Loop(); n++ {
			if err := do(w, from); err != nil {
				return err
			}
			if n%batch == 0 {
				batches = append(batches, float64(time.Since(began))/batch)
				began = time.Now()
			}
		}
		slices.Sort(batches)
		if n := len(batches); n > 0 {
			b.ReportMetric(batches[n/10], "quick-ns")
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
