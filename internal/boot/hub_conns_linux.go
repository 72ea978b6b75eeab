//go:build !fitmpi_portable

package boot

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// maxStrangers is how many connections, beyond one for each rank, may have proved nothing yet: of
// all, and from one address.
const (
	maxStrangers        = 128
	maxStrangersPerHost = 16
)

// accept takes in the peers that dial, until the listener is closed.
func (h *hub) accept() {
	for {
		conn, err := h.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, or a peer that hung up at once
			select {
			case <-h.donec:
				return
			case <-time.After(inFlightWait):
				continue
			}
		}
		known := h.strangers.Enter(conn)
		h.work.Go(func() {
			defer known()
			h.serveStranger(conn, known)
		})
	}
}

// serveStranger is the goroutine of a peer that has dialled. It calls known when the peer is no
// stranger any more.
func (h *hub) serveStranger(raw net.Conn, known func()) {
	defer h.watch(raw)()
	conn, err := h.cfg.trust(raw)
	if err != nil {
		h.post(func() { h.sentAway(raw.RemoteAddr(), err) })
		return
	}
	known()
	h.serve(conn)
}

// serveOwn is the goroutine of the leader's own connection.
func (h *hub) serveOwn(conn net.Conn) {
	defer h.watch(conn)()
	h.serve(conn)
}

// watch closes conn when the loop is over, so that a peer that says nothing does not hold up the
// end. stop ends the watch, and waits for it.
func (h *hub) watch(conn net.Conn) (stop func()) {
	quit := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-h.donec:
			conn.Close()
		case <-quit:
		}
	})
	return func() {
		close(quit)
		watch.Wait()
	}
}

// serve takes in the rank at the other end of conn, and hears it until it hangs up.
func (h *hub) serve(conn net.Conn) {
	l := newLink(conn)
	l.join = true
	defer l.Close()
	conn.SetReadDeadline(time.Now().Add(openTimeout))
	n, err := l.Next()
	if err != nil || n.Kind != arrived {
		if !errors.Is(err, io.EOF) {
			h.post(func() { h.sentAway(conn.RemoteAddr(), err) })
		}
		return
	}
	conn.SetReadDeadline(time.Time{})
	rank := n.join.Rank
	accepted := false
	h.post(func() { accepted = h.arrive(l, n.join) })
	for {
		n, err := l.Next()
		if err != nil {
			if accepted {
				h.post(func() { h.left(rank, l, err) })
			}
			return
		}
		h.post(func() { h.noticed(rank, l, n) })
	}
}

// post hands the loop something that happened, and returns when the loop has dealt with it, or is
// over.
func (h *hub) post(happened func()) {
	dealt := make(chan struct{})
	select {
	case h.inbox <- func() { happened(); close(dealt) }:
		<-dealt
	case <-h.donec:
	}
}
