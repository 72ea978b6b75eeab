//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if p := os.Getenv(peerEnv); p != "" {
		if err := bePeer(p); err != nil {
			fmt.Fprintln(os.Stderr, "peer:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Tests that run beside others wait, all at once; under the race detector they have much to do
	// meanwhile.
	if flag.Parse(); !raceEnabled && flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		flag.Set("test.parallel", "16")
	}
	goleak.VerifyTestMain(m)
}

// failsafe ends what hangs. It is long, as a loaded machine may take its time, and no test waits
// for it to pass.
const failsafe = time.Minute

// outage is how long ranks wait for one of which nothing but its broken connection says that it is
// dead.
const outage = 300 * time.Millisecond

// job starts n engines that know each other, in this process.
func job(t testing.TB, n int, policy Policy, tune func(*Config)) []*Engine {
	t.Helper()
	es := make([]*Engine, n)
	peers := make([]PeerInfo, n)
	h, in := newHost(t, n), around(t)
	for i := range es {
		cfg := Config{
			Rank: i, Size: n, Job: [16]byte{7}, Secret: bytes.Repeat([]byte{9}, 32), Progress: policy, Spin: 50 * time.Microsecond,
			TLS: in.tls, Resume: in.resume, Reconnect: outage, // connections do not break here unless a rank dies: see cutJob
		}
		if i%2 == 1 { // in jobs of several ranks both kinds meet
			cfg.Moderation = time.Millisecond
		}
		h.configure(&cfg)
		if tune != nil {
			tune(&cfg)
		}
		e, err := Listen(cfg)
		if err != nil {
			t.Fatal(err)
		}
		es[i], peers[i] = e, PeerInfo{Routes: Direct(e.Addr()), Host: "here", Way: in.way, Index: i}
		h.engines[i].Store(e)
	}
	for _, e := range es {
		if err := e.Start(peers); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		var wg sync.WaitGroup
		for _, e := range es {
			wg.Go(func() {
				if err := e.Close(failsafe); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
	return es
}

func pattern(n, seed int) []byte {
	b := make([]byte, n)
	for i := range min(n, 256) {
		b[i] = byte(i*7 + seed)
	}
	for done := 256; done < n; done *= 2 { // it repeats itself
		copy(b[done:], b[:done])
	}
	return b
}

func TestPingPong(t *testing.T) {
	sizes := []int{0, 1, 8, 4096, 5000, 64 << 10, 65<<10 + 3, 1 << 20, 5<<20 + 1}
	if raceEnabled {
		sizes = sizes[:len(sizes)-1]
	}
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 2, p, nil)
		for _, n := range sizes {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				var wg sync.WaitGroup
				for r, e := range es {
					wg.Go(func() {
						for k := range min(20, 4+16<<20/(n+1)) {
							if r == k%2 {
								send(e, pattern(n, k), PeerID(1-r), 3)
								continue
							}
							buf := make([]byte, n)
							m := &MSO{Kind: KindRecv, Peer: PeerID(1 - r), Tag: 3, Buf: buf}
							e.Post(m, Computes)
							e.Wait(m)
							if m.Err != nil || m.Length != n || !bytes.Equal(buf, pattern(n, k)) {
								t.Errorf("rank %d, message %d: err %v, length %d", r, k, m.Err, m.Length)
							}
						}
					})
				}
				wg.Wait()
			})
		}
	})
}

func send(e *Engine, b []byte, to PeerID, tag Tag) error {
	m := &MSO{Kind: KindSend, Peer: to, Tag: tag, Buf: b}
	e.Post(m, Returns)
	e.Wait(m)
	return m.Err
}
