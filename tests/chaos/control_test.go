//go:build linux

package chaos

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// control is the harness's end of the ranks' phones, and their proxies.
type control struct {
	l       net.Listener
	proxied bool
	wg      sync.WaitGroup // of its goroutines; stopped by close

	mu      sync.Mutex
	changed *sync.Cond // on mu
	ranks   map[int]*rankState
	conns   []net.Conn
	over    bool     // guarded by mu: fitrun has ended
	ending  bool     // guarded by mu: ranks were told to end, and those that are started again are to end as well
	retired []*proxy // guarded by mu: of ranks that were started again
	lives   lives
	faults  []error // guarded by mu: of the harness itself
}

// rankState is what the harness knows of a rank. Guarded by control.mu.
type rankState struct {
	pid     int
	life    int // how often it was started before
	conn    net.Conn
	out     *json.Encoder
	proxy   *proxy  // nil if there is none
	last    *report // how it ended, nil until it says so
	running bool    // it has begun the load
	samples []sample
	gone    bool // its process has ended
}

func newControl(path string, proxied bool) (*control, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	c := &control{l: l, proxied: proxied, ranks: make(map[int]*rankState)}
	c.changed = sync.NewCond(&c.mu)
	c.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.conns = append(c.conns, conn)
			c.mu.Unlock()
			c.wg.Go(func() { c.serve(conn) })
		}
	})
	return c, nil
}

// close ends it. All ranks are gone by then.
func (c *control) close() {
	c.l.Close()
	c.mu.Lock()
	for _, conn := range c.conns {
		conn.Close()
	}
	proxies := c.retired
	for _, r := range c.ranks {
		if r.proxy != nil {
			proxies = append(proxies, r.proxy)
		}
	}
	c.mu.Unlock()
	for _, p := range proxies {
		p.close()
	}
	c.wg.Wait()
}

// blame notes what the harness itself failed to do.
func (c *control) blame(err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, err)
}

// serve hears one rank.
func (c *control) serve(conn net.Conn) {
	in, rank := json.NewDecoder(conn), -1
	for {
		var r report
		if err := in.Decode(&r); err != nil {
			break
		}
		rank = r.Rank
		c.heard(conn, r)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.ranks[rank]; s != nil && s.conn == conn {
		s.gone = true
	}
	c.changed.Broadcast()
}

// heard takes what a rank says.
func (c *control) heard(conn net.Conn, r report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed.Broadcast()
	s := c.ranks[r.Rank]
	if s == nil || s.conn != conn {
		s = c.born(s, conn)
		c.ranks[r.Rank] = s
	}
	s.pid = r.PID
	switch {
	case r.Card != nil:
		card, err := c.cardFor(s, r.Card)
		if err != nil {
			c.faults = append(c.faults, err)
		}
		s.out.Encode(reply{Card: card})
	case r.Running:
		s.running = true
		if c.ending {
			s.out.Encode(reply{Stop: true})
		}
	case r.Loaded != nil:
		c.lives.loaded(r.Rank, r.Loaded)
	case r.Saved > 0:
		c.lives.saved = max(c.lives.saved, r.Saved)
	case r.Refused:
		c.lives.refused++
	case r.Sample != nil:
		s.samples = append(s.samples, *r.Sample)
	case r.Done || r.Error != "":
		s.last = &r
	}
}

// born is the state of a rank that calls for the first time, and has taken the place of old unless
// that is nil.
func (c *control) born(old *rankState, conn net.Conn) *rankState {
	s := &rankState{conn: conn, out: json.NewEncoder(conn)}
	if old != nil {
		s.life = old.life + 1
		if old.proxy != nil {
			c.retired = append(c.retired, old.proxy)
		}
	}
	return s
}

// cardFor makes a proxy for the rank that has the card, and returns a card that leads to it.
func (c *control) cardFor(s *rankState, card []byte) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(card, &fields); err != nil {
		return card, fmt.Errorf("a card is %q: %w", card, err)
	}
	addrs, _ := fields["addrs"].(string)
	first, _, _ := strings.Cut(addrs, ",")
	var err error
	if s.proxy, err = newProxy(first); err != nil {
		return card, err
	}
	fields["addrs"] = s.proxy.door.Addr().String()
	return json.Marshal(fields)
}

// stop tells the ranks to end after the epoch that they are in.
func (c *control) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
	for _, s := range c.ranks {
		if s.running || s.life == 0 { // one that is started again may wait for its card
			s.out.Encode(reply{Stop: true})
		}
	}
}

// awaitLife waits until n ranks are at work that were started so often before, or for a time, or
// for the end of fitrun.
func (c *control) awaitLife(n, life int, d time.Duration) {
	c.await(d, func() bool {
		count := 0
		for _, s := range c.ranks {
			if s.running && s.life >= life {
				count++
			}
		}
		return c.over || count == n
	})
}

// await waits until cond, which is called with mu held, is true, or for a time. It says whether it
// was.
func (c *control) await(d time.Duration, cond func() bool) bool {
	late := false
	timer := time.AfterFunc(d, func() {
		c.mu.Lock()
		late = true
		c.changed.Broadcast()
		c.mu.Unlock()
	})
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !late && !cond() {
		c.changed.Wait()
	}
	return cond()
}

// awaitRunning waits until n ranks are at work, and says whether they are. It gives up when one is
// gone, or fitrun.
func (c *control) awaitRunning(n int, d time.Duration) bool {
	count := 0
	c.await(d, func() bool {
		count = 0
		for _, s := range c.ranks {
			if s.gone {
				return true
			}
			if s.running {
				count++
			}
		}
		return c.over || count == n
	})
	return count == n
}

// fitrunOver notes that fitrun has ended.
func (c *control) fitrunOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.changed.Broadcast()
}

// pid is that of a rank's process, 0 if it has ended.
func (c *control) pid(rank int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.ranks[rank]; s != nil && !s.gone {
		return s.pid
	}
	return 0
}

// line is a connection to a rank, nil if there is none.
func (c *control) line(rank, n int) (*proxy, *line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.ranks[rank]
	if s == nil || s.proxy == nil {
		return nil, nil
	}
	return s.proxy, s.proxy.pick(n)
}

// samplesOf are those that a rank has taken.
func (c *control) samplesOf(rank int) []sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.ranks[rank]; s != nil {
		return s.samples
	}
	return nil
}

// lasts is what each rank has said at its end, nil for those that said nothing.
func (c *control) lasts(n int) []*report {
	c.mu.Lock()
	defer c.mu.Unlock()
	ends := make([]*report, n)
	for r, s := range c.ranks {
		if r < n {
			ends[r] = s.last
		}
	}
	return ends
}
