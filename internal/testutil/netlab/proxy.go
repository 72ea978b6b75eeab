//go:build linux && !fitmpi_portable

package netlab

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy passes connections on to another address, later, or not to their ends.
type Proxy struct {
	to    string
	delay time.Duration
	l     net.Listener
	cut   atomic.Bool    // connections are reset
	bytes atomic.Int64   // passed on, both ways
	wg    sync.WaitGroup // of its goroutines; stopped by closing l and the connections

	mu    sync.Mutex
	conns map[net.Conn]bool // guarded by mu; nil when the proxy is closed
}

// Proxy makes a proxy on this machine, in the network, that passes on to an address what comes,
// each byte after a delay.
func (n *Network) Proxy(t testing.TB, to string, delay time.Duration) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", n.Ours()+":0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{to: to, delay: delay, l: l, conns: make(map[net.Conn]bool)}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.Reset()
		p.wg.Wait()
	})
	return p
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.l.Addr().String() }

// Bytes is how many it has passed on.
func (p *Proxy) Bytes() int64 { return p.bytes.Load() }

// Reset resets every connection, in the middle of what crosses it, and takes no more.
func (p *Proxy) Reset() {
	p.cut.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	p.conns = nil
}

// AwaitBytes waits until so many bytes were passed on.
func (p *Proxy) AwaitBytes(t testing.TB, n int64) {
	t.Helper()
	for end := time.Now().Add(patience); p.Bytes() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes came, want %d", p.Bytes(), n)
		}
	}
}

func (p *Proxy) accept() {
	for {
		from, err := p.l.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(from) })
	}
}

// hold notes a connection, for Reset. False: it is too late.
func (p *Proxy) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) serve(from net.Conn) {
	defer from.Close()
	if !p.hold(from) {
		return
	}
	to, err := net.DialTimeout("tcp", p.to, patience)
	if err != nil {
		return
	}
	defer to.Close()
	if !p.hold(to) {
		return
	}
	var ways sync.WaitGroup
	ways.Go(func() { p.pass(from, to) })
	ways.Go(func() { p.pass(to, from) })
	ways.Wait()
}

// late is bytes and when they are due; none at the end.
type late struct {
	due  time.Time
	text []byte
}

// pass copies one way. Each way ends with what it reads from, and then closes the other half.
func (p *Proxy) pass(from, to net.Conn) {
	queue := make(chan late, 1024)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(queue)
		for {
			b := make([]byte, 64<<10)
			n, err := from.Read(b)
			if n > 0 {
				queue <- late{time.Now().Add(p.delay), b[:n]}
			}
			if err != nil {
				return
			}
		}
	})
	for l := range queue {
		time.Sleep(time.Until(l.due))
		n, err := to.Write(l.text)
		p.bytes.Add(int64(n))
		if err != nil {
			from.Close() // so that the reader ends too
		}
	}
	reader.Wait()
	to.(interface{ CloseWrite() error }).CloseWrite()
}
