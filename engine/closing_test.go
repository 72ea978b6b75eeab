//go:build linux && !fitmpi_portable

package engine

import (
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// TestClosing: a rank that has said and heard all ends when the peer has closed its side. If the
// connection breaks instead, the peer may not have heard that all was received: the rank answers
// it when it dials again. Otherwise the peer would be refused, and try for as long as an outage may
// last.
func TestClosing(t *testing.T) {
	for name, reset := range map[string]bool{"closed": false, "broken": true} {
		t.Run(name, func(t *testing.T) {
			e := job(t, 3, Assist, func(c *Config) {
				c.Logger, c.Resume, c.Try = slog.New(slog.DiscardHandler), ResumeOn, 3*failsafe
			})[0]
			c, h := joinAs(t, e, wire.Session{Resume: true, Connection: 1}, nil)
			if h.State() != wire.StateEstablished {
				t.Fatal(h)
			}
			closed := make(chan error, 1)
			go func() { closed <- e.Close(2 * failsafe) }()
			eventually(t, "it does not say goodbye", e.drv.saying.Load)
			if _, err := c.Write(frame(wire.Header{Kind: wire.KindBye})); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(c); err != nil {
				t.Fatal(err)
			}
			if reset {
				c.(*net.TCPConn).SetLinger(0)
			}
			c.Close()
			if reset {
				if _, h := joinAs(t, e, wire.Session{Resume: true, Connection: 2}, nil); h.State() != wire.StateRefused || h.Verdict() != wire.VerdictClosed {
					t.Errorf("the peer dials again, and is told %v, %v", h.State(), h.Verdict())
				}
				select {
				case <-closed:
					t.Error("a rank has ended that its peer may not have heard")
				default:
				}
				e.Kill()
			}
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(failsafe):
				t.Error("a rank does not end that has said and heard all")
			}
		})
	}
}
