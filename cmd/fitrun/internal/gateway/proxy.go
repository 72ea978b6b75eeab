package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/fitmpi/fitmpi/internal/relay"
)

// Proxy is a web proxy by which other gateways are dialled: it is asked to CONNECT (RFC 9110,
// section 9.3.6), and passes bytes from then on. What it sees is the beginning of TLS.
type Proxy struct {
	Addr string // HOST:PORT
	User string // USER:PASSWORD, for basic authentication; "" for none
}

// maxAnswer bounds what a proxy may say before it passes bytes.
const maxAnswer = 16 << 10

// dial makes a connection to addr through the proxy, within a time.
func (p *Proxy) dial(ctx context.Context, addr string, within time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: within}
	conn, err := d.DialContext(ctx, "tcp", p.Addr)
	if err != nil {
		return nil, fmt.Errorf("the proxy: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := p.connect(conn, addr, time.Now().Add(within)); err != nil {
		conn.Close()
		return nil, fmt.Errorf("the proxy %s: %w", p.Addr, err)
	}
	return conn, nil
}

// connect asks for a connection to addr. Nothing behind the answer is read: it is the gateway's.
func (p *Proxy) connect(conn net.Conn, addr string, deadline time.Time) error {
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	ask := fmt.Appendf(nil, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: fitrun-gateway\r\n", addr, addr)
	if p.User != "" {
		ask = fmt.Appendf(ask, "Proxy-Authorization: Basic %s\r\n", base64.StdEncoding.EncodeToString([]byte(p.User)))
	}
	if _, err := conn.Write(append(ask, "\r\n"...)); err != nil {
		return err
	}
	var answer []byte
	for one := make([]byte, 1); !bytes.HasSuffix(answer, []byte("\r\n\r\n")); answer = append(answer, one[0]) {
		if _, err := conn.Read(one); err != nil {
			return fmt.Errorf("it does not answer as a web proxy: %w", err)
		}
		if len(answer) == maxAnswer {
			return errors.New("it does not answer as a web proxy: its answer has no end")
		}
	}
	line, _, _ := bytes.Cut(answer, []byte("\r\n"))
	version, status, _ := bytes.Cut(line, []byte(" "))
	switch {
	case !bytes.HasPrefix(version, []byte("HTTP/1.")):
		return fmt.Errorf("it does not answer as a web proxy: %s", relay.Printable(string(line)))
	case !bytes.HasPrefix(status, []byte("2")):
		return fmt.Errorf("it refuses to connect to %s: %s", addr, relay.Printable(string(status)))
	}
	return conn.SetDeadline(time.Time{})
}
