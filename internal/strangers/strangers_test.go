package strangers

import (
	"net"
	"testing"
)

// caller is a connection of which only the address counts.
type caller struct {
	net.Conn
	host   string
	closed bool
}

func (c *caller) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.host), Port: 1} }
func (c *caller) Close() error         { c.closed = true; return nil }

// TestOldestGivesWay: within an address, and among all; who is known keeps its connection.
func TestOldestGivesWay(t *testing.T) {
	s := New(4, 2)
	var all []*caller
	var known []func()
	enter := func(host string) {
		c := &caller{host: host}
		all, known = append(all, c), append(known, s.Enter(c))
	}
	want := func(closed ...int) {
		t.Helper()
		is := make(map[int]bool)
		for _, i := range closed {
			is[i] = true
		}
		for i, c := range all {
			if c.closed != is[i] {
				t.Fatalf("connection %d: closed is %v; after %d came", i, c.closed, len(all))
			}
		}
	}
	enter("10.0.0.9") // 0
	enter("10.0.0.1")
	enter("10.0.0.1")
	want()
	enter("10.0.0.1") // a third of one address
	want(1)
	enter("10.0.0.2")
	want(1)
	enter("10.0.0.3") // a fifth of all
	want(1, 0)
	known[2]()
	known[2]()
	known[0]() // is gone anyway
	enter("10.0.0.4")
	want(1, 0)
	enter("10.0.0.5") // the oldest is known: the next
	want(1, 0, 3)
	if len(s.all) != 4 {
		t.Errorf("%d are left", len(s.all))
	}
}
