//go:build linux && !fitmpi_portable

package faultproxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// through returns a proxy and the two ends of a connection through it.
func through(t *testing.T, plan Plan) (p *Proxy, dialer, target net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if p, err = Start(func() string { return l.Addr().String() }, plan); err != nil {
		t.Fatal(err)
	}
	if dialer, err = net.Dial("tcp", p.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if target, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{dialer, target} {
		c.SetDeadline(time.Now().Add(time.Minute))
		t.Cleanup(func() { c.Close() })
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, dialer, target
}

// upper is a Cut.Harm.
type upper struct{ to io.Writer }

func (u upper) Write(b []byte) (int, error) { return u.to.Write(bytes.ToUpper(b)) }

// TestHarms: what passes is changed in one direction, and in that alone.
func TestHarms(t *testing.T) {
	_, dialer, target := through(t, func(_ int, dir Direction) Cut {
		if dir == Down {
			return Whole
		}
		return Cut{After: -1, Harm: func(to io.Writer) io.Writer { return upper{to} }}
	})
	for _, way := range []struct {
		from, to net.Conn
		want     string
	}{{dialer, target, "WORDS"}, {target, dialer, "words"}} {
		way.from.Write([]byte("words"))
		way.from.(*net.TCPConn).CloseWrite()
		if b, err := io.ReadAll(way.to); err != nil || string(b) != way.want {
			t.Errorf("%q, %v, want %q", b, err, way.want)
		}
	}
}

func TestPassesOn(t *testing.T) {
	p, dialer, target := through(t, nil)
	dialer.Write([]byte("question"))
	dialer.(*net.TCPConn).CloseWrite()
	if b, err := io.ReadAll(target); err != nil || string(b) != "question" {
		t.Fatalf("%q, %v", b, err)
	}
	target.Write([]byte("answer"))
	target.Close()
	if b, err := io.ReadAll(dialer); err != nil || string(b) != "answer" {
		t.Fatalf("%q, %v", b, err)
	}
	if s := p.Stats(); s.Connections != 1 || s.Cuts != 0 || s.Bytes != [2]int64{8, 6} {
		t.Errorf("%+v", s)
	}
}

func at(dir Direction, c Cut) Plan {
	return func(_ int, d Direction) Cut {
		if d == dir {
			return c
		}
		return Whole
	}
}

// Exactly the bytes before a gentle cut arrive, and both ends see the end of file.
func TestGentleCut(t *testing.T) {
	p, dialer, target := through(t, at(Up, Cut{After: 5, Gently: true}))
	dialer.Write([]byte("hello world"))
	if b, err := io.ReadAll(target); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := dialer.Read(make([]byte, 1)); err == nil {
		t.Error("the dialer reads on")
	}
	if s := p.Stats(); s.Cuts != 1 {
		t.Errorf("%+v", s)
	}
}

// A cut by a reset is one, at both ends.
func TestReset(t *testing.T) {
	_, dialer, target := through(t, at(Down, Cut{After: 3, Pause: 10 * time.Millisecond}))
	target.Write([]byte("hello"))
	got := make([]byte, 3)
	if _, err := io.ReadFull(dialer, got); err != nil || !bytes.Equal(got, []byte("hel")) {
		t.Errorf("%q, %v", got, err)
	}
	for name, c := range map[string]net.Conn{"dialer": dialer, "target": target} {
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One end notices, the other may go on writing into nothing.
func TestOneEnd(t *testing.T) {
	_, dialer, target := through(t, at(Up, Cut{After: 1, Ends: Dialer}))
	dialer.Write([]byte("x"))
	if _, err := dialer.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("dialer: %v", err)
	}
	if _, err := target.Write(make([]byte, 1<<20)); err != nil {
		t.Errorf("target: %v", err)
	}
	target.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	io.ReadFull(target, make([]byte, 1))
	if _, err := target.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("target has noticed: %v", err)
	}
}

func TestCutAllAndRefuse(t *testing.T) {
	p, dialer, target := through(t, nil)
	dialer.Write([]byte("x"))
	io.ReadFull(target, make([]byte, 1)) // so the proxy knows of both ends
	if n := p.CutAll(Cut{}); n != 1 {
		t.Errorf("%d cut", n)
	}
	if _, err := dialer.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("dialer: %v", err)
	}
	p.Refuse(true)
	c, err := net.Dial("tcp", p.Addr().String()) // or the dial itself hears of it
	if err == nil {
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("refused: %v", err)
	}
	if s := p.Stats(); s.Connections != 2 || s.Refused != 1 || s.Cuts != 1 {
		t.Errorf("%+v", s)
	}
}

// TestShut: the system refuses connections while the proxy is shut. Its port stays its own, and
// connections that stand go on.
func TestShut(t *testing.T) {
	p, dialer, target := through(t, nil)
	for range 3 {
		if err := p.Shut(true); err != nil {
			t.Fatal(err)
		}
		if c, err := net.Dial("tcp", p.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("while it is shut: %v, %v", c, err)
		}
		if l, err := net.Listen("tcp", p.Addr().String()); err == nil {
			t.Error("its port is free while it is shut")
			l.Close()
		}
		dialer.Write([]byte("x"))
		if _, err := io.ReadFull(target, make([]byte, 1)); err != nil {
			t.Errorf("what stands: %v", err)
		}
		if err := p.Shut(false); err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", p.Addr().String())
		if err != nil {
			t.Fatalf("when it is open again: %v", err)
		}
		c.Close()
	}
}
