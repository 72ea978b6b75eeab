package jobtls

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// ErrAgain says that there is nothing to read, or that the socket takes no more. It is compared
// with ==.
var ErrAgain error = again{}

// again is the error by which a tls.Conn keeps a record that has arrived in part: it makes every
// other one permanent.
type again struct{}

func (again) Error() string   { return "secure: would block" }
func (again) Timeout() bool   { return true }
func (again) Temporary() bool { return true }

var _ net.Error = again{}

const (
	// recordSize is the most that one record carries.
	recordSize = 16 << 10
	// MaxRecord is the most that one record has on its way, as crypto/tls accepts it.
	MaxRecord = recordHead + recordSize + 256
	// sealMax is how much is encrypted before the socket takes it.
	sealMax = 128 << 10
	// maxWaiting bounds what the handshake has not read: more is none.
	maxWaiting = 64 << 10
)

// Conn is one end of an encrypted connection.
type Conn struct {
	// Immutable after Dial and Accept.
	tls  *tls.Conn
	wake func()

	// Owned by the owner.
	sealed int    // bytes of the stream that lie encrypted in out and were not reported by Send
	batch  []byte // scratch of seal: spans that are shorter than a record
	frames frames // of what was fed

	mu       sync.Mutex
	arrived  *sync.Cond // on mu: in has grown, or closed is set
	in       []byte     // guarded by mu: encrypted bytes that tls has not read
	out      []byte     // guarded by mu: encrypted bytes to write
	shaking  bool       // guarded by mu: the goroutine of the handshake runs
	closed   bool       // guarded by mu
	overrun  bool       // guarded by mu: more came than a handshake has
	ready    bool       // guarded by mu: the handshake has succeeded
	err      error      // guarded by mu: why it has not
	peerRank int        // guarded by mu: the rank that has proved itself, -1 if none has
	name     string     // guarded by mu: of the identity that proves this end
}

// Dial begins a connection to the rank peer. first goes out before everything else. run starts a
// goroutine, and its owner waits for it after Close; wake is called by that goroutine when there is
// something to Flush, and at its end.
func (id *Identity) Dial(peer int, first []byte, run func(func()), wake func()) *Conn {
	c := newConn(id, wake)
	c.out = append(c.out, first...)
	c.tls = tls.Client((*shim)(c), id.config(peer, c.setPeer))
	run(c.shake)
	return c
}

// Accept begins a connection that some rank has made; the rest is as for Dial. If that rank asks
// for another identity than id, other gives the one with that name, or nil. The goroutine of the
// handshake calls it.
func (id *Identity) Accept(other func(name string) *Identity, run func(func()), wake func()) *Conn {
	c := newConn(id, wake)
	cfg := id.config(-1, c.setPeer)
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if hello.ServerName == id.job {
			return nil, nil // as it is
		}
		asked := other(hello.ServerName)
		if asked == nil {
			return nil, nil // the other end finds that this is not what it looked for, and says so
		}
		c.mu.Lock()
		c.name = asked.job
		c.mu.Unlock()
		return asked.config(-1, c.setPeer), nil
	}
	c.tls = tls.Server((*shim)(c), cfg)
	run(c.shake)
	return c
}

func newConn(id *Identity, wake func()) *Conn {
	c := &Conn{wake: wake, shaking: true, peerRank: -1, name: id.job}
	c.arrived = sync.NewCond(&c.mu)
	return c
}

func (c *Conn) setPeer(rank int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peerRank = rank
}

// shake is the goroutine of the handshake.
func (c *Conn) shake() {
	err := c.tls.Handshake()
	c.mu.Lock()
	c.shaking, c.ready, c.err = false, err == nil, err
	c.mu.Unlock()
	c.wake()
}

// Ready reports whether the handshake has succeeded; Err why it has not, nil as long as it may.
func (c *Conn) Ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready
}

// Err is the failure of the handshake.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.overrun {
		return fmt.Errorf("secure: more than %d bytes came that no handshake has", maxWaiting)
	}
	return c.err
}

// Peer is the rank that has proved itself, -1 if none has.
func (c *Conn) Peer() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peerRank
}

// Name is the name of the identity by which this end has proved itself, or will.
func (c *Conn) Name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}

// Feed takes what the socket brought. After the handshake b belongs to c until Read returns
// ErrAgain, which is before the next Feed; during it, b is copied.
func (c *Conn) Feed(b []byte) {
	c.frames.take(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.in) == 0 && !c.shaking:
		c.in = b
	case len(c.in)+len(b) > maxWaiting && c.shaking:
		c.overrun, c.closed = true, true
	default:
		c.in = append(c.in[:len(c.in):len(c.in)], b...)
	}
	c.arrived.Signal()
}

// IsPartial reports whether what was fed ends within a record, as its beginning has said how long
// it is.
func (c *Conn) IsPartial() bool { return c.frames.isPartial() }

// Read decrypts into p what has arrived, a record at most. It returns ErrAgain when there is no
// whole record.
//
// Preconditions:
//   - c is ready.
func (c *Conn) Read(p []byte) (int, error) { return c.tls.Read(p) }

// Flush hands encrypted bytes to write until none are left, and returns its error if it has one.
func (c *Conn) Flush(write func([]byte) (int, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for done := 0; ; {
		if done == len(c.out) {
			c.out = c.out[:0]
			return nil
		}
		n, err := write(c.out[done:])
		done += n
		if err != nil {
			c.out = c.out[:copy(c.out, c.out[done:])]
			return err
		}
	}
}

// Send encrypts bytes from the front of bufs and writes them. It returns how many of bufs are
// written: they are all with the socket then. With an error, which is write's, none are; but what
// is encrypted stays so, and the next call must begin with the same bytes.
//
// Preconditions:
//   - c is ready.
func (c *Conn) Send(bufs [][]byte, write func([]byte) (int, error)) (int, error) {
	if c.sealed == 0 {
		var err error
		if c.sealed, err = c.seal(bufs); err != nil {
			return 0, err
		}
	}
	if err := c.Flush(write); err != nil {
		return 0, err
	}
	n := c.sealed
	c.sealed = 0
	return n, nil
}

// Sealed is how many bytes of what Send was given last are encrypted and not all written. The other
// end may have received a part of them.
func (c *Conn) Sealed() int { return c.sealed }

// seal encrypts spans into full records, as far as there is enough.
func (c *Conn) seal(bufs [][]byte) (n int, err error) {
	c.batch = c.batch[:0]
	for _, b := range bufs {
		b = b[:min(len(b), sealMax-n)]
		n += len(b)
		for len(b) > 0 && err == nil {
			if k := len(b) / recordSize * recordSize; len(c.batch) == 0 && k > 0 {
				_, err = c.tls.Write(b[:k])
				b = b[k:]
				continue
			}
			k := min(recordSize-len(c.batch), len(b))
			c.batch = append(c.batch, b[:k]...)
			if b = b[k:]; len(c.batch) == recordSize {
				_, err = c.tls.Write(c.batch)
				c.batch = c.batch[:0]
			}
		}
		if n == sealMax || err != nil {
			break
		}
	}
	if len(c.batch) > 0 && err == nil {
		_, err = c.tls.Write(c.batch)
	}
	return n, err
}

// Write encrypts b, for Flush to write.
//
// Preconditions:
//   - c is ready, and Send has returned no error that it has not made good.
func (c *Conn) Write(b []byte) error {
	_, err := c.tls.Write(b)
	return err
}

// Close ends the goroutine of the handshake, soon. It is idempotent. The connection says nothing
// more: its streams end by a goodbye of their own.
func (c *Conn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed, c.in = true, nil
	c.arrived.Signal()
}

// shim is the connection that the tls.Conn of c sees.
type shim Conn

// Read waits during the handshake; later it never does.
func (s *shim) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.in) == 0 && s.shaking && !s.closed {
		s.arrived.Wait()
	}
	switch {
	case s.closed:
		return 0, io.EOF
	case len(s.in) == 0:
		return 0, ErrAgain
	}
	n := copy(p, s.in)
	if s.in = s.in[n:]; len(s.in) == 0 {
		s.in = nil
	}
	return n, nil
}

// Write never waits.
func (s *shim) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.out = append(s.out, p...)
	shaking := s.shaking
	s.mu.Unlock()
	if shaking {
		s.wake()
	}
	return len(p), nil
}

func (s *shim) Close() error                     { return nil }
func (s *shim) LocalAddr() net.Addr              { return nil }
func (s *shim) RemoteAddr() net.Addr             { return nil }
func (s *shim) SetDeadline(time.Time) error      { return nil }
func (s *shim) SetReadDeadline(time.Time) error  { return nil }
func (s *shim) SetWriteDeadline(time.Time) error { return nil }
