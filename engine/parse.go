package engine

import (
	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/wire"
)

const (
	// directMin is the rest of a payload from which it is read straight into its
	// destination; below, one bulk read serves it and the frames behind it.
	directMin = 16 << 10
	// copyMax is how much is copied with the mutex held.
	copyMax = 8 << 10
	// framesHeld is how many frames are handled before the mutex is released.
	framesHeld = 32
)

// parser is the state of a connection's input between two reads.
type parser struct {
	head  [wire.HeaderLen]byte
	headN int       // bytes of a header cut off by the last read
	sink  core.Sink // of the payload that is being received
	got   int       // bytes of it that have arrived
	in    bool      // a payload is being received
}

// direct returns where the next bytes of the stream belong, if they are many.
func (p *parser) direct() []byte {
	if !p.in || len(p.sink.Dst)-p.got < directMin {
		return nil
	}
	return p.sink.Dst[p.got:]
}

// parse handles b, the bytes that follow those handled before.
func (c *conn) parse(b []byte) {
	e := c.d.e
	e.mu.Lock()
	bye, frames := false, 0
	var err error
	for err == nil && !bye && c.state == connOpen {
		if c.rx.in {
			b = c.payload(b)
			if c.rx.in {
				break
			}
			continue
		}
		if len(b) == 0 {
			break
		}
		if frames++; frames%framesHeld == 0 {
			e.unlock()
			e.mu.Lock()
		}
		b, bye, err = c.header(b)
	}
	e.unlock()
	e.stats.framesIn.Add(uint64(frames))
	switch {
	case err != nil:
		c.broken(err)
	case bye:
		c.peerBye()
	}
}

// payload takes what b has of the payload under way; it is called with the
// mutex and releases it for a long copy.
func (c *conn) payload(b []byte) []byte {
	p, e := &c.rx, c.d.e
	if p.got < len(p.sink.Dst) && len(b) > 0 {
		dst := p.sink.Dst[p.got:]
		n := min(len(dst), len(b))
		if n > copyMax {
			e.unlock()
			copy(dst, b[:n])
			e.mu.Lock()
		} else {
			copy(dst, b[:n])
		}
		p.got += n
		b = b[n:]
	}
	if rest := p.sink.Len() - p.got; p.got >= len(p.sink.Dst) {
		n := min(rest, len(b))
		p.got += n
		b = b[n:]
	}
	if p.got == p.sink.Len() {
		p.in = false
		s := p.sink
		p.sink, p.got = core.Sink{}, 0
		e.core.OnPayload(c.peer, &s)
	}
	return b
}

// header takes the header at the front of b, or keeps the part that is there.
func (c *conn) header(b []byte) (rest []byte, bye bool, err error) {
	p := &c.rx
	src := b
	if p.headN > 0 || len(b) < wire.HeaderLen {
		n := copy(p.head[p.headN:], b)
		p.headN += n
		b = b[n:]
		if p.headN < wire.HeaderLen {
			return b, false, nil
		}
		p.headN = 0
		src = p.head[:]
	} else {
		b = b[wire.HeaderLen:]
	}
	var h wire.Header
	if n := wire.ConsumeHeader(src, &h); n <= 0 {
		return b, false, &core.ProtocolError{Peer: c.peer, What: wire.Code(n).String()}
	}
	if h.Kind == wire.KindBye {
		return b, true, nil
	}
	if p.sink, err = c.d.e.core.OnHeader(c.peer, &h); err != nil {
		return b, false, err
	}
	p.in, p.got = p.sink.Len() > 0, 0
	if !p.in { // the sink stays reachable for abandoning and failing
		p.sink = core.Sink{}
	}
	return b, false, nil
}
