// Package strangers bounds the connections that have proved nothing yet, so that those who cannot prove anything keep nobody
// else out, and cost no more than a few descriptors.
//
// Too many are not sent away when they come: the oldest gives way. Whoever knows the secret proves it at once, and is no
// stranger any more when the turn would come to it; whoever only holds a connection open loses it.
package strangers

import (
	"net"
	"slices"
	"sync"
)

// Set is the connections of a listener that have proved nothing yet. All its methods are safe for concurrent use.
type Set struct {
	total, each int // limits, of all and of those from one address; immutable

	mu  sync.Mutex
	all []stranger // the oldest first; guarded by mu
}

type stranger struct {
	conn net.Conn
	host string
}

// New returns an empty set for total connections, and each from one address. Both must be at least 1.
func New(total, each int) *Set { return &Set{total: total, each: each} }

// Enter adds conn, which has just come, until known is called: when the other end has proved who it is, or is gone. If that
// makes too many, Enter closes the oldest from the same address, or the oldest of all. known may be called several times.
// Neither blocks.
func (s *Set) Enter(conn net.Conn) (known func()) {
	// All who dial a Unix socket have one address.
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	s.mu.Lock()
	gone := s.makeRoomLocked(host)
	s.all = append(s.all, stranger{conn, host})
	s.mu.Unlock()
	if gone != nil {
		gone.Close()
	}
	return func() { s.leave(conn) }
}

// makeRoomLocked takes out who has to give way to one from host; nil if nobody has to.
func (s *Set) makeRoomLocked(host string) net.Conn {
	n, oldest := 0, 0
	for i := len(s.all) - 1; i >= 0; i-- {
		if s.all[i].host == host {
			n, oldest = n+1, i
		}
	}
	switch {
	case n >= s.each:
	case len(s.all) >= s.total:
		oldest = 0
	default:
		return nil
	}
	conn := s.all[oldest].conn
	s.all = slices.Delete(s.all, oldest, oldest+1)
	return conn
}

func (s *Set) leave(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(other stranger) bool { return other.conn == conn })
}
