//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// arsenal is what strangers say. Each kind reports whether its connection is to stay open.
type arsenal struct {
	kinds     []func(c *net.TCPConn, rnd *rand.Rand, to int) bool
	certain   map[wire.Reject][]byte // words to rank 0 that are rejected for just this
	encrypted bool
	recorded  []byte // what a genuine rank has said to rank 0
	clientTLS []byte // the first words of a client of TLS
}

func newArsenal(t *testing.T, es []*Engine, encrypted bool) *arsenal {
	a := &arsenal{encrypted: encrypted, clientTLS: clientHello(t)}
	if !encrypted {
		a.recorded = recordRank(t, es[0])
	}
	a.kinds = []func(*net.TCPConn, *rand.Rand, int) bool{
		a.noise, a.bent, a.truncated, a.unproved, a.replayed, a.reflected, a.others, a.tls, a.http, a.reset, a.silent, a.dribble, a.mutatedTLS,
	}
	a.certain = certainOf(a.clientTLS, encrypted)
	return a
}

// certainOf is for each reason what rank 0 rejects for it, of a job with TLS or without.
func certainOf(clientTLS []byte, encrypted bool) map[wire.Reject][]byte {
	if encrypted {
		bent := bytes.Clone(clientTLS)
		copy(bent[5:], bytes.Repeat([]byte{0xff}, 4)) // a message of no kind, too long for any
		return map[wire.Reject][]byte{
			wire.RejectBadProof: bent,
			wire.RejectHangup:   clientTLS[:20],
			wire.RejectPlain:    hello(1, 0),
		}
	}
	ofJob := identityOf(1)
	ofJob.Job[0]++
	return map[wire.Reject][]byte{
		wire.RejectBadMagic:  bytes.Repeat([]byte{1}, 100),
		wire.RejectBadProof:  unprovedWords(1, 0),
		wire.RejectHangup:    hello(1, 0)[:20],
		wire.RejectWrongJob:  wire.NewDialer(ofJob, 0, nonce()).Output(),
		wire.RejectWrongRank: hello(1, 2),
		wire.RejectEncrypted: clientTLS,
	}
}

func identityOf(rank int) *wire.Identity {
	id := testIdentity(rank)
	id.Size = floodRanks + 1
	return id
}

// recordRank plays the last rank, from its HELLO to its goodbye, and returns what it said.
func recordRank(t *testing.T, e *Engine) []byte {
	c := dialRaw(t, e)
	h, said := shake(t, c, identityOf(floodRanks))
	if h.State() != wire.StateEstablished {
		t.Fatalf("a genuine rank was not let in: %v", h)
	}
	bye := frame(wire.Header{Kind: wire.KindBye})
	c.Write(bye)
	wantDropped(t, "after goodbye", c)
	return append(said, bye...)
}

// clientHello is what crypto/tls says first.
func clientHello(t *testing.T) []byte {
	here, there := net.Pipe()
	go func() {
		tls.Client(there, &tls.Config{ServerName: "example.org"}).Handshake()
		there.Close()
	}()
	b := make([]byte, 4096)
	n, err := here.Read(b)
	here.Close()
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

func hello(from, to int) []byte {
	return wire.NewDialer(identityOf(from), uint32(to), nonce()).Output()
}

// stranger is a rank of the job that is not `to`.
func stranger(rnd *rand.Rand, to int) int {
	return (to + 1 + rnd.IntN(floodRanks)) % (floodRanks + 1)
}

func (a *arsenal) noise(c *net.TCPConn, rnd *rand.Rand, _ int) bool {
	b := make([]byte, rnd.IntN(300))
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	c.Write(b)
	return rnd.IntN(4) == 0
}

// bent says a HELLO with some bits changed.
func (a *arsenal) bent(c *net.TCPConn, rnd *rand.Rand, to int) bool {
	b := hello(stranger(rnd, to), to)
	for range 1 + rnd.IntN(3) {
		b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
	}
	c.Write(b)
	return rnd.IntN(4) == 0
}

func (a *arsenal) truncated(c *net.TCPConn, rnd *rand.Rand, to int) bool {
	b := hello(stranger(rnd, to), to)
	c.Write(b[:rnd.IntN(len(b))])
	return rnd.IntN(4) == 0
}

// unproved says a good HELLO and then nothing that proves it.
func (a *arsenal) unproved(c *net.TCPConn, rnd *rand.Rand, to int) bool {
	c.Write(unprovedWords(stranger(rnd, to), to))
	if rnd.IntN(8) == 0 && !a.encrypted { // and wait for the answer
		io.CopyN(io.Discard, c, 1)
	}
	return false
}

func unprovedWords(from, to int) []byte {
	return slices.Concat(hello(from, to), []byte("FITM\x02\x00\x03\x00"), bytes.Repeat([]byte{1}, 32))
}

// replayed says what a genuine rank has said, whole or in part, to whomever.
func (a *arsenal) replayed(c *net.TCPConn, rnd *rand.Rand, _ int) bool {
	n := len(a.recorded)
	if n > 0 && rnd.IntN(2) == 0 {
		n = rnd.IntN(n)
	}
	c.Write(a.recorded[:n])
	return false
}

// reflected gives the acceptor's own proof back to it.
func (a *arsenal) reflected(c *net.TCPConn, rnd *rand.Rand, to int) bool {
	c.Write(hello(stranger(rnd, to), to))
	if a.encrypted {
		return false
	}
	challenge := make([]byte, 8+72+32)
	if _, err := io.ReadFull(c, challenge); err == nil {
		c.Write(append([]byte("FITM\x02\x00\x03\x00"), challenge[80:]...))
	}
	return false
}

// others belong to another job, mean another rank, or are a rank that does not exist.
func (a *arsenal) others(c *net.TCPConn, rnd *rand.Rand, to int) bool {
	id, target := identityOf(stranger(rnd, to)), to
	switch rnd.IntN(4) {
	case 0:
		id.Job[rnd.IntN(16)]++
	case 1:
		target = (int(id.Rank) + 1) % (floodRanks + 1)
	case 2:
		id.Size += 1 + uint32(rnd.IntN(100))
	case 3:
		id.Size, id.Rank = 1000, 900
	}
	c.Write(wire.NewDialer(id, uint32(target), nonce()).Output())
	return false
}

func (a *arsenal) tls(c *net.TCPConn, rnd *rand.Rand, _ int) bool {
	c.Write(a.clientTLS)
	if rnd.IntN(8) == 0 {
		io.CopyN(io.Discard, c, 7)
	}
	return rnd.IntN(4) == 0
}

func (a *arsenal) mutatedTLS(c *net.TCPConn, rnd *rand.Rand, _ int) bool {
	b := bytes.Clone(a.clientTLS)
	for range 1 + rnd.IntN(3) {
		b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
	}
	c.Write(b)
	return rnd.IntN(4) == 0
}

func (a *arsenal) http(c *net.TCPConn, rnd *rand.Rand, to int) bool {
	fmt.Fprintf(c, "GET /%d HTTP/1.1\r\nHost: rank%d\r\n%s\r\n", rnd.Uint32(), to, strings.Repeat("X-Long: 1\r\n", rnd.IntN(20)))
	return false
}

func (a *arsenal) reset(c *net.TCPConn, _ *rand.Rand, _ int) bool {
	c.SetLinger(0)
	return false
}

func (a *arsenal) silent(*net.TCPConn, *rand.Rand, int) bool { return true }

// dribble says a HELLO slowly, a byte for each stranger that comes.
func (a *arsenal) dribble(c *net.TCPConn, rnd *rand.Rand, to int) bool {
	c.Write(hello(stranger(rnd, to), to)[:1+rnd.IntN(40)])
	return true
}
