//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/jobtls"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
)

// sniffer passes connections on to target and keeps what it sees.
type sniffer struct {
	l  net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex
	seen  bytes.Buffer // guarded by mu
	conns []net.Conn   // guarded by mu
}

func sniff(t *testing.T, target netip.AddrPort) (*sniffer, netip.AddrPort) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sniffer{l: l}
	s.wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target.String())
			if err != nil {
				in.Close()
				continue
			}
			s.mu.Lock()
			s.conns = append(s.conns, in, out)
			s.mu.Unlock()
			s.wg.Go(func() { s.copy(out, in) })
			s.wg.Go(func() { s.copy(in, out) })
		}
	})
	t.Cleanup(s.stop)
	return s, netip.MustParseAddrPort(l.Addr().String())
}

func (s *sniffer) copy(to, from net.Conn) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		s.mu.Lock()
		s.seen.Write(b[:n])
		s.mu.Unlock()
		if n > 0 {
			to.Write(b[:n])
		}
		if err != nil {
			to.(*net.TCPConn).CloseWrite()
			return
		}
	}
}

func (s *sniffer) stop() {
	s.l.Close()
	s.mu.Lock()
	for _, c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// TestSniffed: with TLS nothing of a message is on the wire, in short and long ones, both ways;
// without, it all is, which shows that the test looks in the right place.
func TestSniffed(t *testing.T) {
	marker := []byte("a marker in the payload")
	for _, encrypted := range []bool{false, true} {
		tcpPolicies(t, func(t *testing.T, p Policy) {
			var mu sync.Mutex
			var all []*sniffer
			es := routesJob(t, 2, p, func(c *Config) { c.TLS = encrypted }, func(from, to int, addrs []netip.AddrPort) []Route {
				s, at := sniff(t, addrs[0])
				mu.Lock()
				defer mu.Unlock()
				all = append(all, s)
				return Direct(at)
			})
			payload := bytes.Repeat(marker, 20_000)
			talk := func(e *Engine, other PeerID) {
				for _, n := range []int{len(marker), 5000, len(payload)} {
					in := &MSO{Kind: KindRecv, Peer: other, Tag: 1, Buf: make([]byte, n)}
					out := &MSO{Kind: KindSend, Peer: other, Tag: 1, Buf: payload[:n]}
					e.Post(in, Computes)
					e.Post(out, Computes)
					e.WaitMany(2, []*MSO{in, out})
					if in.Err != nil || out.Err != nil || !bytes.Equal(in.Buf, payload[:n]) {
						t.Errorf("rank %d, %d bytes: %v, %v", e.Rank(), n, in.Err, out.Err)
					}
				}
			}
			both(t, es, func() { talk(es[0], 1) }, func() { talk(es[1], 0) })
			bytesSeen, marks, magics := 0, 0, 0
			for _, s := range all {
				s.mu.Lock()
				b := s.seen.Bytes()
				bytesSeen += len(b)
				marks += bytes.Count(b, marker[:8])
				magics += bytes.Count(b, []byte("FITM"))
				s.mu.Unlock()
			}
			if bytesSeen < 2*len(payload) {
				t.Errorf("the sniffer saw %d bytes only", bytesSeen)
			}
			if encrypted != (marks == 0) || encrypted != (magics == 0) {
				t.Errorf("encrypted: %v, but the marker was seen %d times, the handshake of ranks %d times", encrypted, marks, magics)
			}
		})
	}
}

// TestMixedTLS: a rank that uses TLS and one that does not tell each other what is wrong, whichever
// dials.
func TestMixedTLS(t *testing.T) {
	for _, p := range []Policy{Worker, Assist} {
		for encrypted := range 2 {
			for dialer := range 2 {
				t.Run(fmt.Sprintf("%v/tls at %d/dialled by %d", p, encrypted, dialer), func(t *testing.T) {
					es := routesJob(t, 2, p, func(c *Config) { c.TLS = c.Rank == encrypted }, func(from, to int, addrs []netip.AddrPort) []Route {
						return Direct(addrs...)
					})
					says, counted := "uses TLS, and this rank does not: every rank needs the same FITMPI_TLS", wire.RejectPlain
					if dialer == encrypted {
						says, counted = "does not use TLS, and this rank does: every rank needs the same FITMPI_TLS", wire.RejectEncrypted
					}
					other := PeerID(1 - dialer)
					m := &MSO{Kind: KindSend, Peer: other, Tag: 1, Buf: make([]byte, 10), Mode: Synchronous}
					es[dialer].Post(m, Computes)
					waitDone(t, "mixed", es[dialer], m)
					wantErr(t, "mixed", m.Err, ErrPeerFailed)
					if want := fmt.Sprintf("rank %d failed", other); m.Err == nil || !strings.Contains(m.Err.Error(), says) || !strings.Contains(m.Err.Error(), want) {
						t.Errorf("the error is %v, want one that says %q and %q", m.Err, want, says)
					}
					wantReject(t, es[other], counted, 1)
				})
			}
		}
	}
}

// TestWrongAuthority: a rank of another job, or one that has only guessed the secret, is refused by
// its certificate.
func TestWrongAuthority(t *testing.T) {
	es := routesJob(t, 2, Assist, func(c *Config) {
		c.TLS = true
		if c.Rank == 1 {
			c.Secret = bytes.Repeat([]byte{8}, 32)
		}
	}, func(from, to int, addrs []netip.AddrPort) []Route { return Direct(addrs...) })
	wantUnreachable(t, es[0], "rank 1", "its certificate is not of this job")
	if s := es[1].Stats(); s.PeersFailed != 0 {
		t.Error("the stranger made a rank fail")
	}
}

// TestStrangersTLS: a dialler that does not get through TLS is dropped and counted, and so is a
// rank whose certificate is another's.
func TestStrangersTLS(t *testing.T) {
	tlsUnderTest = true
	defer func() { tlsUnderTest = false }()
	es := strangersJob(t, Assist)
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
	e := es[0]

	c := dialRaw(t, e)
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")
	wantDropped(t, "garbage", c)
	wantReject(t, e, wire.RejectBadProof, 1)

	c = dialRaw(t, e)
	c.Write([]byte{firstHandshake, 3, 1, 1})
	c.Close()
	wantReject(t, e, wire.RejectHangup, 1)

	c = dialRaw(t, e)
	c.Write(wire.NewDialer(testIdentity(2), 0, nonce()).Output())
	answer, _ := io.ReadAll(c)
	if !bytes.Equal(answer, notMyProtocol) {
		t.Errorf("a rank without TLS is told %x", answer)
	}
	wantReject(t, e, wire.RejectPlain, 1)

	posing(t, e, 2, 1, false)
	wantReject(t, e, wire.RejectStranger, 1)
	posing(t, e, 2, 2, true)
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
	if s := e.Stats(); s.PeersFailed != 0 {
		t.Errorf("strangers cost %d peers", s.PeersFailed)
	}
}

// posing connects to rank 0 with the certificate of one rank and the handshake of another.
func posing(t *testing.T, e *Engine, rank, certificate int, welcome bool) {
	t.Helper()
	id, err := jobtls.NewIdentity([16]byte{7}, bytes.Repeat([]byte{9}, 32), certificate, 3)
	if err != nil {
		t.Fatal(err)
	}
	raw := dialRaw(t, e)
	c := newBlockingTLS(t, raw, id)
	h, _ := shake(t, c, testIdentity(rank))
	if (h.State() == wire.StateEstablished) != welcome {
		t.Errorf("rank %d with the certificate of %d: %v", rank, certificate, h)
	}
	if welcome {
		c.Write(frame(wire.Header{Kind: wire.KindBye}))
	}
	raw.Close()
}

// blockingTLS is a jobtls.Conn over a connection that blocks.
type blockingTLS struct {
	net.Conn
	tls    *jobtls.Conn
	chunks chan []byte // what is read from the connection; closed at its end
}

func newBlockingTLS(t *testing.T, raw net.Conn, id *jobtls.Identity) *blockingTLS {
	t.Helper()
	var wg sync.WaitGroup
	woke := make(chan struct{}, 100)
	c := &blockingTLS{raw, id.Dial(0, nil, func(f func()) { wg.Go(f) }, func() { woke <- struct{}{} }), make(chan []byte, 100)}
	wg.Go(func() {
		defer close(c.chunks)
		for {
			b := make([]byte, 4096)
			n, err := raw.Read(b)
			if err != nil {
				return
			}
			c.chunks <- b[:n]
		}
	})
	t.Cleanup(func() {
		raw.Close()
		c.tls.Close()
		wg.Wait()
	})
	for !c.tls.Ready() {
		select {
		case <-woke:
			c.tls.Flush(raw.Write)
		case b, ok := <-c.chunks:
			if !ok {
				t.Fatal("the connection ends in the handshake")
			}
			c.tls.Feed(b)
		}
	}
	c.tls.Flush(raw.Write)
	return c
}

func (c *blockingTLS) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if err := c.tls.Write(b); err != nil {
		return 0, err
	}
	return len(b), c.tls.Flush(c.Conn.Write)
}

func (c *blockingTLS) Read(p []byte) (int, error) {
	for {
		n, err := c.tls.Read(p)
		if err != jobtls.ErrAgain {
			return n, err
		}
		b, ok := <-c.chunks
		if !ok {
			return 0, io.EOF
		}
		c.tls.Feed(b)
	}
}

// TestCutTLS: an attacker that ends a connection, or changes a byte of it, makes the peer fail, and
// delivers nothing.
func TestCutTLS(t *testing.T) {
	for _, how := range []string{"cut", "changed"} {
		t.Run(how, func(t *testing.T) {
			var mitm *meddler
			es := routesJob(t, 2, Assist, func(c *Config) { c.TLS, c.Resume = true, ResumeOff }, func(from, to int, addrs []netip.AddrPort) []Route {
				if from == 0 && to == 1 {
					mitm = meddle(t, addrs[0], 100_000, how == "changed")
					return Direct(mitm.at)
				}
				return Direct(silent(t))
			})
			in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 1<<20)}
			out := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(1<<20, 3)}
			es[1].Post(in, Computes)
			es[0].Post(out, Computes)
			waitDone(t, how, es[1], in)
			wantErr(t, how, in.Err, ErrPeerFailed)
			if how == "changed" && !strings.Contains(in.Err.Error(), "TLS: ") {
				t.Errorf("the error is %v", in.Err)
			}
			if got := in.Buf; !bytes.HasPrefix(pattern(1<<20, 3), got[:10_000]) {
				t.Error("what came before is not genuine")
			}
		})
	}
}

// meddler passes on bytes, and after so many of them changes one or ends the connection.
type meddler struct {
	at netip.AddrPort
}

func meddle(t *testing.T, target netip.AddrPort, after int64, change bool) *meddler {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { meddleWith(in, target, after, change) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return &meddler{netip.MustParseAddrPort(l.Addr().String())}
}

// meddleWith is what happens to one connection. A dialler that finds no answer in time, on a busy
// machine, tries another.
func meddleWith(in net.Conn, target netip.AddrPort, after int64, change bool) {
	out, err := net.Dial("tcp", target.String())
	if err != nil {
		in.Close()
		return
	}
	var back sync.WaitGroup
	back.Go(func() { io.Copy(in, out) })
	defer back.Wait()
	defer out.Close()
	defer in.Close()
	io.CopyN(out, in, after)
	if change {
		b := make([]byte, 1)
		io.ReadFull(in, b)
		out.Write([]byte{b[0] ^ 1})
		io.Copy(out, in)
	}
}

// TestGatewayTLS: the line to a gateway goes before TLS, in the clear, and all behind it is
// encrypted.
func TestGatewayTLS(t *testing.T) {
	at := netip.MustParseAddrPort(faultproxy.FreeAddress(t))
	es := routesJob(t, 2, Assist, func(c *Config) { c.TLS, c.Resume = true, ResumeOff }, func(from, to int, addrs []netip.AddrPort) []Route {
		if from == 0 && to == 1 {
			startGateway(t, at, addrs[0], 0)
			return []Route{{Addr: at, Preamble: func() []byte { return []byte("to 1\n") }}}
		}
		return Direct(silent(t))
	})
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
}
