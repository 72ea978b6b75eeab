package httpguard

import (
	"bytes"
	"fmt"

	"github.com/fitmpi/fitmpi/internal/secure"
)

// ReadSecret reads the secret in a file by the rules of secure.ReadSecret. What clients are to give
// is text in a header, of which they and the protocol cut off blanks at the ends, so these do not
// count here either, and others than printable ASCII are an error.
func ReadSecret(file string) ([]byte, error) {
	b, err := secure.ReadSecret(file)
	if err != nil {
		return nil, err
	}
	b = bytes.TrimSpace(b)
	switch {
	case len(b) < secure.MinSecret:
		return nil, fmt.Errorf("secret file %s: it has %d bytes without blanks at the ends: need %d random bytes or more", file, len(b), secure.MinSecret)
	case bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' || r > '~' }):
		return nil, fmt.Errorf("secret file %s: it is to be given in a header of HTTP, so it must be printable ASCII: head -c 32 /dev/urandom | base64 makes such", file)
	}
	return b, nil
}
