package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
	"testing"
)

func TestHandshakeWrongSecret(t *testing.T) {
	d, a := identities()
	d.Secret = []byte("another secret")
	p := pairOf(t, d, a)
	p.toAcceptor()
	p.toDialer()
	wantReject(t, "dialer with another secret", p.d, RejectBadProof)

	// A dialer that does not look at the acceptor's proof gets no further.
	p = pairOf(t, d, a)
	p.toAcceptor()
	liar := NewDialer(d, 5, nonceOf(1))
	challenge := p.a.Output()
	copy(challenge[challengeLen-proofLen:], forge(d.Secret, labelAcceptor, liar.transcript, challenge[:challengeLen-proofLen]))
	liar.Output()
	liar.Input(challenge)
	p.a.Input(liar.Output())
	wantReject(t, "acceptor of a forged proof", p.a, RejectBadProof)
}

// forge computes a proof the way docs/PROTOCOL.md says, apart from the code under test.
func forge(secret []byte, label string, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(label))
	for _, p := range parts {
		mac.Write(p)
	}
	return mac.Sum(nil)
}

// The proofs are what the specification says: an implementation from the document alone would get
// in.
func TestHandshakeProofs(t *testing.T) {
	p := newPair(t)
	secret := p.d.self.Secret
	hello := p.toAcceptor()
	challenge := p.toDialer()
	if want := forge(secret, "FITMPI2 acceptor", hello, challenge[:80]); !bytes.Equal(challenge[80:], want) {
		t.Error("CHALLENGE's proof is not over HELLO and CHALLENGE")
	}
	proof := p.toAcceptor()
	if want := forge(secret, "FITMPI2 dialer", hello, challenge, proof[:8]); !bytes.Equal(proof[8:], want) {
		t.Error("PROOF's proof is not over what stands before it")
	}
	p.a.Decide(VerdictDuplicate)
	verdict := p.toDialer()
	if want := forge(secret, "FITMPI2 verdict", hello, challenge, proof, verdict[:8]); !bytes.Equal(verdict[8:], want) {
		t.Error("VERDICT's proof is not over what stands before it")
	}
}

// messages returns the four messages of a handshake that ends with v.
func messages(t testing.TB, v Verdict) (m [4][]byte) {
	p := newPair(t)
	m[0], m[1], m[2] = p.toAcceptor(), p.toDialer(), p.toAcceptor()
	p.a.Decide(v)
	m[3] = p.toDialer()
	return m
}

// No bit of the handshake can be changed on the way: the side that reads it fails, or the other one
// does at its next message.
func TestHandshakeEveryBit(t *testing.T) {
	for which, m := range messages(t, VerdictAccept) {
		for bit := range len(m) * 8 {
			p := newPair(t)
			tamper := func(i int, from, to *Handshake) {
				b := from.Output()
				if i == which && len(b) > 0 {
					b[bit/8] ^= 1 << (bit % 8)
				}
				to.Input(b)
			}
			tamper(0, p.d, p.a)
			tamper(1, p.a, p.d)
			tamper(2, p.d, p.a)
			if p.a.State() == StateProven {
				p.a.Decide(VerdictAccept)
			}
			tamper(3, p.a, p.d)
			if p.d.State() == StateEstablished {
				t.Fatalf("message %d, bit %d changed: dialer is established", which, bit)
			}
			if which < 3 && p.a.State() == StateEstablished {
				t.Fatalf("message %d, bit %d changed: acceptor is established", which, bit)
			}
		}
	}
}

// A verdict turned into another one is not believed, though it is a valid message otherwise.
func TestHandshakeForgedVerdict(t *testing.T) {
	p := newPair(t)
	p.toAcceptor()
	p.toDialer()
	p.toAcceptor()
	p.a.Decide(VerdictAccept)
	b := p.a.Output()
	b[7] = byte(VerdictDuplicate)
	p.d.Input(b)
	wantReject(t, "accept turned into duplicate", p.d, RejectBadProof)

	// One with a proof, but of a kind unknown here, comes from a genuine acceptor of another
	// release.
	p = newPair(t)
	hello, challenge, proof := p.toAcceptor(), p.toDialer(), p.toAcceptor()
	verdict := appendPrefix(nil, msgVerdict, byte(maxVerdict+1))
	verdict = append(verdict, forge(p.a.self.Secret, labelVerdict, hello, challenge, proof, verdict)...)
	p.d.Input(verdict)
	wantReject(t, "unknown verdict", p.d, RejectBadMessage)
}

// The dialer's own bytes, sent back to it, prove nothing, whatever they are relabelled to be.
func TestHandshakeReflection(t *testing.T) {
	d, _ := identities()
	h := NewDialer(d, 5, nonceOf(1))
	hello := h.Output()
	h.Input(hello)
	wantReject(t, "HELLO played back", h, RejectBadMessage)

	h = NewDialer(d, 5, nonceOf(1))
	challenge := appendPrefix(nil, msgChallenge, orderLittle)
	challenge = appendClaim(challenge, &claim{from: 5, to: 3, size: 8, nonce: nonceOf(1)})
	h.Input(append(challenge, make([]byte, proofLen)...))
	wantReject(t, "HELLO played back as CHALLENGE", h, RejectBadProof)

	// The dialer's PROOF in place of the acceptor's VERDICT.
	p := newPair(t)
	p.toAcceptor()
	p.toDialer()
	b := p.d.Output()
	b[6] = byte(msgVerdict)
	p.d.Input(b)
	wantReject(t, "PROOF played back as VERDICT", p.d, RejectBadProof)
}

// TestHandshakeReflectionThroughAcceptor: an attacker in the middle that knows no secret lets the
// rank that dialled it answer the challenge. The attacker dials that rank's own acceptor with the
// dialer's nonce. It then offers the CHALLENGE that it gets there as its own.
func TestHandshakeReflectionThroughAcceptor(t *testing.T) {
	d, _ := identities()
	dialer, acceptor := NewDialer(d, 5, nonceOf(1)), NewAcceptor(d, nonceOf(2))
	hello := dialer.Output()
	copy(hello[24:], []byte{5, 0, 0, 0, 3, 0, 0, 0}) // the attacker claims to be 5 and asks for 3
	acceptor.Input(hello)
	challenge := acceptor.Output()
	if len(challenge) != challengeLen {
		t.Fatalf("the acceptor gave %d bytes to a fair HELLO", len(challenge))
	}
	his := slices.Clone(challenge)
	dialer.Input(his)
	wantReject(t, "own acceptor's challenge", dialer, RejectBadProof)

	dialer = NewDialer(d, 5, nonceOf(1))
	copy(his[8:], []byte{5, 0, 0, 0, 3, 0, 0, 0})
	dialer.Input(his)
	wantReject(t, "own acceptor's challenge, ranks swapped", dialer, RejectBadProof)

	// And the unchanged HELLO is for another rank.
	acceptor = NewAcceptor(d, nonceOf(2))
	acceptor.Input(NewDialer(d, 5, nonceOf(1)).Output())
	wantReject(t, "own HELLO", acceptor, RejectWrongRank)
}

// What was overheard once opens nothing later, as one side's nonce is always new.
func TestHandshakeReplay(t *testing.T) {
	m := messages(t, VerdictAccept)
	d, a := identities()

	acceptor := NewAcceptor(a, nonceOf(9))
	acceptor.Input(m[0])
	acceptor.Output()
	acceptor.Input(m[2])
	wantReject(t, "dialer's messages replayed", acceptor, RejectBadProof)

	dialer := NewDialer(d, 5, nonceOf(9))
	dialer.Output()
	dialer.Input(m[1])
	wantReject(t, "acceptor's challenge replayed", dialer, RejectBadProof)

	// Even a verdict from the same dialer's earlier handshake.
	p := newPair(t)
	p.a = NewAcceptor(a, nonceOf(9))
	p.toAcceptor()
	p.toDialer()
	p.d.Input(m[3])
	wantReject(t, "verdict replayed", p.d, RejectBadProof)
}

// A proven CHALLENGE with wrong claims can only come from a rank of the job that is mistaken; it is
// refused all the same.
func TestHandshakeMistakenChallenge(t *testing.T) {
	for _, tt := range []struct {
		name  string
		claim claim
		order uint8
		want  Reject
	}{
		{"another rank", claim{from: 6, to: 3, size: 8}, orderLittle, RejectWrongRank},
		{"for another rank", claim{from: 5, to: 4, size: 8}, orderLittle, RejectWrongRank},
		{"another size", claim{from: 5, to: 3, size: 9}, orderLittle, RejectWrongSize},
		{"unknown flags", claim{from: 5, to: 3, size: 8, flags: 2, window: MinWindow}, orderLittle, RejectBadMessage},
		{"bytes received of no stream", claim{from: 5, to: 3, size: 8, window: MinWindow, session: Session{Received: 1}}, orderLittle, RejectBadMessage},
		{"more received than a stream holds", claim{from: 5, to: 3, size: 8, flags: claimResume, window: MinWindow, session: Session{Received: MaxStream + 1}}, orderLittle, RejectBadMessage},
		{"a boundless window", claim{from: 5, to: 3, size: 8, window: MaxLength + 1}, orderLittle, RejectBadMessage},
		{"a window too small", claim{from: 5, to: 3, size: 8, window: MinWindow - 1}, orderLittle, RejectBadMessage},
		{"no byte order", claim{from: 5, to: 3, size: 8, window: MinWindow}, 0, RejectBadMessage},
	} {
		d, _ := identities()
		h := NewDialer(d, 5, nonceOf(1))
		b := appendPrefix(nil, msgChallenge, tt.order)
		b = appendClaim(b, &tt.claim)
		h.Input(append(b, forge(d.Secret, labelAcceptor, h.Output(), b)...))
		wantReject(t, tt.name, h, tt.want)
	}
}

// Every prefix of a fair handshake just waits, on both sides.
func TestHandshakeTruncated(t *testing.T) {
	m := messages(t, VerdictAccept)
	stream := map[bool][]byte{true: append(slices.Clone(m[1]), m[3]...), false: append(slices.Clone(m[0]), m[2]...)}
	d, a := identities()
	for isDialer, b := range stream {
		for i := range len(b) {
			h := NewAcceptor(a, nonceOf(2))
			if isDialer {
				h = NewDialer(d, 5, nonceOf(1))
			}
			if n, r := h.Input(b[:i]); n != i || r != RejectNone || h.State().expects() == msgNone {
				t.Fatalf("%d of %d bytes: took %d, %v", i, len(b), n, h)
			}
		}
	}
}

// TestHandshakeGarbage: a peer that speaks another protocol is dropped at the eighth byte, not when
// a HELLO's worth has come or time is up.
func TestHandshakeGarbage(t *testing.T) {
	_, a := identities()
	h := NewAcceptor(a, nonceOf(2))
	if n, r := h.Input([]byte("GET / HTTP/1.0\r\n\r\n")); n != prefixLen || r != RejectBadMagic {
		t.Fatalf("took %d bytes, %v", n, r)
	}
}
