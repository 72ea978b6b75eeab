package relay

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
)

const (
	refusalMagic = "FITMPI-REFUSED 1 "
	unproved     = "-" // stands for the MAC where the gateway holds no proof that the other end knows the key

	// MaxReason is the size in bytes of the longest reason of a refusal; a longer one is cut off.
	MaxReason = 512
	// maxRefusal is the size in bytes of the longest refusal, its newline included.
	maxRefusal = len(refusalMagic) + 2*sha256.Size + 1 + MaxReason + 1
)

// Refusal is why a gateway does not do what it was asked.
type Refusal struct {
	Reason string // one line of printable text, at most MaxReason bytes and never empty
	Proved bool   // the sender knows the job's key, and answers this very request
}

// AppendRefusal appends the line by which a gateway answers request, the line that it has read. key
// is the job's, if the request was proved by it; else nil: a peer that cannot prove anything is not
// given a proof either.
func AppendRefusal(b, request []byte, reason string, key []byte) []byte {
	if reason = Printable(reason); reason == "" {
		reason = "it does not say why"
	}
	b = append(b, refusalMagic...)
	if key == nil {
		b = append(b, unproved...)
	} else {
		b = hex.AppendEncode(b, refusalMAC(request, reason, key))
	}
	return append(append(append(b, ' '), reason...), '\n')
}

// refusalMAC is of nothing that a request could be.
func refusalMAC(request []byte, reason string, key []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("FITMPI1 refused\x00")) // a hash never fails
	m.Write(bytes.TrimSuffix(request, []byte("\n")))
	m.Write([]byte("\n" + reason))
	return m.Sum(nil)
}

// ReadRefusal reads what has come in answer to request, which was made with key. If that is a
// refusal, it has a Reason; more says that it may be one, and is not whole yet. Otherwise it is
// what the rank behind the gateway says.
func ReadRefusal(answer, request, key []byte) (r Refusal, more bool) {
	head := min(len(answer), len(refusalMagic))
	if string(answer[:head]) != refusalMagic[:head] || head == 0 {
		return r, head == 0
	}
	line, _, whole := bytes.Cut(answer, []byte("\n"))
	if !whole {
		return r, len(answer) < maxRefusal
	}
	mac, reason, ok := strings.Cut(string(line[head:]), " ")
	if !ok || len(line) >= maxRefusal {
		return r, false
	}
	if r.Reason = Printable(reason); r.Reason == "" {
		return r, false
	}
	sum, err := hex.DecodeString(mac)
	r.Proved = err == nil && hmac.Equal(sum, refusalMAC(request, reason, key))
	return r, false
}

// Printable makes one line of text that a stranger may have written: what cannot be shown becomes
// U+FFFD, lines are joined by semicolons, and what is beyond MaxReason bytes is cut off.
func Printable(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
	text = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, text)
	if len(text) > MaxReason { // half a character at the end would not be printable
		text = strings.ToValidUTF8(text[:MaxReason], "")
	}
	return text
}
