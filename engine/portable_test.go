//go:build !linux || fitmpi_portable

package engine

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// configOf is a rank of n threads.
func configOf(rank, n int, p Policy, process *Process) Config {
	return Config{
		Rank: rank, Size: n, Job: [16]byte{7}, Secret: bytes.Repeat([]byte{9}, 32), Progress: p,
		Process: process, Index: rank, Spin: 20 * time.Microsecond,
	}
}

// threads starts a job of n ranks.
func threads(t *testing.T, n int, p Policy) []*Engine {
	t.Helper()
	es, peers, process := make([]*Engine, n), make([]PeerInfo, n), NewProcess(n)
	for r := range es {
		e, err := Listen(configOf(r, n, p, process))
		if err != nil {
			t.Fatal(err)
		}
		es[r], peers[r] = e, PeerInfo{Host: "here", Way: Thread, Index: r}
	}
	for _, e := range es {
		if err := e.Start(peers); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		var wg sync.WaitGroup
		for r, e := range es {
			wg.Go(func() {
				if err := e.Close(time.Minute); err != nil {
					t.Errorf("rank %d: %v", r, err)
				}
			})
		}
		wg.Wait()
	})
	return es
}

func transfer(e *Engine, kind Kind, b []byte, peer PeerID) error {
	m := &MSO{Kind: kind, Peer: peer, Tag: 3, Buf: b}
	e.Post(m, Returns)
	e.Wait(m)
	return m.Err
}

// TestThreads: under every policy short and long messages go round a ring, and one that waits long
// is woken.
func TestThreads(t *testing.T) {
	const n = 4
	for _, p := range []Policy{Worker, Assist, Caller} {
		t.Run(p.String(), func(t *testing.T) {
			es := threads(t, n, p)
			for _, size := range []int{0, 8, 4096, 70_000, 5 << 20} {
				var wg sync.WaitGroup
				for r, e := range es {
					wg.Go(func() {
						got, want := make([]byte, size), bytes.Repeat([]byte{byte(r)}, size)
						next, last := PeerID((r+1)%n), PeerID((r+n-1)%n)
						first := func() error { return transfer(e, KindSend, want, next) }
						second := func() error { return transfer(e, KindRecv, got, last) }
						if r == 0 {
							first, second = second, first // or all would wait for all
						}
						if err := first(); err != nil {
							t.Error(err)
						}
						if err := second(); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{byte(last)}, size)) {
							t.Errorf("rank %d, %d bytes: %v, or wrong bytes", r, size, err)
						}
					})
				}
				wg.Wait()
			}
		})
	}
}

// TestOthersAreRefused: a peer that is no thread of this process is an error that says why.
func TestOthersAreRefused(t *testing.T) {
	for _, way := range []Way{TCP, Shared} {
		e, err := Listen(configOf(0, 2, Assist, NewProcess(2)))
		if err != nil {
			t.Fatal(err)
		}
		err = e.Start([]PeerInfo{{Way: Thread}, {Way: way, Index: 1}})
		if want := fmt.Sprintf("rank 1 could be reached by %v only: FitMPI has that on Linux", way); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if as := e.Addrs(); len(as) != 0 {
			t.Errorf("it listens at %v", as)
		}
		if err := e.Kill(); err != nil {
			t.Error(err)
		}
	}
}
