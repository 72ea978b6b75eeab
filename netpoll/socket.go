//go:build linux && !fitmpi_portable

package netpoll

import (
	"io"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	// MaxVec is the number of slices that one Readv or Writev takes (IOV_MAX); the rest of a longer
	// list is ignored.
	MaxVec = 1024

	// maxTransfer bounds the bytes of one call, because the call keeps the P while the kernel
	// copies: 1 MiB takes 0.1-0.3 ms. The next call takes the rest.
	maxTransfer = 1 << 20
)

// Socket is a nonblocking TCP socket. It belongs to the owner of the poller it is added to.
//
// Read, Readv, Write and Writev are raw system calls: the P is kept and the scheduler is not
// involved. They cannot block; what they take is a bounded copy. Telling the scheduler costs 40 ns
// a call, and once such a call takes longer than 20 us the P may be retaken, after which the owner
// queues for a P behind goroutines that compute.
type Socket struct {
	fd     descriptor
	remote netip.AddrPort // immutable after Dial or Accept
	dialed bool           // immutable; a dialed socket is checked for being connected to itself

	// What epoll was last given, so that the same is not given to it again.
	interest uint32 // 0: not added
	token    uint64

	guard  int // the system's timeout, in ms; 0 if there is none. See Guard
	room   int // bytes that may still be written under it
	probes int // seconds between questions to a silent host that Guard has set; 0: none yet

	mute mute // see Unanswered

	iov []unix.Iovec // scratch of Readv and Writev; its entries are cleared before they return
}

func newSocket(raw int, remote netip.AddrPort, dialed bool) *Socket {
	s := &Socket{remote: remote, dialed: dialed}
	s.fd.open(raw, "socket")
	return s
}

// Read reads what has arrived, at most 1 MiB of it, into b. It returns [ErrAgain] when nothing has,
// and [io.EOF] after the peer's last byte. An empty b reads nothing and reports nothing.
func (s *Socket) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	b = b[:min(len(b), maxTransfer)]
	for {
		n, errno := readRaw(s.fd.raw, b)
		if errno == unix.EINTR {
			continue
		}
		return s.afterRead("read", n, errno)
	}
}

// Readv is Read into several slices, filled in order.
func (s *Socket) Readv(bufs [][]byte) (int, error) {
	if s.gather(bufs) == 0 {
		return 0, nil
	}
	for {
		n, errno := readvRaw(s.fd.raw, s.iov)
		if errno == unix.EINTR {
			continue
		}
		s.scatterDone(bufs, n, errno)
		return s.afterRead("readv", n, errno)
	}
}

func (s *Socket) afterRead(op string, n int, errno unix.Errno) (int, error) {
	runtime.KeepAlive(s)
	switch {
	case errno != 0:
		return 0, sysError(op, errno)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write hands bytes of b to the kernel and returns how many it took: fewer than len(b), or more
// than 1 MiB was offered, is no error. It returns [ErrAgain] when the kernel takes none. Writing to
// a broken connection is an error, never a signal.
func (s *Socket) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	b = b[:min(len(b), maxTransfer)]
	if s.guard != 0 && len(b) > s.room {
		s.unguard()
	}
	for {
		n, errno := sendRaw(s.fd.raw, b)
		if errno == unix.EINTR {
			continue
		}
		return s.afterWrite("sendto", n, errno)
	}
}

// Writev is Write of several slices, in order.
func (s *Socket) Writev(bufs [][]byte) (int, error) {
	total := s.gather(bufs)
	if total == 0 {
		return 0, nil
	}
	if s.guard != 0 && total > s.room {
		s.unguard()
	}
	for {
		n, errno := sendmsgRaw(s.fd.raw, s.iov)
		if errno == unix.EINTR {
			continue
		}
		clear(s.iov)
		return s.afterWrite("sendmsg", n, errno)
	}
}

func (s *Socket) afterWrite(op string, n int, errno unix.Errno) (int, error) {
	runtime.KeepAlive(s)
	if errno != 0 {
		return 0, sysError(op, errno)
	}
	s.room -= n
	return n, nil
}

// gather fills s.iov with at most MaxVec non-empty slices and maxTransfer bytes of bufs, and
// returns the bytes. The entries are typed pointers, so the garbage collector sees what the kernel
// is given. Slices come from one list, so a vectored call of one peer's small messages grows the
// array once and keeps it.
func (s *Socket) gather(bufs [][]byte) int {
	s.iov = s.iov[:0]
	total := 0
	for _, b := range bufs {
		if len(b) == 0 {
			continue
		}
		if len(s.iov) == MaxVec || total == maxTransfer {
			break
		}
		n := min(len(b), maxTransfer-total)
		v := unix.Iovec{Base: &b[0]}
		v.SetLen(n)
		s.iov = append(s.iov, v)
		total += n
	}
	return total
}

// scatterDone clears the vector and tells the race detector what the kernel wrote.
func (s *Socket) scatterDone(bufs [][]byte, n int, errno unix.Errno) {
	clear(s.iov)
	if !raceEnabled || errno != 0 {
		return
	}
	for _, b := range bufs {
		k := min(len(b), n)
		raceWrote(b[:k])
		n -= k
	}
}

// ConnectResult says how the connect that Dial started ended: nil means connected. Call it when the
// socket is reported writable; before that it returns [ErrAgain].
func (s *Socket) ConnectResult() error {
	soErr, err := unix.GetsockoptInt(s.fd.raw, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && soErr != 0 {
		err = unix.Errno(soErr)
	}
	if err == nil {
		_, err = unix.Getpeername(s.fd.raw)
		if err == unix.ENOTCONN {
			return ErrAgain
		}
	}
	runtime.KeepAlive(s)
	switch {
	case err == unix.EBADF:
		return os.ErrClosed
	case err != nil:
		return os.NewSyscallError("connect", err)
	case s.dialed && s.LocalAddr() == s.remote:
		// No process listens on the port, the kernel chose the same number for our end, and TCP's
		// simultaneous open did the rest: we would talk to ourselves.
		return os.NewSyscallError("connect", unix.ECONNREFUSED)
	}
	return nil
}

// LocalAddr is the address of this end, or the zero AddrPort once closed.
func (s *Socket) LocalAddr() netip.AddrPort { return localAddr(s.fd.raw) }

// RemoteAddr is the address dialed or accepted from. It stays known after Close.
func (s *Socket) RemoteAddr() netip.AddrPort { return s.remote }

// CloseWrite ends the outgoing stream: the peer reads [io.EOF] after what was written.
func (s *Socket) CloseWrite() error {
	err := unix.Shutdown(s.fd.raw, unix.SHUT_WR)
	runtime.KeepAlive(s)
	switch err {
	case nil:
		return nil
	case unix.EBADF:
		return os.ErrClosed
	}
	return os.NewSyscallError("shutdown", err)
}

// Close closes the socket and thereby removes it from its poller. It is idempotent. Bytes that the
// kernel has taken are still sent, unless unread input makes the kernel reset the connection.
func (s *Socket) Close() error {
	s.interest = 0
	return s.fd.close()
}
