//go:build linux && !fitmpi_portable

package engine

import (
	"cmp"
	"encoding/binary"
	"flag"
	"hash/crc32"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// Of the nightly run: go test ./engine -run TestGarbageFlood -flood 1000000 -timeout 60m -v
var (
	floodShots = flag.Int("flood", 0, "connections of garbage that TestGarbageFlood makes; 0 is as many as the level of the tests asks for")
	floodSeed  = flag.Uint64("flood-seed", 0, "seed of what it says; 0 is any")
)

const (
	floodRanks = 4 // beside one that the test plays
	// floodHeld is how many connections stay open and say a byte now and then: more than a rank
	// holds of strangers.
	floodHeld    = 12 * (maxStrangers + floodRanks + 1)
	floodSenders = 8
	floodMemory  = 16 << 20 // by which the heap may be larger afterwards: send buffers that the traffic has filled are kept
)

// TestGarbageFlood fires connections that have no business here at ranks that exchange messages
// all the while. These messages all arrive, once, in order and unchanged. In the middle of it,
// ranks that have not talked before find each other. In the end everything that came is counted for
// some reason, and nothing of it is left.
func TestGarbageFlood(t *testing.T) {
	shots := cmp.Or(*floodShots, effort.Share(8000))
	t.Run("plain", func(t *testing.T) { fireAt(t, shots, false) })
	t.Run("TLS", func(t *testing.T) { fireAt(t, shots/8, true) })
}

// fireAt is the test, of a job with TLS or without.
func fireAt(t *testing.T, shots int, encrypted bool) {
	seed := *floodSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-flood-seed %d", seed)
	es := job(t, floodRanks+1, Assist, func(c *Config) {
		c.Logger, c.TLS = slog.New(slog.DiscardHandler), encrypted
	})[:floodRanks]
	a := newArsenal(t, es, encrypted)
	warm := startTraffic(t, es)
	warm.wait(2000)
	warm.stop()
	heap := takeStock(es).heap // with no message under way, which would be in the heap too
	traffic := startTraffic(t, es)
	traffic.wait(100)
	before := takeStock(es)
	before.heap = heap
	c := &flooder{arsenal: a, es: es, left: shots, traffic: traffic}
	began := time.Now()
	var gunners sync.WaitGroup
	for i := range floodSenders {
		gunners.Go(func() { c.fire(rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	c.waitFor(shots / 2)
	meetAcross(t, es)
	gunners.Wait()
	took := time.Since(began)
	if !encrypted {
		c.crowd(es[0])
	}
	c.holdNone()
	c.fireOneOfEach()
	after := waitForCount(t, es, before)
	messages := traffic.stop()
	after.heap = takeStock(es).heap
	report(t, c, before, after, took, messages)
}

// stock is what the process holds, and what the ranks have counted.
type stock struct {
	files, goroutines int
	heap              uint64
	accepts           uint64
	rejects           map[string]uint64
	failed            uint64
	connections       int
}

func takeStock(es []*Engine) stock {
	runtime.GC()
	runtime.GC() // what pools keep lives through one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	s := stock{files: len(files), goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc, rejects: make(map[string]uint64)}
	for _, e := range es {
		st := e.Stats()
		s.accepts += st.Accepts - st.Duplicates
		s.failed += st.PeersFailed
		s.connections += st.Connections
		for r, n := range st.Rejects {
			s.rejects[r] += n
		}
	}
	return s
}

func (s *stock) rejected() (n uint64) {
	for _, k := range s.rejects {
		n += k
	}
	return n
}

// meant is how many connections of ranks with each other the job has after meetAcross, seen from
// both ends, more than before.
const meant = 2 * 2

// waitForCount waits until everything that was accepted since before is counted as rejected or as a
// connection of ranks, and as many descriptors and goroutines are there as before.
func waitForCount(t *testing.T, es []*Engine, before stock) (s stock) {
	t.Helper()
	for until := time.Now().Add(2*handshakeTimeout + failsafe); ; time.Sleep(20 * time.Millisecond) {
		s = takeStock(es)
		settled := s.accepts-before.accepts == s.rejected()-before.rejected()+meant/2
		if settled && s.connections == before.connections+meant && s.files <= before.files+meant && s.goroutines <= before.goroutines {
			return s
		}
		if time.Now().After(until) {
			t.Fatalf("not as before:\n%+v\nnow\n%+v", before, s)
		}
	}
}

func report(t *testing.T, c *flooder, before, after stock, took time.Duration, messages uint64) {
	t.Helper()
	reasons := make(map[string]uint64)
	for r, n := range after.rejects {
		if n -= before.rejects[r]; n > 0 {
			reasons[r] = n
		}
	}
	t.Logf("%d connections of %d kinds in %v (%.0f/s), %d could not be made; %d accepted", c.shot.Load(), len(c.arsenal.kinds), took.Round(time.Millisecond),
		float64(c.shot.Load())/took.Seconds(), c.failed.Load(), after.accepts-before.accepts)
	for _, r := range slices.Sorted(maps.Keys(reasons)) {
		t.Logf("rejected %-12s %d", r, reasons[r])
	}
	t.Logf("%d messages arrived whole and in order; descriptors %d, then %d; goroutines %d, then %d; heap %d KiB, then %d KiB",
		messages, before.files, after.files, before.goroutines, after.goroutines, before.heap>>10, after.heap>>10)
	if after.failed != 0 {
		t.Errorf("%d peers failed", after.failed)
	}
	if after.heap > before.heap+floodMemory {
		t.Errorf("the heap has grown from %d to %d bytes", before.heap, after.heap)
	}
	if got := after.accepts - before.accepts; got > uint64(c.shot.Load())+meant || got < uint64(c.shot.Load())*8/10 {
		t.Errorf("%d were accepted of %d that were made", got, c.shot.Load())
	}
	want := slices.Collect(maps.Keys(c.arsenal.certain))
	if !c.arsenal.encrypted {
		want = append(want, wire.RejectCrowded)
	}
	for _, r := range want {
		if reasons[r.String()] == 0 {
			t.Errorf("nobody was rejected for %v", r)
		}
	}
}

// flooder makes connections until none is left.
type flooder struct {
	arsenal *arsenal
	es      []*Engine
	traffic *ringTraffic
	shot    atomic.Int64
	failed  atomic.Int64

	mu   sync.Mutex
	left int        // guarded by mu
	held []net.Conn // the oldest first; guarded by mu
}

func (c *flooder) next() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	return c.left >= 0
}

// waitFor waits until about so many are left.
func (c *flooder) waitFor(left int) {
	for {
		c.mu.Lock()
		n := c.left
		c.mu.Unlock()
		if n <= left {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// fire makes one connection after the other, from many addresses of the loopback network, so that
// there are ports enough.
func (c *flooder) fire(rnd *rand.Rand) {
	for c.next() {
		e := c.es[rnd.IntN(len(c.es))]
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(rnd.IntN(16)), byte(1+rnd.IntN(250)))}, Timeout: 20 * time.Second}
		conn, err := d.Dial("tcp", e.Addr().String())
		if err != nil {
			c.failed.Add(1) // more than wait at a listener
			continue
		}
		c.shot.Add(1)
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		kind := c.arsenal.kinds[rnd.IntN(len(c.arsenal.kinds))]
		if kind(conn.(*net.TCPConn), rnd, e.Rank()) {
			c.hold(conn, rnd)
		} else {
			conn.Close()
		}
	}
}

// fireOneOfEach makes a connection for each reason to be rejected that the words alone decide: what
// the others are rejected for is left to chance. No stranger is held by then, so none is one too
// many.
func (c *flooder) fireOneOfEach() {
	for reason, words := range c.arsenal.certain {
		conn, err := net.Dial("tcp", c.es[0].Addr().String())
		if err != nil {
			c.failed.Add(1)
			continue
		}
		c.shot.Add(1)
		conn.SetDeadline(time.Now().Add(failsafe))
		conn.Write(words)
		if reason == wire.RejectHangup {
			conn.(*net.TCPConn).CloseWrite()
		}
		io.Copy(io.Discard, conn) // until it is rejected: if it hung up first, only that might be seen
		conn.Close()
	}
}

// hold keeps conn open, closes the oldest instead, and has some say a byte.
func (c *flooder) hold(conn net.Conn, rnd *rand.Rand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = append(c.held, conn)
	for range 4 {
		other := c.held[rnd.IntN(len(c.held))]
		other.SetWriteDeadline(time.Now().Add(time.Millisecond))
		other.Write([]byte{"FITM\x02\x00\x01\x01"[rnd.IntN(8)]})
	}
	if len(c.held) > floodHeld {
		c.held[0].Close()
		c.held = slices.Delete(c.held, 0, 1)
	}
}

// crowd makes connections that say nothing until e has rejected one of many: how many of the others
// are there at once depends on how fast they are made.
func (c *flooder) crowd(e *Engine) {
	crowded := func() uint64 { return e.Stats().Rejects[wire.RejectCrowded.String()] }
	before := crowded()
	for n := 0; n < 20*maxStrangers && crowded() == before; n++ {
		conn, err := net.Dial("tcp", e.Addr().String())
		if err != nil {
			c.failed.Add(1)
			continue
		}
		c.shot.Add(1)
		c.mu.Lock()
		c.held = append(c.held, conn)
		c.mu.Unlock()
	}
}

func (c *flooder) holdNone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.held {
		conn.Close()
	}
	c.held = nil
}

// meetAcross has ranks exchange messages that have no connection yet: 0 with 2, and 1 with 3.
func meetAcross(t *testing.T, es []*Engine) {
	t.Helper()
	both(t, es, func() { exchangeTwo(t, es[0], 2) }, func() { exchangeTwo(t, es[2], 0) })
	both(t, es, func() { exchangeTwo(t, es[1], 3) }, func() { exchangeTwo(t, es[3], 1) })
}

// ringTraffic is messages around a ring, each with its number, whether it is the last, and a
// checksum.
type ringTraffic struct {
	t     *testing.T
	es    []*Engine
	ended atomic.Bool
	count atomic.Uint64
	wg    sync.WaitGroup
}

const (
	trafficTag  = 77
	trafficMost = 20 << 10
	trafficHead = 8 + 1 + 4
)

func startTraffic(t *testing.T, es []*Engine) *ringTraffic {
	f := &ringTraffic{t: t, es: es}
	for i, e := range es {
		to, from := PeerID((i+1)%len(es)), PeerID((i+len(es)-1)%len(es))
		f.wg.Go(func() { f.send(e, to) })      // ends after stop
		f.wg.Go(func() { f.receive(e, from) }) // ends with the last message, or at a fault
	}
	return f
}

func (f *ringTraffic) send(e *Engine, to PeerID) {
	rnd := rand.New(rand.NewPCG(1, uint64(e.Rank())))
	for seq := uint64(0); ; seq++ {
		isLast := f.ended.Load()
		b := make([]byte, trafficHead+rnd.IntN(trafficMost))
		binary.LittleEndian.PutUint64(b, seq)
		if isLast {
			b[8] = 1
		}
		for i := trafficHead; i < len(b); i++ {
			b[i] = byte(seq) + byte(i*3)
		}
		binary.LittleEndian.PutUint32(b[9:], crc32.ChecksumIEEE(b[trafficHead:])^uint32(seq))
		m := &MSO{Kind: KindSend, Peer: to, Tag: trafficTag, Buf: b}
		e.Post(m, Computes)
		if e.Wait(m); m.Err != nil {
			f.t.Errorf("rank %d sends message %d: %v", e.Rank(), seq, m.Err)
			return
		}
		if isLast {
			return
		}
		time.Sleep(200 * time.Microsecond) // leave the processors to the flooder too
	}
}

func (f *ringTraffic) receive(e *Engine, from PeerID) {
	b := make([]byte, trafficHead+trafficMost)
	for seq := uint64(0); ; seq++ {
		m := &MSO{Kind: KindRecv, Peer: from, Tag: trafficTag, Buf: b}
		e.Post(m, Computes)
		if e.Wait(m); m.Err != nil {
			f.t.Errorf("rank %d receives message %d: %v", e.Rank(), seq, m.Err)
			return
		}
		got := b[:m.Length]
		if n := binary.LittleEndian.Uint64(got); n != seq {
			f.t.Errorf("rank %d: message %d from rank %d in the place of %d", e.Rank(), n, from, seq)
			return
		}
		if crc32.ChecksumIEEE(got[trafficHead:])^uint32(seq) != binary.LittleEndian.Uint32(got[9:]) {
			f.t.Errorf("rank %d: message %d from rank %d has changed", e.Rank(), seq, from)
			return
		}
		f.count.Add(1)
		if got[8] == 1 {
			return
		}
	}
}

// wait waits until so many messages have arrived.
func (f *ringTraffic) wait(n uint64) {
	for f.count.Load() < n && !f.t.Failed() {
		time.Sleep(time.Millisecond)
	}
}

// stop ends it and returns how many messages have arrived.
func (f *ringTraffic) stop() uint64 {
	f.ended.Store(true)
	f.wg.Wait()
	return f.count.Load()
}
