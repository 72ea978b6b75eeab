package gateway

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/fitmpi/fitmpi/internal/relay"
)

// maxMessage is the size in bytes of the longest message, its newline included: a request of
// relay.MaxLine, escaped.
const maxMessage = 16 << 10

// maxID is the size in bytes of the longest id of a stream.
const maxID = 64

// Types of messages.
const (
	typeLink      = "link"
	typeLinked    = "linked"
	typeConnect   = "connect"
	typeConnected = "connected"
	typeStream    = "stream"
	typeOpen      = "open"
	typeFailed    = "failed"
	typePing      = "ping"
)

// message is what gateways say to each other; see the package comment.
type message struct {
	Type   string `json:"type"`
	Domain string `json:"domain,omitempty"`
	ID     string `json:"id,omitempty"`
	Line   string `json:"line,omitempty"` // a request, without its newline
	Hops   int    `json:"hops,omitempty"` // how often it may be passed on still
	Reason string `json:"reason,omitempty"`
}

// failed is the message that tells of err.
func failed(id string, err error) message {
	return message{Type: typeFailed, ID: id, Reason: relay.Printable(err.Error())}
}

func appendMessage(b []byte, m message) []byte {
	line, err := json.Marshal(m)
	if err != nil {
		panic("gateway: bug: a message that cannot be encoded: " + err.Error())
	}
	return append(append(b, line...), '\n')
}

// readMessage decodes and checks a line.
func readMessage(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("malformed message: %w", err)
	}
	if m.Domain != "" {
		if err := relay.CheckDomain(m.Domain); err != nil {
			return m, fmt.Errorf("message with a %w", err)
		}
	}
	switch {
	case len(m.Line) > relay.MaxLine || len(m.ID) > maxID || len(m.Reason) > relay.MaxReason:
		return m, fmt.Errorf("message with a line, an id and a reason of %d, %d and %d bytes; at most %d, %d and %d are allowed",
			len(m.Line), len(m.ID), len(m.Reason), relay.MaxLine, maxID, relay.MaxReason)
	case m.Hops < 0 || m.Hops > maxHops:
		return m, fmt.Errorf("message with %d hops; 0 to %d are allowed", m.Hops, maxHops)
	}
	return m, nil
}

// stream is a connection whose first lines are messages. What the reader has in advance belongs to
// what follows them.
type stream struct {
	net.Conn
	r *bufio.Reader
}

func newStream(conn net.Conn) *stream { return &stream{conn, bufio.NewReaderSize(conn, maxMessage)} }

// receive reads the next message, which must come before the deadline.
func (s *stream) receive(deadline time.Time) (message, error) {
	if err := s.SetReadDeadline(deadline); err != nil {
		return message{}, err
	}
	line, err := s.r.ReadSlice('\n')
	if err != nil {
		return message{}, err // bufio.ErrBufferFull says it well enough
	}
	m, err := readMessage(line)
	if err != nil {
		return m, err
	}
	return m, s.SetReadDeadline(time.Time{})
}

// send writes a message, which must be taken before the deadline.
func (s *stream) send(m message, deadline time.Time) error {
	if err := s.SetWriteDeadline(deadline); err != nil {
		return err
	}
	if _, err := s.Write(appendMessage(nil, m)); err != nil {
		return err
	}
	return s.SetWriteDeadline(time.Time{})
}

// await reads the answer to what was sent; a failure there is an error here.
func (s *stream) await(kind string, deadline time.Time) (message, error) {
	m, err := s.receive(deadline)
	switch {
	case err != nil:
		return m, err
	case m.Type == typeFailed:
		return m, errors.New(relay.Printable(m.Reason))
	case m.Type != kind:
		return m, fmt.Errorf("it answers %q, want %q", m.Type, kind)
	}
	return m, nil
}
