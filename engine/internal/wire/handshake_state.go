package wire

import "fmt"

// A State is where a Handshake stands.
//
//	dialer     AwaitChallenge --CHALLENGE/PROOF--> AwaitVerdict --VERDICT--> Established or Refused
//
//	acceptor   AwaitHello --HELLO/CHALLENGE--> AwaitProof --PROOF--> Proven --Decide/VERDICT--> Established or Refused
//
// From every state but Established and Refused a broken message, or Abort, leads to Failed.
type State uint8

const (
	// StateAwaitChallenge: a dialer that has said HELLO and knows nothing of the peer. A proven
	// CHALLENGE moves it on.
	StateAwaitChallenge State = iota + 1
	// StateAwaitVerdict: a dialer that knows its peer for genuine and has given its own proof. A
	// proven VERDICT moves it on.
	StateAwaitVerdict
	// StateAwaitHello: an acceptor that knows nothing. A HELLO meant for this rank moves it on.
	StateAwaitHello
	// StateAwaitProof: an acceptor that has a claim and has answered it. A valid PROOF moves it on.
	StateAwaitProof
	// StateProven: an acceptor that knows its peer for genuine. It reads nothing more; Decide moves
	// it on.
	StateProven
	// StateEstablished: both sides are genuine and the acceptor accepts; what follows on the
	// connection are frames. Final.
	StateEstablished
	// StateRefused: the acceptor gave another Verdict. Both sides close once Output is written.
	// Final.
	StateRefused
	// StateFailed: there is no telling what the peer is. Close without another word. Final.
	StateFailed
)

var stateNames = [...]string{
	StateAwaitChallenge: "await-challenge", StateAwaitVerdict: "await-verdict", StateAwaitHello: "await-hello", StateAwaitProof: "await-proof",
	StateProven: "proven", StateEstablished: "established", StateRefused: "refused", StateFailed: "failed",
}

func (s State) String() string {
	if int(s) < len(stateNames) && s != 0 {
		return stateNames[s]
	}
	return fmt.Sprintf("wire.State(%d)", uint8(s))
}

// expects returns the message that a handshake in state s reads, msgNone if it reads none.
func (s State) expects() msgKind {
	switch s {
	case StateAwaitHello:
		return msgHello
	case StateAwaitChallenge:
		return msgChallenge
	case StateAwaitProof:
		return msgProof
	case StateAwaitVerdict:
		return msgVerdict
	case StateProven, StateEstablished, StateRefused, StateFailed:
		return msgNone
	default:
		panic("wire: handshake in unknown state " + s.String())
	}
}

// isFinal says that nothing moves a handshake out of s.
func (s State) isFinal() bool {
	return s == StateEstablished || s == StateRefused || s == StateFailed
}

// isAuthenticated says that a handshake in state s has seen the peer's proof, and no later message
// that breaks it.
func (s State) isAuthenticated() bool {
	return s == StateAwaitVerdict || s == StateProven || s == StateEstablished || s == StateRefused
}

// A Verdict is an acceptor's answer to a peer that has proved itself.
type Verdict uint8

const (
	// VerdictAccept opens the connection to frames.
	VerdictAccept Verdict = iota
	// VerdictDuplicate: the acceptor's own dial, or a connection that stands already, is used in
	// place of this one. The dialer closes its socket and waits for the other connection.
	VerdictDuplicate
	// VerdictClosed: the acceptor takes part in nothing more with this rank: it is finalizing, or
	// holds the rank to have failed.
	VerdictClosed
	// VerdictByteOrder: the two sides mean to use different byte orders for the payloads of the
	// job. Handshake gives this verdict by itself.
	VerdictByteOrder

	maxVerdict = VerdictByteOrder
)

var verdictNames = [...]string{VerdictAccept: "accept", VerdictDuplicate: "duplicate", VerdictClosed: "closed", VerdictByteOrder: "byte-order"}

// String returns the name of the verdict, fit for a metric label.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return fmt.Sprintf("wire.Verdict(%d)", uint8(v))
}

// A Reject is the reason for which a handshake failed.
type Reject uint8

const (
	RejectNone       Reject = iota
	RejectBadMagic          // not this protocol at all: a port scanner, a browser
	RejectBadVersion        // another version of this protocol
	RejectBadMessage        // a message out of turn, or a field outside its range
	RejectWrongJob          // a rank of another job
	RejectWrongRank         // meant for another rank than this one
	RejectWrongSize         // another idea of how many ranks the job has
	RejectStranger          // claims a rank that the job does not have, or this very rank
	RejectBadProof          // does not know the job's secret, or repeats what it overheard
	RejectByteOrder         // genuine, but its payloads have the other byte order
	RejectTimeout           // too slow: given to Abort by the owner of the clock
	RejectHangup            // closed early: given to Abort by the owner of the socket
	RejectPlain             // does not use TLS where this rank does: counted by the socket's owner
	RejectEncrypted         // uses TLS where this rank does not: likewise
	RejectCrowded           // gave way to another, when too many had proved nothing: likewise

	// RejectLast is the last of the reasons.
	RejectLast = RejectCrowded
)

var rejectNames = [...]string{
	RejectNone: "none", RejectBadMagic: "bad-magic", RejectBadVersion: "bad-version", RejectBadMessage: "bad-message", RejectWrongJob: "wrong-job",
	RejectWrongRank: "wrong-rank", RejectWrongSize: "wrong-size", RejectStranger: "stranger", RejectBadProof: "bad-proof",
	RejectByteOrder: "byte-order", RejectTimeout: "timeout", RejectHangup: "hangup",
	RejectPlain: "plain", RejectEncrypted: "encrypted", RejectCrowded: "crowded",
}

// String returns the name of the reason, fit for a metric label.
func (r Reject) String() string {
	if int(r) < len(rejectNames) {
		return rejectNames[r]
	}
	return fmt.Sprintf("wire.Reject(%d)", uint8(r))
}

var rejectTexts = [...]string{
	RejectNone:       "not rejected",
	RejectBadMagic:   "not a FitMPI rank: the bytes are of another protocol",
	RejectBadVersion: "speaks another version of the protocol: all ranks of a job must be built with compatible releases",
	RejectBadMessage: "broken handshake: a message out of turn or with a field outside its range",
	RejectWrongJob:   "belongs to another job",
	RejectWrongRank:  "looked for another rank at this address",
	RejectWrongSize:  "believes in another number of ranks",
	RejectStranger:   "claims a rank that is none of this rank's peers",
	RejectBadProof:   "did not prove that it knows the secret of the job",
	RejectByteOrder:  "sends payloads of the other byte order: the ranks disagree on which ranks are in the job",
	RejectTimeout:    "did not finish the handshake in time",
	RejectHangup:     "closed the connection before the handshake was finished",
	RejectPlain:      "does not use TLS, and this rank does: every rank needs the same FITMPI_TLS",
	RejectEncrypted:  "uses TLS, and this rank does not: every rank needs the same FITMPI_TLS",
	RejectCrowded:    "had proved nothing when there were too many like it",
}

// Text returns a sentence about the peer, without its subject, for logs and error messages.
func (r Reject) Text() string {
	if int(r) < len(rejectTexts) {
		return rejectTexts[r]
	}
	return r.String()
}
