//go:build linux

package netpoll

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// TestUnansweredByAProcess: a process that does not read is no reason for Unanswered, for as long as it likes, while TCP_USER_TIMEOUT,
// with which one could think of finding hosts that are gone, ends such a connection. Should that change, Guard can be simpler.
func TestUnansweredByAProcess(t *testing.T) {
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

// deadHost runs f with a connection to a host that answers, and a function after which it does not any more, in a network of its own.
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

// TestUnansweredByAHost: a host to which nothing goes any more answers nothing; the system tells so long before it gives up.
func TestUnansweredByAHost(t *testing.T) {
	deadHost(t, func(s *Socket, die func()) {
		mustWrite(t, s, 1)
		if d := s.Unanswered(); d > time.Second {
			t.Errorf("unanswered for %v", d)
		}
		die()
		mustWrite(t, s, 1)
		for until := time.Now().Add(10 * time.Second); s.Unanswered() < 300*time.Millisecond; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("nothing answers, and nobody says so")
			}
		}
	})
}
