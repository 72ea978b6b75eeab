package relay

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

const (
	magicWord = "FITMPI-RELAY "
	magic     = magicWord + version + " "
	version   = "1"

	// MaxLine is the size in bytes of the longest request, its newline included.
	MaxLine = 4 << 10
	// MaxTargets is the number of addresses that a request names at most; AppendRequest leaves out
	// more.
	MaxTargets = 32
	// MaxSkew is how far the clocks of a rank and a gateway may differ.
	MaxSkew = 5 * time.Minute
	// MaxDomain is the size in bytes of the longest name of a domain.
	MaxDomain = 64

	fields = 6 // behind magic
)

// Request asks a gateway for a connection.
type Request struct {
	Job     [16]byte
	Domain  string           // of the rank that is to be reached; letters, digits, hyphens, dots and underscores
	Targets []netip.AddrPort // where it listens there, the best first
	Nonce   [16]byte         // fresh random bytes
	Time    int64            // Unix time of the rank

	signed []byte   // of a request that was read: what the MAC is of
	mac    [32]byte // of a request that was read
}

// NewRequest is a request of now, with a fresh nonce.
func NewRequest(job [16]byte, domain string, targets []netip.AddrPort, now time.Time) *Request {
	r := &Request{Job: job, Domain: domain, Targets: targets, Time: now.Unix()}
	rand.Read(r.Nonce[:]) // never fails: it ends the program instead
	return r
}

// AppendRequest appends the line that asks for r, proved by key.
//
// Preconditions:
//   - r has a domain of the allowed characters, and at least one target.
func AppendRequest(b []byte, r *Request, key []byte) []byte {
	start := len(b)
	b = append(b, magic...)
	b = append(hex.AppendEncode(b, r.Job[:]), ' ')
	b = append(append(b, r.Domain...), ' ')
	for i, t := range r.Targets[:min(len(r.Targets), MaxTargets)] {
		if i > 0 {
			b = append(b, ',')
		}
		b = t.AppendTo(b)
	}
	b = append(hex.AppendEncode(append(b, ' '), r.Nonce[:]), ' ')
	b = append(strconv.AppendInt(b, r.Time, 10), ' ')
	return append(hex.AppendEncode(b, macOf(b[start:], key)), '\n')
}

func macOf(signed, key []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(signed)
	return m.Sum(nil)
}

// ErrNotProved is the error of Request.Verify for a sender that does not know the key. No other
// error says that.
var ErrNotProved = errors.New("relay: the request is not proved by the key of its job: give fitrun and all gateways the same --secret-file")

var errSyntax = errors.New("relay: this is no request to a gateway")

// ReadRequest reads a line, with or without its newline. Nothing in it is proved before Verify.
func ReadRequest(line []byte) (*Request, error) {
	text := strings.TrimSuffix(string(line), "\n")
	rest, ok := strings.CutPrefix(text, magicWord)
	itsVersion, rest, _ := strings.Cut(rest, " ")
	switch {
	case !ok:
		return nil, errSyntax
	case itsVersion != version:
		return nil, fmt.Errorf("relay: a request of version %.20q, want %q: use ranks and gateways of one FitMPI version", itsVersion, version)
	case len(line) > MaxLine:
		return nil, fmt.Errorf("%w: it has %d bytes, and %d are allowed", errSyntax, len(line), MaxLine)
	}
	f := strings.Split(rest, " ")
	if len(f) != fields {
		return nil, fmt.Errorf("%w: it has %d fields, want %d", errSyntax, len(f), fields)
	}
	r := &Request{Domain: f[1], signed: []byte(text[:len(text)-len(f[5])])}
	var err error
	if r.Targets, err = readTargets(f[2]); err != nil {
		return nil, err
	}
	if err := CheckDomain(r.Domain); err != nil {
		return nil, fmt.Errorf("%w: %w", errSyntax, err)
	}
	if r.Time, err = strconv.ParseInt(f[4], 10, 64); err != nil {
		return nil, fmt.Errorf("%w: its time %.30q is no number of seconds", errSyntax, f[4])
	}
	for _, c := range []struct {
		to   []byte
		s    string
		what string
	}{{r.Job[:], f[0], "job"}, {r.Nonce[:], f[3], "nonce"}, {r.mac[:], f[5], "proof"}} {
		if !readHex(c.to, c.s) {
			return nil, fmt.Errorf("%w: its %s %.80q is not %d hexadecimal digits", errSyntax, c.what, c.s, hex.EncodedLen(len(c.to)))
		}
	}
	return r, nil
}

// readHex fills b.
func readHex(b []byte, s string) bool {
	if len(s) != hex.EncodedLen(len(b)) {
		return false
	}
	_, err := hex.Decode(b, []byte(s))
	return err == nil
}

func readTargets(s string) ([]netip.AddrPort, error) {
	if n := strings.Count(s, ",") + 1; n > MaxTargets {
		return nil, fmt.Errorf("%w: it names %d addresses, and %d are allowed", errSyntax, n, MaxTargets)
	}
	var ts []netip.AddrPort
	for part := range strings.SplitSeq(s, ",") {
		t, err := netip.ParseAddrPort(part)
		if err != nil || t.Port() == 0 {
			return nil, fmt.Errorf("%w: %q is no address with a port", errSyntax, part)
		}
		ts = append(ts, t)
	}
	return ts, nil
}

// Verify checks a request that ReadRequest returned: whether it was made with key, not long before
// or after now, and is not in seen, where it is noted if it is good.
func (r *Request) Verify(key []byte, now time.Time, seen *Seen) error {
	if len(key) == 0 || !hmac.Equal(r.mac[:], macOf(r.signed, key)) {
		return ErrNotProved
	}
	if d := now.Unix() - r.Time; d > int64(MaxSkew/time.Second) || d < -int64(MaxSkew/time.Second) {
		when := fmt.Sprintf("is %d s old", d)
		if d < 0 {
			when = fmt.Sprintf("comes from %d s ahead", -d)
		}
		return fmt.Errorf("relay: the request %s: the clocks of the two hosts may differ by %v, so set them", when, MaxSkew)
	}
	if !seen.add(nonceOf{r.Job, r.Nonce}, r.Time, now.Unix()) {
		return errors.New("relay: the request was made before: it is a recording")
	}
	return nil
}

// nonceOf is a nonce of a job.
type nonceOf struct {
	job   [16]byte
	nonce [16]byte
}

// Seen remembers requests for as long as they would be good. The zero value is empty. It is not
// safe for concurrent use.
type Seen struct {
	when  map[nonceOf]int64 // the time in the request
	sweep int64             // when those too old are forgotten next
}

func (s *Seen) add(n nonceOf, when, now int64) bool {
	const skew = int64(MaxSkew / time.Second)
	if s.when == nil {
		s.when = make(map[nonceOf]int64)
	}
	if now >= s.sweep {
		for k, t := range s.when {
			if now-t > skew {
				delete(s.when, k)
			}
		}
		s.sweep = now + skew/4
	}
	if _, ok := s.when[n]; ok {
		return false
	}
	s.when[n] = when
	return true
}

// Len is the number of requests remembered.
func (s *Seen) Len() int { return len(s.when) }
