//go:build linux

package agent

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/secure"
	"github.com/fitmpi/fitmpi/internal/strangers/strangerstest"
)

// Strangers that say nothing do not keep out more than their own address, and what they say is not
// obeyed.
func TestStrangers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secret := []byte("thirty-two bytes, or more than that")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Listen(ctx, l, secret, slog.New(slog.DiscardHandler)) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	isClosed := func(c net.Conn) bool {
		c.SetReadDeadline(time.Now().Add(secure.Timeout / 2)) // else it would be sent away then
		_, err := c.Read(make([]byte, 1))
		return err == io.EOF || err != nil && !strings.Contains(err.Error(), "timeout")
	}
	for _, greeting := range []string{"hello\n", marker + " soon\n", marker + " -1s\n", marker + " 1ns\n", strings.Repeat("x", 2*maxGreeting)} {
		c, err := secure.Client(dial(), secret, role)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, greeting)
		if !isClosed(c) {
			t.Errorf("%q is taken for a greeting", greeting)
		}
	}
	var quiet []net.Conn
	for range maxStrangersPerHost + 1 {
		quiet = append(quiet, dial())
	}
	if !isClosed(quiet[0]) {
		t.Error("there is no limit")
	}
	c, err := secure.Client(dial(), secret, role) // and those that are there keep no client out
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestListenUnderFire: a client that knows the secret is heard while all kinds of strangers come,
// and nothing is left of these.
func TestListenUnderFire(t *testing.T) {
	before := strangerstest.Held()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secret := []byte("thirty-two bytes, or more than that")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Listen(ctx, l, secret, slog.New(slog.DiscardHandler)) }()
	if n := strangerstest.Fire(t, l.Addr().String(), 1000, []byte(marker+" 20s\n")); n != 1000 {
		t.Errorf("%d of 1000 connections could be made", n)
	}
	var flood sync.WaitGroup
	flood.Go(func() { strangerstest.Fire(t, l.Addr().String(), 1000, []byte(marker+" 20s\n")) })
	heard := false
	for until := time.Now().Add(time.Minute); !heard && time.Now().Before(until); { // a client that comes at the wrong moment gives way, and tries again
		raw, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := secure.Client(raw, secret, role)
		if err != nil {
			continue
		}
		heard = true
		c.Close()
	}
	flood.Wait()
	if !heard {
		t.Error("strangers keep out who knows the secret")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	strangerstest.Same(t, before)
}
