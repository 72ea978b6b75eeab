package mpi

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkWin is what an operation costs between two threads of a process, or at a rank's own
// window, directly and by messages: a Put or Get with what completes it, a Flush.
func BenchmarkWin(b *testing.B) {
	for _, way := range []string{"direct", "messages"} {
		for _, n := range []int{8, 1 << 20} {
			for _, name := range []string{"put", "get", "fetch"} {
				if name == "fetch" && n > 8 {
					continue
				}
				b.Run(fmt.Sprintf("%s/%s/%d", way, name, n), func(b *testing.B) { benchmarkWin(b, way == "direct", name, n) })
			}
		}
	}
}

func benchmarkWin(b *testing.B, direct bool, name string, n int) {
	err := RunThreads(2, func(_ context.Context, world *Comm) error {
		w, _, err := WinAllocate[int64](world, n/8, nil)
		if err != nil {
			return err
		}
		if !direct {
			clear(w.mates)
		}
		if err := Barrier(world); err != nil {
			return err
		}
		if world.Rank() == 0 {
			if err := originOfBench(b, w, name, make([]int64, n/8)); err != nil {
				return err
			}
		}
		return w.Free()
	})
	if err != nil {
		b.Fatal(err)
	}
}

func originOfBench(b *testing.B, w *Win, name string, buf []int64) error {
	if err := w.Lock(LockShared, 1, 0); err != nil {
		return err
	}
	b.SetBytes(int64(8 * len(buf)))
	for b.Loop() {
		var err error
		switch name {
		case "put":
			err = Put(w, buf, 1, 0)
		case "get":
			err = Get(w, buf, 1, 0)
		default:
			err = FetchAndOp(w, 1, &buf[0], 1, 0, Sum[int64])
		}
		if err == nil {
			err = w.Flush(1)
		}
		if err != nil {
			return err
		}
	}
	return w.Unlock(1)
}
