//go:build linux

package netpoll

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Unanswered is for how long the other host has acknowledged nothing although it should: 0 if nothing that was sent waits for
// that. A process there that does not read is no reason: its host answers for it. So this, not TCP_USER_TIMEOUT alone, tells a host that
// cannot be reached from a process that is slow: the system's timeout also ends connections to processes that have not read for so
// long (it is applied to probes of a closed window, answered or not), such as one that is held in a debugger. See Guard.
func (s *Socket) Unanswered() time.Duration {
	info, err := unix.GetsockoptTCPInfo(s.fd.raw, unix.IPPROTO_TCP, unix.TCP_INFO)
	runtime.KeepAlive(s)
	const asked = 2 // probes in a row: to a closed window, of keepalive, or of what our own host refuses to send; one may be on its way
	if err != nil || info.Unacked == 0 && info.Probes < asked {
		return 0
	}
	return time.Duration(info.Last_ack_recv) * time.Millisecond
}
