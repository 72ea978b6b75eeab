//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
)

// What refuses a connection may be a firewall that reloads, or a gateway that restarts: it says
// nothing of the peer.

// shut has the system refuse connections through proxies, or let them through again.
func shut(t testing.TB, yes bool, ps ...*faultproxy.Proxy) {
	t.Helper()
	for _, p := range ps {
		if err := p.Shut(yes); err != nil {
			t.Error(err)
		}
	}
}

// refusals is how many dials of es have failed.
func refusals(es []*Engine) (n uint64) {
	for _, e := range es {
		n += e.Stats().FailedDials
	}
	return n
}

// awaitRefusals waits until so many more dials of es have failed. It may be called by any
// goroutine.
func awaitRefusals(t testing.TB, es []*Engine, more uint64) {
	for before, until := refusals(es), time.Now().Add(failsafe); refusals(es) < before+more; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Errorf("%d dials have failed, want %d", refusals(es)-before, more)
			return
		}
	}
}

// TestResumeRefused: a connection breaks, and the system refuses others for a while. The streams go
// on then.
func TestResumeRefused(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	for _, p := range []Policy{Worker, Assist, Caller} {
		for _, ends := range []faultproxy.Ends{faultproxy.Both, faultproxy.Dialer} {
			t.Run(fmt.Sprint(p, ends), func(t *testing.T) {
				t.Parallel() // it waits for most of its time
				es, proxies := cutJob(t, 2, p, nil, uncut)
				exchangeAll(t, es)
				shut(t, true, proxies...)
				for _, p := range proxies {
					p.CutAll(faultproxy.Cut{Ends: ends})
				}
				var wg sync.WaitGroup
				wg.Go(func() {
					awaitRefusals(t, es, 3)
					shut(t, false, proxies...)
				})
				talk(t, es, 1)
				wg.Wait()
				wantResumed(t, es, 1)
				closeAll(t, es)
			})
		}
	}
}

// storm cuts most connections that are made, each at a byte that it draws, and now and then all
// that stand, at both ends or at one; and has the system refuse others until some were.
type storm struct {
	fair atomic.Bool // it cuts at both ends alone
	mu   sync.Mutex
	d    *rand.Rand // guarded by mu
}

func (s *storm) draw(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.d.IntN(n)
}

func (s *storm) plan(int, faultproxy.Direction) faultproxy.Cut {
	c := faultproxy.Cut{Ends: faultproxy.Ends(s.draw(3)), Gently: s.draw(4) == 0}
	if s.fair.Load() {
		c.Ends = faultproxy.Both
	}
	switch s.draw(4) {
	case 0:
		return faultproxy.Whole
	case 1:
		c.After = int64(s.draw(300)) // in its handshake
	default:
		c.After = int64(s.draw(100_000))
	}
	return c
}

// beFair has both ends notice from now on: of a cut at the end of a rank that is through alone, the
// other rank would learn only when it bears the silence no longer. So it is of connections that
// stand, which might still be cut so.
func (s *storm) beFair(proxies []*faultproxy.Proxy) {
	s.fair.Store(true)
	for _, p := range proxies {
		p.CutAll(faultproxy.Cut{})
	}
}

// blow lets the storm blow for some rounds.
func (s *storm) blow(t *testing.T, es []*Engine, proxies []*faultproxy.Proxy, rounds int) {
	for range rounds {
		refuses := s.draw(2) == 0
		if refuses {
			shut(t, true, proxies...)
		}
		cut := 0
		for _, p := range proxies {
			cut += p.CutAll(faultproxy.Cut{Ends: faultproxy.Ends(s.draw(3))})
		}
		if refuses && cut > 0 {
			awaitRefusals(t, es, uint64(1+s.draw(3)))
		}
		shut(t, false, proxies...)
	}
}

// TestResumeStorm: connections are cut and refused all the time, so that both sides close and dial
// at once, again and again. They agree on one in the end, and every message arrives, once, whole
// and in its order.
func TestResumeStorm(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "connections of many ranks break all the time")
	for _, tls := range []bool{false, true} {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("TLS %v, seed %d", tls, seed), func(t *testing.T) {
			t.Parallel() // it waits for most of its time
			s := &storm{d: rand.New(rand.NewPCG(seed, 1))}
			es, proxies := cutJob(t, 3, Assist, func(c *Config) { c.TLS = tls }, func(int) faultproxy.Plan { return s.plan })
			over := make(chan struct{})
			go func() {
				defer close(over)
				s.blow(t, es, proxies, 5)
			}()
			for blows := true; blows; {
				talk(t, es, 1)
				select {
				case <-over:
					blows = false
				default:
				}
			}
			s.beFair(proxies)
			talk(t, es, 1)
			wantResumed(t, es, 1)
			closeAll(t, es)
		})
	}
}

// TestConnectMute: the first connections of a pair are gone at the acceptor's end alone, each at
// another byte of its handshake. The dialer gets no answer, and dials again long before the time
// for the peer is over.
func TestConnectMute(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	for _, p := range []Policy{Worker, Assist, Caller} {
		for _, tls := range []bool{false, true} {
			for _, dir := range []faultproxy.Direction{faultproxy.Up, faultproxy.Down} {
				t.Run(fmt.Sprintf("%v, TLS %v, %d", p, tls, dir), func(t *testing.T) {
					t.Parallel() // it waits for most of its time
					mute := func(number int, d faultproxy.Direction) faultproxy.Cut {
						if at := []int64{0, 20, 150}; d == dir && number < len(at) {
							return faultproxy.Cut{After: at[number], Ends: faultproxy.Target}
						}
						return faultproxy.Whole
					}
					es, _ := cutJob(t, 2, p, func(c *Config) {
						c.TLS, c.Try, c.Connect = tls, 20*time.Millisecond, 2*failsafe
					}, func(int) faultproxy.Plan { return mute })
					talk(t, es, 1)
					closeAll(t, es)
				})
			}
		}
	}
}

// TestConnectRefused: the first connection of a pair is refused for a while, whether streams are to
// outlive connections or not.
func TestConnectRefused(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	for _, p := range []Policy{Worker, Assist, Caller} {
		for _, r := range []Resume{ResumeOn, ResumeOff} {
			t.Run(fmt.Sprint(p, ", resume ", r), func(t *testing.T) {
				t.Parallel() // it waits for most of its time
				es, proxies := cutJob(t, 2, p, func(c *Config) { c.Resume = r }, uncut)
				shut(t, true, proxies...)
				var wg sync.WaitGroup
				wg.Go(func() {
					awaitRefusals(t, es, 3)
					shut(t, false, proxies...)
				})
				exchangeAll(t, es)
				wg.Wait()
				wantResumed(t, es, 0)
				closeAll(t, es)
			})
		}
	}
}

// TestRefusedAtRest: an idle rank may have gone without a word, and what refuses then is believed.
func TestRefusedAtRest(t *testing.T) {
	for _, p := range []Policy{Worker, Assist, Caller} {
		t.Run(p.String(), func(t *testing.T) {
			at := faultproxy.Deserted(t)
			es := routesJob(t, 2, p, func(c *Config) { c.Reconnect = 2 * failsafe }, func(_, _ int, _ []netip.AddrPort) []Route { return Direct(at) })
			es[0].Excuse(1, true)
			m := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: make([]byte, 10), Mode: Synchronous}
			es[0].Post(m, Computes)
			waitDone(t, "to one that rests", es[0], m)
			wantErr(t, "to one that rests", m.Err, ErrPeerLeft)
		})
	}
}

// TestCloseRefused: ranks that have nothing to say to each other but goodbye do not wait for a
// connection that is refused.
func TestCloseRefused(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	for _, p := range []Policy{Worker, Assist, Caller} {
		t.Run(p.String(), func(t *testing.T) {
			es, proxies := cutJob(t, 2, p, func(c *Config) { c.Reconnect = 2 * failsafe }, uncut)
			exchangeAll(t, es)
			eventually(t, "something is not acknowledged", func() bool {
				kept := 0
				for _, e := range es {
					e.progressForTest()
					kept += e.Stats().BufferUsed
				}
				return kept == 0
			})
			shut(t, true, proxies...)
			for _, p := range proxies {
				p.CutAll(faultproxy.Cut{})
			}
			closeAll(t, es)
		})
	}
}

// TestCloseUnheard: a rank closes while a connection is broken and others are refused. What the
// peer has not received is not lost with it, though that takes longer than the rank would wait for
// goodbyes, and though the first connections that stand again bring nothing.
func TestCloseUnheard(t *testing.T) {
	t.Parallel()
	const fromDialer, fromAcceptor = 136, 152 // bytes of a handshake
	for _, p := range []Policy{Worker, Assist} {
		for _, worthless := range []int32{0, 1, 3} {
			t.Run(fmt.Sprint(p, worthless), func(t *testing.T) {
				t.Parallel()          // it waits for most of its time
				var left atomic.Int32 // connections that break behind their handshake, of which rank 0 does not notice
				es, proxies := cutJob(t, 2, p, nil, func(to int) faultproxy.Plan {
					return func(_ int, dir faultproxy.Direction) faultproxy.Cut {
						switch {
						case (to == 1) != (dir == faultproxy.Up) || left.Add(-1) < 0: // it does not lead to rank 1
							return faultproxy.Whole
						case to == 1:
							return faultproxy.Cut{After: fromDialer, Ends: faultproxy.Target}
						}
						return faultproxy.Cut{After: fromAcceptor, Ends: faultproxy.Dialer}
					}
				})
				exchangeAll(t, es)
				shut(t, true, proxies...)
				left.Store(worthless)
				for _, p := range proxies {
					p.CutAll(faultproxy.Cut{})
				}
				eventually(t, "nobody has noticed", func() bool { return es[0].drv.broken.Load() == 1 })
				if err := send(es[0], pattern(50, 1), 1, 3); err != nil {
					t.Fatal(err)
				}
				closed := make(chan error)
				go func() { closed <- es[0].Close(0) }()
				eventually(t, "nothing is said", func() bool { return es[0].drv.saying.Load() })
				awaitRefusals(t, es[:1], 1)
				shut(t, false, proxies...)
				if m, b := recv(es[1], 50, 0, 3); m.Err != nil || !bytes.Equal(b, pattern(50, 1)) {
					t.Errorf("received %v, %v", b, m.Err)
				}
				es[1].Close(failsafe)
				if err := <-closed; err != nil {
					t.Error(err)
				}
			})
		}
	}
}
