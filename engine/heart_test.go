//go:build linux && !fitmpi_portable

package engine

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// beating runs f for ranks that show that they live, in each way that needs it and under each
// policy that does it, if not in all pairs of these.
func beating(t *testing.T, f func(t *testing.T, p Policy)) {
	t.Parallel()
	for name, in := range map[string]struct {
		p   Policy
		way Way
		tls bool
	}{"worker-tcp": {Worker, TCP, false}, "assist-tls": {Assist, TCP, true}, "assist-shared": {Assist, Shared, false}} {
		t.Run(name, func(t *testing.T) {
			beside(t, surroundings{way: in.way, tls: in.tls})
			f(t, in.p)
		})
	}
}

// often makes the beats come every few milliseconds.
func often(timeout time.Duration) func(*Config) {
	return func(c *Config) { c.Heartbeat, c.HeartbeatTimeout = 5*time.Millisecond, timeout }
}

// hold stops a rank as SIGSTOP would: nothing of it moves until it is released.
func hold(e *Engine) (release func()) {
	if e.local != nil {
		e.local.pacer.end()
	}
	e.takeRight()
	return func() {
		if e.local != nil {
			if err := e.local.promise(); err != nil {
				panic(err)
			}
		}
		e.releaseRight()
	}
}

// suspicions are what a rank would report to its launcher.
type suspicions struct {
	mu   sync.Mutex
	told []string // guarded by mu
}

func (s *suspicions) take(_ PeerID, why string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, why)
	return true
}

// has reports whether there is one that was withdrawn, or is not.
func (s *suspicions) has(withdrawn bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, why := range s.told {
		if (why == "") == withdrawn {
			return true
		}
	}
	return false
}

// awaitBeats waits until e has beaten so often that a peer that shows nothing would have been
// found.
func awaitBeats(t *testing.T, e *Engine, timeout time.Duration) {
	t.Helper()
	beats := uint64(5 * timeout / 4 / e.cfg.Heartbeat)
	for before := e.Stats().BeatsOut; e.Stats().BeatsOut < before+beats; time.Sleep(time.Millisecond) {
		if t.Failed() || e.Stats().PeersFailed > 0 { // no peer may be left to beat for
			return
		}
	}
}

// TestSilentPeer: without a launcher a rank that shows nothing for the timeout has failed, its
// operations end, and it is not let in again.
func TestSilentPeer(t *testing.T) {
	beating(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, often(quietly/2))
		exchangeAll(t, es)
		m := &MSO{Kind: KindRecv, Peer: 1, Tag: 1, Buf: make([]byte, 10)}
		es[0].Post(m, Computes)
		release := hold(es[1])
		waitDone(t, "a silent peer", es[0], m)
		release()
		wantErr(t, "a silent peer", m.Err, ErrPeerFailed)
		if se, ok := errors.AsType[*SilentError](m.Err); !ok {
			t.Errorf("error %v, want a SilentError", m.Err)
		} else if se.Host != "here" {
			t.Errorf("host %q", se.Host)
		} else if why := strings.TrimSuffix(se.Why, Answers); !strings.HasPrefix(why, "nothing was heard of it for ") || es[0].local != nil && why != se.Why {
			t.Errorf("why %q", se.Why)
		}
		if s := es[0].Stats(); s.FailedBy["silent"] != 1 || s.PeersFailed != 1 || s.Suspicions != 1 {
			t.Errorf("failed by %v, %d suspicions", s.FailedBy, s.Suspicions)
		}
		wantErr(t, "it goes on, and is not let in", sendOrWait(es[1]), ErrPeerFailed)
	})
}

// sendOrWait sends messages that are answered until one fails.
func sendOrWait(e *Engine) error {
	for {
		m := &MSO{Kind: KindSend, Peer: 0, Tag: 9, Buf: make([]byte, 10), Mode: Synchronous}
		e.Post(m, Computes)
		if e.Wait(m); m.Err != nil {
			return m.Err
		}
	}
}

// TestSuspicion: where another party decides, silence is reported, reported again, and withdrawn
// when the peer is heard again; nothing is lost.
func TestSuspicion(t *testing.T) {
	beating(t, func(t *testing.T, p Policy) {
		var told suspicions
		es := job(t, 2, p, func(c *Config) {
			often(quietly / 2)(c)
			if c.Rank == 0 {
				c.OnSuspect = told.take
			}
		})
		exchangeAll(t, es)
		release := hold(es[1])
		eventually(t, "not told twice", func() bool { return es[0].Stats().Suspicions >= 2 })
		if !told.has(false) || told.has(true) {
			t.Errorf("told: %q", told.told)
		}
		release()
		eventually(t, "not withdrawn", func() bool { return told.has(true) })
		exchangeAll(t, es)
		if s := es[0].Stats(); s.PeersFailed != 0 {
			t.Errorf("%d peers failed", s.PeersFailed)
		}
	})
}

// quietly is how long a peer may be silent in tests in which no peer is to be suspected. On a
// machine with much else to do a thread that sleeps comes back a second late now and then, and a
// rank whose worker did so was silent.
const quietly = 2 * time.Second

// wantNoSuspicion lets time pass and checks that no peer is held to be dead.
func wantNoSuspicion(t *testing.T, e *Engine) {
	t.Helper()
	awaitBeats(t, e, quietly)
	if s := e.Stats(); s.Suspicions != 0 || s.PeersFailed != 0 {
		t.Errorf("%d suspicions, %d peers failed", s.Suspicions, s.PeersFailed)
	}
}

// TestIdlePeers: ranks that have nothing to say show that they live, and no rank is suspected.
func TestIdlePeers(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	beating(t, func(t *testing.T, p Policy) {
		es := job(t, 3, p, often(quietly))
		exchangeAll(t, es)
		wantNoSuspicion(t, es[0])
		if s := es[1].Stats(); around(t).way == TCP && s.BeatsIn < 100 {
			t.Errorf("%d heartbeats came", s.BeatsIn)
		}
		exchangeAll(t, es)
	})
}

// TestNoBeatsBesideTraffic: a connection that carries messages needs no heartbeats. An exchange
// that takes long, as the machine has much else to do, is none.
func TestNoBeatsBesideTraffic(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	t.Parallel() // it waits for most of its time
	es := job(t, 2, Worker, func(c *Config) { c.Heartbeat, c.HeartbeatTimeout = time.Second, time.Minute })
	excused := uint64(0)
	for until := time.Now().Add(2500 * time.Millisecond); time.Now().Before(until); {
		began := time.Now()
		exchangeAll(t, es)
		excused += uint64(time.Since(began) / (es[0].cfg.Heartbeat / 2))
	}
	if s := es[0].Stats(); s.BeatsOut > excused {
		t.Errorf("%d heartbeats beside %d bytes of messages, %d beside none", s.BeatsOut, s.BytesOut, excused)
	}
}

// TestCallerPromisesNothing: under the caller policy a rank that computes shows nothing, and is not
// suspected for it.
func TestCallerPromisesNothing(t *testing.T) {
	t.Parallel() // it waits, most of the time
	effort.Need(t, effort.Usual, "it waits for seconds")
	for _, w := range []Way{TCP, Shared} {
		t.Run(w.String(), func(t *testing.T) {
			beside(t, surroundings{way: w})
			es := job(t, 2, Worker, func(c *Config) {
				often(quietly)(c)
				if c.Rank == 1 {
					c.Progress = Caller
				}
			})
			exchangeAll(t, es)
			wantNoSuspicion(t, es[0]) // while rank 1 is in no call
			exchangeAll(t, es)
		})
	}
}

// TestHeldInDebugger: a rank that has said that a debugger holds it may be silent for as long as it
// likes; when it is let go and then is silent, that is found.
func TestHeldInDebugger(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	beating(t, func(t *testing.T, p Policy) {
		var told suspicions
		es := job(t, 2, p, func(c *Config) {
			often(quietly)(c)
			c.OnSuspect = told.take
		})
		exchangeAll(t, es)
		var held atomic.Bool
		held.Store(true)
		isHeld := held.Load
		release := hold(es[1])
		es[1].drv.heart.held.Store(&isHeld)
		release()
		eventually(t, "rank 1 does not say that it is held", func() bool { return saysHeld(es[0], 1) })
		release = hold(es[1])
		wantNoSuspicion(t, es[0])
		held.Store(false)
		release()
		eventually(t, "rank 1 does not say that it goes on", func() bool { return !saysHeld(es[0], 1) })
		exchangeAll(t, es)
		release = hold(es[1])
		eventually(t, "nobody finds it silent", func() bool { return told.has(false) })
		release()
	})
}

// saysHeld reports whether a peer has said last that it is held.
func saysHeld(e *Engine, id PeerID) bool {
	e.takeRight()
	defer e.releaseRight()
	if l := e.laneTo(id); l != nil {
		return l.block.Beat.Load()&1 != 0
	}
	c := e.drv.conns[id]
	return c != nil && c.rx.paused
}

// TestEverybodyStopped: if all are stopped for longer than the timeout, and go on one after the
// other, none is held to be dead.
func TestEverybodyStopped(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	beating(t, func(t *testing.T, p Policy) {
		es := job(t, 3, p, often(quietly))
		exchangeAll(t, es)
		var releases []func()
		for _, e := range es {
			releases = append(releases, hold(e))
		}
		time.Sleep(2 * quietly)
		for _, release := range releases {
			release()
			time.Sleep(quietly / 10)
		}
		wantNoSuspicion(t, es[0])
		exchangeAll(t, es)
	})
}

// TestStalledByAFullSocket: a peer that takes nothing is silent too, whatever waits to be written
// to it, and what waits are not heartbeats.
func TestStalledByAFullSocket(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	t.Parallel() // it waits for most of its time
	var told suspicions
	es := job(t, 2, Worker, func(c *Config) {
		often(quietly / 2)(c)
		c.SocketBuffer = 4 << 10
		c.OnSuspect = told.take
	})
	exchangeAll(t, es)
	release := hold(es[1])
	m := &MSO{Kind: KindSend, Peer: 1, Tag: 3, Buf: pattern(200_000, 1)}
	es[0].Post(m, Computes)
	eventually(t, "nobody finds it silent", func() bool { return es[0].Stats().Suspicions >= 1 })
	frames := func() uint64 { p := &es[0].Peers()[1]; return p.FramesOut + p.Asides }
	before := frames()
	eventually(t, "nobody finds it silent again", func() bool { return es[0].Stats().Suspicions >= 3 })
	if after := frames(); after != before {
		t.Errorf("%d frames were put into the stream to one who does not read", after-before)
	}
	release()
	r := &MSO{Kind: KindRecv, Peer: 0, Tag: 3, Buf: make([]byte, 200_000)}
	es[1].Post(r, Computes)
	waitDone(t, "it goes on", es[1], r)
	waitDone(t, "it goes on", es[0], m)
	if r.Err != nil || m.Err != nil {
		t.Error(r.Err, m.Err)
	}
}

// TestBeatsAndResuming: heartbeats have no place in a stream that goes on by another connection.
func TestBeatsAndResuming(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	t.Parallel() // it waits for most of its time
	es := job(t, 2, Worker, func(c *Config) {
		often(failsafe)(c) // none is to be silent for too long, on any machine: that cuts a connection too
		c.Resume = ResumeOn
	})
	for range 3 {
		exchangeAll(t, es)
		awaitBeats(t, es[0], quietly/10)
		eventually(t, "there is no connection to cut", func() bool { return cutConnection(es[0], 1) })
	}
	exchangeAll(t, es)
	if s := es[0].Stats(); s.Reconnects != 3 || s.PeersFailed != 0 || s.Suspicions != 0 {
		t.Errorf("%d reconnects, %d peers failed, %d suspicions", s.Reconnects, s.PeersFailed, s.Suspicions)
	}
}

// cutConnection breaks the connection to a peer, and reports whether there was one.
func cutConnection(e *Engine, id PeerID) bool {
	defer hold(e)()
	c := e.drv.conns[id]
	if c == nil || c.state != connOpen {
		return false
	}
	c.broken(errors.New("it is cut"))
	return true
}

// TestHeardOnly: after a heartbeat nothing is expected to follow, unless an operation is
// outstanding.
func TestHeardOnly(t *testing.T) {
	es := job(t, 2, Worker, func(c *Config) { c.HeartbeatTimeout = -1 })
	e := es[0]
	if e.heardOnly(e.stats.beatsIn.Load()) {
		t.Error("a heartbeat is said to have come")
	}
	before := e.stats.beatsIn.Load()
	e.stats.beatsIn.Add(1)
	if !e.heardOnly(before) {
		t.Error("after a heartbeat, with nothing outstanding, something is expected")
	}
	m := &MSO{Kind: KindRecv, Peer: 1, Tag: 1}
	e.Post(m, Computes)
	if e.heardOnly(before) {
		t.Error("nothing is expected while a receive waits")
	}
	if err := send(es[1], nil, 0, 1); err != nil {
		t.Fatal(err)
	}
	e.Wait(m)
}

// TestBeatsOff: with a timeout of less than 0 no peer is looked after, and the worker of an idle
// rank sleeps without an end.
func TestBeatsOff(t *testing.T) {
	es := job(t, 2, Worker, func(c *Config) { c.HeartbeatTimeout = -1 })
	exchangeAll(t, es)
	if d := es[0].drv.heart.due.Load(); d != 0 {
		t.Errorf("a beat is due at %d", d)
	}
	if n := es[0].drv.heart.promise(); n != 0 {
		t.Errorf("a beat every %d ms is promised", n)
	}
}

// BenchmarkIdle is what ranks cost that have nothing to say to each other but that they live: the
// share of a core for each of four, which have three peers each.
func BenchmarkIdle(b *testing.B) {
	defer func() { wayUnderTest = TCP }()
	for _, w := range []Way{TCP, Shared} {
		for _, timeout := range []time.Duration{-1, DefaultHeartbeatTimeout} {
			wayUnderTest = w
			b.Run(fmt.Sprintf("%v timeout %v", w, timeout), func(b *testing.B) {
				es := job(b, 4, Assist, func(c *Config) { c.HeartbeatTimeout = timeout })
				for _, e := range es {
					exchangeIdle(b, e)
				}
				time.Sleep(time.Second)
				const long = 10 * time.Second
				before, ofWorkers := processTime(b), workers(es)
				time.Sleep(long)
				share := func(d time.Duration) float64 { return 100 * float64(d) / float64(long) / float64(len(es)) }
				b.ReportMetric(share(workers(es)-ofWorkers), "%core/worker")
				b.ReportMetric(share(processTime(b)-before), "%core/rank") // with the runtime's monitor, which runs while a worker lingers
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// processTime is the processor time of this process.
func processTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// exchangeIdle lets e meet all others.
func exchangeIdle(b *testing.B, e *Engine) {
	b.Helper()
	for r := range e.Size() {
		if r != e.Rank() {
			if err := send(e, []byte{1}, PeerID(r), 1); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// workers is for how long the workers have run.
func workers(es []*Engine) (d time.Duration) {
	for _, e := range es {
		d += e.Stats().Worker
	}
	return d
}
