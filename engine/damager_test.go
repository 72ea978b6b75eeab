//go:build linux && !fitmpi_portable

package engine

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
)

// recordHead is the length of what stands before each record of TLS: its type, two bytes of
// version, two of length.
const recordHead = 5

// damager harms records of TLS on their way through proxies.
type damager struct {
	mu   sync.Mutex
	hit  func(dir faultproxy.Direction, nth, size int) bool // guarded by mu: which record, the nth of a connection and direction
	left int                                                // guarded by mu: how many of these
	harm func(record []byte) []byte                         // guarded by mu: what becomes of it
	done int                                                // guarded by mu: how many were harmed
}

// plan is that of a proxy that cuts nothing and passes everything through d.
func (d *damager) plan(int) faultproxy.Plan {
	return func(_ int, dir faultproxy.Direction) faultproxy.Cut {
		return faultproxy.Cut{After: -1, Harm: func(to io.Writer) io.Writer {
			return &records{d: d, to: to, dir: dir}
		}}
	}
}

// next has the next so many records that hit wants harmed.
func (d *damager) next(times int, hit func(dir faultproxy.Direction, nth, size int) bool, harm func([]byte) []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.hit, d.harm = times, hit, harm
}

// count is how many records were harmed.
func (d *damager) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done
}

func (d *damager) pass(r *records, record []byte) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 || !d.hit(r.dir, r.nth, len(record)) {
		return record
	}
	d.left--
	d.done++
	return d.harm(record)
}

// records passes records on, each when it is whole.
type records struct {
	d    *damager
	to   io.Writer
	dir  faultproxy.Direction
	nth  int
	part []byte // of a record that is not whole yet
}

func (r *records) Write(b []byte) (int, error) {
	r.part = append(r.part, b...)
	for len(r.part) >= recordHead {
		n := recordHead + int(r.part[3])<<8 + int(r.part[4])
		if len(r.part) < n {
			break
		}
		if _, err := r.to.Write(r.d.pass(r, r.part[:n:n])); err != nil {
			return 0, err
		}
		r.part = r.part[n:]
		r.nth++
	}
	return len(b), nil
}

// resize makes a record say that it has so many bytes.
func resize(n int) func([]byte) []byte {
	return func(b []byte) []byte {
		b[3], b[4] = byte(n>>8), byte(n)
		return b
	}
}

// change changes one byte of a record.
func change(at int, to byte) func([]byte) []byte {
	return func(b []byte) []byte {
		b[at] ^= to
		return b
	}
}

// breaks notes why connections broke.
type breaks struct {
	mu   sync.Mutex
	whys []string // guarded by mu
}

func (h *breaks) Enabled(context.Context, slog.Level) bool { return true }
func (h *breaks) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *breaks) WithGroup(string) slog.Handler            { return h }

func (h *breaks) Handle(_ context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Message == "connection broken" {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "err" {
				h.whys = append(h.whys, a.Value.String())
			}
			return true
		})
	}
	return nil
}

// has reports whether a connection broke for this reason.
func (h *breaks) has(why string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.whys, func(s string) bool { return strings.Contains(s, why) })
}

// damagedJob starts two ranks whose connections go through d.
//
// Nothing but isChoked may end a wait for bytes that do not come. Heartbeats, of 54 bytes, would
// need two minutes to make 16 KiB, which is twice as long as talk waits. A peer that seems silent
// on a machine that is busy is left alone.
func damagedJob(t *testing.T, d *damager, p Policy, tune ...func(*Config)) ([]*Engine, []*faultproxy.Proxy, *breaks) {
	t.Helper()
	why := new(breaks)
	es, proxies := cutJob(t, 2, p, func(c *Config) {
		c.TLS, c.Logger = true, slog.New(why)
		c.Heartbeat, c.HeartbeatTimeout = 200*time.Millisecond, time.Second
		c.OnSuspect = func(PeerID, string) bool { return true }
		for _, f := range tune {
			f(c)
		}
	}, d.plan)
	return es, proxies, why
}

// waitLong waits for an operation for as long as talk does.
func waitLong(t *testing.T, what string, e *Engine, m *MSO) {
	t.Helper()
	done := make(chan struct{})
	go func() { e.Wait(m); close(done) }()
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		s := e.Stats()
		e.Kill()
		<-done
		t.Fatalf("%s: stuck: %+v", what, s)
	}
}
