package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
)

// NoRank stands for a peer that is not known.
const NoRank = ^uint32(0)

// An Identity says which rank of which job a rank is, and what it tells its peers of itself. It
// must not change while a Handshake uses it.
type Identity struct {
	Job       [16]byte // tells jobs apart; no secret
	Secret    []byte   // known to the ranks of the job alone; 32 random bytes or more
	Rank      uint32
	Size      uint32 // ranks in the job
	Window    uint64 // bytes of eager credit granted to each peer; held between MinWindow and MaxLength
	BigEndian bool   // byte order of this rank's payloads
	Beat      uint32 // milliseconds between the heartbeats that this rank promises, 0 if it promises none

	// Session returns what to say to a peer about the streams that the two have had already; nil is
	// a zero Session for every peer. An acceptor asks before the peer has proved itself.
	Session func(peer uint32) Session

	// Other returns what this rank is in another job, nil if it has no part in it. An acceptor asks
	// when a HELLO is for another job than Job, and goes on as that. It may be nil.
	Other func(job [16]byte) *Identity
}

// A Session is what one side of a pair knows of their streams, which can outlive a connection.
type Session struct {
	Resume     bool   // this side can go on with both streams on another connection
	Received   uint64 // bytes of the other side's stream that it has; 0 unless Resume
	Connection uint32 // a dialer's: the number of this connection, greater than that of any of the pair before it. An acceptor's: of the last that stood, 0 if none
}

func (id *Identity) session(peer uint32) (s Session) {
	if id.Session != nil {
		s = id.Session(peer)
	}
	return s
}

// A Handshake is one end of the mutual proof that opens a connection. Its states and their diagram
// are at State.
//
// Each side sends 32 fresh random bytes and gives proofs: an HMAC-SHA256, keyed by the secret of
// the job, over a label of the proof's purpose and every byte exchanged before it. A recorded proof
// therefore fits no later handshake, one role's proof is none for the other role, and a changed bit
// anywhere fails. The claims in HELLO and CHALLENGE serve to find out early that a peer has come to
// the wrong rank or job. No claim is reported as true before its proof.
type Handshake struct {
	// Immutable after NewDialer and NewAcceptor.
	nonce  [32]byte
	dialer bool

	// Owned by the caller of the methods.
	self       *Identity // an acceptor's may become another with the HELLO
	state      State
	reject     Reject              // why Failed
	verdict    Verdict             // the acceptor's, from Established or Refused on
	peer       uint32              // the rank dialled or claimed, NoRank before
	window     uint64              // credit that the peer claims to grant
	session    Session             // what the peer claims of the streams
	beat       uint32              // milliseconds between the heartbeats that the peer claims to send
	foreign    bool                // the peer claims the other byte order
	param      uint8               // of the message being read, once its prefix is
	in         [maxMessageLen]byte // the message being read
	inLen      int                 // bytes of it that are here
	out        []byte              // not yet taken by Output
	transcript []byte              // every message so far, nil in a final state
}

// NewDialer returns the end of a handshake that connects to the rank `to`. Its HELLO is ready in
// Output.
//
// Preconditions:
//   - self has a secret, and self.Rank < self.Size.
//   - to < self.Size, and it is not self.Rank.
//   - nonce is fresh from a cryptographic random generator.
func NewDialer(self *Identity, to uint32, nonce [32]byte) *Handshake {
	self.check()
	if to >= self.Size || to == self.Rank {
		panic(fmt.Sprintf("wire: rank %d of %d dials rank %d", self.Rank, self.Size, to))
	}
	h := &Handshake{self: self, nonce: nonce, dialer: true, peer: to}
	hello := appendPrefix(nil, msgHello, orderOf(self.BigEndian))
	hello = append(hello, self.Job[:]...)
	h.say(appendClaim(hello, h.claim()))
	h.setState(StateAwaitChallenge)
	return h
}

// NewAcceptor returns the end of a handshake on a connection that a peer made to this rank.
//
// Preconditions: those of NewDialer on self and nonce.
func NewAcceptor(self *Identity, nonce [32]byte) *Handshake {
	self.check()
	h := &Handshake{self: self, nonce: nonce, peer: NoRank}
	h.setState(StateAwaitHello)
	return h
}

func (id *Identity) check() {
	if len(id.Secret) == 0 {
		panic("wire: a job without a secret would let any peer in")
	}
	if id.Rank >= id.Size {
		panic(fmt.Sprintf("wire: rank %d in a job of %d", id.Rank, id.Size))
	}
}

// Output returns the bytes to write now, nil for none, and forgets them. They belong to the caller.
func (h *Handshake) Output() []byte {
	b := h.out
	h.out = nil
	return b
}

// Input takes bytes that the peer sent and returns how many of them belonged to the handshake. The
// rest are frames, or mean nothing if r says so. r is not RejectNone exactly when the state is
// Failed: then the connection is to be closed without another word. Input takes nothing in Proven
// and in the final states. How a stream is cut into calls makes no difference.
func (h *Handshake) Input(b []byte) (n int, r Reject) {
	for {
		want := h.want()
		if want == 0 {
			return n, h.reject
		}
		c := copy(h.in[h.inLen:want], b[n:])
		n += c
		h.inLen += c
		if h.inLen < want {
			return n, RejectNone
		}
		h.read(h.in[:want])
	}
}

// want returns how many bytes must be in h.in before something can be said about them, 0 if none
// are read in this state. The prefix is checked alone, so that a peer that speaks another protocol,
// and may wait for an answer, is dropped at once.
func (h *Handshake) want() int {
	k := h.state.expects()
	if k != msgNone && h.inLen < prefixLen {
		return prefixLen
	}
	return k.len()
}

// read handles a prefix or a whole message.
func (h *Handshake) read(m []byte) {
	if len(m) == prefixLen {
		param, r := consumePrefix(m, h.state.expects())
		if r != RejectNone {
			h.fail(r)
			return
		}
		h.param = param
		return
	}
	h.inLen = 0
	var r Reject
	switch h.state {
	case StateAwaitHello:
		r = h.onHello(m)
	case StateAwaitChallenge:
		r = h.onChallenge(m)
	case StateAwaitProof:
		r = h.onProof(m)
	case StateAwaitVerdict:
		r = h.onVerdict(m)
	default:
		panic("wire: message read in state " + h.state.String())
	}
	if r != RejectNone {
		h.fail(r)
	}
}

// onHello answers a HELLO. Everything in it is a claim; a wrong one is dropped unanswered, which
// tells strangers nothing and spares the HMAC.
func (h *Handshake) onHello(m []byte) Reject {
	job, c := [jobLen]byte(m[prefixLen:]), consumeClaim(m[prefixLen+jobLen:])
	h.answerAs(job)
	switch {
	case job != h.self.Job:
		return RejectWrongJob
	case c.to != h.self.Rank:
		return RejectWrongRank
	case c.size != h.self.Size:
		return RejectWrongSize
	case c.from >= h.self.Size || c.from == h.self.Rank:
		return RejectStranger
	}
	if r := h.learn(&c); r != RejectNone {
		return r
	}
	h.peer = c.from
	h.transcript = append(h.transcript, m...)

	challenge := appendPrefix(nil, msgChallenge, orderOf(h.self.BigEndian))
	challenge = appendClaim(challenge, h.claim())
	h.say(append(challenge, h.proof(labelAcceptor, challenge)...))
	h.setState(StateAwaitProof)
	return RejectNone
}

// answerAs makes this side what it is in the job that a HELLO is for, if it has a part in it.
func (h *Handshake) answerAs(job [jobLen]byte) {
	if job == h.self.Job || h.self.Other == nil {
		return
	}
	if other := h.self.Other(job); other != nil {
		other.check()
		h.self = other
	}
}

// onChallenge answers a CHALLENGE. Its proof comes first: what a stranger claims is not even worth
// a reason.
func (h *Handshake) onChallenge(m []byte) Reject {
	claims := m[:challengeLen-proofLen]
	if !hmac.Equal(m[len(claims):], h.proof(labelAcceptor, claims)) {
		return RejectBadProof
	}
	c := consumeClaim(claims[prefixLen:])
	switch {
	case c.from != h.peer || c.to != h.self.Rank:
		return RejectWrongRank
	case c.size != h.self.Size:
		return RejectWrongSize
	}
	if r := h.learn(&c); r != RejectNone {
		return r
	}
	h.transcript = append(h.transcript, m...)

	proof := appendPrefix(nil, msgProof, 0)
	h.say(append(proof, h.proof(labelDialer, proof)...))
	h.setState(StateAwaitVerdict)
	return RejectNone
}

// onProof checks a PROOF. The byte order waited until here so that a genuine rank is told, and is
// believed, about it.
func (h *Handshake) onProof(m []byte) Reject {
	if !hmac.Equal(m[prefixLen:], h.proof(labelDialer, m[:prefixLen])) {
		return RejectBadProof
	}
	if h.param != 0 {
		return RejectBadMessage
	}
	h.transcript = append(h.transcript, m...)
	h.setState(StateProven)
	if h.foreign {
		h.Decide(VerdictByteOrder)
	}
	return RejectNone
}

// onVerdict believes a VERDICT only with its proof: a forged Duplicate would keep two ranks apart.
func (h *Handshake) onVerdict(m []byte) Reject {
	if !hmac.Equal(m[prefixLen:], h.proof(labelVerdict, m[:prefixLen])) {
		return RejectBadProof
	}
	v := Verdict(h.param)
	switch {
	case v > maxVerdict:
		return RejectBadMessage
	case v == VerdictAccept && h.foreign:
		return RejectByteOrder // the peer may be able to convert, this rank is not
	}
	h.conclude(v)
	return RejectNone
}

// Decide gives the acceptor's verdict on the peer, whose proof is in. It is ready in Output; after
// VerdictAccept frames may follow it at once.
//
// Preconditions:
//   - The state is StateProven.
//   - v is one of the named verdicts.
func (h *Handshake) Decide(v Verdict) {
	if h.state != StateProven || v > maxVerdict {
		panic("wire: verdict " + v.String() + " in state " + h.state.String())
	}
	verdict := appendPrefix(nil, msgVerdict, uint8(v))
	h.say(append(verdict, h.proof(labelVerdict, verdict)...))
	h.conclude(v)
}

// Abort gives the handshake up for a reason that it cannot see for itself, such as RejectTimeout.
// It does nothing in a final state.
//
// Preconditions:
//   - r is one of the named reasons and not RejectNone.
func (h *Handshake) Abort(r Reject) {
	if r == RejectNone || r > RejectLast {
		panic("wire: handshake aborted for " + r.String())
	}
	if !h.state.isFinal() {
		h.fail(r)
	}
}

// State returns where the handshake stands.
func (h *Handshake) State() State { return h.state }

// Reject returns why the handshake failed, RejectNone if it did not.
func (h *Handshake) Reject() Reject { return h.reject }

// Verdict returns the acceptor's verdict. It means something in StateEstablished and StateRefused.
func (h *Handshake) Verdict() Verdict { return h.verdict }

// Peer returns the rank of the peer: for a dialer the one it dials, for an acceptor the one that
// has proved itself, NoRank until then.
func (h *Handshake) Peer() uint32 {
	if h.dialer || h.state.isAuthenticated() {
		return h.peer
	}
	return NoRank
}

// PeerWindow returns the eager credit that the peer grants to this rank, in bytes; 0 until the peer
// has proved itself.
func (h *Handshake) PeerWindow() uint64 {
	if h.state.isAuthenticated() {
		return h.window
	}
	return 0
}

// PeerSession returns what the peer says of the streams of the pair; zero until it has proved
// itself.
func (h *Handshake) PeerSession() Session {
	if h.state.isAuthenticated() {
		return h.session
	}
	return Session{}
}

// PeerBeat returns how many milliseconds lie between the heartbeats that the peer promises, 0 if it
// promises none, or has not proved itself.
func (h *Handshake) PeerBeat() uint32 {
	if h.state.isAuthenticated() {
		return h.beat
	}
	return 0
}

// String is for logs and tests. The peer it names is the claimed one, proven or not.
func (h *Handshake) String() string {
	s := fmt.Sprintf("rank %d, peer ", h.self.Rank)
	if h.peer == NoRank {
		s += "unknown"
	} else {
		s += fmt.Sprint(h.peer)
	}
	s += ": " + h.state.String()
	switch h.state {
	case StateFailed:
		s += " (" + h.reject.String() + ")"
	case StateRefused:
		s += " (" + h.verdict.String() + ")"
	}
	return s
}

// claim returns what this side says of itself.
func (h *Handshake) claim() *claim {
	c := &claim{
		from: h.self.Rank, to: h.peer, size: h.self.Size, window: max(MinWindow, min(h.self.Window, MaxLength)),
		session: h.self.session(h.peer), beat: h.self.Beat, nonce: h.nonce,
	}
	if c.session.Resume {
		c.flags = claimResume
	}
	return c
}

// learn notes the peer's claims that HELLO and CHALLENGE share and checks their ranges. Both ends
// refuse the same ones.
func (h *Handshake) learn(c *claim) Reject {
	if c.flags&^claimFlags != 0 || c.window < MinWindow || c.window > MaxLength || h.param != orderLittle && h.param != orderBig {
		return RejectBadMessage
	}
	if c.session.Received > MaxStream || c.session.Received > 0 && !c.session.Resume {
		return RejectBadMessage
	}
	h.window, h.session, h.beat = c.window, c.session, c.beat
	h.foreign = h.param != orderOf(h.self.BigEndian)
	return RejectNone
}

// say queues a message of this side for Output and notes it.
func (h *Handshake) say(m []byte) {
	h.out = append(h.out, m...)
	h.transcript = append(h.transcript, m...)
}

// proof returns the HMAC over the label, the transcript and the part of the message at hand that
// stands before its proof.
func (h *Handshake) proof(label string, rest []byte) []byte {
	mac := hmac.New(sha256.New, h.self.Secret)
	mac.Write([]byte(label))
	mac.Write(h.transcript)
	mac.Write(rest)
	return mac.Sum(nil)
}

// conclude ends a handshake between two genuine sides.
func (h *Handshake) conclude(v Verdict) {
	h.verdict = v
	if v == VerdictAccept {
		h.setState(StateEstablished)
	} else {
		h.setState(StateRefused)
	}
}

func (h *Handshake) fail(r Reject) {
	h.reject = r
	h.setState(StateFailed)
}

// setState moves the handshake. In a final state it forgets what no proof will need; in Failed also
// what it wanted to say.
func (h *Handshake) setState(s State) {
	if h.state.isFinal() {
		panic("wire: handshake leaves " + h.state.String() + " for " + s.String())
	}
	h.state = s
	if s.isFinal() {
		h.transcript = nil
	}
	if s == StateFailed {
		h.out = nil
	}
}
