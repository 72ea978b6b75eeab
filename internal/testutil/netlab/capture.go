//go:build linux && !fitmpi_portable

package netlab

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// Capture looks for some bytes in what crosses a link.
type Capture struct {
	fd      int
	want    []byte
	packets atomic.Int64
	found   atomic.Int64 // packets that have the bytes
	stopped atomic.Bool
	wg      sync.WaitGroup // of the reader; stopped by stopped
}

// Watch begins to look for bytes in what crosses the host's link, both ways. The host is not behind
// a router.
func (h *Host) Watch(want string) *Capture {
	t := h.lab.t
	t.Helper()
	link, err := net.InterfaceByName(h.Link())
	if err != nil {
		t.Fatal(err)
	}
	c := &Capture{want: []byte(want)}
	c.fd, err = syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skip("no packets can be captured here: ", err)
	}
	for _, err := range []error{
		syscall.SetsockoptInt(c.fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, 16<<20),
		syscall.SetsockoptTimeval(c.fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &syscall.Timeval{Usec: 50_000}),
		syscall.Bind(c.fd, &syscall.SockaddrLinklayer{Protocol: networkOrder(syscall.ETH_P_ALL), Ifindex: link.Index}),
	} {
		if err != nil {
			syscall.Close(c.fd)
			t.Fatal(err)
		}
	}
	c.wg.Go(c.read)
	t.Cleanup(c.close)
	return c
}

func (c *Capture) read() {
	b := make([]byte, 1<<17)
	for {
		n, _, err := syscall.Recvfrom(c.fd, b, 0)
		switch {
		case err == nil:
			c.packets.Add(1)
			if bytes.Contains(b[:n], c.want) {
				c.found.Add(1)
			}
		case c.stopped.Load():
			return // nothing is left to read
		}
	}
}

func (c *Capture) close() {
	if !c.stopped.Swap(true) {
		c.wg.Wait()
		syscall.Close(c.fd)
	}
}

// Stop ends the capture and checks whether the bytes were seen. A capture that saw almost nothing
// shows nothing.
func (c *Capture) Stop(t testing.TB, where string, want bool) {
	t.Helper()
	c.close()
	packets, found := c.packets.Load(), c.found.Load()
	if found > 0 != want || packets < 20 {
		t.Errorf("%s: the marker is in %d of %d packets, want it in some: %v", where, found, packets, want)
	}
}

// networkOrder is a number as the kernel has it in the order of the network.
func networkOrder(n uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, n))
}
