// Package jobtls encrypts the connections between the ranks of a job. It is TLS 1.3 for a caller
// that moves bytes by nonblocking sockets of its own.
//
// An [Identity] is a rank's; it needs nothing but the job's secret. From that every rank derives
// the same certificate authority: an Ed25519 key made by HKDF-SHA256 of the secret and the job's
// id. With it the rank signs its own certificate, for a key of its own that it forgets at the end.
// A certificate says the job and the rank. Both sides of a connection verify the other's, so each
// knows at the end that it speaks to a rank of the job; the dialer also that it is the rank that it
// meant. Ranks trust one another not to lie about their number, as in the handshake that then goes
// on inside (engine/internal/wire).
//
// # Use
//
// A [Conn] has no socket. What has been read from one goes in by [Conn.Feed], what is to be written
// comes out by [Conn.Flush]:
//
//	c := id.Dial(3, nil, run, wake)
//	... socket readable: c.Feed(b); socket writable, or wake was called: c.Flush(socket.Write)
//	... wake was called: c.Ready() or c.Err()
//	n, err := c.Read(p)                  // ErrAgain: feed more
//	n, err := c.Send(bufs, socket.Write) // ErrAgain: the socket is full
//
// The handshake runs in a goroutine, which waits for what Feed brings: its arithmetic takes a
// millisecond, which is too long for a goroutine that drives sockets. The goroutine ends by Close
// at the latest. When the handshake is over there is no goroutine, and nothing blocks.
//
// # Concurrency
//
// A Conn has one owner at a time, which calls its methods. The goroutine of the handshake calls
// wake, with no lock held; wake must not call Close and wait.
//
// # Limits
//
// Keys are never updated by this side: AES-GCM allows some 2^24 records of one key by the usual
// reckoning, a quarter of a terabyte each way, before the chance of an attacker grows beyond 2^-57.
package jobtls
