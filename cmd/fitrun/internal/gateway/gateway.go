package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/relay"
	"github.com/fitmpi/fitmpi/internal/secure"
	"github.com/fitmpi/fitmpi/internal/strangers"
)

// Defaults and limits.
const (
	defaultPatience = 15 * time.Second // for a greeting, and for a way to a rank
	defaultPing     = 15 * time.Second
	lostAfter       = 3                // pings
	maxBackoff      = 15 * time.Second // between attempts to dial a peer
	firstBackoff    = 100 * time.Millisecond
	maxHops         = 4
	defaultStreams  = 4096

	// Connections that have proved nothing yet, beside the others: of all, and from one address.
	// All ranks of a host, or of a whole domain behind one address, may call at the same time.
	maxStrangers        = 1024
	maxStrangersPerHost = 512
)

// Config describes a gateway. Zero values mean defaults, where there are some.
type Config struct {
	Domain string         // whose ranks it reaches; letters, digits, hyphens, dots and underscores
	Secret []byte         // that all gateways and fitrun know; at least secure.MinSecret bytes
	Peers  []string       // HOST:PORT of gateways that it dials
	Proxy  *Proxy         // by which it dials these; nil is directly
	Allow  []netip.Prefix // where ranks of its domain may be; nil is everywhere but loopback, multicast and link-local

	Patience time.Duration // for a greeting, and for finding a way; default 15 s
	Ping     time.Duration // between signs of life on a link; default 15 s
	Streams  int           // connections at a time that have proved that they may; default 4096

	Logger *slog.Logger // nil is silent
}

// Gateway is a running gateway. All its methods are safe for concurrent use.
type Gateway struct {
	cfg    Config             // immutable
	ctx    context.Context    // ends with Close
	cancel context.CancelFunc // immutable
	wg     sync.WaitGroup     // of every goroutine; stopped by cancel and by closing what is in open
	slots  chan struct{}      // one for each connection at a time that has proved itself
	new    *strangers.Set     // the connections that have not
	log    strangers.Log      // of what they bring about

	mu      sync.Mutex
	open    map[net.Conn]struct{}    // every connection; nil when closed
	callers map[string][]*link       // links that others dialled, by their domain, the newest last
	dialled map[string]string        // domains of the peers that we have a link to, by their address
	awaited map[string]chan answered // streams that were asked for, by id
	seen    relay.Seen               // requests taken
}

// New returns a gateway that has dialled no peer yet. Close ends it.
func New(cfg Config) (*Gateway, error) {
	if err := relay.CheckDomain(cfg.Domain); err != nil {
		return nil, err
	}
	if len(cfg.Secret) < secure.MinSecret {
		return nil, fmt.Errorf("a secret of %d bytes: need %d random bytes or more", len(cfg.Secret), secure.MinSecret)
	}
	cfg.Patience, cfg.Ping = orDefault(cfg.Patience, defaultPatience), orDefault(cfg.Ping, defaultPing)
	if cfg.Streams <= 0 {
		cfg.Streams = defaultStreams
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	g := &Gateway{
		cfg: cfg, slots: make(chan struct{}, cfg.Streams), new: strangers.New(maxStrangers, maxStrangersPerHost),
		open: make(map[net.Conn]struct{}), callers: make(map[string][]*link), dialled: make(map[string]string), awaited: make(map[string]chan answered),
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	for _, peer := range cfg.Peers {
		g.wg.Go(func() { g.keepLink(peer) })
	}
	return g, nil
}

func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}

// Serve accepts ranks and gateways at l, until Close or until l fails. It takes l over.
func (g *Gateway) Serve(l net.Listener) error {
	defer l.Close()
	if !g.enter() {
		return nil
	}
	defer g.wg.Done()
	stop := context.AfterFunc(g.ctx, func() { l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		switch {
		case g.ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case isTransient(err):
			g.log.Warn(g.cfg.Logger, "accepting", "err", err)
			g.pause(100 * time.Millisecond) // until some descriptor is free again
			continue
		case err != nil:
			return err
		}
		v := &visit{g: g, known: g.new.Enter(conn)}
		g.wg.Go(func() {
			defer v.end()
			g.greet(conn, v)
		})
	}
}

// visit is how a connection counts: as that of a stranger until it has proved that it may be here,
// and then as one of those that Config.Streams bounds. It is used by the goroutine of the
// connection.
type visit struct {
	g       *Gateway
	known   func()
	hasSlot bool
}

// proved is called once, when the other end is no stranger any more. An error: there are too many
// like it.
func (v *visit) proved() error {
	v.known()
	select {
	case v.g.slots <- struct{}{}:
		v.hasSlot = true
		return nil
	default:
		return fmt.Errorf("too many connections: %d are served; --max-streams raises that", cap(v.g.slots))
	}
}

func (v *visit) end() {
	v.known()
	if v.hasSlot {
		<-v.g.slots
	}
}

// isTransient reports whether accepting may work again later: the process has no descriptors left.
func isTransient(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary()
}

// pause waits for d, or for the end.
func (g *Gateway) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-g.ctx.Done():
	}
}

// Close ends all connections and waits until nothing of the gateway runs any more. It is
// idempotent.
func (g *Gateway) Close() {
	g.cancel()
	g.mu.Lock()
	for conn := range g.open {
		conn.Close()
	}
	g.open = nil
	g.mu.Unlock()
	g.wg.Wait()
}

// enter counts the caller among those that Close waits for. False: it is too late.
func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		return false
	}
	g.wg.Add(1)
	return true
}

// hold notes a connection so that Close ends it. False: the gateway is closed, and so is conn now.
func (g *Gateway) hold(conn net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		conn.Close()
		return false
	}
	g.open[conn] = struct{}{}
	return true
}

// drop closes a connection that hold has noted.
func (g *Gateway) drop(conn net.Conn) {
	conn.Close()
	g.mu.Lock()
	delete(g.open, conn)
	g.mu.Unlock()
}

// replace notes conn, which is made of raw, instead of it. False: the gateway is closed, and so are
// they.
func (g *Gateway) replace(raw, conn net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		conn.Close()
		return false
	}
	delete(g.open, raw)
	g.open[conn] = struct{}{}
	return true
}
