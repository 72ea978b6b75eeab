package engine

import (
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/fitmpi/fitmpi/engine/internal/jobtls"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/netpoll"
)

const noPeer PeerID = -1

// conn is one connection, from connect or accept to close. It belongs to the
// holder of the progress right.
//
//	dial ─▶ Connecting ─▶ [Securing ─▶] Handshaking ─▶ Open ─▶ [Closing ─▶] Closed
//	accept ──────────────────▲
type conn struct {
	d         *driver
	sock      *netpoll.Socket
	token     uint64
	peer      PeerID // noPeer until the other end has proved which rank it is, or we dialled it
	state     connState
	dialled   bool
	heard     bool         // the other end has said something
	stranger  bool         // accepted, and has not proved itself: in driver.crowd
	place     netip.Prefix // of a stranger: from where it comes
	blocked   bool         // waiting for the socket to become writable
	out       []byte       // handshake bytes not written
	asked     *asked       // of a dial through a gateway, until it is known to have let us through; nil otherwise
	tls       *jobtls.Conn // nil unless the connection is encrypted
	hs        *wire.Handshake
	realm     *realm                    // in which this rank shows itself; nil before the handshake
	writeSock func([]byte) (int, error) // the way to the socket, of an encrypted connection
	isAbroad  bool                      // it is open, and leaves this host; counted in driver.abroad
	deadline  int64                     // of what comes before connOpen, or of connClosing; 0 if none
	session   *peerSession              // nil until open
	rx        *input                    // the pair's
	number    uint32                    // of this connection of the pair, 0 if not known
	said      uint64                    // position in the peer's stream that we have named in the handshake
	ackAt     int64                     // until when what has come is acknowledged; 0 if all is

	beat connBeat // signs of life of both sides
}

type connState uint8

const (
	connConnecting  connState = iota // a dial whose fate is not known
	connSecuring                     // the handshake of TLS goes on, if there is to be one
	connHandshaking                  // neither side may send frames
	connOpen                         // frames flow
	connClosing                      // both have said all, and the peer has not closed its side
	connClosed                       // gone; only stale references see it
)

// ready handles an event of the poller.
func (c *conn) ready(ev *netpoll.Event) {
	if ev.Writable {
		c.writable()
	}
	if ev.Readable && (c.state == connSecuring || c.state == connHandshaking || c.state == connOpen) {
		c.receive()
	}
	if ev.Readable && c.state == connClosing {
		c.drain()
	}
}

func (c *conn) writable() {
	switch c.state {
	case connConnecting:
		if err := c.sock.ConnectResult(); errors.Is(err, netpoll.ErrAgain) {
			return
		} else if err != nil {
			c.broken(err)
			return
		}
		c.unblock()
		c.connected()
	case connSecuring:
		c.unblock()
		c.writeSecuring()
	case connHandshaking:
		c.unblock()
		c.writeHandshake()
	case connOpen:
		c.unblock()
		c.write()
	case connClosing, connClosed:
	}
}

// canWrite reports whether frames may be written to the socket now.
func (c *conn) canWrite() bool { return c != nil && c.state == connOpen && !c.blocked }

func (c *conn) block() {
	if !c.blocked {
		c.blocked = true
		c.interest()
	}
}

func (c *conn) unblock() {
	if c.blocked {
		c.blocked = false
		c.interest()
	}
}

func (c *conn) interest() {
	if err := c.d.poller.SetWritable(c.sock, c.token, c.blocked); err != nil {
		c.broken(err)
	}
}

// write sends what the core has for the peer, until the socket is full or the
// share of this turn is used.
func (c *conn) write() {
	e := c.d.e
	e.mu.Lock()
	bufs := e.core.Gather(c.peer, c.d.bufs[:0])
	e.mu.Unlock()
	c.writeGathered(bufs)
}

// writeGathered is write when the first spans are gathered already.
func (c *conn) writeGathered(bufs [][]byte) {
	for range maxWrites {
		if len(bufs) == 0 {
			return
		}
		n, err := c.send(bufs)
		bufs = c.wrote(n, err, bufs[:0])
	}
}

// wrote takes what has come of a write, and gathers what is next into bufs, as far as that has
// room.
func (c *conn) wrote(n int, err error, bufs [][]byte) [][]byte {
	e := c.d.e
	switch {
	case errors.Is(err, netpoll.ErrAgain):
		c.noteSealed()
		c.block()
		return nil
	case err != nil:
		c.noteSealed()
		c.broken(err)
		return nil
	}
	c.d.sent += uint64(n)
	c.beat.out += uint64(n)
	e.mu.Lock()
	e.counts.sockets = c.d.sockets
	more := e.core.Wrote(c.peer, n)
	if more && cap(bufs) > 0 {
		bufs = e.core.Gather(c.peer, bufs)
	}
	e.unlock()
	if !more {
		c.finalReport()
	}
	return bufs
}

// send makes one system call.
func (c *conn) send(bufs [][]byte) (n int, err error) {
	switch {
	case c.tls != nil:
		n, err = c.tls.Send(bufs, c.writeSock)
	case len(bufs) == 1:
		c.d.sockets.writes++
		n, err = c.sock.Write(bufs[0])
	default:
		c.d.sockets.writes++
		n, err = c.sock.Writev(bufs)
	}
	clear(bufs)
	return n, err
}

// receive reads what has arrived: frames into the staging memory, the rest of a
// long payload straight into its destination.
func (c *conn) receive() {
	for range maxReads {
		if c.state == connSecuring {
			if !c.receiveSecuring() {
				return
			}
			continue
		}
		if c.state == connHandshaking {
			if !c.receiveHandshake() {
				return
			}
			continue
		}
		if c.state != connOpen {
			return
		}
		if n, want, err := c.read(); !c.more(n, want, err) || c.d.hands != nil && c.isLong() {
			return
		}
	}
}

// more takes what has come of a read that could have brought want bytes. It reports whether there
// may be more.
func (c *conn) more(n, want int, err error) bool {
	switch {
	case err == nil:
		return n == want
	case errors.Is(err, netpoll.ErrAgain):
	case err == io.EOF:
		c.broken(errors.New("the connection was closed without a goodbye"))
	default:
		c.broken(err)
	}
	return false
}

// parse handles bytes of the stream.
func (c *conn) parse(b []byte) {
	bye, err := c.rx.parse(c.d.e, b)
	if c.rx.owes {
		c.oweAck()
	}
	switch {
	case err != nil:
		c.broken(err)
	case bye:
		c.peerBye()
	}
}

// read makes one system call; want is how much it could have brought.
func (c *conn) read() (n, want int, err error) {
	d := c.d
	d.sockets.reads++
	if c.tls != nil {
		return c.receiveSecure()
	}
	direct := c.rx.direct()
	if len(direct) == 0 {
		n, err = c.sock.Read(d.staging)
		if n > 0 {
			c.came(n)
			c.parse(d.staging[:n])
		}
		return n, len(d.staging), err
	}
	bufs := [2][]byte{direct, d.staging}
	n, err = c.sock.Readv(bufs[:])
	if n > 0 {
		c.came(n)
		k := min(n, len(direct))
		c.rx.tookDirect(k)
		c.parse(d.staging[:n-k])
	}
	return n, len(direct) + len(d.staging), err
}

// came counts bytes that have come by the open connection.
func (c *conn) came(n int) {
	c.d.sockets.in += uint64(n)
	c.beat.in += uint64(n)
}

// from is where the other end of the connection is, for messages.
func (c *conn) from() string {
	if routes := c.d.bridge[c.peer].Routes; len(routes) > 0 && routes[0].Preamble != nil {
		return fmt.Sprint("gateway ", c.sock.RemoteAddr())
	}
	return fmt.Sprint(c.sock.RemoteAddr())
}

// broken ends a connection. Once the peer is known and the connection open that
// is the failure of the peer; before, it is a stranger's, or an attempt of ours
// that may be repeated.
func (c *conn) broken(cause error) {
	d := c.d
	switch {
	case c.state == connClosed:
	case c.state == connClosing:
		c.cutShort()
	case c.state == connOpen && d.conns[c.peer] != c:
		panic("engine: two open connections to a peer: a bug of ours")
	case c.state == connOpen && c.isResumable(cause):
		c.interrupted(cause)
	case c.state == connOpen && (c.session.saidBye || d.e.IsExcused(c.peer)):
		d.endPeer(c.peer, cause, true)
	case c.state == connOpen:
		d.e.cfg.Logger.Info("peer failed", "rank", d.e.cfg.Rank, "peer", c.peer, "host", d.bridge[c.peer].Host, "err", cause)
		d.failPeer(c.peer, fmt.Errorf("connection to %s (%s): %w", d.bridge[c.peer].Host, c.from(), cause))
	case c.dialled:
		c.dialBroken(cause)
	default:
		c.rejected(wire.RejectHangup)
		d.forget(c)
	}
}
