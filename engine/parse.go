package engine

import (
	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/wire"
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

// input is the stream of frames from one peer, between two reads. It belongs to the
// holder of the progress right.
type input struct {
	peer  PeerID
	head  [wire.HeaderLen]byte
	headN int       // bytes of a header cut off by the last read
	sink  core.Sink // of the payload that is being received
	got   int       // bytes of it that have arrived
	in    bool      // a payload is being received

	paused bool // what the peer's last heartbeat has said
	// Of a stream that outlives its connections.
	keeps bool   // it is one
	owes  bool   // what has come is to be acknowledged soon
	pos   uint64 // bytes of the stream that have come, headN of them of a header that is not whole
	skip  uint64 // bytes that come next and had come by the connection before
}

// direct returns where the next bytes of the stream belong, if they are many.
func (p *input) direct() []byte {
	if !p.in || len(p.sink.Dst)-p.got < directMin || p.skip > 0 {
		return nil
	}
	return p.sink.Dst[p.got:]
}

// tookDirect notes that n bytes are where direct has said.
func (p *input) tookDirect(n int) {
	p.got += n
	p.pos += uint64(n)
}

// parse handles b, the bytes that follow those handled before. It reports the
// peer's goodbye, and what it sent that it must not send; nothing may follow either.
func (p *input) parse(e *Engine, b []byte) (bye bool, err error) {
	if p.skip > 0 {
		if b = p.pass(b); len(b) == 0 {
			return false, nil
		}
	}
	p.pos += uint64(len(b))
	e.mu.Lock()
	e.counts.sockets = e.drv.sockets
	if bye, err = p.parseLocked(e, b); p.keeps && err == nil && !bye {
		p.noted(e)
	}
	e.unlock()
	e.deliver()
	return bye, err
}

// parseLocked is parse with the mutex held. It releases it for a long copy and after
// many frames.
func (p *input) parseLocked(e *Engine, b []byte) (bye bool, err error) {
	frames := 0
	for err == nil && !bye {
		if p.in {
			b = p.payload(e, b)
			if p.in {
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
		b, bye, err = p.header(e, b)
	}
	return bye, err
}

// record handles a record of a ring, which mostly is one short message; it is called
// with the mutex, as parseLocked.
func (p *input) record(e *Engine, head, rest []byte) (bye bool, err error) {
	var h wire.Header
	if !p.in && p.headN == 0 && wire.ConsumeHeader(head, &h) > 0 && core.IsWhole(&h, len(head)+len(rest)-wire.HeaderLen) {
		e.counts.framesIn[p.peer]++
		return false, e.core.OnWhole(p.peer, &h, head[wire.HeaderLen:], rest)
	}
	if bye, err = p.parseLocked(e, head); err == nil && !bye && len(rest) > 0 {
		bye, err = p.parseLocked(e, rest)
	}
	return bye, err
}

// payload takes what b has of the payload under way; it is called with the
// mutex and releases it for a long copy.
func (p *input) payload(e *Engine, b []byte) []byte {
	fit := p.sink.Fit()
	if n := min(fit-p.got, len(b)); n > 0 {
		if n > copyMax {
			e.unlock()
			p.sink.Put(p.got, b[:n])
			e.mu.Lock()
		} else {
			p.sink.Put(p.got, b[:n])
		}
		p.got += n
		e.counts.payload += uint64(n)
		b = b[n:]
	}
	if rest := p.sink.Len() - p.got; p.got >= fit {
		n := min(rest, len(b))
		p.got += n
		e.counts.payload += uint64(n)
		b = b[n:]
	}
	if p.got == p.sink.Len() {
		p.in = false
		s := p.sink
		p.sink, p.got = core.Sink{}, 0
		e.counts.framesIn[p.peer]++
		e.core.OnPayload(p.peer, &s)
	}
	return b
}

// header takes the header at the front of b, or keeps the part that is there.
func (p *input) header(e *Engine, b []byte) (rest []byte, bye bool, err error) {
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
		return b, false, &core.ProtocolError{Peer: p.peer, What: wire.Code(n).String()}
	}
	switch h.Kind {
	case wire.KindBye:
		return b, true, nil
	case wire.KindHeartbeat:
		p.pos -= wire.HeaderLen // it has no position
		p.paused = h.Flags&wire.FlagPaused != 0
		e.stats.beatsIn.Add(1)
	case wire.KindReceived:
		p.pos -= wire.HeaderLen // nor has it
	}
	if p.sink, err = e.core.OnHeader(p.peer, &h); err != nil {
		return b, false, err
	}
	p.in, p.got = p.sink.Len() > 0, 0
	if !p.in { // the sink stays reachable for abandoning and failing
		if h.Kind != wire.KindHeartbeat && h.Kind != wire.KindReceived { // which belong to a connection
			e.counts.framesIn[p.peer]++
		}
		p.sink = core.Sink{}
	}
	return b, false, nil
}
