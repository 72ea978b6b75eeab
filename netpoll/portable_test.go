//go:build !linux || fitmpi_portable

package netpoll

import (
	"errors"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newPoller(t *testing.T) *Poller {
	t.Helper()
	p, err := NewPoller()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestWaitEnds: a wait ends when its time has passed, at once after a wake before it, and once for
// several wakes.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPoller(t)
		took := func(wait func() error) time.Duration {
			began := time.Now()
			if err := wait(); err != nil {
				t.Error(err)
			}
			return time.Since(began)
		}
		for range 2 { // the second uses the timer of the first
			if d := took(func() error { return p.Wait(time.Hour) }); d != time.Hour {
				t.Errorf("waited %v, want an hour", d)
			}
		}
		if d := took(func() error { return p.WaitHolding(time.Hour) }); d != MaxHold {
			t.Errorf("waited %v, want %v", d, MaxHold)
		}
		if d := took(func() error { return p.WaitHolding(-1) }); d != 0 {
			t.Errorf("waited %v, want not at all", d)
		}
		for range 3 {
			if err := p.Wake(); err != nil {
				t.Fatal(err)
			}
		}
		if d := took(func() error { return p.Wait(-1) }); d != 0 {
			t.Errorf("waited %v after wakes, want not at all", d)
		}
		if d := took(func() error { return p.Wait(time.Second) }); d != time.Second {
			t.Errorf("waited %v: three wakes count as more than one", d)
		}
	})
}

// TestWakeIsNotLost: what was published before Wake, elided or not, is seen after a wait. The race
// detector sees to the order.
func TestWakeIsNotLost(t *testing.T) {
	const wakers, rounds = 4, 2000
	p := newPoller(t)
	var mu sync.Mutex
	work := 0 // guarded by mu
	var wg sync.WaitGroup
	for range wakers {
		wg.Go(func() {
			for range rounds {
				mu.Lock()
				work++
				mu.Unlock()
				if err := p.Wake(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for done := 0; done < wakers*rounds; { // hangs if a wake is lost
		if err := p.Wait(-1); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		done += work
		work = 0
		mu.Unlock()
	}
	wg.Wait()
}

// TestTwoWaiters: a wake ends the wait of its waiter alone.
func TestTwoWaiters(t *testing.T) {
	p := newPoller(t)
	s, err := p.NewWaiter()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := errors.Join(s.Arm(), p.Wake(), p.Wait(-1), s.Wake(), s.Wait(-1)); err != nil {
		t.Error(err)
	}
}

// TestClosed: Close ends a wait, and what follows is an error.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPoller(t)
		ended := make(chan error)
		go func() { ended <- p.Wait(-1) }()
		synctest.Wait()
		if err := errors.Join(p.Close(), p.Close()); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != os.ErrClosed {
			t.Errorf("the wait: %v", err)
		}
		_, err := p.Poll(nil)
		for _, err := range []error{err, p.Wait(-1), p.Wake(), p.Arm()} {
			if err != os.ErrClosed {
				t.Errorf("%v, want %v", err, os.ErrClosed)
			}
		}
	})
}

// TestNoSockets: what would make a socket says why there is none.
func TestNoSockets(t *testing.T) {
	_, dial := Dial(netip.AddrPort{}, Options{})
	_, listen := Listen(netip.AddrPort{}, 1)
	_, bell := NewBell(nil)
	for _, err := range []error{dial, listen, bell} {
		if err == nil || !strings.Contains(err.Error(), "on Linux only") {
			t.Error(err)
		}
	}
}

// TestWaitsDoNotAllocate: a wait with an end uses one timer again and again.
func TestWaitsDoNotAllocate(t *testing.T) {
	p := newPoller(t)
	if n := testing.AllocsPerRun(100, func() {
		p.Wake()
		p.Wait(time.Minute)
	}); n != 0 {
		t.Errorf("%v allocations a wait", n)
	}
}
