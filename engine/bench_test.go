//go:build linux && !fitmpi_portable

package engine

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pair is a job of two for a benchmark, connected.
func pair(b *testing.B, p Policy, tune func(*Config)) []*Engine {
	es := job(b, 2, p, tune)
	var wg sync.WaitGroup
	for r, e := range es {
		wg.Go(func() {
			m := &MSO{Kind: KindRecv, Peer: PeerID(1 - r), Tag: 1}
			e.Post(m, Computes)
			send(e, nil, PeerID(1-r), 1)
			e.Wait(m)
		})
	}
	wg.Wait()
	return es
}

func benchPolicies(b *testing.B, f func(b *testing.B, p Policy)) {
	defer func() { wayUnderTest = TCP }()
	for _, p := range []Policy{Worker, Assist, Caller} {
		for _, w := range []Way{TCP, Thread, Shared} {
			wayUnderTest = w
			b.Run(p.String()+"-"+w.String(), func(b *testing.B) { f(b, p) })
		}
	}
}

// answer echoes n bytes until it gets a message with tag 2.
func answer(e *Engine, n int) {
	buf := make([]byte, n)
	in := &MSO{Kind: KindRecv, Peer: 0, Tag: AnyTag, Buf: buf}
	out := &MSO{Kind: KindSend, Peer: 0, Tag: 1, Buf: buf}
	for {
		in.Reset()
		e.Post(in, Waits)
		e.Wait(in)
		if in.GotTag == 2 || in.Err != nil {
			return
		}
		out.Reset()
		e.Post(out, Returns)
		e.Wait(out)
	}
}

// BenchmarkPingPong is a whole round, there and back.
func BenchmarkPingPong(b *testing.B) {
	for name, n := range map[string]int{"8B": 8, "1MB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			benchPolicies(b, func(b *testing.B, p Policy) {
				es := pair(b, p, nil)
				var wg sync.WaitGroup
				wg.Go(func() { answer(es[1], n) })
				buf := make([]byte, n)
				in := &MSO{Kind: KindRecv, Peer: 1, Tag: 1, Buf: make([]byte, n)}
				b.SetBytes(int64(2 * n))
				for b.Loop() {
					again(es[0], in)
					send(es[0], buf, 1, 1)
					es[0].Wait(in)
				}
				send(es[0], nil, 1, 2)
				wg.Wait()
			})
		})
	}
}

// BenchmarkRate sends windows of 64 messages of 8 bytes, each answered once.
func BenchmarkRate(b *testing.B) {
	const window = 64
	benchPolicies(b, func(b *testing.B, p Policy) {
		es := pair(b, p, nil)
		var stop atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			ms := manyMSOs(window, KindRecv, 0)
			for !stop.Load() {
				for _, m := range ms {
					again(es[1], m)
				}
				es[1].WaitMany(window, ms)
				send(es[1], nil, 0, 2)
			}
		})
		out := manyMSOs(window, KindSend, 1)
		in := &MSO{Kind: KindRecv, Peer: 1, Tag: 2}
		one := func() {
			again(es[0], in)
			for _, m := range out {
				again(es[0], m)
			}
			es[0].WaitMany(window, out)
			es[0].Wait(in)
		}
		for b.Loop() {
			one()
		}
		b.ReportMetric(float64(b.N*window)/b.Elapsed().Seconds(), "msg/s")
		stop.Store(true)
		one() // the receiver may be a window ahead
		es[1].Kill()
		wg.Wait()
		es[0].Kill()
	})
}

func manyMSOs(n int, k Kind, peer PeerID) []*MSO {
	ms := make([]*MSO, n)
	for i := range ms {
		ms[i] = &MSO{Kind: k, Peer: peer, Tag: 1, Buf: make([]byte, 8)}
	}
	return ms
}

// BenchmarkBandwidth streams 1 MB messages, eight in flight.
func BenchmarkBandwidth(b *testing.B) {
	const n, flight = 1 << 20, 8
	benchPolicies(b, func(b *testing.B, p Policy) {
		es := pair(b, p, nil)
		var wg sync.WaitGroup
		wg.Go(func() {
			ms := manyMSOs(flight, KindRecv, 0)
			for _, m := range ms {
				m.Buf = make([]byte, n)
				again(es[1], m)
			}
			for i := 0; ; i++ {
				m := ms[i%flight]
				if es[1].Wait(m); m.Err != nil {
					return
				}
				again(es[1], m)
			}
		})
		ms := manyMSOs(flight, KindSend, 1)
		for _, m := range ms {
			m.Buf = make([]byte, n)
			again(es[0], m)
		}
		b.SetBytes(n)
		for i := 0; b.Loop(); i++ {
			m := ms[i%flight]
			es[0].Wait(m)
			again(es[0], m)
		}
		es[0].WaitMany(flight, ms)
		es[0].Kill() // the receiver is done when its receives fail
		wg.Wait()
		es[1].Kill()
	})
}

// BenchmarkWake is the time from sending to the completion of a receive on a rank
// whose every P computes: what the kept P is for. The sender's worker has the
// same trouble, so both directions are in the figure.
func BenchmarkWake(b *testing.B) {
	for name, keep := range map[string]bool{"KeepP": true, "plain": false} {
		b.Run(name, func(b *testing.B) {
			es := pair(b, Worker, func(c *Config) { c.KeepP = keep })
			procs := 2 // all of them compute
			if keep {
				procs += len(es) // one to spare for each worker
			}
			withProcs(procs, func() { wake(b, es) })
		})
	}
}

// wake: one goroutine computes all the time; this one computes, sends, and computes
// until the message is there.
func wake(b *testing.B, es []*Engine) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() { compute(1<<62, stop.Load) })
	in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 8)}
	out := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: make([]byte, 8)}
	var took []time.Duration
	for b.Loop() {
		again(es[1], in)
		compute(100_000, func() bool { return false }) // some 100 us
		start := time.Now()
		again(es[0], out)
		compute(1<<40, in.IsDone)
		took = append(took, time.Since(start))
	}
	stop.Store(true)
	wg.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e3, "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100])/1e3, "p99-us")
}
