// Package port is where ranks of different jobs find each other (MPI 4.1, section 11.8): one opens
// a port, another dials its name, and both have a link over which they tell each other what their
// groups need to meet.
//
//	p, err := port.Open(addrs, netif.Ports{})
//	... p.Name() goes to the other job, by whatever way ...
//	link, err := p.Accept(ctx)               // there: link, err := port.Dial(ctx, name)
//	theirs, err := link.Exchange(ctx, mine)  // the same there
//	link.Close(); p.Close()
//
// The name of a port has a key in it, 32 random bytes. What does not prove that it knows them is
// dropped, and connections are encrypted (package secure). So the name is what must be kept from
// strangers, and it is all that the other job needs.
//
// A Port accepts in the background from Open to Close, which ends its goroutines and waits for
// them. All its methods are safe for concurrent use. A Link belongs to one goroutine.
package port

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"

	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/internal/secure"
	"github.com/fitmpi/fitmpi/internal/strangers"
)

const (
	prefix  = "fitmpi:"
	keySize = 32
	role    = "port" // what connections are for: see package secure

	// Limits of connections that have proved nothing.
	mostStrangers = 64
	mostFromOne   = 16
)

// ErrClosed is the error of Accept at a port that was closed.
var ErrClosed = errors.New("the port was closed")

// Port is a place at which other jobs can ask to meet.
type Port struct {
	// Immutable after Open.
	key       []byte
	listeners []net.Listener
	name      string

	strangers *strangers.Set
	proved    chan net.Conn // those that know the key, and wait
	closed    chan struct{}
	close     func() error
	running   sync.WaitGroup
}

// Open opens a port at addresses of this host, the best first, each at any port of TCP or at one of
// ports.
func Open(addrs []netip.Addr, ports netif.Ports) (*Port, error) {
	p := &Port{key: make([]byte, keySize), proved: make(chan net.Conn), closed: make(chan struct{}), strangers: strangers.New(mostStrangers, mostFromOne)}
	rand.Read(p.key) // never fails: crypto/rand ends the program instead
	var at []string
	for _, a := range addrs {
		l, err := listen(a, ports)
		if err != nil {
			return nil, errors.Join(err, p.closeListeners())
		}
		p.listeners = append(p.listeners, l)
		at = append(at, l.Addr().String())
	}
	p.name = prefix + base64.RawURLEncoding.EncodeToString(p.key) + "@" + strings.Join(at, ",")
	p.close = sync.OnceValue(p.end)
	for _, l := range p.listeners {
		p.running.Go(func() { p.serve(l) })
	}
	return p, nil
}

func listen(a netip.Addr, ports netif.Ports) (net.Listener, error) {
	if !ports.IsSet() {
		return net.Listen("tcp", netip.AddrPortFrom(a, 0).String())
	}
	var failed error
	for n := range ports.Len() {
		l, err := net.Listen("tcp", netip.AddrPortFrom(a, ports.From+uint16(n)).String())
		if err == nil {
			return l, nil
		}
		failed = err
	}
	return nil, fmt.Errorf("no port of %s is free at %s: %w", ports, a, failed)
}

// Name is what the other job needs to find the port, and to be let in.
func (p *Port) Name() string { return p.name }

// serve takes connections until the listener is closed.
func (p *Port) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // of a connection that was gone before it was taken, or for want of descriptors
		}
		known := p.strangers.Enter(conn)
		p.running.Go(func() { p.admit(conn, known) })
	}
}

// admit lets a connection wait whose other end knows the key.
func (p *Port) admit(conn net.Conn, known func()) {
	stop := p.closeWith(conn)
	defer stop()
	proved, err := secure.Server(conn, p.key, role)
	known()
	if err != nil {
		conn.Close()
		return
	}
	select {
	case p.proved <- proved:
	case <-p.closed:
		proved.Close()
	}
}

// closeWith closes conn when the port is closed, until stop is called.
func (p *Port) closeWith(conn net.Conn) (stop func()) {
	done := make(chan struct{})
	p.running.Go(func() {
		select {
		case <-p.closed:
			conn.Close()
		case <-done:
		}
	})
	return func() { close(done) }
}

// Accept waits for a job that asks to meet, until ctx ends or the port is closed (ErrClosed).
func (p *Port) Accept(ctx context.Context) (*Link, error) {
	for {
		select {
		case conn := <-p.proved:
			l := &Link{conn}
			if l.welcome(ctx) == nil { // else it does not wait any more
				return l, nil
			}
			conn.Close()
		case <-p.closed:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close ends the port. What waits at it is sent away. It is idempotent.
func (p *Port) Close() error { return p.close() }

func (p *Port) end() error {
	close(p.closed)
	err := p.closeListeners()
	p.running.Wait()
	return err
}

func (p *Port) closeListeners() (err error) {
	for _, l := range p.listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

// parse reads the name of a port.
func parse(name string) (key []byte, addrs []string, err error) {
	rest, ok := strings.CutPrefix(name, prefix)
	text, at, found := strings.Cut(rest, "@")
	if !ok || !found {
		return nil, nil, fmt.Errorf("%q is no name of a port: need what OpenPort gave, %sKEY@ADDRESS", clip(name), prefix)
	}
	if key, err = base64.RawURLEncoding.DecodeString(text); err != nil || len(key) != keySize {
		return nil, nil, fmt.Errorf("the key in the name of the port is damaged: need what OpenPort gave, whole")
	}
	for a := range strings.SplitSeq(at, ",") {
		if _, err := netip.ParseAddrPort(a); err != nil {
			return nil, nil, fmt.Errorf("the name of the port: %w", err)
		}
		addrs = append(addrs, a)
	}
	return key, addrs, nil
}

// clip shortens what may be anything.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// Dial asks to meet at the port with a name, and waits until it is accepted there, until ctx ends,
// or until the port is closed.
func Dial(ctx context.Context, name string) (*Link, error) {
	key, addrs, err := parse(name)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, a := range addrs {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", a)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		l, err := enter(ctx, conn, key)
		if err != nil {
			return nil, fmt.Errorf("the port at %s: %w", a, err)
		}
		return l, nil
	}
	if ctx.Err() != nil {
		failed = context.Cause(ctx)
	}
	return nil, fmt.Errorf("no such port is open: %w", failed)
}

// enter proves that this end knows the key, and waits to be accepted.
func enter(ctx context.Context, conn net.Conn, key []byte) (*Link, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	proved, err := secure.Client(conn, key, role)
	if err == nil {
		l := &Link{proved}
		if err = l.awaitWelcome(); err == nil {
			if stop() {
				return l, nil
			}
			err = context.Cause(ctx)
		}
	}
	stop()
	conn.Close()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, err
}
