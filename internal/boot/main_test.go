//go:build linux && !fitmpi_portable

package boot

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if fd := os.Getenv(envInherit); fd != "" {
		if _, err := inherit(fd, "fitrun"); err != nil {
			fmt.Print(err)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// envInherit has a process of this test inherit the descriptor of that number, and say what is
// wrong.
const envInherit = "BOOT_TEST_INHERIT"

// failsafe ends a test that hangs; no test waits for it to pass.
func failsafe(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// socketPair returns a launcher's connection and the descriptor number that a rank would inherit.
func socketPair(t *testing.T) (net.Conn, int) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fds[0]), "launcher")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	return conn, fds[1]
}

func testInfo(rank, size int) Info {
	job, secret := NewJob()
	return Info{
		Rank: rank, Size: size, LocalRank: rank, LocalSize: size, Job: job, Secret: secret,
		Kin:    Kin{"2.1", 7, "0123"},
		Source: "fitrun", Host: "here", Cores: 2, Universe: size + 5, MetricsAddr: "127.0.0.1:0", MetricsRequested: true,
		Process: rank, ProcessRanks: 1, Bound: []int{0, 1, 4}, Roam: []int{0, 1, 4, 5}, AppNum: rank, Watched: true, FT: rank == 1, Attempt: rank, Given: map[string]string{"FITMPI_PROGRESS": "--progress"}, Net: testNet(),
	}
}

func testNet() Net {
	return Net{
		Remote: true, Interface: "eth0,10.0.0.0/8", Ports: "40000-40999", TLS: true, Domain: "here.a",
		Gateways: []Gateway{{"b", "10.0.0.1:4000", make([]byte, 32)}, {"b", "[fd00::1]:4000", make([]byte, 16)}},
	}
}

// connect returns both ends of an open session.
func connect(t *testing.T, info Info) (Session, *Link) {
	t.Helper()
	conn, fd := socketPair(t)
	l := NewLink(conn, info)
	t.Cleanup(func() { l.Close() })
	s, err := Find([]string{FDVariable + "=" + strconv.Itoa(fd)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if n := wantNotice(t, l, Joined); n.PID != os.Getpid() {
		t.Fatalf("the rank joined with pid %d, want %d", n.PID, os.Getpid())
	}
	return s, l
}

// writeClosed is how the runtime puts that a test has closed the rank's end.
const writeClosed = "write unix @->@: use of closed network connection"

// wantRefused checks the whole of what a user is told.
func wantRefused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("%v, want\n%s", err, want)
	}
}

func wantNotice(t *testing.T, l *Link, kind NoticeKind) Notice {
	t.Helper()
	n, err := l.Next()
	if err != nil || n.Kind != kind {
		t.Fatalf("notice %v, %v; want %v", n, err, kind)
	}
	return n
}

func wantEvent(t *testing.T, s Session, want Event) {
	t.Helper()
	select {
	case got, ok := <-s.Events():
		if !ok || got != want {
			t.Fatalf("event %+v (open: %v), want %+v", got, ok, want)
		}
	case <-failsafe(t).Done():
		t.Fatalf("no event, want %+v", want)
	}
}
