package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/fitmpi/fitmpi/engine/internal/jobtls"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/netpoll"
)

// First bytes of what the other end says: a handshake or an alert of TLS, or the magic of a rank
// that does not use it.
const (
	firstAlert     = 0x15
	firstHandshake = 0x16
	firstPlain     = 'F'
)

// plainSize is the most that one record of TLS carries.
const plainSize = 16 << 10

// notMyProtocol is what an acceptor says to a dialer that uses TLS where it does not, or the other
// way round: an alert of TLS, "protocol version". A TLS end of ours never says it otherwise.
var notMyProtocol = []byte{firstAlert, 3, 3, 0, 2, 2, 70}

// startSecuring begins the handshake of TLS; first is what goes out before.
func (c *conn) startSecuring(first []byte) {
	d := c.d
	run := func(f func()) { d.e.securing.Go(f) } // stopped by forget
	wake := func() { d.e.command(command{kind: cmdSecure, conn: c}) }
	c.writeSock = func(b []byte) (int, error) {
		d.sockets.writes++
		return c.sock.Write(b)
	}
	c.state = connSecuring
	if c.dialled {
		o := d.originOf(c.peer)
		c.tls = o.realm.identity.Dial(o.rank, first, run, wake)
	} else {
		c.tls = d.home.identity.Accept(d.identityIn, run, wake)
	}
	c.writeSecuring()
}

// writeSecuring writes what the handshake of TLS has to say, and goes on if it is over.
func (c *conn) writeSecuring() {
	if c.state != connSecuring {
		return // a wake-up that came late
	}
	switch err := c.tls.Flush(c.writeSock); {
	case errors.Is(err, netpoll.ErrAgain):
		c.block() // and go on: what was fed must be read now
	case err != nil:
		c.broken(io.ErrUnexpectedEOF)
		return
	}
	switch err := c.tls.Err(); {
	case err != nil:
		c.notSecured(err)
	case c.tls.Ready():
		c.secured()
	}
}

// receiveSecuring reads for the handshake of TLS. It reports whether to go on reading.
func (c *conn) receiveSecuring() bool {
	n, err := c.sock.Read(c.d.staging[:handshakeRead])
	switch {
	case n > 0:
		b := c.pastGateway(c.d.staging[:n])
		if len(b) == 0 {
			return c.asked != nil
		}
		if c.isPlain(b) {
			return false
		}
		c.heard = true
		c.tls.Feed(b)
		c.writeSecuring() // the caller that feeds must read too: the handshake may be over since
		return c.state == connSecuring || c.state == connHandshaking || c.state == connOpen
	case err == nil, errors.Is(err, netpoll.ErrAgain):
	case c.dialled:
		c.broken(io.ErrUnexpectedEOF)
	default:
		c.rejected(wire.RejectHangup)
		c.d.forget(c)
	}
	return false
}

// isPlain drops a connection whose other end does not use TLS, as its first bytes b show.
func (c *conn) isPlain(b []byte) bool {
	switch {
	case c.heard:
		return false
	case c.dialled && bytes.HasPrefix(b, notMyProtocol):
	case !c.dialled && b[0] == firstPlain:
		c.sock.Write(notMyProtocol) // best effort
	default:
		return false
	}
	c.rejected(wire.RejectPlain)
	c.refuse(wire.RejectPlain.Text())
	return true
}

// isEncrypted drops a connection whose other end uses TLS while we do not, as its first bytes b
// show.
func (c *conn) isEncrypted(b []byte) bool {
	switch {
	case c.heard || c.tls != nil:
		return false
	case c.dialled && b[0] == firstAlert:
	case !c.dialled && b[0] == firstHandshake:
		c.sock.Write(notMyProtocol)
	default:
		return false
	}
	c.rejected(wire.RejectEncrypted)
	c.refuse(wire.RejectEncrypted.Text())
	return true
}

// notSecured ends a connection whose handshake of TLS has failed.
func (c *conn) notSecured(cause error) {
	reason := wire.RejectBadProof
	if errors.Is(cause, io.EOF) || errors.Is(cause, io.ErrUnexpectedEOF) {
		reason = wire.RejectHangup
		if c.dialled {
			c.dialBroken(io.ErrUnexpectedEOF)
			return
		}
	}
	c.d.e.cfg.Logger.Debug("no TLS", "rank", c.d.e.cfg.Rank, "from", c.sock.RemoteAddr(), "err", cause)
	c.rejected(reason)
	c.refuse(cause.Error())
}

// secured goes on within TLS: by the handshake of the ranks.
func (c *conn) secured() {
	if c.dialled {
		c.startHandshake()
	} else {
		c.startGreeting()
	}
	if c.state == connHandshaking {
		c.readSecure() // what came behind the last bytes of TLS is here already
	}
}

// readSecure handles the bytes of the stream that have been fed.
func (c *conn) readSecure() {
	d := c.d
	if d.plain == nil {
		d.plain = make([]byte, plainSize)
	}
	for c.state == connHandshaking || c.state == connOpen {
		dst := d.plain
		direct := c.state == connOpen && c.rx.direct() != nil
		if direct {
			dst = c.rx.direct()
		}
		n, err := c.tls.Read(dst)
		c.beat.opened += uint64(n)
		switch {
		case n > 0 && direct:
			c.rx.tookDirect(n)
			c.parse(nil)
		case n > 0 && c.state == connOpen:
			c.parse(dst[:n])
		case n > 0:
			c.takeHandshake(dst[:n])
		}
		if err == jobtls.ErrAgain {
			return
		}
		if err != nil {
			c.cutSecure(err)
			return
		}
	}
}

// cutSecure ends a connection because of what TLS found in its stream.
func (c *conn) cutSecure(err error) {
	if c.state == connHandshaking && !errors.Is(err, io.EOF) {
		c.notSecured(err)
		return
	}
	c.broken(fmt.Errorf("TLS: %w", err))
}

// receiveSecure makes one system call for an open connection; want is how much it could have
// brought.
func (c *conn) receiveSecure() (n, want int, err error) {
	n, err = c.sock.Read(c.d.staging)
	if n > 0 {
		c.came(n)
		c.tls.Feed(c.d.staging[:n])
		c.readSecure()
	}
	return n, len(c.d.staging), err
}

// wrongCertificate reports whether the rank that a connection proved itself to be in the job's
// handshake is another than that of its certificate.
func (c *conn) wrongCertificate() bool { return c.tls != nil && c.tls.Peer() != int(c.hs.Peer()) }
