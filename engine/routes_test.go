//go:build linux && !fitmpi_portable

package engine

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
)

// routesJob starts engines whose ways to each other the test chooses.
func routesJob(t *testing.T, n int, p Policy, tune func(*Config), routes func(from, to int, addrs []netip.AddrPort) []Route) []*Engine {
	t.Helper()
	es := make([]*Engine, n)
	for i := range es {
		cfg := Config{
			Rank: i, Size: n, Job: [16]byte{7}, Secret: bytes.Repeat([]byte{9}, 32), Progress: p, Spin: 50 * time.Microsecond,
			Try: 150 * time.Millisecond,
		}
		if tune != nil {
			tune(&cfg)
		}
		var err error
		if es[i], err = Listen(cfg); err != nil {
			t.Fatal(err)
		}
	}
	for i, e := range es {
		peers := make([]PeerInfo, n)
		for k := range peers {
			peers[k] = PeerInfo{Host: fmt.Sprint("host", k), Remote: k != i, Routes: routes(i, k, es[k].Addrs())}
		}
		if err := e.Start(peers); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		var wg sync.WaitGroup
		for _, e := range es {
			wg.Go(func() {
				if err := e.Close(failsafe); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
	return es
}

// silent is an address where connections are taken and nothing is said.
func silent(t *testing.T) netip.AddrPort {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return netip.MustParseAddrPort(l.Addr().String())
}

func tcpPolicies(t *testing.T, f func(t *testing.T, p Policy)) {
	for _, p := range []Policy{Worker, Assist, Caller} {
		t.Run(p.String(), func(t *testing.T) { f(t, p) })
	}
}

// TestNextRoute: an address that refuses, one that says nothing and one of another program are
// passed over for one that leads to the peer, from both sides at once.
func TestNextRoute(t *testing.T) {
	tcpPolicies(t, func(t *testing.T, p Policy) {
		bad := []netip.AddrPort{faultproxy.Deserted(t), silent(t), garbler(t)}
		es := routesJob(t, 3, p, nil, func(from, to int, addrs []netip.AddrPort) []Route {
			rest := Direct(addrs...)
			if to == 2 {
				rest = append(rest, Direct(silent(t))...) // never tried: the one before is good
			}
			return append(Direct(bad...), rest...)
		})
		exchangeAll(t, es)
		for _, e := range es {
			if s := e.Stats(); s.PeersFailed != 0 {
				t.Errorf("rank %d lost %d peers", e.Rank(), s.PeersFailed)
			}
		}
	})
}

// TestRoutesWhileComputing: under the caller policy a peer that computes is not given up, however
// many rounds over its routes that takes and though each ends in silence.
func TestRoutesWhileComputing(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	wall := silent(t)
	es := routesJob(t, 2, Caller, func(c *Config) { c.Try, c.Connect = time.Millisecond, 10*time.Millisecond }, func(from, to int, addrs []netip.AddrPort) []Route {
		return append(Direct(wall), Direct(addrs...)...)
	})
	m := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: []byte("hello"), Mode: Synchronous}
	es[0].Post(m, Computes)
	var sent sync.WaitGroup
	sent.Go(func() { es[0].Wait(m) })
	for end := time.Now().Add(failsafe); es[0].Stats().Dials < 8 && !m.IsDone(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not try again")
		}
	}
	if m.IsDone() {
		t.Fatalf("given up: %v", m.Err)
	}
	r := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 8)}
	es[1].Post(r, Computes)
	waitDone(t, "computed", es[1], r)
	sent.Wait()
	if m.Err != nil || r.Err != nil || string(r.Buf[:r.Length]) != "hello" {
		t.Errorf("%v, %v, %q", m.Err, r.Err, r.Buf)
	}
}

// garbler is an address of a server that speaks something else.
func garbler(t *testing.T) netip.AddrPort {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "220 mail.example.org ready\r\n")
			c.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return netip.MustParseAddrPort(l.Addr().String())
}

// TestAnotherRank: an address that leads to another rank of the job, as that of a bridge which
// every host has, is none of the peer's.
func TestAnotherRank(t *testing.T) {
	var mu sync.Mutex
	first := map[int]netip.AddrPort{}
	tcpPolicies(t, func(t *testing.T, p Policy) {
		es := routesJob(t, 3, p, nil, func(from, to int, addrs []netip.AddrPort) []Route {
			mu.Lock()
			defer mu.Unlock()
			first[to] = addrs[0]
			if wrong, ok := first[(to+1)%3]; ok && to != from {
				return Direct(wrong, addrs[0])
			}
			return Direct(addrs...)
		})
		exchangeAll(t, es)
	})
}

// wantUnreachable checks that a send to rank 1 fails with what says all of that.
func wantUnreachable(t *testing.T, e *Engine, says ...string) {
	t.Helper()
	m := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: make([]byte, 100), Mode: Synchronous}
	e.Post(m, Computes)
	waitDone(t, "nobody is there", e, m)
	wantErr(t, "nobody is there", m.Err, ErrPeerFailed)
	for _, s := range says {
		if m.Err != nil && !strings.Contains(m.Err.Error(), s) {
			t.Errorf("the error is %q, want one that says %q", m.Err, s)
		}
	}
}

// TestAllRefused: a peer all of whose addresses refuse is given up when the time for an outage is
// over, and not before.
func TestAllRefused(t *testing.T) {
	t.Parallel()
	tcpPolicies(t, func(t *testing.T, p Policy) {
		const most = 300 * time.Millisecond
		a, b := faultproxy.Deserted(t), faultproxy.Deserted(t)
		es := routesJob(t, 2, p, func(c *Config) { c.Reconnect = most }, func(from, to int, addrs []netip.AddrPort) []Route { return Direct(a, b) })
		began := time.Now()
		wantUnreachable(t, es[0], "rank 1", "host1", a.String()+": connect: connection refused", b.String()+": connect: connection refused")
		if d := time.Since(began); d < most {
			t.Errorf("given up after %v", d)
		}
	})
}

// TestConnectDeadline: a peer that is not to be reached is given up when the time is over, and not
// before.
func TestConnectDeadline(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	t.Parallel() // it waits for most of its time
	for _, p := range []Policy{Worker, Assist} {
		for _, routes := range [][]netip.AddrPort{{silent(t)}, {silent(t), faultproxy.Deserted(t)}} {
			t.Run(fmt.Sprint(p, len(routes)), func(t *testing.T) {
				const limit = 600 * time.Millisecond
				es := routesJob(t, 2, p, func(c *Config) { c.Connect = limit }, func(from, to int, addrs []netip.AddrPort) []Route {
					return Direct(routes...)
				})
				began := time.Now()
				says := []string{"rank 1", "host1", routes[0].String() + "", "no answer"}
				if len(routes) > 1 {
					says = append(says, routes[1].String()+": connect: connection refused")
				}
				wantUnreachable(t, es[0], says...)
				if d := time.Since(began); d < limit {
					t.Errorf("given up after %v", d)
				}
			})
		}
	}
}

// TestOneWay: where only one of two ranks can reach the other there is a connection all the same,
// whichever it is, though both dial.
func TestOneWay(t *testing.T) {
	tcpPolicies(t, func(t *testing.T, p Policy) {
		for blind := range 2 {
			t.Run(fmt.Sprint(blind), func(t *testing.T) {
				wall := silent(t)
				es := routesJob(t, 2, p, nil, func(from, to int, addrs []netip.AddrPort) []Route {
					if from == blind {
						return Direct(wall)
					}
					return Direct(addrs...)
				})
				both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
			})
		}
	})
}

// TestLateListener: a gateway that is not there yet is tried again; what is left to a rank that
// closes meanwhile arrives.
func TestLateListener(t *testing.T) {
	for _, p := range []Policy{Worker, Assist} {
		t.Run(p.String(), func(t *testing.T) {
			at := netip.MustParseAddrPort(faultproxy.FreeAddress(t))
			var target netip.AddrPort
			es := routesJob(t, 2, p, nil, func(from, to int, addrs []netip.AddrPort) []Route {
				if to == 1 {
					target = addrs[0]
					return []Route{{Addr: at, Preamble: func() []byte { return []byte("to 1\n") }}}
				}
				return Direct(addrs...)
			})
			if err := send(es[0], pattern(50, 1), 1, 3); err != nil {
				t.Fatal(err)
			}
			eventually(t, "a pause", func() bool {
				es[0].takeRight()
				defer es[0].releaseRight()
				return es[0].drv.await[1] != 0
			})
			g := startGateway(t, at, target, 1)
			closed := make(chan error)
			go func() { closed <- es[0].Close(failsafe) }()
			m, b := recv(es[1], 50, 0, 3)
			if m.Err != nil || !bytes.Equal(b, pattern(50, 1)) {
				t.Errorf("received %v, %v", b, m.Err)
			}
			es[1].Close(failsafe)
			if err := <-closed; err != nil {
				t.Error(err)
			}
			if n := g.asked(); n < 2 {
				t.Errorf("the gateway was asked %d times, and refused once", n)
			}
		})
	}
}

// gateway passes on connections that begin with a line, after it has refused some.
type gateway struct {
	l  net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex
	n     int        // guarded by mu: lines
	conns []net.Conn // guarded by mu
}

func startGateway(t *testing.T, at, target netip.AddrPort, refuse int) *gateway {
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{l: l}
	g.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.keep(c)
			g.wg.Go(func() { g.pass(c, target, refuse) })
		}
	})
	t.Cleanup(g.stop)
	return g
}

func (g *gateway) keep(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns = append(g.conns, c)
}

func (g *gateway) asked() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}

func (g *gateway) stop() {
	g.l.Close()
	g.mu.Lock()
	for _, c := range g.conns {
		c.Close()
	}
	g.mu.Unlock()
	g.wg.Wait()
}

func (g *gateway) pass(c net.Conn, target netip.AddrPort, refuse int) {
	defer c.Close()
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	g.mu.Lock()
	g.n++
	n := g.n
	g.mu.Unlock()
	if err != nil || line != "to 1\n" || n <= refuse {
		return
	}
	out, err := net.Dial("tcp", target.String())
	if err != nil {
		return
	}
	g.keep(out)
	g.wg.Go(func() {
		io.Copy(c, out)
		c.(*net.TCPConn).CloseWrite()
	})
	io.Copy(out, r)
	out.(*net.TCPConn).CloseWrite()
}

// TestStormOfRoutes is TestConnectStorm where each first address leads nowhere.
func TestStormOfRoutes(t *testing.T) {
	tcpPolicies(t, func(t *testing.T, p Policy) {
		for range 5 {
			es := routesJob(t, 3, p, func(c *Config) { c.Try = 20 * time.Millisecond }, func(from, to int, addrs []netip.AddrPort) []Route {
				if (from+to)%2 == 0 {
					return Direct(faultproxy.Deserted(t), addrs[0])
				}
				return Direct(addrs...)
			})
			start := make(chan struct{})
			var wg sync.WaitGroup
			for _, e := range es {
				wg.Go(func() {
					<-start
					exchange(t, e, 1, 100)
				})
			}
			close(start)
			wg.Wait()
			for _, e := range es {
				if s := e.Stats(); s.PeersFailed != 0 {
					t.Fatalf("rank %d lost %d peers", e.Rank(), s.PeersFailed)
				}
			}
			closeAll(t, es)
		}
	})
}

// TestListenSeveral: a rank may be reached at each of its addresses, at ports of the range.
func TestListenSeveral(t *testing.T) {
	ports := freePorts(t, 3)
	es := routesJob(t, 2, Assist, func(c *Config) {
		c.Listen, c.Ports = []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3"), netip.MustParseAddr("::1")}, ports
	}, func(from, to int, addrs []netip.AddrPort) []Route {
		if len(addrs) < 2 {
			t.Fatalf("it listens at %v", addrs)
		}
		for _, a := range addrs {
			if a.Port() < ports.From || a.Port() > ports.To {
				t.Errorf("%v is not in %v", a, ports)
			}
		}
		return Direct(addrs[to])
	})
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
}

// freePorts is a range in which, at this moment, no process listens.
func freePorts(t *testing.T, n int) netif.Ports {
	t.Helper()
	from, err := faultproxy.FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	return netif.Ports{From: from, To: from + uint16(n) - 1}
}

// TestPortsFull: the error names the range.
func TestPortsFull(t *testing.T) {
	ports := freePorts(t, 2)
	cfg := Config{Size: 1, Secret: make([]byte, 32), Ports: ports}
	for range 2 {
		e, err := Listen(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Kill()
	}
	e, err := Listen(cfg)
	if err == nil {
		e.Kill()
	}
	if want := fmt.Sprintf("listen at 127.0.0.1: no port of %v is free", ports); err == nil || err.Error() != want {
		t.Errorf("a third listener: %v, want %q", err, want)
	}
	cfg.Listen, cfg.Ports = []netip.Addr{netip.MustParseAddr("192.0.2.1")}, netif.Ports{}
	if _, err := Listen(cfg); err == nil || !strings.Contains(err.Error(), "listen at 192.0.2.1") {
		t.Errorf("an address that is not ours: %v", err)
	}
}

// TestNoAnswerAtLast: a try that the end of the time cuts short does not hide what was said before.
func TestNoAnswerAtLast(t *testing.T) {
	a := &attempt{causes: make([]error, 2), route: 1}
	for _, step := range []struct {
		cause error
		want  string
	}{
		{errNoAnswer, "no answer"},
		{errNewer, errNewer.Error()},
		{errNoAnswer, errNewer.Error() + "; then no answer"},
		{errNoAnswer, errNewer.Error() + "; then no answer"},
		{io.EOF, "EOF"},
	} {
		a.note(step.cause)
		if got := a.causes[1]; got.Error() != step.want || !errors.Is(got, step.cause) {
			t.Errorf("after %v: %v, want %s", step.cause, got, step.want)
		}
	}
	if a.causes[0] != nil {
		t.Errorf("the other route: %v", a.causes[0])
	}
}

// TestUnreachableError names what there is to name, and is each of its causes.
func TestUnreachableError(t *testing.T) {
	one := Route{Addr: netip.MustParseAddrPort("1.2.3.4:5")}
	gate := Route{Addr: netip.MustParseAddrPort("[::1]:6"), Preamble: func() []byte { return nil }}
	err := error(&unreachableError{"h", []Route{one, gate}, []error{io.EOF, errNoAnswer}})
	if s := err.Error(); s != "connect to h: 1.2.3.4:5: EOF; gateway [::1]:6: no answer" {
		t.Error(s)
	}
	if !errors.Is(err, io.EOF) || !errors.Is(err, errNoAnswer) {
		t.Error("the causes are lost")
	}
}

// refusing is the address of a gateway that answers every request by answer, in pieces, and closes.
func refusing(t *testing.T, answer ...string) netip.AddrPort {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r := bufio.NewReader(c)
			r.ReadString('\n')
			for _, part := range answer {
				io.WriteString(c, part)
				time.Sleep(time.Millisecond) // pieces mostly arrive as such; it is no less right when they do not
			}
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, r)
			c.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return netip.MustParseAddrPort(l.Addr().String())
}

// noTo reads refusals of these tests, which begin with "no: ".
func noTo(preamble, answer []byte) (why string, more bool) {
	line, _, whole := strings.Cut(string(answer), "\n")
	if head := min(len(line), len("no: ")); line[:head] != "no: "[:head] {
		return "", false
	}
	if !whole {
		return "", true
	}
	return string(bytes.TrimSpace(preamble)) + " " + line, false
}

// TestGatewayRefuses: what a gateway says is reported, with where it is and whose gateway it is;
// and another is tried, and it again.
func TestGatewayRefuses(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "each of its cases waits for a second")
	for _, c := range []struct {
		answer []string
		want   string
	}{
		{[]string{"no: closed\n"}, "to 1 no: closed"},
		{[]string{"n", "o", ": clo", "sed", "\n"}, "to 1 no: closed"},
		{[]string{"no: closed\nand more"}, "to 1 no: closed"},
		{[]string{"no: clo"}, "the connection was closed before the handshake was finished; the gateway has not said why, its log may tell"},
		{[]string{"now for something else"}, "handshake refused: "},
		{nil, "the connection was closed before the handshake was finished; the gateway has not said why, its log may tell"},
	} {
		for _, tls := range []bool{false, true} {
			if tls && len(c.answer) > 0 && strings.HasPrefix(c.answer[0], "now") {
				continue // TLS waits for the rest of what it takes for a long record
			}
			t.Run(fmt.Sprint(c.answer, tls), func(t *testing.T) {
				t.Parallel() // it waits for most of its time
				at := refusing(t, c.answer...)
				var tries atomic.Int64
				es := routesJob(t, 2, Assist, func(c *Config) { c.TLS, c.Connect = tls, time.Second }, func(from, to int, addrs []netip.AddrPort) []Route {
					return []Route{{Addr: at, Preamble: func() []byte { tries.Add(1); return []byte("to 1\n") }, Refusal: noTo}}
				})
				wantUnreachable(t, es[0], "connect to host1 (gateway "+at.String()+"): "+c.want)
				if tries.Load() < 2 {
					t.Error("it was believed at once")
				}
			})
		}
	}
}

// TestGatewayHesitates: a gateway that refuses one after the other, and lets through then, is a
// way; what the peer says first is not taken for the gateway's.
func TestGatewayHesitates(t *testing.T) {
	for _, tls := range []bool{false, true} {
		at := netip.MustParseAddrPort(faultproxy.FreeAddress(t))
		es := routesJob(t, 2, Assist, func(c *Config) { c.TLS, c.Resume = tls, ResumeOff }, func(from, to int, addrs []netip.AddrPort) []Route {
			if from == 0 && to == 1 {
				startGateway(t, at, addrs[0], 0)
				return []Route{{Addr: refusing(t, "no: closed\n"), Preamble: func() []byte { return []byte("to 1\n") }, Refusal: noTo},
					{Addr: at, Preamble: func() []byte { return []byte("to 1\n") }, Refusal: func(_, answer []byte) (string, bool) { return "", len(answer) < 5 }}}
			}
			return Direct(silent(t))
		})
		both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
	}
}
