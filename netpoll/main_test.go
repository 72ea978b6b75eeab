//go:build linux && !fitmpi_portable

package netpoll

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// backstop counts the descriptors that the garbage collector had to close.
var backstop atomic.Int32

func TestMain(m *testing.M) {
	onLeak = func(kind string, creator []byte) {
		if backstop.Add(1) > allowedLeaks.Load() {
			fmt.Fprintf(os.Stderr, "netpoll: %s closed by the garbage collector, opened by\n%s\n", kind, creator)
		}
	}
	effort.Beside(12)
	before := descriptors()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		runtime.GC()
		time.Sleep(10 * time.Millisecond) // cleanups run on a goroutine of their own
		if n, most := backstop.Load(), allowedLeaks.Load(); n > most {
			fmt.Fprintf(os.Stderr, "netpoll: %d descriptors left to the garbage collector, %d on purpose\n", n, most)
			code = 1
		}
		if after := descriptors(); after > before {
			fmt.Fprintf(os.Stderr, "netpoll: %d descriptors before the tests, %d after\n", before, after)
			code = 1
		}
		os.Exit(code)
	}))
}

// descriptors counts this process's open descriptors. The first use of package os's poller opens
// some that stay, so it counts after such a use.
func descriptors() int {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	r.Close()
	w.Close()
	ents, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return len(ents)
}

// failsafe ends what hangs. It is long, as a loaded machine may take its time, and no test waits
// for it to pass.
const failsafe = time.Minute

var loopback4 = netip.MustParseAddrPort("127.0.0.1:0")

func newPoller(t testing.TB) *Poller {
	t.Helper()
	p, err := NewPoller()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// pair makes a connected pair through p, which watches neither end afterwards.
func pair(t testing.TB, p *Poller, o Options, addr netip.AddrPort) (dialed, accepted *Socket) {
	t.Helper()
	l, err := Listen(addr, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err = Dial(l.Addr(), o)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, dialed)
	if err := p.Add(dialed, 1, true); err != nil {
		t.Fatal(err)
	}
	if err := p.AddListener(l, 2); err != nil {
		t.Fatal(err)
	}
	connected := false
	for until := time.Now().Add(failsafe); !connected || accepted == nil; {
		if time.Now().After(until) {
			t.Fatal("no connection")
		}
		var evs [4]Event
		n, err := waitPoll(p, evs[:], time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range evs[:n] {
			switch {
			case ev.Token == 1 && ev.Writable && !connected:
				if err := dialed.ConnectResult(); err != nil {
					t.Fatal(err)
				}
				connected = true
			case ev.Token == 2 && accepted == nil:
				accepted, err = l.Accept(o)
				if err != nil {
					t.Fatal(err)
				}
				closeAtEnd(t, accepted)
			}
		}
	}
	if err := p.Remove(dialed); err != nil {
		t.Fatal(err)
	}
	return dialed, accepted
}

// waitPoll waits and fetches.
func waitPoll(p *Poller, evs []Event, d time.Duration) (int, error) {
	if err := errors.Join(p.Arm(), p.Wait(d)); err != nil {
		return 0, err
	}
	return p.Poll(evs)
}

// holdPoll is waitPoll that keeps the P.
func holdPoll(p *Poller, evs []Event, d time.Duration) (int, error) {
	if err := errors.Join(p.Arm(), p.WaitHolding(d)); err != nil {
		return 0, err
	}
	return p.Poll(evs)
}

func closeAtEnd(t testing.TB, s *Socket) {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// wantEvents waits for exactly one event, or for quiet when no event is given.
func wantEvents(t testing.TB, why string, p *Poller, want ...Event) {
	t.Helper()
	wait := failsafe
	if len(want) == 0 {
		wait = 20 * time.Millisecond
	}
	var evs [8]Event
	for until := time.Now().Add(wait); ; {
		n, err := waitPoll(p, evs[:], time.Until(until))
		if err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		if n == 0 && time.Now().Before(until) {
			continue
		}
		if n != len(want) || n == 1 && evs[0] != want[0] {
			t.Fatalf("%s: events %+v, want %+v", why, evs[:n], want)
		}
		return
	}
}
