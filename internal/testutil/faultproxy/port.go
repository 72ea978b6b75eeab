//go:build linux && !fitmpi_portable

package faultproxy

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
)

// Deserted returns an address of 127.0.0.1 at which nothing listens until the test ends, so that
// the system refuses all that connect. A port that was merely free a moment ago may be given to
// any other process.
func Deserted(t testing.TB) netip.AddrPort {
	t.Helper()
	d, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	if err := d.Shut(true); err != nil {
		t.Fatal(err)
	}
	return d.Addr()
}

// FreePorts returns the first of n ports in a row at which nothing listens now, at any address.
// It is for what has to be told a port before it listens. They are drawn from those below the ones
// that the system gives to a process that asks for any: until they are used, only another draw may
// hit them.
func FreePorts(n int) (uint16, error) {
	for range 1000 {
		from := 10_000 + rand.IntN(20_000)
		if free(from, n) {
			return uint16(from), nil
		}
	}
	return 0, fmt.Errorf("%d free ports in a row were not found", n)
}

func free(from, n int) bool {
	for p := from; p < from+n; p++ {
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", p))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// FreeAddress returns an address of 127.0.0.1 with such a port.
func FreeAddress(t testing.TB) string {
	t.Helper()
	port, err := FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}
