// Package relay is what a rank says to a gateway: the line that comes before everything else on a
// connection to a rank of another domain.
//
//	FITMPI-RELAY 1 <job, 32 hex digits> <domain> <address>[,<address>]... <nonce, 32 hex digits> <unix time> <mac, 64 hex digits>\n
//
// The addresses are those at which the rank listens in its domain, IP addresses with ports, the
// best first. The MAC is the HMAC-SHA256, keyed by the job's key at that gateway, of the line
// before it, the last blank included. So the gateway knows that a rank of the job asks, and to
// where it wants a connection. It knows too that the line was not recorded and sent again: it
// accepts a nonce once, and a time only within [MaxSkew] of its own. It connects to the first
// address that answers and then passes bytes on, in both directions. What follows is the handshake
// of the two ranks, of which the gateway knows no secret. What is no request at all it closes
// without a word. Where it refuses one, it answers by one line and closes:
//
//	FITMPI-REFUSED 1 <mac, 64 hex digits> <why, at most 512 bytes of printable text>\n
//
// The MAC is the HMAC-SHA256, keyed by the same key, of "FITMPI1 refused", a zero byte, the line of
// the request, its newline included, and the reason. In place of it there is a hyphen if the
// request was not proved. Either way it is for people to read: a rank goes on trying.
//
// The package is pure: no clock, no sockets. A gateway reads a line of at most [MaxLine] bytes, and
// then:
//
//	req, err := relay.ReadRequest(line)
//	key := keys[req.Job]                        // none: refuse
//	err = req.Verify(key, time.Now(), &seen)    // seen is shared by all connections, under a lock
//	... dial req.Targets, after asking whether this gateway may; else AppendRefusal
package relay
