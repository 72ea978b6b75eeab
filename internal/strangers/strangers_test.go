package strangers

import (
	"fmt"
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

// TestOldestGivesWay: the oldest gives way, within an address and among all. A peer that is known
// keeps its connection.
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
	enter("10.0.0.3") // a fifth of all: of the address with the most
	want(1, 2)
	known[3]()
	known[3]()
	known[2]() // is gone anyway
	enter("10.0.0.4")
	want(1, 2)
	enter("10.0.0.5") // all have one: the oldest
	want(1, 2, 0)
	if s.Len() != 4 {
		t.Errorf("%d are left", s.Len())
	}
}

// TestFloodPushesOutItsOwn: a host that floods from many addresses of its network, or from one,
// pushes out no other host.
func TestFloodPushesOutItsOwn(t *testing.T) {
	s := New(16, 16)
	enter := func(host string) *caller {
		c := &caller{host: host}
		s.Enter(c)
		return c
	}
	var others []*caller
	for i := range 4 {
		others = append(others, enter(fmt.Sprintf("10.0.0.%d", i)))
	}
	for i := range 1000 {
		enter(fmt.Sprintf("2001:db8:0:1::%x", i+1))
	}
	for i := range 1000 {
		enter(fmt.Sprintf("::ffff:10.0.0.%d", 100+i%2))
	}
	for _, c := range others {
		if c.closed {
			t.Errorf("%s lost its connection to those who flood", c.host)
		}
	}
	if s.Len() != 16 || len(s.from) != 7 {
		t.Errorf("%d connections from %d places", s.Len(), len(s.from))
	}
}

// TestEnterTwice: one counts once.
func TestEnterTwice(t *testing.T) {
	s := New(2, 2)
	c := &caller{host: "10.0.0.1"}
	for range 10 {
		s.Enter(c)
	}
	if s.Leave(c); c.closed || s.Len() != 0 || len(s.from) != 0 {
		t.Errorf("closed %v, %d left, from %v", c.closed, s.Len(), s.from)
	}
}
