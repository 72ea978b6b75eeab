//go:build linux && !fitmpi_portable

// Package faultproxy is a TCP proxy for tests that breaks the connections through it: at a given
// byte in either direction, or all of them on demand. It breaks them by a reset or by an end of
// file, at both ends or at one, which the other does not notice. It may change what passes, too.
// And it may refuse connections: by itself, after they were made, or by having the system do it
// (Door), as a firewall does or a host on which nothing listens.
//
// What a cut does to bytes before it is what TCP does: those of a cut by an end of file arrive, a
// reset may destroy what its end has not read. A Proxy may be used by any goroutine. Close ends
// every connection and waits for every goroutine.
package faultproxy

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// A Direction is a half of a connection.
type Direction int

const (
	// Up is from the end that has connected to the proxy, to the proxy's target.
	Up Direction = iota
	// Down is from the target.
	Down
)

// Ends says which ends of a connection notice that it breaks. The other one is left with a
// connection on which nothing comes any more, until it closes that itself, or the proxy is closed.
type Ends int

const (
	// Both ends notice.
	Both Ends = iota
	// Dialer is the end that has connected to the proxy.
	Dialer
	// Target is the end that the proxy has connected to.
	Target
)

// A Cut says how one direction of one connection ends. The zero Cut is a reset at both ends before
// the first byte.
type Cut struct {
	After  int64         // bytes of this direction that pass; negative: it is not cut
	Ends   Ends          // that notice
	Gently bool          // by an end of file instead of a reset
	Pause  time.Duration // how long the proxy holds its breath before it cuts: with it, what has passed can be read before a reset
	// Harm takes what passes in this direction, and writes to the given end what is to arrive. nil:
	// the same.
	Harm func(to io.Writer) io.Writer
}

// Whole is the Cut of a direction that is not cut.
var Whole = Cut{After: -1}

// A Plan gives the cuts of the connections, numbered from 0 in the order in which they were
// accepted. It is called from several goroutines, once for each direction of a connection.
type Plan func(number int, dir Direction) Cut

// Stats is what a Proxy has done so far.
type Stats struct {
	Connections int // accepted
	Refused     int // of these, reset at once
	Cuts        int // connections broken, whether by the plan or by CutAll
	Bytes       [2]int64
}

// A Proxy passes connections on to one target.
type Proxy struct {
	// Immutable after Start.
	door   *Door
	target func() string
	plan   Plan
	wg     sync.WaitGroup

	mu      sync.Mutex
	links   map[*link]bool // guarded by mu: those that live
	refuses bool           // guarded by mu
	closed  bool           // guarded by mu
	stats   Stats          // guarded by mu
}

// link is one connection through the proxy: ends[Up] reads from the dialer, ends[Down] from the
// target.
type link struct {
	ends [2]*net.TCPConn
	once sync.Once
	left chan struct{} // closed when the link is broken
}

// Start listens on a port of 127.0.0.1 and passes what connects there on to the address that target
// names when it does. A nil plan cuts nothing.
func Start(target func() string, plan Plan) (*Proxy, error) {
	door, err := Open()
	if err != nil {
		return nil, err
	}
	if plan == nil {
		plan = func(int, Direction) Cut { return Whole }
	}
	p := &Proxy{door: door, target: target, plan: plan, links: make(map[*link]bool)}
	p.wg.Go(p.serve) // stopped and awaited by Close
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() netip.AddrPort { return p.door.Addr() }

// Stats returns what has happened so far.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Refuse says whether connections are reset as soon as they are accepted, until it is called with
// false.
func (p *Proxy) Refuse(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = yes
}

// Shut says whether the system refuses connections, until it is called with false. Those that stand
// go on.
func (p *Proxy) Shut(yes bool) error { return p.door.Shut(yes) }

// CutAll breaks every connection that lives, as c says but for After, and returns how many those
// were.
func (p *Proxy) CutAll(c Cut) int {
	p.mu.Lock()
	ls := make([]*link, 0, len(p.links))
	for l := range p.links {
		ls = append(ls, l)
	}
	p.mu.Unlock()
	for _, l := range ls {
		p.cut(l, c)
	}
	return len(ls)
}

// Close stops listening, ends every connection, and waits until nothing of the proxy is left.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.door.Close()
	p.mu.Lock()
	for l := range p.links {
		l.end()
	}
	p.mu.Unlock()
	p.wg.Wait()
	return err
}

func (p *Proxy) serve() {
	for {
		c, err := p.door.Accept()
		if err != nil {
			return // the proxy is closed
		}
		p.mu.Lock()
		number, refuses := p.stats.Connections, p.refuses || p.closed
		p.stats.Connections++
		if refuses {
			p.stats.Refused++
		}
		p.mu.Unlock()
		if refuses {
			reset(c)
			continue
		}
		p.wg.Go(func() { p.pass(c, number) }) // ends with both ends, which Close sees to
	}
}

// pass connects to the target and moves bytes until the connection ends.
func (p *Proxy) pass(c *net.TCPConn, number int) {
	t, err := net.DialTimeout("tcp", p.target(), 5*time.Second)
	if err != nil {
		reset(c)
		return
	}
	l := &link{ends: [2]*net.TCPConn{c, t.(*net.TCPConn)}, left: make(chan struct{})}
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.links[l] = true
	}
	p.mu.Unlock()
	if closed {
		l.end()
		return
	}
	var wg sync.WaitGroup
	for dir := range l.ends {
		wg.Go(func() { p.move(l, Direction(dir), p.plan(number, Direction(dir))) })
	}
	wg.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
	l.end()
}

// move passes one direction on, up to its cut.
func (p *Proxy) move(l *link, dir Direction, c Cut) {
	from, to := l.ends[dir], l.ends[1-dir]
	var src io.Reader = from
	if c.After >= 0 {
		src = io.LimitReader(from, c.After)
	}
	var dst io.Writer = &counted{p, dir, to}
	if c.Harm != nil {
		dst = c.Harm(dst)
	}
	n, err := io.Copy(dst, src)
	switch {
	case c.After >= 0 && n == c.After && err == nil:
		p.cut(l, c)
		l.silence(dir)
	case err != nil || l.isLeft():
		if !l.isLeft() { // an end was reset: the other one learns of it
			p.drop(l)
		}
		l.silence(dir)
	default:
		to.CloseWrite()
	}
}

// counted counts what is written.
type counted struct {
	p   *Proxy
	dir Direction
	to  *net.TCPConn
}

func (w *counted) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.p.mu.Lock()
	w.p.stats.Bytes[w.dir] += int64(n)
	w.p.mu.Unlock()
	return n, err
}

// cut breaks a connection, once.
func (p *Proxy) cut(l *link, c Cut) {
	l.once.Do(func() {
		if c.Pause > 0 {
			time.Sleep(c.Pause)
		}
		p.mu.Lock()
		p.stats.Cuts++
		p.mu.Unlock()
		close(l.left)
		if c.Ends != Target {
			l.leave(Up, c.Gently)
		}
		if c.Ends != Dialer {
			l.leave(Down, c.Gently)
		}
	})
}

// drop passes on that one end has broken the connection.
func (p *Proxy) drop(l *link) {
	l.once.Do(func() {
		close(l.left)
		reset(l.ends[Up])
		reset(l.ends[Down])
	})
}

// leave ends the connection with one end.
func (l *link) leave(end Direction, gently bool) {
	if gently {
		l.ends[end].Close()
	} else {
		reset(l.ends[end])
	}
}

// silence swallows what an end that has noticed nothing still says, until it or the proxy closes.
func (l *link) silence(dir Direction) {
	if l.isLeft() {
		io.Copy(io.Discard, l.ends[dir])
	}
}

func (l *link) isLeft() bool {
	select {
	case <-l.left:
		return true
	default:
		return false
	}
}

func (l *link) end() {
	for _, c := range l.ends {
		c.Close()
	}
}

// reset closes c without a word of goodbye.
func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}
