//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// wire is one end of the connection, in one style. One goroutine uses it, but for interrupt.
type wire interface {
	put(b []byte) error  // writes all of b
	take(b []byte) error // fills b
	interrupt()          // makes put and take fail; from any goroutine
	close() error
}

// style is one way of a Go program to read and write a socket.
type style struct {
	name string
	over func(c net.Conn) wire   // on net.Conn; nil: on netpoll
	wait func(w *pollWire) error // of netpoll: waits until the socket is ready; nil: it is tried again at once
}

var styles = []style{
	{name: "conn", over: func(c net.Conn) wire { return &connWire{Conn: c, r: c} }},
	{name: "bufio", over: func(c net.Conn) wire { return &connWire{Conn: c, r: bufio.NewReaderSize(c, readAhead)} }},
	{name: "goroutine", over: newChannelWire},
	{name: "poll"},
	{name: "wait", wait: (*pollWire).sleep},
	{name: "hold", wait: (*pollWire).hold},
}

func styleNames() (names []string) {
	for _, s := range styles {
		names = append(names, s.name)
	}
	return names
}

// readAhead is what bufio and the goroutine read at once, at most.
const readAhead = 64 << 10

// connWire reads c, through r.
type connWire struct {
	net.Conn
	r io.Reader
}

func (w *connWire) put(b []byte) error {
	_, err := w.Write(b)
	return err
}

func (w *connWire) take(b []byte) error {
	_, err := io.ReadFull(w.r, b)
	return err
}

func (w *connWire) interrupt()   { _ = w.SetDeadline(time.Unix(1, 0)) }
func (w *connWire) close() error { return w.Close() }

// channelWire has a goroutine that reads, until the connection is closed.
type channelWire struct {
	connWire
	full, free chan []byte // buffers on their way from the goroutine, and back
	reader     sync.WaitGroup
	left       []byte // of the buffer that is being taken from
	whole      []byte // that buffer; nil: none
	err        error  // of the reader; set before full is closed
}

func newChannelWire(c net.Conn) wire {
	const buffers = 4
	w := &channelWire{connWire: connWire{Conn: c}, full: make(chan []byte, buffers), free: make(chan []byte, buffers)}
	for range buffers {
		w.free <- make([]byte, readAhead)
	}
	w.reader.Go(w.read)
	return w
}

// read is the goroutine. close ends it: its Read fails, or it finds no room left to take.
func (w *channelWire) read() {
	defer close(w.full)
	for b := range w.free {
		n, err := w.Read(b[:readAhead])
		if n > 0 {
			w.full <- b[:n] // never waits: there are as many places as buffers
		}
		if err != nil {
			w.err = err
			return
		}
	}
}

func (w *channelWire) take(b []byte) error {
	for len(b) > 0 {
		if len(w.left) == 0 {
			if w.whole != nil {
				w.free <- w.whole // never waits, likewise
			}
			if w.whole = <-w.full; w.whole == nil {
				return w.err
			}
			w.left = w.whole
		}
		n := copy(b, w.left)
		b, w.left = b[n:], w.left[n:]
	}
	return nil
}

func (w *channelWire) close() error {
	err := w.Close()
	close(w.free)
	w.reader.Wait()
	return err
}

// dial connects to the server, which may not listen yet.
func dial(ctx context.Context, opt *options) (wire, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the server does not listen"))
	defer cancel()
	for {
		w, err := opt.dialOnce(ctx)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return w, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (opt *options) dialOnce(ctx context.Context) (wire, error) {
	addr, err := opt.addr()
	if err != nil {
		return nil, err
	}
	if opt.style.over == nil {
		return dialPoll(ctx, addr, opt)
	}
	d := net.Dialer{Control: opt.control}
	c, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return nil, err
	}
	return opt.style.over(c), nil
}

// accept takes one connection. If the system chose the port, it is said on stdout.
func accept(ctx context.Context, opt *options, stdout io.Writer) (wire, error) {
	addr, err := opt.addr()
	if err != nil {
		return nil, err
	}
	if opt.style.over == nil {
		return acceptPoll(ctx, addr, opt, stdout)
	}
	lc := net.ListenConfig{Control: opt.control}
	lc.SetMultipathTCP(false) // which Go listens for by default
	l, err := lc.Listen(ctx, "tcp", addr.String())
	if err != nil {
		return nil, err
	}
	defer l.Close()
	at := l.(*net.TCPListener)
	opt.announce(at.Addr().(*net.TCPAddr).Port, stdout)
	if err := at.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return opt.style.over(c), nil
}

func (opt *options) announce(port int, stdout io.Writer) {
	if opt.port == 0 {
		fmt.Fprintf(stdout, portLine, port)
	}
}

// control sets the options of a socket before it connects or listens: TCP_NODELAY is Go's default.
func (opt *options) control(_, _ string, c syscall.RawConn) (err error) {
	set := func(fd uintptr) {
		if opt.buffer > 0 {
			err = errors.Join(
				syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, opt.buffer),
				syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, opt.buffer))
		}
		if opt.congestion != "" {
			const tcpCongestion = 13 // TCP_CONGESTION of tcp(7)
			err = errors.Join(err, syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, tcpCongestion, opt.congestion))
		}
	}
	outer := c.Control(set)
	return errors.Join(outer, err)
}
