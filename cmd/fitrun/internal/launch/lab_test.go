//go:build linux

package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/testutil/netlab"
)

// lab is some hosts on one network.
type lab struct {
	*netlab.Lab
	network *netlab.Network
}

// newLab skips the test where a lab cannot be.
func newLab(t *testing.T, n int) *lab {
	t.Helper()
	l := &lab{Lab: netlab.New(t)}
	l.network = l.Network()
	for range n {
		l.network.Host()
	}
	return l
}

func (l *lab) addr(i int) string { return l.Hosts()[i].Addr() }

// clients is how many ssh there are, on any host, that reach hosts of the lab.
func (l *lab) clients() int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	n := 0
	for _, file := range files {
		if b, _ := os.ReadFile(file); bytes.HasPrefix(b, []byte("ssh\x00-F\x00"+l.Dir())) {
			n++
		}
	}
	return n
}

// request is for ranks that act on hosts, by index.
func (l *lab) request(t *testing.T, act string, place ...int) Request {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := Request{
		Apps: []App{{Program: Program{Name: "self", Path: exe}, Args: []string{"rank"}, Ranks: len(place),
			Set: []string{"LAUNCH_TEST_RANK=" + act, "GORACE=atexit_sleep_ms=0"}}},
		Cores: 2, CPUs: sys.AllowedCPUs(), Env: os.Environ(), Place: place,
		SSHArgs: l.SSHArgs(), LaunchTimeout: 30 * time.Second,
	}
	for _, h := range l.Hosts() {
		r.Hosts = append(r.Hosts, hosts.Host{Name: h.Addr()})
	}
	return r
}

// fitrunVariable makes this binary a fitrun of the request that its value encodes.
const fitrunVariable = "LAUNCH_TEST_FITRUN"

func fitrunMain(request string) int {
	os.Unsetenv(fitrunVariable)
	var r Request
	if err := json.Unmarshal([]byte(request), &r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	r.Env = os.Environ()
	guard, err := crew.StartGuard()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	defer guard.Close()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	return Execute(context.Background(), r, Config{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals, Tag: true, Guard: guard,
		AdoptedOrphans: sys.AdoptOrphans() == nil,
	})
}

// started is a fitrun that runs, and what it has said.
type started struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err watchedWriter
	endc     chan error
}

// start starts a fitrun as a process of its own, and waits until it has shown so many lines.
func start(t *testing.T, r Request, lines int) *started {
	t.Helper()
	r.Env = nil
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &started{t: t, cmd: exec.Command(exe), endc: make(chan error, 1)}
	s.out.seenc, s.out.want = make(chan struct{}), lines
	s.cmd.Env = append(os.Environ(), fitrunVariable+"="+string(b))
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.err
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.endc <- s.cmd.Wait() }() // ends with the process, which cleanup kills
	t.Cleanup(func() { s.cmd.Process.Kill() })
	select {
	case <-s.out.seenc:
	case err := <-s.endc:
		t.Fatalf("it ended: %v\n%s%s", err, s.out.b.String(), s.err.b.String())
	case <-time.After(time.Minute):
		t.Fatalf("it did not come so far\n%s", s.err.b.String())
	}
	return s
}

// wantEnd waits for its end, with a code or, negative, by a signal.
func (s *started) wantEnd(code int, within time.Duration) {
	s.t.Helper()
	select {
	case <-s.endc:
	case <-time.After(within):
		s.t.Fatalf("it does not end\n%s", s.err.b.String())
	}
	status := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	got := status.ExitStatus()
	if status.Signaled() {
		got = -int(status.Signal())
	}
	if got != code {
		s.t.Errorf("ended with %d, want %d: %s", got, code, s.err.b.String())
	}
}
