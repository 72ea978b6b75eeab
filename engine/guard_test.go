//go:build linux && !fitmpi_portable

package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// shortly makes the system end connections to dead hosts after 400 ms.
func shortly(c *Config) { c.Heartbeat, c.HeartbeatTimeout = 20*time.Millisecond, 200*time.Millisecond }

// TestDeadHostWhileNobodyLooks: a rank under caller computes when a host dies to which it has sent
// something. The system ends the connection, and the rank's next call says so at once, though it
// has not looked.
func TestDeadHostWhileNobodyLooks(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
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
		if out, err := cmd.CombinedOutput(); err != nil {
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
	es := job(t, 2, Caller, shortly)
	exchangeAll(t, es)
	port := es[0].drv.conns[1].sock.LocalAddr().Port() // no caller drives
	if !isStanding(t, port) {
		t.Fatal("the connection is not found")
	}
	run("nft", "add table inet t; add chain inet t in { type filter hook input priority 0; }; add rule inet t in drop")
	if err := send(es[0], pattern(100, 1), 1, 5); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the connection still stands", func() bool { return !isStanding(t, port) })
	m := &MSO{Kind: KindRecv, Peer: 1, Tag: 1, Buf: make([]byte, 10)}
	es[0].Post(m, Computes)
	waitDone(t, "the next call", es[0], m)
	wantErr(t, "the next call", m.Err, ErrPeerFailed)
	wantErr(t, "the next call", m.Err, syscall.ETIMEDOUT)
	if _, ok := errors.AsType[*SilentError](m.Err); ok {
		t.Error("it was the rank that found it: ", m.Err)
	}
	run("nft", "delete table inet t") // so that the other can say goodbye
}

// isStanding reports whether a connection with that port at this end stands in this network.
func isStanding(t *testing.T, port uint16) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	const established = "01"
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 3 && f[3] == established && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
			return true
		}
	}
	return false
}

// TestFullSocketWhileNobodyLooks: whatever a rank has written, another that computes under caller,
// or is held in a debugger, may take it when it likes: the system does not end the connection,
// whether the sender looks meanwhile or not.
func TestFullSocketWhileNobodyLooks(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, p := range []Policy{Worker, Caller} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			es := job(t, 2, Caller, func(c *Config) {
				c.Heartbeat, c.HeartbeatTimeout = 100*time.Millisecond, time.Second // with less, a rank that looks could take a loaded machine for a dead host
				if c.SocketBuffer = 4 << 10; c.Rank == 0 {
					c.Progress = p
				}
			})
			exchangeAll(t, es)
			const n = 20
			var recvs []*MSO
			for i := range n {
				es[0].Post(&MSO{Kind: KindSend, Peer: 1, Tag: 3, Buf: pattern(4000, i)}, Computes)
			}
			eventually(t, "the socket is not full", func() bool { return isBlocked(es[0], 1) })
			time.Sleep(9 * guardTimeouts * es[0].cfg.HeartbeatTimeout / 4) // probes come after 0.2, 0.4, 0.8, 1.6, 3.2 s
			for range n {
				m := &MSO{Kind: KindRecv, Peer: 0, Tag: 3, Buf: make([]byte, 4000)}
				es[1].Post(m, Computes)
				recvs = append(recvs, m)
			}
			var answer error
			answered := make(chan struct{})
			go func() { // under caller both must be in calls
				defer close(answered)
				es[1].WaitMany(n, recvs)
				answer = send(es[1], nil, 0, 4)
			}()
			m := &MSO{Kind: KindRecv, Peer: 1, Tag: 4}
			es[0].Post(m, Computes)
			waitDone(t, "the answer", es[0], m)
			<-answered
			if answer != nil || m.Err != nil {
				t.Fatal(answer, m.Err)
			}
			for i, m := range recvs {
				if m.Err != nil || string(m.Buf) != string(pattern(4000, i)) {
					t.Fatalf("message %d: %v", i, m.Err)
				}
			}
		})
	}
}

// isBlocked reports whether the socket to a peer takes no more.
func isBlocked(e *Engine, id PeerID) bool {
	e.takeRight()
	defer e.releaseRight()
	c := e.drv.conns[id]
	return c != nil && c.blocked
}
