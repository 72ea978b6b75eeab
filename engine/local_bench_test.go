//go:build linux && !fitmpi_portable

package engine

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// BenchmarkLocal is the half round trip between two ranks of a host that poll, as
// launchers configure them: a P for each worker, and time to spin.
func BenchmarkLocal(b *testing.B) {
	defer func() { wayUnderTest = TCP }()
	for _, w := range []Way{Thread, Shared} {
		for _, n := range []int{8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20, 16 << 20} {
			wayUnderTest = w
			b.Run(fmt.Sprintf("%v/%d", w, n), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4)) // here: Run sets it anew
				es := pair(b, Assist, func(c *Config) { c.KeepP, c.Spin = true, 200*time.Microsecond })
				var wg sync.WaitGroup
				wg.Go(func() { answer(es[1], n) })
				buf := make([]byte, n)
				in := &MSO{Kind: KindRecv, Peer: 1, Tag: 1, Buf: make([]byte, n)}
				out := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: buf}
				for b.Loop() {
					out.Reset()
					es[0].Post(out, Returns)
					es[0].Wait(out)
					in.Reset()
					es[0].Post(in, Waits)
					es[0].Wait(in)
				}
				half := float64(b.Elapsed().Nanoseconds()) / float64(2*b.N)
				b.ReportMetric(half, "ns/half")
				b.ReportMetric(float64(n)/half, "GB/s")

				send(es[0], nil, 1, 2)
				wg.Wait()
			})
		}
	}
}
