// Package secure makes an encrypted connection between two processes that know the same secret.
//
// It is what FitMPI uses wherever its own processes talk over a network before the ranks do: ranks
// that meet at rank 0's address under launchers that exchange nothing, and the parts of the
// launcher on several hosts.
//
//	secret, err := secure.ReadSecret(os.Getenv("FITMPI_SECRET_FILE"))
//	conn, err := secure.Client(tcp, secret, "rendezvous") // at one end
//	conn, err := secure.Server(tcp, secret, "rendezvous") // at the other
//
// There are no certificates to hand out. The ends speak TLS 1.3 with a certificate that the server
// makes for this one connection, and that neither end verifies. TLS gives secrecy against
// eavesdroppers, and a value that only these two ends of this very connection can compute (RFC
// 5705; RFC 9266 calls the idea channel binding). Each end then proves by an HMAC over that value
// that it knows the secret. A process that sits between the two, with a TLS connection to each, has
// two different values, so it can pass on neither proof.
//
//	client                                     server
//	  | <========== TLS 1.3 handshake ==========> |
//	  | ---- HMAC(secret, "client" ...) --------> |  wrong: closes
//	  | <--- HMAC(secret, "server" ...) --------- |  wrong: closes
//	  | <============= application =============> |
//
// A proof is HMAC-SHA256, keyed by the secret. It is over the label "FITMPI1 secure client" or
// "FITMPI1 secure server", a zero byte, the role, a zero byte, and 32 bytes exported from the TLS
// connection with the label "EXPORTER-FITMPI1-secure" and no context. The labels differ, so a proof
// cannot be reflected; the role is what the connection is for, so one cannot be used for another
// purpose of the same secret. Proofs are compared in constant time.
//
// The client proves first: a server says nothing that a stranger could use to guess the secret. A
// false server learns a proof that it could use so, which is why a secret has MinSecret bytes at
// least and must be random, not a password.
//
// All of it takes at most Timeout. All functions are safe for concurrent use; of a connection, what
// [net.Conn] promises holds after Client or Server has returned it.
package secure
