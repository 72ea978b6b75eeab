//go:build linux && !fitmpi_portable

package netpoll

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// fill writes until the kernel takes no more.
func fill(t *testing.T, s *Socket) {
	t.Helper()
	for b := make([]byte, 64<<10); ; {
		if _, err := s.Write(b); errors.Is(err, ErrAgain) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnansweredByAProcess: a process that does not read is no reason for Unanswered, for as long
// as it likes, while TCP_USER_TIMEOUT, with which one could think of finding hosts that are gone,
// ends such a connection. Should that change, Guard can be simpler.
func TestUnansweredByAProcess(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	t.Parallel()
	for _, timeout := range []int{0, 500} {
		s, far := pair(t, newPoller(t), Options{}, loopback4)
		if err := s.setUserTimeout(timeout); err != nil {
			t.Fatal(err)
		}
		fill(t, s)
		var err error
		for until := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(until) && (timeout > 0 || time.Until(until) > 7*time.Second); time.Sleep(20 * time.Millisecond) {
			if d := s.Unanswered(); d > time.Second {
				t.Fatalf("the host has not answered for %v", d)
			}
			if _, err = s.Write([]byte{1}); errors.Is(err, ErrAgain) {
				err = nil
			}
		}
		if timeout == 0 && err != nil || timeout > 0 && !errors.Is(err, unix.ETIMEDOUT) {
			t.Errorf("with a timeout of %d ms: %v", timeout, err)
		}
		runtime.KeepAlive(far)
	}
}

// TestUnansweredWithoutMemory: a host that drops what it had offered to take, because its process
// reads nothing and no memory is left for it, answers for all that; the pauses after which it is
// asked again grow beyond any timeout.
func TestUnansweredWithoutMemory(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	t.Parallel()
	s, far := pair(t, newPoller(t), Options{NoDelay: true, SendBuffer: 4 << 10}, loopback4)
	if err := unix.SetsockoptInt(far.fd.raw, unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10); err != nil {
		t.Fatal(err)
	}
	asked := time.Duration(0)
	for until := time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if d := s.Unanswered(); d > 500*time.Millisecond { // acknowledgements may be 200 ms late
			t.Fatalf("the host has not answered for %v", d)
		}
		if _, err := s.Write(make([]byte, 4000)); err != nil && !errors.Is(err, ErrAgain) {
			t.Fatal(err)
		}
		if info, err := unix.GetsockoptTCPInfo(s.fd.raw, unix.IPPROTO_TCP, unix.TCP_INFO); err != nil {
			t.Fatal(err)
		} else if info.Unacked > 0 {
			asked = max(asked, time.Duration(info.Last_ack_recv)*time.Millisecond)
		}
	}
	if asked < time.Second {
		t.Skipf("this kernel drops nothing: it was asked again after %v", asked)
	}
	runtime.KeepAlive(far)
}

// TestMute: silence is counted from the first thing of which we know that no answer has come since.
func TestMute(t *testing.T) {
	start := time.Now()
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	var m mute
	for _, tc := range []struct {
		now, sent, answered int
		waits               bool
		want                int
	}{
		{10, 0, 0, false, 0},   // nothing was sent
		{100, 100, 0, true, 0}, // the first thing for long: an answer may be on its way
		{101, 100, 101, false, 0},
		{200, 150, 150, true, 0}, // asked and answered, but not acknowledged
		{261, 260, 150, true, 1},
		{265, 264, 150, true, 5},
		{290, 264, 150, true, 30},
		{291, 264, 291, true, 0}, // an answer
		{300, 295, 291, true, 5},
		{400, 395, 391, true, 5}, // answers in between
		{401, 395, 391, true, 6},
		{402, 395, 391, false, 0},
	} {
		if got := m.look(at(tc.now), at(tc.sent), at(tc.answered), tc.waits); got != time.Duration(tc.want)*time.Second {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// deadHost runs f with a connection to a host that answers, and a function after which it does not
// any more, in a network of its own.
func deadHost(t *testing.T, f func(s *Socket, die func())) {
	if os.Geteuid() != 0 {
		t.Skip("needs a network namespace")
	}
	if os.Getenv("FITMPI_TEST_NETNS") == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("unshare", "-n", self, "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), "FITMPI_TEST_NETNS=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	run := func(argv ...string) {
		t.Helper()
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%v: %v: %s", argv, err, out)
		}
	}
	run("ip", "link", "set", "lo", "up")
	s, far := pair(t, newPoller(t), Options{}, loopback4)
	f(s, func() {
		t.Helper()
		run("nft", "add table inet t; add chain inet t in { type filter hook input priority 0; }; add rule inet t in drop")
	})
	runtime.KeepAlive(far)
}

// TestUnansweredByAHost: a host to which nothing goes any more answers nothing; the system tells so
// long before it gives up.
func TestUnansweredByAHost(t *testing.T) {
	deadHost(t, func(s *Socket, die func()) {
		mustWrite(t, s, 1)
		if d := s.Unanswered(); d > time.Second {
			t.Errorf("unanswered for %v", d)
		}
		die()
		mustWrite(t, s, 1)
		for until := time.Now().Add(failsafe); s.Unanswered() < 300*time.Millisecond; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("nothing answers, and nobody says so")
			}
		}
	})
}
