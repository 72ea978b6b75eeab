// Package wire is what two ranks say to each other on a connection: the handshake that opens it and
// the header of every frame after it.
//
// Both are pure: bytes in, bytes out. The package does no input or output, keeps no clock, starts
// no goroutine and takes no lock, and it knows nothing of requests or matching. docs/PROTOCOL.md is
// the specification; what a frame means, and in which order frames may come, is there.
//
// # Frames
//
// [PutHeader] and [AppendHeader] write a [Header]; [ConsumeHeader] reads one and refuses what no
// sender may send. The codec sees one header at a time: that an id names a living request, or that
// a transfer stays inside its buffer, is for the caller to check. None of them allocates.
//
// # Handshake
//
// [NewDialer] and [NewAcceptor] make the two ends of a [Handshake]. The owner of the socket writes
// what [Handshake.Output] returns, feeds what it reads to [Handshake.Input], and looks at
// [Handshake.State]:
//
//	h := wire.NewAcceptor(self, nonce)
//	for h.State() == wire.StateAwaitHello || h.State() == wire.StateAwaitProof {
//		b := read()
//		n, r := h.Input(b)
//		if r != wire.RejectNone {
//			return drop(r)
//		}
//		unread(b[n:])
//		write(h.Output())
//	}
//	if h.State() == wire.StateProven {
//		h.Decide(wire.VerdictAccept)
//		write(h.Output())
//	}
//	// StateEstablished: what Input left of b are frames. StateRefused: Output is written, close.
//
// A Handshake is not safe for concurrent use. It holds at most one message of input and two of
// output, whatever the peer sends. It cannot know that the peer is slow; the caller has the clock
// and gives up with [Handshake.Abort].
//
// # Limits
//
// The handshake proves to each side that the other knows the secret of the job at that moment. The
// ranks of a job share it, and are trusted not to lie about their number. It does not protect what
// follows: an attacker that can alter packets of an established connection can alter frames.
// Networks where that is to be feared need TLS below this protocol.
package wire
