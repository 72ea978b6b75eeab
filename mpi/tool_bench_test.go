package mpi_test

import (
	"context"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// BenchmarkCall is what a call costs that does nothing else: without a tool to tell, and with a
// tool that does nothing.
func BenchmarkCall(b *testing.B) {
	for _, test := range []struct {
		name   string
		attach func(mpi.ToolRank) mpi.Tool
	}{
		{"alone", func(mpi.ToolRank) mpi.Tool { return nil }},
		{"told", func(mpi.ToolRank) mpi.Tool { return idle{} }},
	} {
		b.Run(test.name, func(b *testing.B) {
			defer mpi.UseTool(test.attach)()
			err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
				r := mpi.Isend(c, []int{1}, mpi.ProcNull, 0)
				b.ResetTimer()
				for b.Loop() {
					if _, err := r.Wait(); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkSelf is a short message of a rank to itself, there and taken: two calls and five events
// of messages.
func BenchmarkSelf(b *testing.B) {
	for _, test := range []struct {
		name   string
		attach func(mpi.ToolRank) mpi.Tool
	}{
		{"alone", func(mpi.ToolRank) mpi.Tool { return nil }},
		{"told", func(mpi.ToolRank) mpi.Tool { return idle{} }},
	} {
		b.Run(test.name, func(b *testing.B) {
			defer mpi.UseTool(test.attach)()
			err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
				out, in := make([]byte, 8), make([]byte, 8)
				for b.Loop() {
					if _, err := mpi.Sendrecv(c, out, 0, 0, in, 0, 0); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
