// Package strangers bounds the connections that have proved nothing yet. So peers that cannot prove
// anything keep no other peer out, and cost no more than a few descriptors and a few lines in a
// log.
//
// When there are too many, the newest is not sent away: the oldest gives way. A peer that knows the
// secret proves it at once, and is no stranger any more when its turn would come. A peer that only
// holds a connection open loses it. The connection that gives way is from the place that has
// too many, or from the one with the most, so that a host that floods us pushes out its own.
package strangers

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Set is the connections of a listener that have proved nothing yet. All its methods are safe for
// concurrent use.
type Set struct {
	total, each int // limits, of all and of those from one place; immutable

	mu   sync.Mutex
	all  []stranger           // the oldest first; guarded by mu
	from map[netip.Prefix]int // how many of all are from there; guarded by mu
}

type stranger struct {
	conn net.Conn
	from netip.Prefix
}

// New returns an empty set for total connections, and each from one place. A place is an address,
// or of IPv6 a network of 64 bits: a host that has one address of such a network has all of them.
// Both limits must be at least 1.
func New(total, each int) *Set {
	return &Set{total: total, each: each, from: make(map[netip.Prefix]int)}
}

// Enter adds conn, which has just come, until known is called: when the other end has proved its
// identity, or is gone. If that makes too many, Enter closes the oldest from the same place, or
// that from the place from which the most have come. known may be called several times; it is
// Leave. Enter of a connection that is in the set already does nothing. Neither blocks.
func (s *Set) Enter(conn net.Conn) (known func()) {
	from := Place(conn.RemoteAddr())
	s.mu.Lock()
	var gone net.Conn
	if s.indexLocked(conn) < 0 {
		gone = s.makeRoomLocked(from)
		s.all = append(s.all, stranger{conn, from})
		s.from[from]++
	}
	s.mu.Unlock()
	if gone != nil {
		gone.Close()
	}
	return func() { s.Leave(conn) }
}

// Leave takes conn out, if it is in the set.
func (s *Set) Leave(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.indexLocked(conn); i >= 0 {
		s.removeLocked(i)
	}
}

// Len is the number of connections in the set.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// Place is from where an address counts as coming: itself, or its network of 64 bits. It is the
// zero Prefix for what is no address of TCP, as for all callers that dial a Unix socket.
func Place(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	return PlaceOf(tcp.AddrPort().Addr())
}

// PlaceOf is Place of an IP address.
func PlaceOf(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits) // of no address none
	return p
}

func (s *Set) indexLocked(conn net.Conn) int {
	return slices.IndexFunc(s.all, func(other stranger) bool { return other.conn == conn })
}

// makeRoomLocked takes out and returns the connection that has to give way to one from there; nil
// if none has to.
func (s *Set) makeRoomLocked(from netip.Prefix) net.Conn {
	switch {
	case s.from[from] >= s.each:
	case len(s.all) >= s.total:
		from = s.busiestLocked()
	default:
		return nil
	}
	i := slices.IndexFunc(s.all, func(other stranger) bool { return other.from == from })
	conn := s.all[i].conn
	s.removeLocked(i)
	return conn
}

// busiestLocked is from where the most have come; of several the one from where the oldest of all
// is.
func (s *Set) busiestLocked() (busiest netip.Prefix) {
	most := 0
	for _, other := range s.all {
		if n := s.from[other.from]; n > most {
			busiest, most = other.from, n
		}
	}
	return busiest
}

func (s *Set) removeLocked(i int) {
	from := s.all[i].from
	if s.from[from]--; s.from[from] == 0 {
		delete(s.from, from)
	}
	s.all = slices.Delete(s.all, i, i+1)
}
