//go:build linux && !fitmpi_portable

package netpoll

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Unanswered is for how long the other host has acknowledged nothing although it should, as far as
// calls of this method have seen: 0 if its last answer is newer than what it was sent last. A
// process there that does not read is no reason: its host answers for it. So this, not
// TCP_USER_TIMEOUT alone, tells a host that cannot be reached from a process that is slow. The
// system's timeout also ends connections to processes that have not read for so long, such as one
// that is held in a debugger: it is applied to probes of a closed window, answered or not. See
// Guard.
//
// Nor is it a reason that something waits for its acknowledgement, and nothing has come for long. A
// host without memory for what it had offered to take drops that and says so, and is asked again
// after pauses that grow to two minutes.
func (s *Socket) Unanswered() time.Duration {
	info, err := unix.GetsockoptTCPInfo(s.fd.raw, unix.IPPROTO_TCP, unix.TCP_INFO)
	runtime.KeepAlive(s)
	if err != nil {
		return 0
	}
	ago := func(ms uint32) time.Duration { return time.Duration(ms) * time.Millisecond }
	const asked = 2 // probes in a row: to a closed window, of keepalive, or of what our own host refuses to send; one may be on its way
	if info.Probes >= asked {
		return ago(info.Last_ack_recv)
	}
	now := time.Now()
	return s.mute.look(now, now.Add(-ago(info.Last_data_sent)), now.Add(-ago(info.Last_ack_recv)), info.Unacked > 0)
}

// mute is what was seen of a host that has not answered what it was sent.
type mute struct {
	since time.Time // when it was sent something first, of what was seen; zero if it has answered
}

// look is given when the host was sent something last, when it answered last, and whether anything
// still waits for an answer.
func (m *mute) look(now, sent, answered time.Time, waits bool) time.Duration {
	switch {
	case !waits || !sent.After(answered):
		m.since = time.Time{}
		return 0
	case m.since.Before(answered):
		m.since = sent
	}
	return now.Sub(m.since)
}
