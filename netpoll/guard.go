//go:build linux && !fitmpi_portable

package netpoll

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Guard lets the system end the connection when the other host has acknowledged nothing for the
// timeout (TCP_USER_TIMEOUT), whether or not any goroutine looks at it meanwhile. It is called
// again now and then, and reports whether the guard is up. The guard is not up, and a write takes
// it down, where more was written than the other host has said that it has room for. Then the
// window of the other host may close though the host is well, because its process does not read,
// and to that the system would apply the timeout too: see Unanswered. What there is room for, the
// host takes by itself, whatever its process does.
//
// On a connection on which nothing is sent, the other host is asked (Options.KeepAlive) so often
// that several answers must be missing before it is taken for dead, if the timeout has a few
// seconds.
//
// After a failed write the guard may be up or not. A timeout of 0 takes it down.
func (s *Socket) Guard(timeout time.Duration) bool {
	room := -1
	if timeout > 0 {
		room = s.roomThere()
	}
	if room < 0 {
		s.unguard()
		return false
	}
	s.room = room
	if ms := int(max(timeout.Milliseconds(), 1)); s.guard != ms && s.setProbes(ms) == nil && s.setUserTimeout(ms) == nil {
		s.guard = ms
	}
	return s.guard != 0
}

// unguard takes the guard down, if it is up.
func (s *Socket) unguard() {
	if s.guard != 0 && s.setUserTimeout(0) == nil { // a socket for which that fails is closed
		s.guard = 0
	}
}

// guardProbes is how many probes go unanswered, if whole seconds allow it, before a silent
// connection is ended.
const guardProbes = 6

// setProbes sets how often a silent host is asked. Under a guard the system goes by its timeout and
// not by the number of probes: with more time between two of them than that, one that is lost would
// end the connection.
func (s *Socket) setProbes(ms int) error {
	every := min(max(ms/1000/guardProbes, 1), keepAliveSeconds)
	if s.probes == every {
		return nil
	}
	for _, option := range []int{unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL} {
		if err := unix.SetsockoptInt(s.fd.raw, unix.IPPROTO_TCP, option, every); err != nil {
			return err
		}
	}
	runtime.KeepAlive(s)
	s.probes = every
	return nil
}

func (s *Socket) setUserTimeout(ms int) error {
	err := unix.SetsockoptInt(s.fd.raw, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, ms)
	runtime.KeepAlive(s)
	return err
}

// roomThere is how many bytes may be written that the other host has promised to take, less than 0
// if there are already more. Hosts do not take such a promise back (RFC 9293, section 3.8.6), but
// for Linux that has no memory left.
func (s *Socket) roomThere() int {
	defer runtime.KeepAlive(s)
	queued, err := unix.IoctlGetInt(s.fd.raw, unix.SIOCOUTQ) // first: what is acknowledged before the other question makes less room of it, not more
	if err != nil {
		return -1
	}
	info, err := unix.GetsockoptTCPInfo(s.fd.raw, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return -1
	}
	return int(info.Snd_wnd) - queued // the window begins where the first unacknowledged byte is
}
