package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/fitmpi/fitmpi/internal/relay"
	"github.com/fitmpi/fitmpi/internal/secure"
)

// role is what connections between gateways are for, see package secure.
const role = "gateway"

// recordHandshake is the first byte of a TLS connection (RFC 8446, section 5.1).
const recordHandshake = 22

// greet finds out what has called, a rank or a gateway, and serves it until it is gone.
func (g *Gateway) greet(conn net.Conn, v *visit) {
	if !g.hold(conn) {
		return
	}
	defer g.drop(conn)
	deadline := time.Now().Add(g.cfg.Patience)
	conn.SetReadDeadline(deadline)
	s := newStream(conn)
	first, err := s.r.Peek(1)
	if err == nil {
		err = conn.SetReadDeadline(time.Time{})
	}
	switch {
	case err != nil:
	case first[0] == recordHandshake:
		err = g.greetGateway(s, v)
	default:
		err = g.greetRank(s, v, deadline)
	}
	if err != nil && g.ctx.Err() == nil {
		g.log.Warn(g.cfg.Logger, "refused", "from", conn.RemoteAddr(), "err", err)
	}
}

// greetRank serves a rank of this domain, or of one that reaches this gateway directly.
func (g *Gateway) greetRank(s *stream, v *visit, deadline time.Time) error {
	s.SetReadDeadline(deadline)
	line, err := s.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return errors.New("a first line of no end; this is neither a rank nor a gateway")
	case err != nil:
		return fmt.Errorf("waiting for its request: %w", err)
	}
	if err := s.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	req := request{line: string(line), hops: maxHops}
	r, key, err := g.check(req)
	if err == nil {
		err = v.proved()
	}
	var way *stream
	if err == nil {
		way, err = g.reach(r, req)
	}
	if err != nil {
		if r != nil {
			s.refuse(req, key, err, time.Now().Add(min(g.cfg.Patience, refusing)))
		}
		return err
	}
	defer g.drop(way.Conn)
	g.cfg.Logger.Debug("relaying", "from", s.RemoteAddr(), "to", way.RemoteAddr())
	splice(s, way)
	return nil
}

const (
	// refusing is how long a rank that is refused is waited for to read why.
	refusing = 2 * time.Second
	// maxAhead bounds the bytes that are dropped because a rank that is refused has sent them
	// already: a handshake.
	maxAhead = 64 << 10
)

// refuse tells a rank why it is not served; key is nil if it has proved nothing. What the rank has
// sent meanwhile is read: the kernel would answer it by a reset at the close, which may overtake
// the reason.
func (s *stream) refuse(req request, key []byte, why error, deadline time.Time) {
	if s.SetDeadline(deadline) != nil {
		return
	}
	if _, err := s.Write(relay.AppendRefusal(nil, []byte(req.line), why.Error(), key)); err != nil {
		return
	}
	if closeWrite(s.Conn) == nil {
		io.CopyN(io.Discard, s.r, maxAhead) // to the end, that is, or for as long as it may last
	}
}

// replay is a connection of which the first bytes were read in advance.
type replay struct {
	net.Conn
	r *bufio.Reader
}

func (c replay) Read(p []byte) (int, error) { return c.r.Read(p) }

// greetGateway serves another gateway.
func (g *Gateway) greetGateway(s *stream, v *visit) error {
	conn, err := secure.Server(replay{s.Conn, s.r}, g.cfg.Secret, role)
	if err != nil {
		return err
	}
	if err := v.proved(); err != nil {
		return err
	}
	peer := newStream(conn)
	deadline := time.Now().Add(g.cfg.Patience)
	m, err := peer.receive(deadline)
	if err != nil {
		return fmt.Errorf("waiting for what the gateway wants: %w", err)
	}
	switch m.Type {
	case typeLink:
		return g.serveLink(peer, m.Domain)
	case typeConnect:
		return g.serveConnect(peer, request{line: m.Line, hops: m.Hops})
	case typeStream:
		return g.serveStream(peer, m.ID)
	default:
		return fmt.Errorf("a gateway that begins with %q", m.Type)
	}
}

// serveConnect relays between another gateway and what it asks for.
func (g *Gateway) serveConnect(peer *stream, req request) error {
	way, err := g.find(req)
	if err != nil {
		return errors.Join(err, peer.send(failed("", err), time.Now().Add(g.cfg.Patience)))
	}
	defer g.drop(way.Conn)
	if err := peer.send(message{Type: typeConnected}, time.Now().Add(g.cfg.Patience)); err != nil {
		return err
	}
	splice(peer, way)
	return nil
}

// serveStream hands a stream that was asked for to the goroutine that waits for it, and stays until
// that is done with it.
func (g *Gateway) serveStream(peer *stream, id string) error {
	done := make(chan struct{})
	way := &stream{Conn: &handed{Conn: peer.Conn, done: done}, r: peer.r}
	if !g.deliver(id, way, nil) {
		return errors.New("a stream that nothing waits for")
	}
	<-done
	return nil
}

// request is what a rank wants, as it comes and goes.
type request struct {
	line string // of package relay
	hops int    // how often it may be passed on
}

// check verifies the request. With an error r is nil if it is none at all, and key is nil unless it
// was proved by this key.
func (g *Gateway) check(req request) (r *relay.Request, key []byte, err error) {
	if r, err = relay.ReadRequest([]byte(req.line)); err != nil {
		return nil, nil, err
	}
	key = relay.JobKey(g.cfg.Secret, r.Job)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err = r.Verify(key, time.Now(), &g.seen); errors.Is(err, relay.ErrNotProved) {
		key = nil
	}
	return r, key, err
}
