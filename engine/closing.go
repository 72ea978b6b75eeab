package engine

import (
	"errors"
	"io"
	"time"

	"github.com/fitmpi/fitmpi/netpoll"
)

// How a rank parts from a peer whose goodbye it has heard. What it said last, that it has received
// all, may still be lost with the connection. The peer would dial then to learn it, and must not
// find that nothing listens any more: it could not tell that from an outage, and would try for as
// long as one may last. So the socket is kept until the peer has closed it as well. If the
// connection breaks before that, this rank does not end before the peer has had time to ask,
// Config.Try: the peer dials as soon as it notices.

// closingTime is how long the peer has to close its side.
const closingTime = 5 * time.Second

// halfClose ends our side of an open connection, of which nothing more is to be heard.
//
// Preconditions:
//   - the streams of the pair outlive connections. Else nothing is dialled again.
func (c *conn) halfClose() {
	d := c.d
	d.conns[c.peer] = nil
	c.dropAck()
	c.notAbroad()
	c.state = connClosing
	c.setDeadline(deadlineIn(closingTime))
	if c.unblock(); c.state == connClosed {
		return
	}
	if err := c.sock.CloseWrite(); err != nil {
		c.cutShort()
	}
}

// drain waits for the peer to close its side, and throws away what comes before that.
func (c *conn) drain() {
	for range maxReads {
		switch _, err := c.sock.Read(c.d.staging); {
		case err == nil:
		case errors.Is(err, netpoll.ErrAgain):
			return
		case err == io.EOF:
			c.d.forget(c)
			return
		default:
			c.cutShort()
			return
		}
	}
}

// cutShort: the connection broke, and the peer may not have heard what was said last.
func (c *conn) cutShort() {
	d := c.d
	d.goOn(func() {
		d.forget(c)
		if d.answersUntil == 0 {
			d.open.Add(1)
		}
		d.setTimer(&d.answersUntil, deadlineIn(d.e.cfg.Try))
	})
}

// endAnswers is the end of the time in which this rank answers, though it has said and heard all.
func (d *driver) endAnswers() {
	if d.answersUntil != 0 {
		d.setTimer(&d.answersUntil, 0)
		d.open.Add(-1)
		d.maybeQuiet()
	}
}
