//go:build linux && !fitmpi_portable

package netpoll

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

func mustWrite(t *testing.T, s *Socket, n int) {
	t.Helper()
	if m, err := s.Write(make([]byte, n)); err != nil || m != n {
		t.Fatalf("wrote %d bytes of %d: %v", m, n, err)
	}
}

// userTimeout is what the system has.
func userTimeout(t *testing.T, s *Socket) int {
	t.Helper()
	ms, err := unix.GetsockoptInt(s.fd.raw, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

const guardTime = 300 * time.Millisecond

// wantAlive lets several timeouts pass, in which no process reads at the other end, and calls look
// now and then.
func wantAlive(t *testing.T, s *Socket, look func()) {
	t.Helper()
	for until := time.Now().Add(6 * guardTime); time.Now().Before(until); time.Sleep(guardTime / 10) {
		look()
	}
	if soErr, err := unix.GetsockoptInt(s.fd.raw, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || soErr != 0 {
		t.Fatalf("the connection is gone: %v, %v", unix.Errno(soErr), err)
	}
}

// TestGuardLetsProcessesBe: to a process that does not read the connection stands for as long as it
// likes, whatever was written, whether it is looked at meanwhile or not. What the host has room for
// is taken without its process, so there the guard stays up.
func TestGuardLetsProcessesBe(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	t.Parallel()
	nothing := func(*Socket) func() { return func() {} }
	again := func(s *Socket) func() { return func() { s.Guard(guardTime) } }
	for name, tc := range map[string]struct {
		write func(s *Socket)
		look  func(s *Socket) func()
		up    bool
	}{
		"full":             {func(s *Socket) { fill(t, s) }, nothing, false},
		"full, looked at":  {func(s *Socket) { fill(t, s) }, again, false},
		"full by vectors":  {func(s *Socket) { fillVec(t, s) }, nothing, false},
		"one byte too far": {func(s *Socket) { mustWrite(t, s, s.room); mustWrite(t, s, 1) }, nothing, false},
		"room, at once":    {func(s *Socket) { mustWrite(t, s, s.room) }, nothing, true},
		"room, looked at":  {func(s *Socket) { mustWrite(t, s, s.room) }, again, true},
		"room, by heartbeats": {func(s *Socket) {
			for s.room >= 32 {
				mustWrite(t, s, 32)
			}
		}, nothing, true},
		"room, byte by byte": {func(s *Socket) {
			for s.room > 0 {
				mustWrite(t, s, 1)
			}
		}, nothing, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, far := pair(t, newPoller(t), Options{NoDelay: true}, loopback4)
			if !s.Guard(guardTime) || s.room < 10_000 || userTimeout(t, s) != int(guardTime.Milliseconds()) {
				t.Fatalf("a new connection has room for %d bytes, and a timeout of %d ms", s.room, userTimeout(t, s))
			}
			tc.write(s)
			if got := userTimeout(t, s) > 0; got != tc.up {
				t.Errorf("the guard is up: %v, want %v", got, tc.up)
			}
			wantAlive(t, s, tc.look(s))
			runtime.KeepAlive(far)
		})
	}
}

// fillVec is fill by Writev.
func fillVec(t *testing.T, s *Socket) {
	t.Helper()
	for b := make([]byte, 1000); ; {
		if _, err := s.Writev([][]byte{b, b, b}); errors.Is(err, ErrAgain) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestGuardUpAgain: when the process has read, the next look puts the guard up again; 0 takes it
// down.
func TestGuardUpAgain(t *testing.T) {
	s, far := pair(t, newPoller(t), Options{}, loopback4)
	s.Guard(time.Minute)
	fill(t, s)
	if s.Guard(time.Minute) || userTimeout(t, s) != 0 {
		t.Fatal("the guard is up though the other host has no room")
	}
	b := make([]byte, 1<<20)
	for until := time.Now().Add(failsafe); !s.Guard(time.Minute); {
		if time.Now().After(until) {
			t.Fatal("the guard stays down")
		}
		if _, err := far.Read(b); err != nil && !errors.Is(err, ErrAgain) {
			t.Fatal(err)
		}
	}
	if ms := userTimeout(t, s); ms != 60_000 {
		t.Errorf("a timeout of %d ms", ms)
	}
	if s.Guard(0) || userTimeout(t, s) != 0 {
		t.Error("a timeout of 0 leaves the guard up")
	}
}

// TestGuardBearsLostProbes: within the timeout a silent host is asked several times, as the system
// ends the connection at the first answer that is missing when the time is over.
func TestGuardBearsLostProbes(t *testing.T) {
	s, _ := pair(t, newPoller(t), Options{KeepAlive: true}, loopback4)
	for _, c := range []struct {
		timeout time.Duration
		every   int
	}{
		{2 * time.Minute, keepAliveSeconds}, {20 * time.Second, 3}, {5 * time.Second, 1}, {guardTime, 1}, {time.Hour, keepAliveSeconds},
	} {
		s.Guard(c.timeout)
		for _, option := range []int{unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL} {
			if got, err := unix.GetsockoptInt(s.fd.raw, unix.IPPROTO_TCP, option); err != nil || got != c.every {
				t.Errorf("option %d is %d with a timeout of %v, error %v; want %d", option, got, c.timeout, err, c.every)
			}
		}
	}
}

// TestGuardFindsADeadHost: no goroutine looks, and the system ends the connection to a host that is
// gone, minutes before it would by itself.
func TestGuardFindsADeadHost(t *testing.T) {
	deadHost(t, func(s *Socket, die func()) {
		mustWrite(t, s, 1)
		s.Guard(guardTime)
		die()
		mustWrite(t, s, 1)
		for until := time.Now().Add(failsafe); ; time.Sleep(10 * time.Millisecond) {
			soErr, err := unix.GetsockoptInt(s.fd.raw, unix.SOL_SOCKET, unix.SO_ERROR)
			if unix.Errno(soErr) == unix.ETIMEDOUT {
				return
			}
			if err != nil || soErr != 0 || time.Now().After(until) {
				t.Fatal("the connection is still there: ", unix.Errno(soErr), err)
			}
		}
	})
}
