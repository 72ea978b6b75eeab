package relay

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"
)

// JobKey is the key of a job at the gateways that know secret: HMAC-SHA256, keyed by the secret, of
// "FITMPI1 relay", a zero byte and the job's id. The process that starts a job knows the secret and
// tells the job's ranks their key. The secret does not follow from the key.
func JobKey(secret []byte, job [16]byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("FITMPI1 relay\x00")) // a hash never fails
	m.Write(job[:])
	return m.Sum(nil)
}

// CheckDomain says what is wrong with s as the name of a domain: 1 to 64 letters, digits, hyphens,
// dots and underscores.
func CheckDomain(s string) error {
	isOdd := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
	}
	if s == "" || len(s) > MaxDomain || strings.ContainsFunc(s, isOdd) {
		return fmt.Errorf("domain %.80q: want 1 to %d letters, digits, hyphens, dots or underscores", s, MaxDomain)
	}
	return nil
}
