//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// leaveFiles lets this process open so many descriptors more, and no more. The function that it
// returns undoes that.
//
// Preconditions:
//   - no other test runs beside this one.
func leaveFiles(t *testing.T, n int) (restore func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	var next int
	var held []*os.File
	for range n + 1 { // the lowest numbers that are free are those that will be given
		f, err := os.Open("/dev/null")
		if err != nil {
			t.Fatal(err)
		}
		next = int(f.Fd())
		held = append(held, f)
	}
	for _, f := range held {
		f.Close()
	}
	if n == 0 {
		next = 1 // not the lowest that is free: one below may be closed later, as of a file that was let go of
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(next), Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	restore = func() {
		if done.CompareAndSwap(false, true) {
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(restore)
	return restore
}

// workersBegun returns when the workers of es have begun, which open a file then.
func workersBegun(t *testing.T, es []*Engine) {
	t.Helper()
	for _, e := range es {
		eventually(t, "a worker has not begun", func() bool {
			return e.cfg.Progress == Caller || e.stats.worker.tid.Load() != 0
		})
	}
}

func overTCP(t *testing.T) {
	if wayUnderTest != TCP {
		t.Skip("no connections")
	}
}

// TestNoFileToDial: a rank that may open nothing more tries again for as long as it tries to reach
// a peer, and says then how many descriptors it needs.
func TestNoFileToDial(t *testing.T) {
	overTCP(t)
	es := job(t, 2, Assist, func(c *Config) { c.Connect = 300 * time.Millisecond })
	workersBegun(t, es)
	restore := leaveFiles(t, 0)
	m := &MSO{Kind: KindSend, Mode: Synchronous, Peer: 1, Tag: 1, Buf: make([]byte, 100)}
	es[0].Post(m, Computes)
	es[0].Wait(m)
	restore()
	if m.Err == nil || !strings.Contains(m.Err.Error(), "too many open files") || !strings.Contains(m.Err.Error(), "at most 1 here") || !strings.Contains(m.Err.Error(), "ulimit -n") {
		t.Errorf("without a descriptor: %v", m.Err)
	}
}

// TestNoFileForAWhile: as long as a rank can open nothing more, a rank that dials it waits, and so
// does what it has for others. When it can, everything goes on.
func TestNoFileForAWhile(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		overTCP(t)
		for left, name := range []string{"to dial", "to accept"} {
			t.Run(name, func(t *testing.T) {
				es := job(t, 2, p, nil)
				workersBegun(t, es)
				restore := leaveFiles(t, left)
				m := &MSO{Kind: KindSend, Mode: Synchronous, Peer: 1, Tag: 1, Buf: pattern(100, 1)}
				in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 100)}
				es[0].Post(m, Computes)
				es[1].Post(in, Computes)
				for until := time.Now().Add(failsafe); ; time.Sleep(time.Millisecond) {
					es[0].progressForTest()
					es[1].progressForTest()
					if s := es[left].Stats(); left == 0 && s.FailedDials > 0 || left == 1 && s.AcceptErrors > 0 {
						break
					}
					if time.Now().After(until) {
						t.Fatal("nothing failed for want of descriptors")
					}
				}
				restore()
				done := make(chan struct{})
				go func() { es[0].Wait(m); close(done) }()
				es[1].Wait(in)
				<-done
				if m.Err != nil || in.Err != nil || !bytes.Equal(in.Buf, m.Buf) {
					t.Errorf("after a while: %v, %v", m.Err, in.Err)
				}
			})
		}
	})
}
