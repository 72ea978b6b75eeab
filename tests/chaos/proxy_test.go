//go:build linux

package chaos

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
)

// proxy takes connections for one rank, passes on what crosses them, and does harm to them.
type proxy struct {
	to    string // where the rank listens
	door  *faultproxy.Door
	bytes atomic.Int64
	wg    sync.WaitGroup // of its goroutines; stopped by close

	mu      sync.Mutex
	lines   []*line   // guarded by mu: that are open, the oldest first
	refuses time.Time // guarded by mu: until then new connections are turned away
	closed  bool      // guarded by mu
}

// newProxy makes a proxy for a rank that listens at to.
func newProxy(to string) (*proxy, error) {
	door, err := faultproxy.Open()
	if err != nil {
		return nil, err
	}
	p := &proxy{to: to, door: door}
	p.wg.Go(p.accept)
	return p, nil
}

// close ends it and all its connections.
func (p *proxy) close() {
	p.door.Close()
	p.mu.Lock()
	p.closed = true
	for _, x := range p.lines {
		x.reset(true, true)
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		from, err := p.door.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(from) })
	}
}

func (p *proxy) serve(from *net.TCPConn) {
	p.mu.Lock()
	refuses := time.Now().Before(p.refuses)
	p.mu.Unlock()
	if refuses {
		from.SetLinger(0)
		from.Close()
		return
	}
	to, err := net.DialTimeout("tcp", p.to, patience)
	if err != nil {
		from.SetLinger(0)
		from.Close()
		return
	}
	x := newLine(from, to.(*net.TCPConn))
	if !p.hold(x) {
		x.reset(true, true)
		return
	}
	var ways sync.WaitGroup
	for i := range x.ways {
		ways.Go(func() { x.pass(&x.ways[i], &p.bytes) })
	}
	ways.Wait()
	x.reset(false, false)
	p.forget(x)
}

// hold notes a connection. False: it is too late.
func (p *proxy) hold(x *line) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.lines = append(p.lines, x)
	}
	return !p.closed
}

func (p *proxy) forget(x *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.lines {
		if p.lines[i] == x {
			p.lines = append(p.lines[:i:i], p.lines[i+1:]...)
			return
		}
	}
}

// pick is one of the open connections, nil if there is none.
func (p *proxy) pick(n int) *line {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.lines) == 0 {
		return nil
	}
	return p.lines[n%len(p.lines)]
}

// refuse turns away the connections that come in the time d from now.
func (p *proxy) refuse(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = time.Now().Add(d)
}

// line is a connection that crosses the proxy.
type line struct {
	ends   [2]*net.TCPConn // of the dialler, and of the rank
	ways   [2]way          // from the first to the second, and back
	overc  chan struct{}   // closed by reset
	over   sync.Once
	broken atomic.Bool // by a fault
}

// way is one direction of a line.
type way struct {
	from, to *net.TCPConn

	mu      sync.Mutex
	until   time.Time     // guarded by mu: nothing crosses before
	delay   time.Duration // guarded by mu: what each read waits, until slow
	slow    time.Time     // guarded by mu
	drops   bool          // guarded by mu: what comes is thrown away
	dribble int           // guarded by mu: so many bytes cross one at a time
	flip    int           // guarded by mu: the byte after so many is damaged; -1: none
	left    int           // guarded by mu: bytes until cut is called; -1: never
	cut     func()        // guarded by mu
}

func newLine(from, to *net.TCPConn) *line {
	x := &line{ends: [2]*net.TCPConn{from, to}, overc: make(chan struct{})}
	x.ways = [2]way{{from: from, to: to, left: -1, flip: -1}, {from: to, to: from, left: -1, flip: -1}}
	return x
}

// reset ends both connections, each by a reset or, after what was written has gone, by a clean end.
func (x *line) reset(dialler, rank bool) {
	x.over.Do(func() {
		close(x.overc)
		for i, hard := range []bool{dialler, rank} {
			if hard {
				x.ends[i].SetLinger(0)
			}
			x.ends[i].Close()
		}
	})
}

// pass copies one way. When that ends at its source, the other side hears of the end.
func (x *line) pass(w *way, count *atomic.Int64) {
	b := make([]byte, 64<<10)
	for {
		n, err := w.from.Read(b)
		if n > 0 && !x.forward(w, b[:n]) {
			return
		}
		count.Add(int64(n))
		if err != nil {
			break
		}
	}
	select {
	case <-x.overc:
	default:
		w.to.CloseWrite()
	}
}

// forward writes b as the faults that are set want it. False: the line is over.
func (x *line) forward(w *way, b []byte) bool {
	if !x.wait(w.pause()) {
		return false
	}
	for len(b) > 0 {
		n, drops, cut := w.part(b)
		if !drops {
			if _, err := w.to.Write(b[:n]); err != nil {
				w.from.SetLinger(0) // its writer must not think that it is on its way
				w.from.Close()
				return false
			}
		}
		b = b[n:]
		if cut != nil {
			cut()
			return false
		}
	}
	return true
}

// wait waits, unless the line is over.
func (x *line) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-x.overc:
		return false
	}
}

// pause is how long what has come must wait.
func (w *way) pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	d := w.until.Sub(now)
	if now.Before(w.slow) {
		d = max(d, w.delay)
	}
	return d
}

// part is how much of b goes next, and what happens to it, and after it.
func (w *way) part(b []byte) (n int, drops bool, cut func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = len(b)
	if w.dribble > 0 {
		n = 1
		w.dribble--
	}
	if w.left >= 0 {
		n = min(n, w.left)
		if w.left -= n; w.left == 0 {
			w.left, cut = -1, w.cut
		}
	}
	if w.flip >= n {
		w.flip -= n
	} else if w.flip >= 0 {
		b[w.flip] ^= 1 << (n % 8)
		w.flip = -1
	}
	return n, w.drops, cut
}

// set changes what happens to a direction.
func (w *way) set(f func(w *way)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w)
}

// TestProxyPasses: without faults every byte crosses, in order, and the ends of both directions.
func TestProxyPasses(t *testing.T) {
	testProxy(t, nil, func(t *testing.T, got, sent []byte) {
		if string(got) != string(sent) {
			t.Errorf("%d bytes came, which are not the %d that were sent", len(got), len(sent))
		}
	})
}

// TestProxyCuts: after exactly so many bytes the line is over.
func TestProxyCuts(t *testing.T) {
	for _, after := range []int{1, 17, 65536, 100001} {
		testProxy(t, func(x *line) {
			w := &x.ways[0]
			w.set(func(w *way) { w.left, w.cut = after, func() { x.reset(true, false) } })
		}, func(t *testing.T, got, sent []byte) {
			if string(got) != string(sent[:after]) {
				t.Errorf("%d bytes came, want the first %d", len(got), after)
			}
		})
	}
}

// TestProxyDamages: one bit is changed, or bytes come one by one.
func TestProxyDamages(t *testing.T) {
	testProxy(t, func(x *line) {
		x.ways[0].set(func(w *way) { w.flip, w.dribble = 70000, 10 })
	}, func(t *testing.T, got, sent []byte) {
		differ := 0
		for i := range min(len(got), len(sent)) {
			if got[i] != sent[i] {
				differ++
				if i != 70000 {
					t.Errorf("byte %d is changed, want 70000", i)
				}
			}
		}
		if len(got) != len(sent) || differ != 1 {
			t.Errorf("%d bytes came, want %d; %d are changed, want 1", len(got), len(sent), differ)
		}
	})
}

// testProxy sends bytes through a proxy, with harm done to the line before the first, and checks
// what comes.
func testProxy(t *testing.T, harm func(x *line), check func(t *testing.T, got, sent []byte)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := newProxy(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	c, err := net.Dial("tcp", p.door.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	for end := time.Now().Add(patience); p.pick(0) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the proxy holds no line")
		}
	}
	if harm != nil {
		harm(p.pick(0))
	}
	sent := make([]byte, 200000)
	for i := range sent {
		sent[i] = byte(rand.Uint32())
	}
	go func() {
		c.Write(sent)
		c.(*net.TCPConn).CloseWrite()
	}()
	check(t, readAll(there), sent)
}

// readAll reads until there is no more, however that comes.
func readAll(c net.Conn) []byte {
	var all []byte
	b := make([]byte, 32<<10)
	for {
		n, err := c.Read(b)
		all = append(all, b[:n]...)
		if err != nil {
			return all
		}
	}
}
