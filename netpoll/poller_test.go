//go:build linux && !fitmpi_portable

package netpoll

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// waits are the three ways to fetch events; Poll is called until the time has passed.
var waits = map[string]func(p *Poller, evs []Event, d time.Duration) (int, error){
	"Poll": func(p *Poller, evs []Event, d time.Duration) (int, error) {
		for start := time.Now(); ; {
			if n, err := p.Poll(evs); n != 0 || err != nil || time.Since(start) >= d {
				return n, err
			}
		}
	},
	"WaitHolding": func(p *Poller, evs []Event, d time.Duration) (int, error) {
		for start := time.Now(); ; {
			if n, err := holdPoll(p, evs, d-time.Since(start)); n != 0 || err != nil || time.Since(start) >= d {
				return n, err
			}
		}
	},
	"Wait": func(p *Poller, evs []Event, d time.Duration) (int, error) {
		for start := time.Now(); ; {
			if n, err := waitPoll(p, evs, max(d-time.Since(start), 0)); n != 0 || err != nil || time.Since(start) >= d {
				return n, err
			}
		}
	},
}

// eachKernel runs f as on this kernel and as on one without epoll_pwait2.
func eachKernel(t *testing.T, f func(t *testing.T, p *Poller)) {
	t.Run("pwait2", func(t *testing.T) {
		p := newPoller(t)
		if !p.pwait2 {
			t.Skip("not on this kernel")
		}
		f(t, p)
	})
	t.Run("pwait", func(t *testing.T) {
		p := newPoller(t)
		p.pwait2 = false
		f(t, p)
	})
}

func TestEvents(t *testing.T) {
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			eachKernel(t, func(t *testing.T, p *Poller) {
				a, b := pair(t, p, Options{NoDelay: true}, loopback4)
				var evs [4]Event
				fetch := func(why string, want ...Event) {
					t.Helper()
					d := time.Second
					if len(want) == 0 {
						d = 5 * time.Millisecond
					}
					n, err := wait(p, evs[:], d)
					if err != nil || n != len(want) || n == 1 && evs[0] != want[0] {
						t.Fatalf("%s: %+v, %v; want %+v", why, evs[:n], err, want)
					}
				}
				const token = 0xfedc_ba98_7654_3210
				if err := p.Add(a, token, false); err != nil {
					t.Fatal(err)
				}
				fetch("nothing sent")
				b.Write([]byte("xy"))
				fetch("readable", Event{Token: token, Readable: true})
				a.Read(make([]byte, 1))
				fetch("level-triggered", Event{Token: token, Readable: true})
				a.Read(make([]byte, 1))
				fetch("all read")
				if err := p.SetWritable(a, token, true); err != nil {
					t.Fatal(err)
				}
				fetch("writable", Event{Token: token, Writable: true})
				if err := p.SetWritable(a, token+1, true); err != nil {
					t.Fatal(err)
				}
				fetch("new token", Event{Token: token + 1, Writable: true})
				if err := p.SetWritable(a, token+1, false); err != nil {
					t.Fatal(err)
				}
				fetch("not writable any more")
				b.CloseWrite()
				fetch("end of file", Event{Token: token + 1, Readable: true})
				if err := p.Remove(a); err != nil {
					t.Fatal(err)
				}
				if err := p.Remove(a); err != nil {
					t.Fatalf("second Remove: %v", err)
				}
				fetch("removed")
			})
		})
	}
}

func TestHangup(t *testing.T) {
	p := newPoller(t)
	a, b := pair(t, p, Options{}, loopback4)
	p.Add(a, 7, false)
	a.Write([]byte("never read"))
	wantReadable(t, b)
	b.Close() // with unread input: a reset
	wantEvents(t, "reset", p, Event{Token: 7, Readable: true, Writable: true, Hangup: true})
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
		t.Fatalf("Read after a reset: %v", err)
	}
}

// wantReadable waits until s has input.
func wantReadable(t testing.TB, s *Socket) {
	t.Helper()
	q, err := NewPoller()
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if err := q.Add(s, 9, false); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, "readable", q, Event{Token: 9, Readable: true})
	q.Remove(s)
}

// TestStaleToken: an event fetched for a slot's old socket carries the old generation, an event of
// the new socket the new one.
func TestStaleToken(t *testing.T) {
	p := newPoller(t)
	a, b := pair(t, p, Options{}, loopback4)
	c, d := pair(t, p, Options{}, loopback4)
	const slot = 5
	p.Add(a, 1<<32|slot, false)
	b.Write([]byte("x"))
	wantEvents(t, "first socket", p, Event{Token: 1<<32 | slot, Readable: true})
	a.Close()
	p.Add(c, 2<<32|slot, false)
	d.Write([]byte("x"))
	wantEvents(t, "second socket", p, Event{Token: 2<<32 | slot, Readable: true})
}

func TestAddTwice(t *testing.T) {
	p := newPoller(t)
	a, _ := pair(t, p, Options{}, loopback4)
	p.Add(a, 1, false)
	if err := p.Add(a, 1, false); !errors.Is(err, unix.EEXIST) {
		t.Fatalf("second Add: %v", err)
	}
}

func TestMoreEventsThanRoom(t *testing.T) {
	p := newPoller(t)
	const n = 5
	for i := range n {
		a, _ := pair(t, p, Options{}, loopback4)
		p.Add(a, uint64(i), true)
	}
	seen := map[uint64]bool{}
	for range 100 {
		var evs [2]Event
		k, err := p.Poll(evs[:])
		if err != nil || k != 2 {
			t.Fatal(k, err)
		}
		for _, ev := range evs {
			seen[ev.Token] = true
		}
	}
	if len(seen) != n {
		t.Fatalf("saw %d of %d sockets", len(seen), n)
	}
	if _, err := p.Poll(nil); !errors.Is(err, unix.EINVAL) {
		t.Fatalf("Poll without room: %v", err)
	}
}

func TestTimeouts(t *testing.T) {
	eachKernel(t, func(t *testing.T, p *Poller) {
		took := func(f func()) time.Duration {
			start := time.Now()
			f()
			return time.Since(start)
		}
		// A signal of the runtime may end a wait early, so the best of some tries counts.
		best := func(f func()) (longest time.Duration) {
			for range 5 {
				longest = max(longest, took(f))
			}
			return longest
		}
		if d := best(func() { p.Wait(3 * time.Millisecond) }); d < 3*time.Millisecond {
			t.Errorf("Wait(3ms) took %v", d)
		}
		if d := best(func() { p.WaitHolding(500 * time.Microsecond) }); d < 500*time.Microsecond {
			t.Errorf("WaitHolding(500us) took %v", d)
		}
		for _, d := range []time.Duration{-1, 0} {
			for range 1000 { // would hang, or take far longer
				p.WaitHolding(d)
			}
		}
		shortest := time.Hour // a loaded machine may let many of them sleep on
		for until := time.Now().Add(failsafe); shortest > 20*MaxHold; {
			if time.Now().After(until) {
				t.Fatalf("WaitHolding(1h) took %v", shortest)
			}
			shortest = min(shortest, took(func() { p.WaitHolding(time.Hour) }))
		}
	})
}

// TestLongWaitHasParts: a wait without end leaves the kernel now and then, see firstPart.
func TestLongWaitHasParts(t *testing.T) {
	eachKernel(t, func(t *testing.T, p *Poller) {
		var wg sync.WaitGroup
		thread := make(chan int)
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			thread <- unix.Gettid()
			if err := p.Wait(-1); err != nil {
				t.Error(err)
			}
		})
		id := <-thread
		begin := switches(t, id)
		for until := time.Now().Add(failsafe); switches(t, id) < begin+3; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Error("the waiting thread has slept in one system call")
				break
			}
		}
		if err := p.Wake(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// switches is how often a thread of this process has slept.
func switches(t *testing.T, id int) (n int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", id))
	if err != nil {
		t.Fatal(err)
	}
	_, count, _ := strings.Cut(string(b), "\nvoluntary_ctxt_switches:")
	if _, err := fmt.Sscan(count, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWakeBefore(t *testing.T) {
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			p := newPoller(t)
			for range 3 {
				p.Wake()
				p.Wake() // coalesced
				var evs [1]Event
				start := time.Now()
				if err := p.Wait(2 * failsafe); err != nil || time.Since(start) > failsafe {
					t.Fatalf("woken wait: %v", err)
				}
				if n, err := wait(p, evs[:], time.Millisecond); n != 0 || err != nil {
					t.Fatalf("the wake came twice: %d, %v", n, err)
				}
			}
		})
	}
}

// TestWakeCoalesces: one event for many wakes, and no write for those that follow the first.
func TestWakeCoalesces(t *testing.T) {
	p := newPoller(t)
	for range 100 {
		p.Wake()
	}
	count := make([]byte, 8)
	if _, err := unix.Read(p.wakeFD.raw, count); err != nil || count[0] != 1 {
		t.Fatalf("the eventfd was written %v times, %v", count, err)
	}
}

// TestWakeOutlivesPoll: a goroutine that polls does not take the wake from the one that waits.
func TestWakeOutlivesPoll(t *testing.T) {
	p := newPoller(t)
	p.Wake()
	var evs [1]Event
	for range 3 {
		if n, err := p.Poll(evs[:]); n != 0 || err != nil {
			t.Fatalf("Poll: %d, %v", n, err)
		}
	}
	if err := p.Wait(-1); err != nil { // would hang
		t.Fatal(err)
	}
}

// TestArm: a wait that is not armed leaves the sockets alone; one that is returns for them once.
func TestArm(t *testing.T) {
	eachKernel(t, func(t *testing.T, p *Poller) {
		a, b := pair(t, p, Options{NoDelay: true}, loopback4)
		if err := p.Add(b, 7, false); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		wantEvents(t, "the byte has arrived", p, Event{Token: 7, Readable: true})
		start := time.Now()
		for time.Since(start) < 20*time.Millisecond {
			if err := p.Wait(20*time.Millisecond - time.Since(start)); err != nil {
				t.Fatal(err)
			}
			if p.armed.Load() {
				t.Fatal("armed by nobody")
			}
		}
		for range 3 { // while it waits, and before
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := p.Arm(); err != nil {
					t.Error(err)
				}
			})
			for p.Wait(-1) == nil && p.armed.Load() { // would hang
			}
			wg.Wait()
			p.Wait(0)
		}
	})
}

// TestWakeLosesNothing: a goroutine that publishes work and then wakes has its work seen, whichever
// way the waiter waits. A lost wake would leave the owner in Wait for ever.
func TestWakeLosesNothing(t *testing.T) {
	for name, wait := range map[string]func(p *Poller, evs []Event) (int, error){
		"Wait":        func(p *Poller, evs []Event) (int, error) { return waitPoll(p, evs, -1) },
		"WaitHolding": func(p *Poller, evs []Event) (int, error) { return holdPoll(p, evs, MaxHold) },
	} {
		t.Run(name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
			p := newPoller(t)
			const wakers, each = 3, 2000
			var published atomic.Int64
			var wg sync.WaitGroup
			for range wakers {
				wg.Go(func() {
					for i := range each {
						if i%64 == 0 {
							time.Sleep(50 * time.Microsecond)
						}
						published.Add(1)
						if err := p.Wake(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for published.Load() < wakers*each {
				var evs [4]Event
				if n, err := wait(p, evs[:]); n != 0 || err != nil {
					t.Errorf("%d, %v", n, err)
					break
				}
			}
			wg.Wait()
		})
	}
}

// TestWakeEndsHold: a wait that keeps its P ends when another goroutine, on another P, wakes it.
func TestWakeEndsHold(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	p := newPoller(t)
	for range 500 { // on a loaded machine many wakes come too late
		var wg sync.WaitGroup
		wg.Go(func() { p.Wake() })
		start := time.Now()
		p.WaitHolding(MaxHold)
		early := time.Since(start) < MaxHold
		wg.Wait()
		p.Wait(0)
		if early {
			return
		}
	}
	t.Error("no hold ended before its time")
}

// TestHoldLetsTheWorldStop: collections go on beside a goroutine that does nothing but wait
// holding, or poll, and one that computes.
func TestHoldLetsTheWorldStop(t *testing.T) {
	effort.Need(t, effort.Usual, "it collects garbage beside goroutines that compute")
	for _, name := range []string{"Poll", "WaitHolding"} {
		t.Run(name, func(t *testing.T) {
			p := newPoller(t)
			var stop atomic.Bool
			var wg sync.WaitGroup
			wg.Go(func() {
				var evs [4]Event
				for !stop.Load() {
					if name == "Poll" {
						p.Poll(evs[:])
					} else {
						p.WaitHolding(MaxHold)
					}
				}
			})
			wg.Go(func() {
				for n := 0; !stop.Load(); n++ {
					step(n)
				}
			})
			for range 20 {
				runtime.GC() // would never end
			}
			stop.Store(true)
			wg.Wait()
		})
	}
}

// step can be stopped as it begins, where signals do not stop any goroutine (asyncpreemptoff, which
// gccheckmark implies): its stack is large enough to be looked at.
//
//go:noinline
func step(n int) byte {
	var room [512]byte
	room[n%len(room)] = 1
	return room[n/2%len(room)]
}

func TestPollerClose(t *testing.T) {
	p, err := NewPoller()
	if err != nil {
		t.Fatal(err)
	}
	a, _ := pair(t, p, Options{}, loopback4)
	var wg sync.WaitGroup
	wg.Go(func() { // beside Close
		for p.Wake() == nil {
			p.woken.Store(false)
		}
	})
	time.Sleep(time.Millisecond)
	for range 3 {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	p.woken.Store(false)
	for name, err := range map[string]error{
		"Wake": p.Wake(),
		"Add":  p.Add(a, 1, false),
		"Poll": second(p.Poll(make([]Event, 1))),
		"Wait": p.Wait(-1),
	} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

func second(_ int, err error) error { return err }

// allowedLeaks is the number of descriptors that tests leave to the backstop on purpose.
var allowedLeaks atomic.Int32

func TestBackstop(t *testing.T) {
	allowedLeaks.Add(3) // two of epoll, and the eventfd
	before := backstop.Load()
	func() {
		if _, err := NewPoller(); err != nil {
			t.Fatal(err)
		}
	}()
	for until := time.Now().Add(failsafe); backstop.Load() < before+3; {
		if time.Now().After(until) {
			t.Fatal("the garbage collector did not close an abandoned poller")
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

func TestPollAllocs(t *testing.T) {
	eachKernel(t, func(t *testing.T, p *Poller) {
		a, _ := pair(t, p, Options{}, loopback4)
		p.Add(a, 3, true)
		evs := make([]Event, 8)
		on := false
		n := testing.AllocsPerRun(100, func() {
			p.Wake()
			p.Poll(evs)
			p.WaitHolding(MaxHold)
			p.Wait(time.Microsecond)
			p.SetWritable(a, 3, on)
			on = !on
		})
		if n != 0 {
			t.Fatalf("%v allocations", n)
		}
	})
}

func BenchmarkPoll(b *testing.B) {
	p := newPoller(b)
	a, _ := pair(b, p, Options{}, loopback4)
	evs := make([]Event, 64)
	p.Add(a, 1, false)
	b.Run("nothing", func(b *testing.B) {
		for b.Loop() {
			p.Poll(evs)
		}
	})
	p.SetWritable(a, 1, true)
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			p.Poll(evs)
		}
	})
}

func BenchmarkWake(b *testing.B) {
	p := newPoller(b)
	evs := make([]Event, 64)
	b.Run("elided", func(b *testing.B) {
		for b.Loop() {
			p.Wake()
		}
	})
	b.Run("and Poll", func(b *testing.B) {
		for b.Loop() {
			p.Wake()
			p.Poll(evs)
		}
	})
}
