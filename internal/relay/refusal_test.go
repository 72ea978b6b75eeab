package relay

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestRefusal: what a gateway says arrives, however it is cut on the way, and is known to be its
// own word on this request.
func TestRefusal(t *testing.T) {
	request := AppendRequest(nil, sample(), key)
	for _, c := range []struct {
		reason string
		key    []byte // of the gateway
		want   Refusal
	}{
		{"no way to there", key, Refusal{"no way to there", true}},
		{"no way to there", nil, Refusal{"no way to there", false}},
		{"no way to there", bytes.Repeat([]byte{4}, 32), Refusal{"no way to there", false}},
		{"two\nlines, \x1b[31mred\xff", key, Refusal{"two; lines, \ufffd[31mred\ufffd", true}},
		{" \n", key, Refusal{"it does not say why", true}},
		{strings.Repeat("x", MaxReason-1) + "é and more", key, Refusal{strings.Repeat("x", MaxReason-1), true}},
	} {
		line := AppendRefusal(nil, request, c.reason, c.key)
		for n := range line {
			if r, more := ReadRefusal(line[:n], request, key); r.Reason != "" || !more {
				t.Fatalf("%q is %+v, %v", line[:n], r, more)
			}
		}
		if r, more := ReadRefusal(line, request, key); r != c.want || more {
			t.Errorf("%q is %+v, %v; want %+v", line, r, more, c.want)
		}
		if len(line) > maxRefusal {
			t.Errorf("%d bytes", len(line))
		}
	}
}

// TestRefusalOfAnother: a changed word, or the answer to another request, proves nothing.
func TestRefusalOfAnother(t *testing.T) {
	request := AppendRequest(nil, sample(), key)
	line := AppendRefusal(nil, request, "closed for today", key)
	for i := len(refusalMagic); i < len(line)-1; i++ {
		changed := bytes.Clone(line)
		changed[i] ^= 1
		if r, _ := ReadRefusal(changed, request, key); r.Proved {
			t.Errorf("byte %d was changed: %q", i, changed)
		}
	}
	other := sample()
	other.Nonce[0]++
	if r, _ := ReadRefusal(line, AppendRequest(nil, other, key), key); r.Proved || r.Reason != "closed for today" {
		t.Errorf("in answer to another request: %+v", r)
	}
}

// TestNoRefusal: what ranks say is theirs, and nothing is waited for that does not come to an end.
func TestNoRefusal(t *testing.T) {
	request := AppendRequest(nil, sample(), key)
	for _, answer := range []string{
		"FITM\x02\x00", "FITMP", "\x16\x03\x01", "220 mail.example.org ready\r\n", "FITMPI-RELAY 1 ", "FITMPI-REFUSED 2 ", "FITMPI-REFUSED 1 -\n", "FITMPI-REFUSED 1 - \n",
		refusalMagic + strings.Repeat("x", maxRefusal), refusalMagic + strings.Repeat("x", maxRefusal) + "\n",
	} {
		r, more := ReadRefusal([]byte(answer), request, key)
		if want := answer == "FITMP"; r != (Refusal{}) || more != want {
			t.Errorf("%q is %+v, %v", answer, r, more)
		}
	}
}

func FuzzReadRefusal(f *testing.F) {
	request := AppendRequest(nil, sample(), key)
	f.Add(AppendRefusal(nil, request, "no", key))
	f.Add(AppendRefusal(nil, request, "no", nil))
	f.Fuzz(func(t *testing.T, answer []byte) {
		r, more := ReadRefusal(answer, request, key)
		if more && (r != Refusal{} || len(answer) >= maxRefusal) || len(r.Reason) > MaxReason || !utf8.ValidString(r.Reason) || strings.ContainsAny(r.Reason, "\n\r\x1b\x00") {
			t.Errorf("%q is %+v, %v", answer, r, more)
		}
	})
}
