package wire

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// identities returns ranks 3 and 5 of one job of 8, the dialer's and the acceptor's.
func identities() (dialer, acceptor *Identity) {
	d := &Identity{Job: [16]byte([]byte("job of this test")), Secret: []byte("a secret between the ranks alone"), Rank: 3, Size: 8, Window: 1 << 20}
	a := *d
	a.Rank, a.Window = 5, 1<<21
	return d, &a
}

func nonceOf(b byte) (n [32]byte) {
	for i := range n {
		n[i] = b
	}
	return n
}

// A pair is a dialer and an acceptor and the wire between them.
type pair struct {
	t    testing.TB
	d, a *Handshake
}

func newPair(t testing.TB) *pair {
	d, a := identities()
	return pairOf(t, d, a)
}

func pairOf(t testing.TB, d, a *Identity) *pair {
	return &pair{t: t, d: NewDialer(d, 5, nonceOf(1)), a: NewAcceptor(a, nonceOf(2))}
}

// toAcceptor delivers what the dialer has to say, and returns it.
func (p *pair) toAcceptor() []byte { p.t.Helper(); return p.deliver(p.d, p.a) }

// toDialer delivers what the acceptor has to say, and returns it.
func (p *pair) toDialer() []byte { p.t.Helper(); return p.deliver(p.a, p.d) }

func (p *pair) deliver(from, to *Handshake) []byte {
	p.t.Helper()
	b := from.Output()
	if n, _ := to.Input(b); to.State() != StateFailed && n != len(b) {
		p.t.Fatalf("%v took %d of %d bytes", to, n, len(b))
	}
	return b
}

func (p *pair) want(why string, d, a State) {
	p.t.Helper()
	if p.d.State() != d || p.a.State() != a {
		p.t.Fatalf("%s: dialer %v, acceptor %v; want %v, %v", why, p.d, p.a, d, a)
	}
}

func wantReject(t testing.TB, why string, h *Handshake, r Reject) {
	t.Helper()
	if h.State() != StateFailed || h.Reject() != r {
		t.Fatalf("%s: %v; want to fail for %v", why, h, r)
	}
	if out := h.Output(); out != nil {
		t.Fatalf("%s: %v still has %d bytes to say", why, h, len(out))
	}
	if n, got := h.Input([]byte("more")); n != 0 || got != r {
		t.Fatalf("%s: after the failure Input took %d bytes and gave %v", why, n, got)
	}
}

func TestHandshakeAccept(t *testing.T) {
	p := newPair(t)
	p.want("at first", StateAwaitChallenge, StateAwaitHello)
	if p.d.Peer() != 5 || p.a.Peer() != NoRank || p.a.PeerWindow() != 0 || p.d.PeerWindow() != 0 {
		t.Fatal("somebody knows too much too soon")
	}
	if b := p.toAcceptor(); len(b) != helloLen {
		t.Fatalf("HELLO of %d bytes", len(b))
	}
	p.want("after HELLO", StateAwaitChallenge, StateAwaitProof)
	if p.a.Peer() != NoRank || p.a.PeerWindow() != 0 {
		t.Fatal("the acceptor believes a HELLO")
	}
	if b := p.toDialer(); len(b) != challengeLen {
		t.Fatalf("CHALLENGE of %d bytes", len(b))
	}
	p.want("after CHALLENGE", StateAwaitVerdict, StateAwaitProof)
	p.toAcceptor()
	p.want("after PROOF", StateAwaitVerdict, StateProven)
	if p.a.Output() != nil {
		t.Fatal("the acceptor speaks before it has decided")
	}
	p.a.Decide(VerdictAccept)
	p.want("after Decide", StateAwaitVerdict, StateEstablished)
	p.toDialer()
	p.want("after VERDICT", StateEstablished, StateEstablished)
	if p.d.Peer() != 5 || p.a.Peer() != 3 || p.d.PeerWindow() != 1<<21 || p.a.PeerWindow() != 1<<20 {
		t.Fatalf("dialer sees %d, %d, acceptor %d, %d", p.d.Peer(), p.d.PeerWindow(), p.a.Peer(), p.a.PeerWindow())
	}
}

// sessionOf says the same to every peer.
func sessionOf(s Session) func(uint32) Session { return func(uint32) Session { return s } }

// What each side says of the streams reaches the other, which believes none of it before the proof.
func TestHandshakeSession(t *testing.T) {
	d, a := identities()
	says := Session{Resume: true, Received: MaxStream, Connection: 9}
	d.Beat, d.Session = 1000, func(peer uint32) Session {
		if peer != 5 {
			t.Errorf("the dialer is asked about rank %d", peer)
		}
		return says
	}
	a.Session = func(peer uint32) Session {
		if peer != 3 {
			t.Errorf("the acceptor is asked about rank %d", peer)
		}
		return Session{Connection: 8}
	}
	p := pairOf(t, d, a)
	p.toAcceptor()
	if p.a.PeerSession() != (Session{}) || p.a.PeerBeat() != 0 {
		t.Fatal("the acceptor believes a HELLO")
	}
	p.toDialer()
	if got := p.d.PeerSession(); got != (Session{Connection: 8}) || p.d.PeerBeat() != 0 {
		t.Fatalf("the dialer hears %+v, %d", got, p.d.PeerBeat())
	}
	p.toAcceptor()
	if got := p.a.PeerSession(); got != says || p.a.PeerBeat() != 1000 {
		t.Fatalf("the acceptor hears %+v, %d", got, p.a.PeerBeat())
	}
}

func TestHandshakeRefused(t *testing.T) {
	for _, v := range []Verdict{VerdictDuplicate, VerdictClosed} {
		p := newPair(t)
		p.toAcceptor()
		p.toDialer()
		p.toAcceptor()
		p.a.Decide(v)
		p.toDialer()
		p.want(v.String(), StateRefused, StateRefused)
		if p.d.Verdict() != v || p.a.Verdict() != v || p.d.Reject() != RejectNone {
			t.Errorf("%v arrived as %v, %v", v, p.d.Verdict(), p.d.Reject())
		}
	}
}

// A genuine rank of the other byte order is told so, under proof, without the caller's help.
func TestHandshakeByteOrder(t *testing.T) {
	d, a := identities()
	d.BigEndian = true
	p := pairOf(t, d, a)
	p.toAcceptor()
	p.toDialer()
	p.toAcceptor()
	p.want("acceptor decides by itself", StateAwaitVerdict, StateRefused)
	p.toDialer()
	p.want("dialer learns it", StateRefused, StateRefused)
	if p.d.Verdict() != VerdictByteOrder {
		t.Fatalf("verdict %v", p.d.Verdict())
	}
	// Both big-endian is well.
	a.BigEndian = true
	run(pairOf(t, d, a), VerdictAccept).want("both big", StateEstablished, StateEstablished)
}

// An acceptor of a later release may convert and accept; this dialer cannot.
func TestHandshakeByteOrderAccepted(t *testing.T) {
	d, a := identities()
	d.BigEndian = true
	p := pairOf(t, d, a)
	p.toAcceptor()
	p.a.foreign = false
	p.toDialer()
	p.toAcceptor()
	p.a.Decide(VerdictAccept)
	p.toDialer()
	wantReject(t, "accepted in another byte order", p.d, RejectByteOrder)
}

// run plays a pair to its end.
func run(p *pair, v Verdict) *pair {
	for range 4 {
		p.deliver(p.d, p.a)
		if p.a.State() == StateProven {
			p.a.Decide(v)
		}
		p.deliver(p.a, p.d)
	}
	return p
}

func TestHandshakeWrongHello(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(d *Identity)
		edit   func(hello []byte)
		want   Reject
	}{
		{name: "another job", change: func(d *Identity) { d.Job[0]++ }, want: RejectWrongJob},
		{name: "another size", change: func(d *Identity) { d.Size++ }, want: RejectWrongSize},
		{name: "this very rank", edit: func(b []byte) { b[24] = 5 }, want: RejectStranger},
		{name: "a rank beyond the job", edit: func(b []byte) { b[24] = 8 }, want: RejectStranger},
		{name: "no rank", edit: func(b []byte) { copy(b[24:], "\xff\xff\xff\xff") }, want: RejectStranger},
		{name: "for another rank", edit: func(b []byte) { b[28] = 6 }, want: RejectWrongRank},
		{name: "unknown flags", edit: func(b []byte) { b[36] = 2 }, want: RejectBadMessage},
		{name: "bytes received of no stream", edit: func(b []byte) { b[48] = 1 }, want: RejectBadMessage},
		{name: "more received than a stream holds", edit: func(b []byte) { b[36], b[55] = 1, 0x80 }, want: RejectBadMessage},
		{name: "a boundless window", edit: func(b []byte) { b[47] = 0xff }, want: RejectBadMessage},
		{name: "no byte order", edit: func(b []byte) { b[7] = 0 }, want: RejectBadMessage},
		{name: "a third byte order", edit: func(b []byte) { b[7] = 3 }, want: RejectBadMessage},
		{name: "another magic", edit: func(b []byte) { b[0] = 'f' }, want: RejectBadMagic},
		{name: "another version", edit: func(b []byte) { b[4] = 1 }, want: RejectBadVersion},
		{name: "a version far away", edit: func(b []byte) { b[5] = 1 }, want: RejectBadVersion},
		{name: "another message", edit: func(b []byte) { b[6] = byte(msgProof) }, want: RejectBadMessage},
	} {
		d, a := identities()
		if tt.change != nil {
			tt.change(d)
		}
		hello := NewDialer(d, 5, nonceOf(1)).Output()
		if tt.edit != nil {
			tt.edit(hello)
		}
		h := NewAcceptor(a, nonceOf(2))
		if _, r := h.Input(hello); r != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, r, tt.want)
			continue
		}
		wantReject(t, tt.name, h, tt.want)
		if h.Peer() != NoRank {
			t.Errorf("%s: the acceptor believes in peer %d", tt.name, h.Peer())
		}
	}
}

func TestHandshakeLeavesFrames(t *testing.T) {
	p := newPair(t)
	p.toAcceptor()
	p.toDialer()
	p.toAcceptor()
	if n, r := p.a.Input([]byte("early")); n != 0 || r != RejectNone {
		t.Fatalf("a proven acceptor took %d bytes, %v", n, r)
	}
	p.a.Decide(VerdictAccept)
	verdict := p.a.Output()
	n, r := p.d.Input(append(slices.Clone(verdict), "frames"...))
	if n != len(verdict) || r != RejectNone {
		t.Fatalf("took %d of %d bytes, %v", n, len(verdict), r)
	}
	for _, h := range []*Handshake{p.a, p.d} {
		if n, r := h.Input([]byte("frames")); n != 0 || r != RejectNone {
			t.Fatalf("%v took %d bytes of frames, %v", h, n, r)
		}
	}
}

func TestHandshakeAbort(t *testing.T) {
	p := newPair(t)
	p.d.Abort(RejectTimeout)
	wantReject(t, "aborted", p.d, RejectTimeout)
	p.d.Abort(RejectHangup)
	wantReject(t, "aborted twice", p.d, RejectTimeout)
	p = run(newPair(t), VerdictAccept)
	p.d.Abort(RejectHangup)
	p.want("aborted too late", StateEstablished, StateEstablished)
}

func TestHandshakeWindowIsBounded(t *testing.T) {
	d, a := identities()
	d.Window, a.Window = 1<<64-1, MaxLength
	p := run(pairOf(t, d, a), VerdictAccept)
	if p.a.PeerWindow() != MaxLength || p.d.PeerWindow() != MaxLength {
		t.Errorf("windows %d, %d", p.a.PeerWindow(), p.d.PeerWindow())
	}
}

func TestHandshakePreconditions(t *testing.T) {
	wantPanic := func(name string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", name)
			}
		}()
		f()
	}
	d, a := identities()
	wantPanic("dials itself", func() { NewDialer(d, 3, nonceOf(1)) })
	wantPanic("dials nobody", func() { NewDialer(d, 8, nonceOf(1)) })
	wantPanic("no secret", func() { NewAcceptor(&Identity{Size: 2}, nonceOf(1)) })
	wantPanic("no such rank", func() { NewAcceptor(&Identity{Secret: []byte("s"), Rank: 2, Size: 2}, nonceOf(1)) })
	wantPanic("decides too soon", func() { NewAcceptor(a, nonceOf(1)).Decide(VerdictAccept) })
	wantPanic("dialer decides", func() { NewDialer(d, 5, nonceOf(1)).Decide(VerdictAccept) })
	wantPanic("aborts for nothing", func() { NewAcceptor(a, nonceOf(1)).Abort(RejectNone) })
}

// However the two streams are cut, and however often the sides are asked for output, the outcome is
// the same, be the handshake fair or broken.
func TestHandshakeSplits(t *testing.T) {
	type outcome struct {
		d, a   State
		rd, ra Reject
		leftA  string // what the acceptor left of the dialer's stream
		leftD  string
	}
	play := func(v Verdict, bit int, which int, cut func(n int) int) outcome {
		p := newPair(t)
		var left [2][]byte // unread bytes of the streams to the acceptor and to the dialer
		var total [2]int   // bytes ever put on each
		ends := [2]*Handshake{p.a, p.d}
		put := func(i int, b []byte) {
			b = slices.Clone(b)
			if i == which && bit/8 >= total[i] && bit/8 < total[i]+len(b) {
				b[bit/8-total[i]] ^= 1 << (bit % 8)
			}
			total[i] += len(b)
			left[i] = append(left[i], b...)
		}
		for range 1000 {
			put(0, p.d.Output())
			put(1, p.a.Output())
			moved := false
			for i, h := range ends {
				n := cut(len(left[i]))
				took, _ := h.Input(left[i][:n])
				left[i] = left[i][took:]
				moved = moved || took > 0
			}
			if p.a.State() == StateProven {
				p.a.Decide(v)
				put(1, p.a.Output())
				put(1, []byte("frames of the acceptor"))
				moved = true
			}
			if !moved {
				return outcome{p.d.State(), p.a.State(), p.d.Reject(), p.a.Reject(), string(left[0]), string(left[1])}
			}
		}
		t.Fatal("the handshake does not end")
		panic("unreachable")
	}
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.SampledFrom([]Verdict{VerdictAccept, VerdictDuplicate, VerdictClosed}).Draw(rt, "verdict")
		which := rapid.IntRange(-1, 1).Draw(rt, "stream to break")
		bit := rapid.IntRange(0, (challengeLen+finalLen)*8-1).Draw(rt, "bit to break")
		whole := play(v, bit, which, func(n int) int { return n })
		split := play(v, bit, which, func(n int) int {
			if n == 0 {
				return 0
			}
			return rapid.IntRange(1, n).Draw(rt, "cut")
		})
		if whole != split {
			rt.Fatalf("in one piece: %+v\nin pieces: %+v", whole, split)
		}
		if which < 0 && v == VerdictAccept && (whole.d != StateEstablished || whole.a != StateEstablished || whole.leftD != "frames of the acceptor") {
			rt.Fatalf("fair handshake: %+v", whole)
		}
	})
}

// fuzzInput feeds b to a fresh handshake, whole and byte by byte. A peer without the secret gets
// nowhere.
func fuzzInput(t *testing.T, fresh func() *Handshake, most int, b []byte) {
	whole, slow := fresh(), fresh()
	n, r := whole.Input(b)
	if n < 0 || n > len(b) || n > most {
		t.Fatalf("took %d of %d bytes", n, len(b))
	}
	if (r != RejectNone) != (whole.State() == StateFailed) {
		t.Fatalf("%v, but state %v", r, whole.State())
	}
	if r == RejectNone && n < len(b) {
		t.Fatalf("%v left %d bytes", whole, len(b)-n)
	}
	took := 0
	for i := range b {
		c, _ := slow.Input(b[i : i+1])
		took += c
	}
	if took != n || slow.State() != whole.State() || slow.Reject() != r {
		t.Fatalf("whole: %d, %v; byte by byte: %d, %v", n, whole, took, slow)
	}
	switch s := whole.State(); s {
	case StateProven, StateEstablished, StateRefused, StateAwaitVerdict:
		t.Fatalf("arbitrary bytes led to %v", s)
	}
	if out := whole.Output(); len(out) > maxMessageLen {
		t.Fatalf("%d bytes of output", len(out))
	}
}

func FuzzAcceptor(f *testing.F) {
	m := messages(f, VerdictAccept)
	f.Add(m[0])
	f.Add(append(slices.Clone(m[0]), m[2]...))
	f.Add([]byte("GET / HTTP/1.0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, a := identities()
		fuzzInput(t, func() *Handshake { return NewAcceptor(a, nonceOf(77)) }, helloLen+finalLen, b)
	})
}

func FuzzDialer(f *testing.F) {
	m := messages(f, VerdictAccept)
	f.Add(m[1])
	f.Add(append(slices.Clone(m[1]), m[3]...))
	f.Add(binary.LittleEndian.AppendUint16([]byte(magic), Version+1))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, _ := identities()
		fuzzInput(t, func() *Handshake {
			h := NewDialer(d, 5, nonceOf(77))
			h.Output()
			return h
		}, challengeLen+finalLen, b)
	})
}

func TestDialWins(t *testing.T) {
	for self := range uint32(6) {
		for peer := range uint32(6) {
			if self == peer {
				continue
			}
			if DialWins(self, peer) == DialWins(peer, self) {
				t.Errorf("ranks %d and %d disagree on whose dial wins", self, peer)
			}
			if DialWins(self, peer) != (self < peer) {
				t.Errorf("of %d and %d the higher rank's dial wins", self, peer)
			}
		}
	}
}

func BenchmarkHandshake(b *testing.B) {
	d, a := identities()
	b.ReportAllocs()
	for b.Loop() {
		if p := run(pairOf(b, d, a), VerdictAccept); p.d.State() != StateEstablished {
			b.Fatal(p.d)
		}
	}
}

// TestOtherJob: an acceptor that has a part in several jobs answers as what the hello asks for, and
// proves itself by that job's secret. A hello of a job in which it has none is dropped as ever.
func TestOtherJob(t *testing.T) {
	d, a := identities()
	met := &Identity{Job: [16]byte{77}, Secret: []byte("another secret of 32 bytes, no more"), Rank: 1, Size: 2}
	a.Other = func(job [16]byte) *Identity {
		if job == met.Job {
			return met
		}
		return nil
	}
	caller := &Identity{Job: met.Job, Secret: met.Secret, Rank: 0, Size: 2}
	p := &pair{t: t, d: NewDialer(caller, 1, nonceOf(1)), a: NewAcceptor(a, nonceOf(2))}
	p.toAcceptor()
	p.toDialer()
	p.toAcceptor()
	p.want("the proofs are of the other job", StateAwaitVerdict, StateProven)
	if p.a.Peer() != 0 {
		t.Errorf("peer %d, want 0", p.a.Peer())
	}
	p = pairOf(t, d, a)
	p.toAcceptor()
	p.want("its own job, as ever", StateAwaitChallenge, StateAwaitProof)
	caller.Job[0] = 78
	p = &pair{t: t, d: NewDialer(caller, 1, nonceOf(1)), a: NewAcceptor(a, nonceOf(2))}
	p.toAcceptor()
	if p.a.State() != StateFailed || p.a.Reject() != RejectWrongJob {
		t.Errorf("a job that it knows nothing of: %v", p.a)
	}
}
