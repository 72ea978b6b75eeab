package relay

import (
	"crypto/hmac"
	"crypto/sha256"
)

// JobKey is the key of a job at the gateways that know secret: HMAC-SHA256, keyed by the secret, of "FITMPI1 relay", a zero byte
// and the job's id. Whoever starts a job knows the secret and tells its ranks their key, from which the secret does not follow.
func JobKey(secret []byte, job [16]byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("FITMPI1 relay\x00")) // a hash never fails
	m.Write(job[:])
	return m.Sum(nil)
}

// IsDomain reports whether s may name a domain: 1 to 64 letters, digits, hyphens, dots and underscores.
func IsDomain(s string) bool { return isDomain(s) }
