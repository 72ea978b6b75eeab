//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
)

// cutJob starts engines that reach each other through a proxy in front of each, which breaks
// connections by the plan of that rank.
func cutJob(t *testing.T, n int, p Policy, tune func(*Config), plan func(to int) faultproxy.Plan) ([]*Engine, []*faultproxy.Proxy) {
	t.Helper()
	proxies, targets := make([]*faultproxy.Proxy, n), make([]atomic.Pointer[string], n)
	for i := range n {
		var err error
		if proxies[i], err = faultproxy.Start(func() string { return *targets[i].Load() }, plan(i)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { proxies[i].Close() })
	}
	es := routesJob(t, n, p, func(c *Config) {
		c.Resume, c.Reconnect = ResumeOn, failsafe/2 // a rank that closes may take as much longer
		if tune != nil {
			tune(c)
		}
	}, func(_, to int, addrs []netip.AddrPort) []Route {
		at := addrs[0].String()
		targets[to].Store(&at)
		return Direct(proxies[to].Addr())
	})
	return es, proxies
}

func uncut(int) faultproxy.Plan { return nil }

// talk exchanges messages of all sizes and protocols between all ranks, one more round after the
// other.
func talk(t *testing.T, es []*Engine, rounds int) {
	t.Helper()
	var wg sync.WaitGroup
	for _, e := range es {
		wg.Go(func() {
			for k := range rounds {
				for i, n := range []int{0, 100, 5000, 70_000, 300_000, 3} {
					exchange(t, e, Tag(10*k+i), n)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(failsafe):
		for _, e := range es {
			s := e.Stats()
			t.Errorf("rank %d: %d reconnects, %d connections, %d dials, %d failed dials, %d accepts, %v, %+v", e.Rank(), s.Reconnects, s.Connections, s.Dials, s.FailedDials, s.Accepts, s.Rejects, s.Stats)
		}
		for _, e := range es {
			e.Kill()
		}
		<-done
		t.Fatal("stuck")
	}
}

// wantResumed checks that connections broke and no peer failed for that.
func wantResumed(t *testing.T, es []*Engine, least uint64) {
	t.Helper()
	sum := uint64(0)
	for _, e := range es {
		s := e.Stats()
		if sum += s.Reconnects; s.PeersFailed != 0 {
			t.Errorf("rank %d: %d peers failed", e.Rank(), s.PeersFailed)
		}
	}
	if sum < least {
		t.Errorf("%d times a stream was resumed, want at least %d", sum, least)
	}
}

// every is a plan that cuts both directions of every connection, each at another byte.
func every(bytes int64, c faultproxy.Cut) func(int) faultproxy.Plan {
	return func(int) faultproxy.Plan {
		return func(number int, dir faultproxy.Direction) faultproxy.Cut {
			c := c
			c.After = bytes + int64(number*317+int(dir)*1013)%bytes
			return c
		}
	}
}

// handshakes is a plan that cuts most connections within their handshakes, at every byte of them in
// turn.
func handshakes(scale int) func(int) faultproxy.Plan {
	return func(int) faultproxy.Plan {
		return func(number int, dir faultproxy.Direction) faultproxy.Cut {
			if number%3 == 2 { // so that something gets on
				return faultproxy.Cut{After: 50_000 + int64(number)*101, Pause: 2 * time.Millisecond}
			}
			return faultproxy.Cut{After: int64(number*(13+int(dir)*10)*scale) % (300 * int64(scale)), Gently: number%2 == 0}
		}
	}
}

// TestResume: connections break all the time, wherever they are, and every message arrives, once,
// whole and in its order.
func TestResume(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "connections break thousands of times; TestResumeAll is quicker")
	pause := 2 * time.Millisecond
	for name, plan := range map[string]func(int) faultproxy.Plan{
		"both ends":         every(100_000, faultproxy.Cut{}),
		"read out":          every(50_000, faultproxy.Cut{Pause: pause}),
		"gently":            every(40_000, faultproxy.Cut{Gently: true}),
		"dialer":            every(30_000, faultproxy.Cut{Ends: faultproxy.Dialer, Pause: pause}),
		"target":            every(30_000, faultproxy.Cut{Ends: faultproxy.Target, Pause: pause}),
		"handshakes":        handshakes(1),
		"handshakes of TLS": handshakes(10),
	} {
		for _, tls := range []bool{false, true} {
			if strings.HasPrefix(name, "handshakes") && tls != strings.HasSuffix(name, "TLS") {
				continue
			}
			t.Run(fmt.Sprint(name, ", TLS ", tls), func(t *testing.T) {
				t.Parallel() // it waits for most of its time
				es, _ := cutJob(t, 2, Assist, func(c *Config) { c.TLS = tls }, plan)
				talk(t, es, 2)
				wantResumed(t, es, 5)
				closeAll(t, es)
			})
		}
	}
}

// TestResumeAuto: by itself a rank goes on with the streams to peers whose connections leave its
// host, and does not with others.
func TestResumeAuto(t *testing.T) {
	es, proxies := cutJob(t, 2, Assist, func(c *Config) { c.Resume = ResumeAuto }, uncut)
	exchangeAll(t, es)
	for _, p := range proxies {
		p.CutAll(faultproxy.Cut{})
	}
	talk(t, es, 1)
	wantResumed(t, es, 2)
	d := es[0].drv
	if id := PeerID(es[0].Rank()); d.bridge[id].Remote || d.mayResume(id) {
		t.Error("it would go on with streams that do not leave its host")
	}
	closeAll(t, es)
}

// TestResumeHalfSealed: a connection breaks while a part of what was encrypted at once is gone: the
// peer has received what we take for not written, and may have said so.
func TestResumeHalfSealed(t *testing.T) {
	t.Parallel()
	es, _ := cutJob(t, 2, Assist, func(c *Config) { c.TLS, c.SocketBuffer = true, 8<<10 }, every(200_000, faultproxy.Cut{Pause: time.Millisecond}))
	talk(t, es, 2)
	wantResumed(t, es, 5)
	closeAll(t, es)
}

// TestResumePolicies: whichever goroutine makes progress, for more than two ranks.
func TestResumePolicies(t *testing.T) {
	for _, p := range []Policy{Worker, Assist, Caller} {
		t.Run(p.String(), func(t *testing.T) {
			es, _ := cutJob(t, 3, p, nil, every(60_000, faultproxy.Cut{Pause: time.Millisecond}))
			talk(t, es, 1)
			wantResumed(t, es, 3)
			closeAll(t, es)
		})
	}
}

// TestResumeAll: every connection of the job breaks at one moment, again and again, at both ends or
// at one.
func TestResumeAll(t *testing.T) {
	es, proxies := cutJob(t, 3, Assist, nil, uncut)
	exchangeAll(t, es)
	for i := range 12 {
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			for _, p := range proxies {
				p.CutAll(faultproxy.Cut{Gently: i%2 == 0, Ends: faultproxy.Ends(i % 3)})
			}
		})
		talk(t, es, 1)
		wg.Wait()
	}
	wantResumed(t, es, 3)
	closeAll(t, es)
}

// waitStats waits until the counters of e are as wanted.
func waitStats(t *testing.T, why string, e *Engine, ok func(*Stats) bool) {
	t.Helper()
	for until := time.Now().Add(failsafe); ; time.Sleep(time.Millisecond) {
		s := e.Stats()
		if ok(&s) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("rank %d: %s: %+v", e.Rank(), why, s)
		}
	}
}

// TestResumeAtRest: a connection that breaks while no rank says anything is made again without any
// call.
func TestResumeAtRest(t *testing.T) {
	for _, p := range []Policy{Worker, Assist} {
		t.Run(p.String(), func(t *testing.T) {
			es, proxies := cutJob(t, 2, p, nil, uncut)
			exchangeAll(t, es)
			for k := range uint64(3) {
				for _, p := range proxies {
					p.CutAll(faultproxy.Cut{})
				}
				for _, e := range es {
					waitStats(t, "resumed", e, func(s *Stats) bool { return s.Reconnects > k })
				}
			}
			exchangeAll(t, es)
			wantResumed(t, es, 6)
			closeAll(t, es)
		})
	}
}

// TestAcknowledgedAtRest: soon after the last message the library has back what it keeps for a
// peer, though no rank is in a call.
func TestAcknowledgedAtRest(t *testing.T) {
	for _, p := range []Policy{Worker, Assist} {
		es, _ := cutJob(t, 2, p, nil, uncut)
		exchangeAll(t, es)
		for _, e := range es {
			waitStats(t, "nothing is kept", e, func(s *Stats) bool { return s.BufferUsed == 0 })
		}
		closeAll(t, es)
	}
}

// TestResumeInClose: the connection breaks when both sides, or one, are through. What was sent last
// arrives all the same, and no rank waits for ever.
func TestResumeInClose(t *testing.T) {
	const n = 40_000
	for _, after := range []int64{200, 300, 5000, n + 100, n + 330, n + 350, n + 364, n + 380} {
		for _, dir := range []faultproxy.Direction{faultproxy.Up, faultproxy.Down} {
			for _, gently := range []bool{false, true} {
				t.Run(fmt.Sprint(after, dir, gently), func(t *testing.T) {
					es, _ := cutJob(t, 2, Assist, nil, func(int) faultproxy.Plan {
						return func(number int, d faultproxy.Direction) faultproxy.Cut {
							if number > 0 || d != dir {
								return faultproxy.Whole
							}
							return faultproxy.Cut{After: after, Gently: gently}
						}
					})
					in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, n)}
					es[1].Post(in, Computes)
					if err := send(es[0], pattern(n, 7), 1, 1); err != nil {
						t.Fatal(err)
					}
					var wg sync.WaitGroup
					wg.Go(func() {
						if err := es[0].Close(failsafe); err != nil {
							t.Error(err)
						}
					})
					waitDone(t, "the last message", es[1], in)
					if in.Err != nil || !bytes.Equal(in.Buf, pattern(n, 7)) {
						t.Errorf("the last message: %v", in.Err)
					}
					closeAll(t, es)
					wg.Wait()
				})
			}
		}
	}
}

// TestResumeNever: a connection that cannot be made again makes the peer fail, at both ends, when
// the time for that is over, and not before, however new ones are refused; the error says what was
// tried.
func TestResumeNever(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	for _, p := range []Policy{Worker, Assist} {
		for name, refuse := range map[string]func(p *faultproxy.Proxy){
			"after they were made": func(p *faultproxy.Proxy) { p.Refuse(true) },
			"by the system":        func(p *faultproxy.Proxy) { shut(t, true, p) },
		} {
			t.Run(fmt.Sprint(p, ", ", name), func(t *testing.T) { testResumeNever(t, p, refuse) })
		}
	}
}

func testResumeNever(t *testing.T, p Policy, refuse func(*faultproxy.Proxy)) {
	const most = 300 * time.Millisecond
	es, proxies := cutJob(t, 2, p, func(c *Config) { c.Reconnect = most }, uncut)
	exchangeAll(t, es)
	ms := make([]*MSO, 2)
	for r, e := range es {
		ms[r] = &MSO{Kind: KindRecv, Peer: PeerID(1 - r), Tag: 9, Buf: make([]byte, 10)}
		e.Post(ms[r], Computes)
	}
	for _, p := range proxies {
		refuse(p)
	}
	start := time.Now()
	for _, p := range proxies {
		p.CutAll(faultproxy.Cut{})
	}
	for r, e := range es {
		waitDone(t, "never resumed", e, ms[r])
		wantErr(t, "never resumed", ms[r].Err, ErrPeerFailed)
		for _, want := range []string{"connection to host", "was not resumed in ", "connect to host", proxies[1-r].Addr().String()} {
			if !strings.Contains(ms[r].Err.Error(), want) {
				t.Errorf("the error %q does not say %q", ms[r].Err, want)
			}
		}
	}
	if took := time.Since(start); took < most {
		t.Errorf("given up after %v", took)
	}
}

// TestResumeForgotten: a rank that was started anew in the place of one that we knew is none that
// we can go on with.
func TestResumeForgotten(t *testing.T) {
	es, proxies := cutJob(t, 2, Assist, nil, uncut)
	exchangeAll(t, es)
	for _, e := range es { // so that both know how far the other is
		waitStats(t, "acknowledged", e, func(s *Stats) bool { return s.BufferUsed == 0 })
	}
	proxies[1].Refuse(true)
	if err := es[1].Kill(); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Rank: 1, Size: 2, Job: [16]byte{7}, Secret: bytes.Repeat([]byte{9}, 32), Resume: ResumeOn}
	again, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Kill()
	if err := again.Start([]PeerInfo{{Host: "a", Routes: Direct(es[0].Addr())}, {Host: "b"}}); err != nil {
		t.Fatal(err)
	}
	m := &MSO{Kind: KindRecv, Peer: 1, Tag: 9, Buf: make([]byte, 10)}
	es[0].Post(m, Computes)
	again.Post(&MSO{Kind: KindSend, Peer: 0, Tag: 9, Buf: make([]byte, 10)}, Computes)
	waitDone(t, "another in its place", es[0], m)
	wantErr(t, "another in its place", m.Err, ErrPeerFailed)
	waitStats(t, "refused", again, func(s *Stats) bool { return s.Active == 0 })
}
