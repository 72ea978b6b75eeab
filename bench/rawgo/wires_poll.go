//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/netpoll"
)

// pollWire is a socket of netpoll's. When it would block it waits in the way of its style.
type pollWire struct {
	// Immutable.
	poller *netpoll.Poller
	socket *netpoll.Socket
	wait   func(w *pollWire) error // nil: not at all

	interrupted atomic.Bool
}

func newPollWire(opt *options) (*pollWire, error) {
	p, err := netpoll.NewPoller()
	if err != nil {
		return nil, err
	}
	return &pollWire{poller: p, wait: opt.style.wait}, nil
}

// sleep and hold wait until the socket is ready, which Arm makes them notice also if it is by now.

func (w *pollWire) sleep() error {
	return errors.Join(w.poller.Arm(), w.poller.Wait(-1))
}

func (w *pollWire) hold() error {
	return errors.Join(w.poller.Arm(), w.poller.WaitHolding(netpoll.MaxHold))
}

var errInterrupted = errors.New("interrupted")

// block waits once, with interest in room for writing if writable is set.
func (w *pollWire) block(writable bool) error {
	switch {
	case w.interrupted.Load():
		return errInterrupted
	case w.wait == nil:
		return nil
	}
	if err := w.poller.SetWritable(w.socket, 0, writable); err != nil {
		return err
	}
	return w.wait(w)
}

func (w *pollWire) put(b []byte) error {
	for len(b) > 0 {
		n, err := w.socket.Write(b)
		if errors.Is(err, netpoll.ErrAgain) {
			err = w.block(true)
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func (w *pollWire) take(b []byte) error {
	for len(b) > 0 {
		n, err := w.socket.Read(b)
		if errors.Is(err, netpoll.ErrAgain) {
			err = w.block(false)
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func (w *pollWire) interrupt() {
	w.interrupted.Store(true)
	_ = w.poller.Wake() // fails only when the wire is closed, which is an end too
}

func (w *pollWire) close() error {
	var err error
	if w.socket != nil {
		err = w.socket.Close()
	}
	return errors.Join(err, w.poller.Close())
}

func (opt *options) pollOptions() netpoll.Options {
	return netpoll.Options{NoDelay: true, SendBuffer: opt.buffer, ReceiveBuffer: opt.buffer, Congestion: opt.congestion}
}

// ready waits for what the poller was told to report, until ctx ends.
func (w *pollWire) ready(ctx context.Context) error {
	stop := context.AfterFunc(ctx, w.interrupt)
	defer stop()
	if err := errors.Join(w.poller.Arm(), w.poller.Wait(patience)); err != nil {
		return err
	}
	if w.interrupted.Load() {
		return context.Cause(ctx)
	}
	return nil
}

func dialPoll(ctx context.Context, addr netip.AddrPort, opt *options) (_ wire, err error) {
	w, err := newPollWire(opt)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.socket, err = netpoll.Dial(addr, opt.pollOptions()); err != nil {
		return nil, err
	}
	if err := w.poller.Add(w.socket, 0, true); err != nil {
		return nil, err
	}
	if err := w.ready(ctx); err != nil {
		return nil, err
	}
	if err := w.socket.ConnectResult(); err != nil {
		return nil, fmt.Errorf("connect to %v: %w", addr, err)
	}
	return w, nil
}

func acceptPoll(ctx context.Context, addr netip.AddrPort, opt *options, stdout io.Writer) (_ wire, err error) {
	w, err := newPollWire(opt)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	l, err := netpoll.Listen(addr, 1)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	opt.announce(int(l.Addr().Port()), stdout)
	if err := w.poller.AddListener(l, 1); err != nil {
		return nil, err
	}
	if err := w.ready(ctx); err != nil {
		return nil, err
	}
	if w.socket, err = l.Accept(opt.pollOptions()); err != nil {
		if errors.Is(err, netpoll.ErrAgain) {
			err = errors.New("no client has come")
		}
		return nil, err
	}
	if err := w.poller.RemoveListener(l); err != nil {
		return nil, err
	}
	return w, w.poller.Add(w.socket, 0, false)
}
