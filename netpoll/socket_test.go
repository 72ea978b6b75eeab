//go:build linux && !fitmpi_portable

package netpoll

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
)

func TestReadWrite(t *testing.T) {
	p := newPoller(t)
	a, b := pair(t, p, Options{NoDelay: true}, loopback4)
	buf := make([]byte, 10)
	if n, err := a.Read(buf); n != 0 || err != ErrAgain {
		t.Fatalf("Read of nothing: %d, %v", n, err)
	}
	if n, err := a.Readv([][]byte{buf}); n != 0 || err != ErrAgain {
		t.Fatalf("Readv of nothing: %d, %v", n, err)
	}
	if n, err := b.Write([]byte("hello")); n != 5 || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
	wantReadable(t, a)
	if n, err := a.Read(buf); err != nil || string(buf[:n]) != "hello" {
		t.Fatalf("Read: %q, %v", buf[:n], err)
	}
	for name, f := range map[string]func() (int, error){
		"Read":   func() (int, error) { return a.Read(nil) },
		"Readv":  func() (int, error) { return a.Readv([][]byte{{}, nil}) },
		"Write":  func() (int, error) { return a.Write(nil) },
		"Writev": func() (int, error) { return a.Writev(nil) },
	} {
		if n, err := f(); n != 0 || err != nil {
			t.Errorf("empty %s: %d, %v", name, n, err)
		}
	}
	if err := b.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	wantReadable(t, a)
	if n, err := a.Read(buf); n != 0 || err != io.EOF {
		t.Fatalf("Read at the end: %d, %v", n, err)
	}
	if n, err := a.Readv([][]byte{buf}); n != 0 || err != io.EOF {
		t.Fatalf("Readv at the end: %d, %v", n, err)
	}
	if n, err := a.Write([]byte("back")); n != 4 || err != nil { // half closed
		t.Fatalf("Write to a half-closed peer: %d, %v", n, err)
	}
	if _, err := b.Write([]byte("x")); !errors.Is(err, unix.EPIPE) {
		t.Fatalf("Write after CloseWrite: %v", err)
	}
	if _, err := b.Writev([][]byte{[]byte("x")}); !errors.Is(err, unix.EPIPE) {
		t.Fatalf("Writev after CloseWrite: %v", err)
	}
}

func TestReadvSpans(t *testing.T) {
	p := newPoller(t)
	a, b := pair(t, p, Options{NoDelay: true}, loopback4)
	if n, err := b.Writev([][]byte{[]byte("ab"), nil, []byte("cdefg"), []byte("hij")}); n != 10 || err != nil {
		t.Fatalf("Writev: %d, %v", n, err)
	}
	wantReadable(t, a)
	bufs := [][]byte{make([]byte, 3), nil, make([]byte, 4), make([]byte, 2), make([]byte, 5)}
	if n, err := a.Readv(bufs); n != 10 || err != nil {
		t.Fatalf("Readv: %d, %v", n, err)
	}
	if got := fmt.Sprintf("%s|%s|%s|%s|%q", bufs[0], bufs[1], bufs[2], bufs[3], bufs[4]); got != `abc||defg|hi|"j\x00\x00\x00\x00"` {
		t.Fatal(got)
	}
	for _, s := range []*Socket{a, b} {
		for _, v := range s.iov[:cap(s.iov)] {
			if v.Base != nil {
				t.Fatal("the vector keeps memory reachable")
			}
		}
	}
}

func TestVectorLimits(t *testing.T) {
	p := newPoller(t)
	a, b := pair(t, p, Options{}, loopback4)
	ones := bytes.Repeat([]byte{1}, MaxVec+10)
	var bufs [][]byte
	for i := range ones {
		bufs = append(bufs, ones[i:i+1], nil)
	}
	if n, err := b.Writev(bufs); n != MaxVec || err != nil {
		t.Fatalf("Writev of %d slices: %d, %v", len(ones), n, err)
	}
	wantReadable(t, a)
	if n, err := a.Readv(bufs); n != MaxVec || err != nil {
		t.Fatalf("Readv into %d slices: %d, %v", len(ones), n, err)
	}
	big := make([]byte, 3*maxTransfer)
	for range 100 { // at most one cut per call
		n, err := b.Writev([][]byte{big[:10], big})
		if n > maxTransfer {
			t.Fatalf("Writev took %d", n)
		}
		if err == ErrAgain {
			break
		}
	}
}

// TestStream moves random bytes both ways through small kernel buffers, so that every kind of
// partial transfer happens.
func TestStream(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		for _, small := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s small=%v", addr, small), func(t *testing.T) {
				at := netip.MustParseAddrPort(addr)
				needs(t, at)
				o, size := Options{NoDelay: true}, 8<<20
				if small {
					// Slow: TCP delays acknowledgements when the window is a few segments.
					o.SendBuffer, o.ReceiveBuffer, size = 16<<10, 16<<10, 1<<20
				}
				testStream(t, o, at, size)
			})
		}
	}
}

func testStream(t *testing.T, o Options, at netip.AddrPort, size int) {
	p := newPoller(t)
	a, b := pair(t, p, o, at)
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	type end struct {
		s              *Socket
		out            []byte
		in             []byte // received so far is in[:got]
		got, shortened int
	}
	ends := []*end{{s: a, out: data, in: make([]byte, len(data))}, {s: b, out: slices.Clone(data), in: make([]byte, len(data))}}
	for i, e := range ends {
		if err := p.Add(e.s, uint64(i), true); err != nil {
			t.Fatal(err)
		}
	}
	for until := time.Now().Add(failsafe); ends[0].got < len(data) || ends[1].got < len(data); {
		if time.Now().After(until) {
			t.Fatalf("stuck at %d and %d", ends[0].got, ends[1].got)
		}
		var evs [2]Event
		n, err := waitPoll(p, evs[:], time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range evs[:n] {
			e := ends[ev.Token]
			if ev.Writable && len(e.out) > 0 {
				offer := e.out[:min(len(e.out), rng.IntN(3<<20)+1)]
				n, err := e.s.Writev(split(rng, offer))
				if rng.IntN(2) == 0 {
					n2, err2 := e.s.Write(e.out[n:min(len(e.out), n+100)])
					n, err = n+n2, err2
				}
				if err != nil && err != ErrAgain {
					t.Fatal(err)
				}
				if n < len(offer) {
					e.shortened++
				}
				e.out = e.out[n:]
				if err := p.SetWritable(e.s, ev.Token, len(e.out) > 0); err != nil {
					t.Fatal(err)
				}
			}
			if ev.Readable && e.got < len(e.in) {
				into := e.in[e.got:min(len(e.in), e.got+rng.IntN(2<<20)+1)]
				var n int
				if rng.IntN(2) == 0 {
					n, err = e.s.Readv(split(rng, into))
				} else {
					n, err = e.s.Read(into)
				}
				if err != nil {
					t.Fatal(err)
				}
				e.got += n
			}
		}
	}
	for _, e := range ends {
		if !bytes.Equal(e.in, data) {
			t.Error("the stream arrived changed")
		}
		if e.shortened == 0 {
			t.Error("no partial write happened")
		}
	}
}

// split cuts b into up to 20 pieces.
func split(rng *rand.Rand, b []byte) [][]byte {
	var bufs [][]byte
	for range 20 {
		n := rng.IntN(len(b) + 1)
		bufs = append(bufs, b[:n:n])
		b = b[n:]
	}
	return append(bufs, b)
}

func needs(t *testing.T, at netip.AddrPort) {
	t.Helper()
	l, err := Listen(at, 0)
	if err != nil {
		t.Skipf("%v: %v", at, err)
	}
	l.Close()
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct{ listen, dial string }{
		{"127.0.0.1:0", "127.0.0.1"},
		{"127.0.0.1:0", "::ffff:127.0.0.1"},
		{"0.0.0.0:0", "127.0.0.2"},
		{"[::1]:0", "::1"},
		{"[::]:0", "::1"},
		{"[::]:0", "127.0.0.1"},
	} {
		t.Run(c.listen+" "+c.dial, func(t *testing.T) {
			needs(t, netip.MustParseAddrPort(c.listen))
			l, err := Listen(netip.MustParseAddrPort(c.listen), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if l.Addr().Port() == 0 {
				t.Fatal("no port")
			}
			ip := netip.MustParseAddr(c.dial)
			a, err := Dial(netip.AddrPortFrom(ip, l.Addr().Port()), Options{})
			if err != nil {
				t.Fatal(err)
			}
			closeAtEnd(t, a)
			p := newPoller(t)
			p.AddListener(l, 1)
			wantEvents(t, "connection", p, Event{Token: 1, Readable: true})
			b, err := l.Accept(Options{})
			if err != nil {
				t.Fatal(err)
			}
			closeAtEnd(t, b)
			if _, err := l.Accept(Options{}); err != ErrAgain {
				t.Fatalf("second Accept: %v", err)
			}
			want := netip.AddrPortFrom(ip.Unmap(), l.Addr().Port())
			if a.RemoteAddr() != want || b.LocalAddr() != want {
				t.Errorf("dialed %v, accepted at %v, want %v", a.RemoteAddr(), b.LocalAddr(), want)
			}
			if a.LocalAddr() != b.RemoteAddr() || a.LocalAddr().Port() == 0 {
				t.Errorf("dialed from %v, accepted from %v", a.LocalAddr(), b.RemoteAddr())
			}
		})
	}
	if _, err := Dial(netip.AddrPort{}, Options{}); err == nil {
		t.Error("Dial of no address")
	}
	if _, err := Listen(netip.AddrPort{}, 0); err == nil {
		t.Error("Listen on no address")
	}
	if _, err := Dial(netip.MustParseAddrPort("[fe80::1%nosuchzone]:1"), Options{}); err == nil {
		t.Error("Dial through an unknown interface")
	}
}

func TestConnectRefused(t *testing.T) {
	s, err := Dial(faultproxy.Deserted(t), Options{})
	if err == nil {
		defer s.Close()
		p := newPoller(t)
		p.Add(s, 1, true)
		var evs [1]Event
		for n := 0; n == 0; {
			if n, err = waitPoll(p, evs[:], 5*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		if !evs[0].Writable {
			t.Fatalf("a refused connect is %+v", evs[0])
		}
		err = s.ConnectResult()
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		t.Fatalf("connect to nobody: %v", err)
	}
}

func TestConnectPending(t *testing.T) {
	raw, err := newRawSocket(loopback4)
	if err != nil {
		t.Fatal(err)
	}
	s := newSocket(raw, loopback4, true)
	defer s.Close()
	if err := s.ConnectResult(); err != ErrAgain {
		t.Fatalf("not connected yet: %v", err)
	}
}

// TestSelfConnect: a port on which no process listens and that happens to be ours.
func TestSelfConnect(t *testing.T) {
	raw, err := newRawSocket(loopback4)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(raw, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	addr := localAddr(raw)
	s := newSocket(raw, addr, true)
	defer s.Close()
	if err := startConnect(raw, addr, Options{}); err != nil {
		t.Fatal(err)
	}
	p := newPoller(t)
	p.Add(s, 1, true)
	wantEvents(t, "connected", p, Event{Token: 1, Writable: true})
	if err := s.ConnectResult(); !errors.Is(err, unix.ECONNREFUSED) {
		t.Fatalf("connected to itself: %v", err)
	}
}

func TestOptions(t *testing.T) {
	p := newPoller(t)
	cubic := "reno" // always built in
	o := Options{NoDelay: true, SendBuffer: 100_000, ReceiveBuffer: 90_000, Congestion: cubic, KeepAlive: true}
	a, b := pair(t, p, o, loopback4)
	for _, s := range []*Socket{a, b} {
		for _, c := range []struct{ level, name, want int }{
			{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
			{unix.SOL_SOCKET, unix.SO_SNDBUF, 200_000},
			{unix.SOL_SOCKET, unix.SO_RCVBUF, 180_000},
			{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepAliveSeconds},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepAliveSeconds},
		} {
			if got, err := unix.GetsockoptInt(s.fd.raw, c.level, c.name); err != nil || got != c.want {
				t.Errorf("option %d/%d is %d, %v; want %d", c.level, c.name, got, err, c.want)
			}
		}
		if got, err := unix.GetsockoptString(s.fd.raw, unix.IPPROTO_TCP, unix.TCP_CONGESTION); err != nil || got != cubic {
			t.Errorf("congestion control %q, %v", got, err)
		}
		for what, want := range map[int]int{unix.F_GETFD: unix.FD_CLOEXEC, unix.F_GETFL: unix.O_NONBLOCK} {
			if got, err := unix.FcntlInt(uintptr(s.fd.raw), what, 0); err != nil || got&want == 0 {
				t.Errorf("fcntl %d: %#x, %v", what, got, err)
			}
		}
	}
	pair(t, p, Options{Congestion: "no such"}, loopback4)
	c, _ := pair(t, p, Options{}, loopback4)
	if got, _ := unix.GetsockoptInt(c.fd.raw, unix.IPPROTO_TCP, unix.TCP_NODELAY); got != 0 {
		t.Error("the zero Options set TCP_NODELAY")
	}
}

func TestAcceptWithoutDescriptors(t *testing.T) {
	l, err := Listen(loopback4, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := Dial(l.Addr(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	p := newPoller(t)
	p.AddListener(l, 1)
	wantEvents(t, "connection", p, Event{Token: 1, Readable: true})
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Cur: 3, Max: old.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, err = l.Accept(Options{})
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, unix.EMFILE) {
		t.Fatalf("Accept without descriptors: %v", err)
	}
	if err := p.RemoveListener(l); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, "removed", p)
	b, err := l.Accept(Options{})
	if err != nil {
		t.Fatalf("the connection did not wait: %v", err)
	}
	b.Close()
}

func TestSocketClose(t *testing.T) {
	p := newPoller(t)
	a, b := pair(t, p, Options{}, loopback4)
	p.Add(a, 1, true)
	for range 3 {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wantEvents(t, "closed", p)
	buf := make([]byte, 1)
	for name, err := range map[string]error{
		"Read":          second(a.Read(buf)),
		"Readv":         second(a.Readv([][]byte{buf})),
		"Write":         second(a.Write(buf)),
		"Writev":        second(a.Writev([][]byte{buf})),
		"ConnectResult": a.ConnectResult(),
		"CloseWrite":    a.CloseWrite(),
		"Add":           p.Add(a, 1, true),
	} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if err := p.Remove(a); err != nil {
		t.Errorf("Remove after Close: %v", err)
	}
	if a.LocalAddr().IsValid() || a.RemoteAddr() != b.LocalAddr() {
		t.Errorf("addresses after Close: %v, %v", a.LocalAddr(), a.RemoteAddr())
	}
	wantReadable(t, b)
	if _, err := b.Read(buf); err != io.EOF {
		t.Errorf("Read after the peer's Close: %v", err)
	}
	l, err := Listen(loopback4, 0)
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr()
	for range 3 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Accept(Options{}); !errors.Is(err, os.ErrClosed) || l.Addr() != addr {
		t.Errorf("Accept after Close: %v, at %v", err, l.Addr())
	}
}

func TestTransferAllocs(t *testing.T) {
	p := newPoller(t)
	a, b := pair(t, p, Options{NoDelay: true}, loopback4)
	p.Add(b, 1, false)
	buf := make([]byte, 1000)
	bufs := [][]byte{buf[:300], buf[300:600], buf[600:]}
	move := func(write, read func() (int, error)) func() {
		return func() {
			n, err := write()
			if err != nil {
				t.Fatal(err)
			}
			for n > 0 {
				k, err := read()
				if err == ErrAgain {
					p.Wait(time.Second)
				} else if err != nil {
					t.Fatal(err)
				}
				n -= k
			}
			if _, err := read(); err != ErrAgain {
				t.Fatal(err)
			}
		}
	}
	plain := move(func() (int, error) { return a.Write(buf) }, func() (int, error) { return b.Read(buf) })
	vector := move(func() (int, error) { return a.Writev(bufs) }, func() (int, error) { return b.Readv(bufs) })
	for name, f := range map[string]func(){"plain": plain, "vector": vector} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkReadNothing(b *testing.B) {
	p := newPoller(b)
	s, _ := pair(b, p, Options{}, loopback4)
	buf := make([]byte, 4096)
	for b.Loop() {
		s.Read(buf)
	}
}

func BenchmarkReadvNothing(b *testing.B) {
	p := newPoller(b)
	s, _ := pair(b, p, Options{}, loopback4)
	buf := make([]byte, 4096)
	bufs := [][]byte{buf[:100], buf[100:]}
	for b.Loop() {
		s.Readv(bufs)
	}
}

// BenchmarkPingPong is both ends of an 8-byte ping-pong by one goroutine: the system calls' own
// time.
func BenchmarkPingPong(b *testing.B) {
	p := newPoller(b)
	x, y := pair(b, p, Options{NoDelay: true}, loopback4)
	buf := make([]byte, 8)
	for b.Loop() {
		x.Write(buf)
		for n := 0; n == 0; n, _ = y.Read(buf) {
		}
		y.Write(buf)
		for n := 0; n == 0; n, _ = x.Read(buf) {
		}
	}
}

func BenchmarkStream(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			p := newPoller(b)
			x, y := pair(b, p, Options{NoDelay: true, Congestion: "cubic"}, loopback4)
			out, in := make([]byte, size), make([]byte, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				for sent, got := 0, 0; got < size; {
					n, _ := x.Write(out[sent:])
					sent += n
					n, _ = y.Read(in[got:])
					got += n
				}
			}
		})
	}
}
