// Package strangerstest fires connections that have no business there at a listener. It is for
// tests that show that the listener serves connections that have, and keeps nothing of the others.
//
//	strangerstest.Fire(t, addr, 2000) // among tests of peers that know the secret
//	strangerstest.Same(t, before)     // when all is over; before is what Held said at the beginning
package strangerstest

import (
	"crypto/tls"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	senders  = 4
	failsafe = 30 * time.Second
	// mostHeld is how many connections of each sender stay open meanwhile.
	mostHeld = 50
)

// Fire makes n connections to addr, says garbage, and closes them. Some stay open for a while and
// say a byte now and then. kinds are what peers say there too; Fire changes bits of them and cuts
// off ends. It waits until all connections are made, or until no listener is there any more, and
// returns how many were made. It logs the seed.
func Fire(t testing.TB, addr string, n int, kinds ...[]byte) int {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("fires %d connections, seed %d", n, seed)
	kinds = append(kinds, nil, clientHello(t), []byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"), []byte(strings.Repeat("x", 5000)), []byte("SSH-2.0-scanner\r\n"))
	var all sync.WaitGroup
	var made atomic.Int64
	for i := range senders {
		all.Go(func() { made.Add(int64(fire(addr, n/senders, kinds, rand.New(rand.NewPCG(seed, uint64(i)))))) })
	}
	all.Wait()
	return int(made.Load())
}

// fire makes up to n connections and returns how many.
func fire(addr string, n int, kinds [][]byte, rnd *rand.Rand) int {
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	for i := range n {
		c, err := net.DialTimeout("tcp", addr, failsafe)
		if err != nil {
			return i
		}
		c.SetDeadline(time.Now().Add(failsafe))
		c.Write(spoil(kinds[rnd.IntN(len(kinds))], rnd))
		switch rnd.IntN(4) {
		case 0:
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		case 1:
			held = append(held, c)
		default:
			c.Close()
		}
		if len(held) > 0 {
			held[rnd.IntN(len(held))].Write([]byte{byte(rnd.Uint32())})
		}
		if len(held) > mostHeld {
			held[0].Close()
			held = held[1:]
		}
	}
	return n
}

// spoil is b, as it is or not.
func spoil(b []byte, rnd *rand.Rand) []byte {
	out := append([]byte(nil), b...)
	switch rnd.IntN(4) {
	case 0:
		out = out[:rnd.IntN(len(out)+1)]
	case 1:
		for range min(len(out), 1+rnd.IntN(4)) {
			out[rnd.IntN(len(out))] ^= 1 << rnd.IntN(8)
		}
	case 2:
		for range rnd.IntN(100) {
			out = append(out, byte(rnd.Uint32()))
		}
	}
	return out
}

// clientHello is what a client of TLS says first.
func clientHello(t testing.TB) []byte {
	here, there := net.Pipe()
	go func() { // ends when here is closed
		tls.Client(there, &tls.Config{ServerName: "example.org"}).Handshake()
		there.Close()
	}()
	b := make([]byte, 4096)
	n, err := here.Read(b)
	if here.Close(); err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// Stock is what this process holds.
type Stock struct {
	Files, Goroutines int
	Heap              uint64
}

// Held is what this process holds now.
func Held() Stock {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	return Stock{len(dir), runtime.NumGoroutine(), m.HeapAlloc}
}

// growth is by how much the heap may be larger than before.
const growth = 8 << 20

// Same waits until this process holds no more than before, but for some memory, and fails the test
// if that does not come about.
func Same(t testing.TB, before Stock) {
	t.Helper()
	for until := time.Now().Add(2 * failsafe); ; time.Sleep(10 * time.Millisecond) {
		now := Held()
		if now.Files <= before.Files && now.Goroutines <= before.Goroutines && now.Heap <= before.Heap+growth {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("held before: %+v, now: %+v", before, now)
		}
	}
}
