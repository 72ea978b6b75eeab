package gateway

import (
	"io"
	"net"
	"sync"
)

// splice passes bytes on between a and b, in both directions, until both directions have ended or
// one has failed. The end of one direction is passed on too, so a rank that says goodbye and closes
// is seen to do just that.
func splice(a, b *stream) {
	var wg sync.WaitGroup
	for _, d := range [2][2]*stream{{a, b}, {b, a}} {
		wg.Go(func() {
			if !pass(d[0], d[1]) {
				a.Conn.Close() // the other direction ends as well
				b.Conn.Close()
			}
		})
	}
	wg.Wait()
}

// pass copies from one to the other until the end, and passes that on. False: it failed before.
func pass(from, to *stream) bool {
	if n := from.r.Buffered(); n > 0 {
		first, _ := from.r.Peek(n) // what is there can be had
		if _, err := to.Write(first); err != nil {
			return false
		}
	}
	if _, err := io.Copy(to.Conn, from.Conn); err != nil { // past the reader, so that the kernel may copy
		return false
	}
	return closeWrite(to.Conn) == nil
}

// closeWrite ends the one direction of a TCP or a TLS connection.
func closeWrite(conn net.Conn) error {
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return conn.Close()
}

// handed is a connection that one goroutine uses and another, which has accepted it, waits for.
type handed struct {
	net.Conn
	once sync.Once
	done chan struct{} // closed by Close
}

func (h *handed) Close() error {
	h.once.Do(func() { close(h.done) })
	return h.Conn.Close()
}

func (h *handed) CloseWrite() error { return closeWrite(h.Conn) }
