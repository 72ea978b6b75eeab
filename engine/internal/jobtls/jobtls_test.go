package jobtls

import (
	"bytes"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	testJob    = [16]byte{1, 2, 3}
	testSecret = bytes.Repeat([]byte{5}, 32)
)

func identity(t testing.TB, job [16]byte, secret []byte, rank, size int) *Identity {
	t.Helper()
	id, err := NewIdentity(job, secret, rank, size)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// end is one end of a connection whose wire the test is.
type end struct {
	*Conn
	wire []byte        // written, not carried over
	got  []byte        // decrypted
	room int           // bytes that the socket takes before it is full; -1: any
	woke chan struct{} // capacity 1
	wg   sync.WaitGroup
}

// newEnd makes an end; it is closed with the test.
func newEnd(t testing.TB, start func(run func(func()), wake func()) *Conn) *end {
	e := &end{room: -1, woke: make(chan struct{}, 1)}
	e.Conn = start(func(f func()) { e.wg.Go(f) }, func() {
		select {
		case e.woke <- struct{}{}:
		default:
		}
	})
	t.Cleanup(func() {
		e.Close()
		e.wg.Wait()
	})
	return e
}

func dialEnd(t testing.TB, id *Identity, peer int) *end {
	return newEnd(t, func(run func(func()), wake func()) *Conn { return id.Dial(peer, nil, run, wake) })
}

func acceptEnd(t testing.TB, id *Identity) *end { return acceptAs(t, id) }

// acceptAs accepts for several identities, of which the first counts if no other is asked for.
func acceptAs(t testing.TB, ids ...*Identity) *end {
	other := func(name string) *Identity {
		for _, id := range ids {
			if id.Name() == name {
				return id
			}
		}
		return nil
	}
	return newEnd(t, func(run func(func()), wake func()) *Conn { return ids[0].Accept(other, run, wake) })
}

// write is the socket's.
func (e *end) write(b []byte) (int, error) {
	n := len(b)
	if e.room >= 0 {
		n = min(n, e.room)
		e.room -= n
	}
	e.wire = append(e.wire, b[:n]...)
	if n == 0 && len(b) > 0 {
		return 0, ErrAgain
	}
	return n, nil
}

// carry moves at most n bytes to the other end, which reads.
func (e *end) carry(to *end, n int) error {
	n = min(n, len(e.wire))
	chunk := bytes.Clone(e.wire[:n])
	e.wire = e.wire[n:]
	to.Feed(chunk)
	err := to.drain()
	for i := range chunk {
		chunk[i] = 0xee // it is the socket's again
	}
	return err
}

func (e *end) drain() error {
	for e.Ready() {
		p := make([]byte, 1+len(e.got)%9000)
		n, err := e.Read(p)
		e.got = append(e.got, p[:n]...)
		if err == ErrAgain {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shakeHands carries on until both are ready, or one has failed.
func shakeHands(t testing.TB, a, b *end, chunk int) {
	t.Helper()
	failsafe := time.After(20 * time.Second)
	for !a.Ready() || !b.Ready() {
		if a.Err() != nil || b.Err() != nil {
			a.Flush(a.write)
			b.Flush(b.write)
			return
		}
		a.Flush(a.write)
		b.Flush(b.write)
		if len(a.wire)+len(b.wire) > 0 {
			a.carry(b, chunk)
			b.carry(a, chunk)
			continue
		}
		select {
		case <-a.woke:
		case <-b.woke:
		case <-failsafe:
			t.Fatal("the handshake stands still")
		}
	}
}

// connected is two ends that are ready.
func connected(t testing.TB, chunk int) (a, b *end) {
	t.Helper()
	a, b = dialEnd(t, identity(t, testJob, testSecret, 0, 4), 3), acceptEnd(t, identity(t, testJob, testSecret, 3, 4))
	shakeHands(t, a, b, chunk)
	if a.Err() != nil || b.Err() != nil || a.Peer() != 3 || b.Peer() != 0 {
		t.Fatalf("no connection: %v, %v; peers %d, %d", a.Err(), b.Err(), a.Peer(), b.Peer())
	}
	return a, b
}

// TestIdentities: a rank that is known by several secrets answers as what it is asked for, and a
// stranger to all of them as ever.
func TestIdentities(t *testing.T) {
	home, met := identity(t, testJob, testSecret, 3, 4), identity(t, [16]byte{9}, bytes.Repeat([]byte{9}, 32), 0, 7)
	for _, tt := range []struct {
		dialer *Identity
		called int
		name   string // "": refused
	}{
		{identity(t, testJob, testSecret, 0, 4), 3, home.Name()}, {identity(t, [16]byte{9}, bytes.Repeat([]byte{9}, 32), 5, 7), 0, met.Name()},
		{identity(t, [16]byte{9}, testSecret, 5, 7), 0, ""}, {identity(t, [16]byte{8}, testSecret, 0, 4), 3, ""},
	} {
		a, b := dialEnd(t, tt.dialer, tt.called), acceptAs(t, home, met)
		shakeHands(t, a, b, 3000)
		if ok := a.Err() == nil && b.Err() == nil; ok != (tt.name != "") || ok && b.Name() != tt.name {
			t.Errorf("%s called %d: %v, %v, as %s", tt.dialer.Name(), tt.called, a.Err(), b.Err(), b.Name())
		}
	}
}

// TestStream: what goes in comes out, however the streams are cut and whenever sockets are full.
func TestStream(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		a, b := connected(t, 1+rng.IntN(2000))
		var sent [2][]byte
		var queue [2][]byte
		ends := [2]*end{a, b}
		for range 300 {
			i := rng.IntN(2)
			e, other := ends[i], ends[1-i]
			switch rng.IntN(4) {
			case 0: // more to send
				more := make([]byte, rng.IntN(40_000))
				for k := range more {
					more[k] = byte(rng.Uint32())
				}
				sent[i], queue[i] = append(sent[i], more...), append(queue[i], more...)
			case 1, 2:
				e.room = rng.IntN(60_000)
				sendSome(t, e, &queue[i], rng)
			default:
				if err := e.carry(other, rng.IntN(40_000)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, e := range ends {
			for len(queue[i]) > 0 {
				e.room = -1
				sendSome(t, e, &queue[i], rng)
			}
			for len(e.wire) > 0 {
				if err := e.carry(ends[1-i], len(e.wire)); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(ends[1-i].got, sent[i]) {
				t.Fatalf("seed %d: %d bytes sent by %d, %d arrived", seed, len(sent[i]), i, len(ends[1-i].got))
			}
		}
	}
}

// sendSome cuts the front of a queue into spans and sends them.
func sendSome(t *testing.T, e *end, queue *[]byte, rng *rand.Rand) {
	t.Helper()
	var bufs [][]byte
	for rest := *queue; len(rest) > 0 && len(bufs) < 5; {
		k := 1 + rng.IntN(len(rest))
		bufs, rest = append(bufs, rest[:k]), rest[k:]
	}
	n, err := e.Send(bufs, e.write)
	if err != nil && (err != ErrAgain || n != 0) {
		t.Fatal(n, err)
	}
	*queue = (*queue)[n:]
}

// TestHidden: what is sent is not on the wire, and a byte changed there is found.
func TestHidden(t *testing.T) {
	marker := []byte("the marker that nobody may see")
	a, b := connected(t, 1<<20)
	if _, err := a.Send([][]byte{bytes.Repeat(marker, 1000)}, a.write); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(a.wire, marker[:8]) {
		t.Error("the marker is on the wire")
	}
	a.wire[len(a.wire)/2] ^= 4
	if err := a.carry(b, len(a.wire)); err == nil || err == ErrAgain {
		t.Errorf("a changed byte: %v", err)
	}
	if !bytes.HasPrefix(bytes.Repeat(marker, 1000), b.got) {
		t.Error("changed bytes were delivered")
	}
}

// TestFirst: what goes before the handshake is in the clear, and once.
func TestFirst(t *testing.T) {
	e := newEnd(t, func(run func(func()), wake func()) *Conn {
		return identity(t, testJob, testSecret, 0, 2).Dial(1, []byte("first\n"), run, wake)
	})
	<-e.woke
	e.Flush(e.write)
	if !bytes.HasPrefix(e.wire, []byte("first\n\x16\x03\x01")) {
		t.Errorf("it begins with %q", e.wire[:min(len(e.wire), 20)])
	}
}

// TestStrangers: a peer that does not know the secret, is of another job, or is not the rank that
// was meant, is refused.
func TestStrangers(t *testing.T) {
	dialer := identity(t, testJob, testSecret, 0, 4)
	otherSecret := bytes.Repeat([]byte{6}, 32)
	for _, test := range []struct {
		name     string
		acceptor *Identity
		says     string
	}{
		{"another secret", identity(t, testJob, otherSecret, 3, 4), "its certificate is not of this job"},
		{"another job", identity(t, [16]byte{9}, testSecret, 3, 4), "its certificate is not of this job"},
		{"another rank", identity(t, testJob, testSecret, 2, 4), "it is rank 2, and rank 3 was called"},
		{"no such rank", identity(t, testJob, testSecret, 4, 5),
			`its certificate is that of "01020300000000000000000000000000/4", want one of the 4 ranks of 01020300000000000000000000000000`},
		{"no rank", unnamed(t, identity(t, testJob, testSecret, 3, 4)), "its certificate is of this job and names no rank"},
	} {
		a, b := dialEnd(t, dialer, 3), acceptEnd(t, test.acceptor)
		shakeHands(t, a, b, 1<<20)
		a.wg.Wait() // its alert is out before it knows for itself
		if a.Ready() || a.Err() == nil ||
			a.Err().Error() != test.says && !strings.HasPrefix(a.Err().Error(), test.says+": x509: certificate signed by unknown authority") {
			t.Errorf("%s: %v, want %s", test.name, a.Err(), test.says)
		}
	}
	a, b := gullible(t, identity(t, testJob, otherSecret, 0, 4)), acceptEnd(t, identity(t, testJob, testSecret, 3, 4))
	for b.Err() == nil && !b.Ready() {
		shakeOnce(t, a, b)
	}
	if b.Ready() || !strings.Contains(b.Err().Error(), "not of this job") {
		t.Errorf("a dialer of another secret: %v", b.Err())
	}
	bare := identity(t, testJob, testSecret, 0, 4)
	bare.leaf = tls.Certificate{}
	a, b = gullible(t, bare), acceptEnd(t, identity(t, testJob, testSecret, 3, 4))
	for b.Err() == nil && !b.Ready() {
		shakeOnce(t, a, b)
	}
	if b.Ready() || b.Err().Error() != "tls: client didn't provide a certificate" {
		t.Errorf("a dialer without a certificate: %v", b.Err())
	}
}

// unnamed is id with a certificate of its job that does not say whose it is.
func unnamed(t *testing.T, id *Identity) *Identity {
	t.Helper()
	ca, key, err := authority(testJob, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: notBefore, NotAfter: notAfter}
	der, err := x509.CreateCertificate(nil, template, ca, id.leaf.PrivateKey.(ed25519.PrivateKey).Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	id.leaf.Certificate = [][]byte{der}
	return id
}

// gullible is a dialer that believes anything.
func gullible(t *testing.T, id *Identity) *end {
	return newEnd(t, func(run func(func()), wake func()) *Conn {
		c := newConn(new(Identity), wake)
		cfg := id.config(-1, c.setPeer)
		cfg.VerifyConnection = nil
		c.tls = tls.Client((*shim)(c), cfg)
		run(c.shake)
		return c
	})
}

// shakeOnce carries what there is, or waits for more.
func shakeOnce(t *testing.T, a, b *end) {
	a.Flush(a.write)
	b.Flush(b.write)
	if len(a.wire)+len(b.wire) > 0 {
		a.carry(b, len(a.wire))
		b.carry(a, len(b.wire))
		return
	}
	select {
	case <-a.woke:
	case <-b.woke:
	case <-time.After(20 * time.Second):
		t.Fatal("the handshake stands still")
	}
}

// TestOverrun: a peer that talks without end during the handshake is cut off.
func TestOverrun(t *testing.T) {
	e := acceptEnd(t, identity(t, testJob, testSecret, 0, 2))
	for range 100 {
		e.Feed(append([]byte{0x16, 3, 1, 0x3f, 0xff, 1, 0, 0xff, 0xff}, make([]byte, 4000)...))
	}
	e.wg.Wait()
	if e.Ready() || e.Err() == nil {
		t.Error("it goes on")
	}
	e = acceptEnd(t, identity(t, testJob, testSecret, 0, 2))
	e.Feed(make([]byte, maxWaiting+1)) // before any of it can be read
	e.wg.Wait()
	if err := e.Err(); err == nil || err.Error() != "secure: more than 65536 bytes came that no handshake has" {
		t.Errorf("it goes on: %v", err)
	}
}

// TestCloseEnds: Close ends a handshake whose other end says nothing.
func TestCloseEnds(t *testing.T) {
	e := acceptEnd(t, identity(t, testJob, testSecret, 0, 2))
	e.Feed([]byte{0x16, 3, 1})
	e.Close()
	e.Close()
	e.wg.Wait()
	if e.Ready() || e.Err() == nil {
		t.Error("a closed connection is ready")
	}
}

// The authority is the same for all ranks of a job, and another for each job and secret.
func TestAuthority(t *testing.T) {
	one, _, err := authority(testJob, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	two, _, _ := authority(testJob, testSecret)
	other, _, _ := authority([16]byte{8}, testSecret)
	if !one.Equal(two) || one.Equal(other) || one.PublicKey == nil {
		t.Error("the authority is not a function of job and secret")
	}
	if _, err := NewIdentity(testJob, testSecret[:15], 0, 1); err == nil || err.Error() != "secure: a secret of 15 bytes; 16 or more are needed" {
		t.Errorf("a short secret: %v", err)
	}
}

// FuzzStranger: whatever a peer says in the place of a handshake, and then in that of a stream,
// nothing panics, nothing hangs, and nothing is delivered.
func FuzzStranger(f *testing.F) {
	id, err := NewIdentity(testJob, testSecret, 1, 2)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("GET / HTTP/1.1\r\n"), uint8(3), false)
	f.Add([]byte{0x16, 3, 1, 0, 4, 1, 0, 0, 0}, uint8(1), true)
	f.Add([]byte{0x15, 3, 3, 0, 2, 2, 70}, uint8(7), true)
	f.Add([]byte{0x17, 3, 3, 0, 1, 0}, uint8(2), false)
	f.Fuzz(func(t *testing.T, b []byte, chunk uint8, dial bool) {
		e := acceptEnd(t, id)
		if dial {
			e = dialEnd(t, id, 0)
		}
		for len(b) > 0 {
			n := min(len(b), int(chunk)+1)
			e.Feed(b[:n])
			b = b[n:]
		}
		e.Close()
		e.wg.Wait()
		if e.Ready() {
			t.Fatal("it let a stranger in")
		}
	})
}

// FuzzCut: a stream that was changed is found out where it was, and what is delivered before is
// genuine.
func FuzzCut(f *testing.F) {
	f.Add(uint16(100), byte(1), uint16(7))
	f.Add(uint16(3), byte(0x80), uint16(1))
	f.Fuzz(func(t *testing.T, at uint16, change byte, chunk uint16) {
		a, b := connected(t, 1<<20)
		text := bytes.Repeat([]byte("0123456789"), 3000)
		if _, err := a.Send([][]byte{text}, a.write); err != nil {
			t.Fatal(err)
		}
		i := int(at) % len(a.wire)
		a.wire[i] ^= change
		var err error
		for len(a.wire) > 0 && err == nil {
			err = a.carry(b, int(chunk)+1)
		}
		if !bytes.HasPrefix(text, b.got) || change == 0 && (err != nil || len(b.got) != len(text)) || change != 0 && len(b.got) == len(text) {
			t.Errorf("%d of %d bytes, %v", len(b.got), len(text), err)
		}
	})
}
