//go:build linux

package sys

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type waitFunc func(addr *atomic.Uint32, val uint32, d time.Duration) bool

var futexWaits = map[string]waitFunc{"FutexWait": FutexWait, "FutexWaitHolding": FutexWaitHolding}

func TestFutexValueDiffers(t *testing.T) {
	for name, wait := range futexWaits {
		var word atomic.Uint32
		word.Store(7)
		if !wait(&word, 6, time.Hour) {
			t.Errorf("%s: timed out though the value differs", name)
		}
	}
}

func TestFutexTimeout(t *testing.T) {
	var word atomic.Uint32
	for name, wait := range futexWaits {
		const d = 500 * time.Microsecond
		timedOut := false
		for range 20 { // a signal of the runtime may end a wait before its time
			start := time.Now()
			if !wait(&word, 0, d) {
				timedOut = true
				if took := time.Since(start); took < d {
					t.Errorf("%s: timed out after %v of %v", name, took, d)
				}
			}
		}
		if !timedOut {
			t.Errorf("%s: never timed out", name)
		}
		if wait(&word, 0, 0) {
			t.Errorf("%s: did not time out at once", name)
		}
	}
	shortest := time.Hour
	for range 5 {
		start := time.Now()
		FutexWaitHolding(&word, 0, time.Hour)
		FutexWaitHolding(&word, 0, -1)
		shortest = min(shortest, time.Since(start))
	}
	if shortest > 20*MaxHold {
		t.Errorf("FutexWaitHolding for an hour took %v", shortest)
	}
}

// TestFutexHandOver passes a token around: a lost wake would hang it.
func TestFutexHandOver(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for name, wait := range futexWaits {
		t.Run(name, func(t *testing.T) {
			const players, rounds = 3, 500
			d := time.Duration(-1)
			if name == "FutexWaitHolding" {
				d = MaxHold
			}
			var turn atomic.Uint32
			count := 0 // the token's holder counts
			var wg sync.WaitGroup
			for me := range uint32(players) {
				wg.Go(func() {
					for range rounds {
						for now := turn.Load(); now%players != me; now = turn.Load() {
							wait(&turn, now, d)
						}
						count++
						turn.Add(1)
						FutexWake(&turn, players)
					}
				})
			}
			wg.Wait()
			if count != players*rounds {
				t.Errorf("counted %d of %d", count, players*rounds)
			}
		})
	}
}

func TestFutexWakeCounts(t *testing.T) {
	var word atomic.Uint32
	if n := FutexWake(&word, 10); n != 0 {
		t.Fatalf("woke %d of nobody", n)
	}
	const sleepers = 4
	var wg sync.WaitGroup
	for range sleepers {
		wg.Go(func() {
			for word.Load() == 0 {
				FutexWait(&word, 0, -1)
			}
		})
	}
	word.Store(1)
	woken := 0
	for range 100 {
		n := FutexWake(&word, 1)
		if n > 1 {
			t.Errorf("woke %d instead of 1", n)
		}
		woken += n
		runtime.Gosched()
	}
	wg.Wait()
	if woken > sleepers {
		t.Errorf("woke %d of %d", woken, sleepers)
	}
}

func TestFutexAllocs(t *testing.T) {
	var word atomic.Uint32
	if n := testing.AllocsPerRun(100, func() {
		FutexWait(&word, 0, time.Microsecond)
		FutexWait(&word, 1, -1)
		FutexWaitHolding(&word, 0, time.Microsecond)
		FutexWake(&word, 1)
		Nanotime()
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// TestHoldLetsTheWorldStop: see the test of the same name in netpoll.
func TestHoldLetsTheWorldStop(t *testing.T) {
	var stop atomic.Bool
	var word atomic.Uint32
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			FutexWaitHolding(&word, 0, MaxHold)
		}
	})
	start := time.Now()
	for range 20 {
		runtime.GC()
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("20 collections took %v", d)
	}
	stop.Store(true)
	wg.Wait()
}

func BenchmarkFutexWakeNobody(b *testing.B) {
	var word atomic.Uint32
	for b.Loop() {
		FutexWake(&word, 1)
	}
}

func BenchmarkNanotime(b *testing.B) {
	for b.Loop() {
		Nanotime()
	}
}
