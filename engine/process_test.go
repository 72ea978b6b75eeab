//go:build linux && !fitmpi_portable

package engine

import (
	"bufio"
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A benchmark's rank 1 is this test binary again, as the environment says: two ranks in one process
// share their Ps, and their figures say little.
const peerEnv = "ENGINE_TEST_PEER"

func processConfig(rank int, p Policy) Config {
	return Config{Rank: rank, Size: 2, Job: [16]byte{7}, Secret: bytes.Repeat([]byte{9}, 32), Progress: p, Spin: 200 * time.Microsecond}
}

// bePeer is rank 1: it says its address, reads rank 0's, and echoes messages of tag
// 1; one of tag 2 ends it, one of tag 3 asks for a window of 64.
func bePeer(policy string) error {
	p, err := ParsePolicy(policy)
	if err != nil {
		return err
	}
	e, err := Listen(processConfig(1, p))
	if err != nil {
		return err
	}
	fmt.Println(e.Addr())
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return err
	}
	addr, err := netip.ParseAddrPort(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	if err := e.Start([]PeerInfo{{Routes: Direct(addr)}, {Routes: Direct(e.Addr())}}); err != nil {
		return err
	}
	for {
		in := &MSO{Kind: KindRecv, Peer: 0, Tag: 0, Buf: make([]byte, 16)}
		e.Post(in, Computes)
		e.Wait(in)
		if in.Err != nil || in.Length == 0 {
			return e.Close(time.Second)
		}
		n, _ := strconv.Atoi(string(in.Buf[:in.Length]))
		if n < 0 {
			sinkWindows(e)
		} else {
			answer(e, n)
		}
	}
}

// sinkWindows receives windows of 64 and answers each, until one is empty.
func sinkWindows(e *Engine) {
	ms := manyMSOs(64, KindRecv, 0)
	for {
		for _, m := range ms {
			again(e, m)
		}
		e.WaitMany(len(ms), ms)
		send(e, nil, 0, 2)
		if ms[0].Length == 0 || ms[0].Err != nil {
			return
		}
	}
}

// startPeer starts rank 1 and returns rank 0.
func startPeer(b *testing.B, p Policy) *Engine {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), peerEnv+"="+p.String())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	e, err := Listen(processConfig(0, p))
	if err != nil {
		b.Fatal(err)
	}
	fmt.Fprintln(in, e.Addr())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	addr := netip.MustParseAddrPort(strings.TrimSpace(line))
	if err := e.Start([]PeerInfo{{Routes: Direct(e.Addr())}, {Routes: Direct(addr)}}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		send(e, nil, 1, 0)
		if err := e.Close(5 * time.Second); err != nil {
			b.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	return e
}

// BenchmarkProcessPingPong is half a round between two processes.
func BenchmarkProcessPingPong(b *testing.B) {
	for _, n := range []int{8, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchPolicies(b, func(b *testing.B, p Policy) {
				e := startPeer(b, p)
				send(e, strconv.AppendInt(nil, int64(n), 10), 1, 0)
				buf := make([]byte, n)
				in := &MSO{Kind: KindRecv, Peer: 1, Tag: 1, Buf: make([]byte, n)}
				round := func() {
					in.Reset()
					e.Post(in, Waits)
					send(e, buf, 1, 1)
					e.Wait(in)
				}
				for range 100 {
					round()
				}
				for b.Loop() {
					round()
				}
				half := b.Elapsed().Seconds() / float64(2*b.N)
				b.ReportMetric(half*1e6, "us/half-round")
				b.ReportMetric(float64(n)/half/1e6, "MB/s")
				send(e, nil, 1, 2)
			})
		})
	}
}

// BenchmarkProcessRate is windows of 64 messages of 8 bytes between two processes.
func BenchmarkProcessRate(b *testing.B) {
	benchPolicies(b, func(b *testing.B, p Policy) {
		e := startPeer(b, p)
		send(e, []byte("-1"), 1, 0)
		out := manyMSOs(64, KindSend, 1)
		in := &MSO{Kind: KindRecv, Peer: 1, Tag: 2}
		window := func() {
			again(e, in)
			for _, m := range out {
				again(e, m)
			}
			e.WaitMany(len(out), out)
			e.Wait(in)
		}
		for b.Loop() {
			window()
		}
		b.ReportMetric(float64(b.N*len(out))/b.Elapsed().Seconds(), "msg/s")
		for _, m := range out {
			m.Buf = nil
		}
		window()
	})
}
