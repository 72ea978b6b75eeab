package relay

import (
	"bytes"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

var (
	now = time.Unix(1_800_000_000, 0)
	key = bytes.Repeat([]byte{3}, 32)
)

func sample() *Request {
	r := NewRequest([16]byte{1, 2}, "b.x", []netip.AddrPort{netip.MustParseAddrPort("10.0.0.7:4000"), netip.MustParseAddrPort("[fd00::7]:4001")}, now)
	r.Nonce = [16]byte{9}
	return r
}

func TestRequest(t *testing.T) {
	line := AppendRequest(nil, sample(), key)
	const want = "FITMPI-RELAY 1 01020000000000000000000000000000 b.x 10.0.0.7:4000,[fd00::7]:4001 09000000000000000000000000000000 1800000000 "
	if !strings.HasPrefix(string(line), want) || len(line) != len(want)+65 {
		t.Fatalf("the line is %q", line)
	}
	got, err := ReadRequest(line)
	if err != nil {
		t.Fatal(err)
	}
	var seen Seen
	if err := got.Verify(key, now.Add(MaxSkew), &seen); err != nil {
		t.Error(err)
	}
	if got.signed, got.mac = nil, [32]byte{}; !reflect.DeepEqual(got, sample()) {
		t.Errorf("read %+v", got)
	}
}

// TestVerifyRefuses: another key, a changed byte, another time, a recording.
func TestVerifyRefuses(t *testing.T) {
	line := AppendRequest(nil, sample(), key)
	verify := func(line, key []byte, at time.Time, seen *Seen) error {
		r, err := ReadRequest(line)
		if err != nil {
			return err
		}
		return r.Verify(key, at, seen)
	}
	for i := range len(line) - 1 {
		changed := bytes.Clone(line)
		changed[i] ^= 1
		if err := verify(changed, key, now, new(Seen)); err == nil {
			t.Errorf("byte %d was changed, %q to %q", i, line[i], changed[i])
		}
	}
	for _, test := range []struct {
		key  []byte
		at   time.Time
		says string
	}{
		{nil, now, "relay: the request is not proved by the key of its job: give fitrun and all gateways the same --secret-file"},
		{key[:31], now, "relay: the request is not proved by the key of its job: give fitrun and all gateways the same --secret-file"},
		{key, now.Add(MaxSkew + time.Second), "relay: the request is 301 s old: the clocks of the two hosts may differ by 5m0s, so set them"},
		{key, now.Add(-MaxSkew - time.Second), "relay: the request comes from 301 s ahead: the clocks of the two hosts may differ by 5m0s, so set them"},
	} {
		if err := verify(line, test.key, test.at, new(Seen)); err == nil || err.Error() != test.says {
			t.Errorf("%v, want %s", err, test.says)
		}
	}
	var seen Seen
	if err := verify(line, key, now, &seen); err != nil {
		t.Fatal(err)
	}
	if err := verify(line, key, now.Add(time.Minute), &seen); err == nil || err.Error() != "relay: the request was made before: it is a recording" {
		t.Errorf("a recording: %v", err)
	}
}

// TestSeenForgets: what would be refused for its age is not remembered, and what would not is.
func TestSeenForgets(t *testing.T) {
	var seen Seen
	for i := range 1000 {
		at := now.Add(time.Duration(i) * time.Second)
		r, err := ReadRequest(AppendRequest(nil, NewRequest([16]byte{}, "d", sample().Targets, at), key))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Verify(key, at, &seen); err != nil {
			t.Fatal(err)
		}
		if r.Verify(key, at.Add(MaxSkew), &seen) == nil {
			t.Fatal("forgotten too early")
		}
	}
	if n := seen.Len(); n > 800 {
		t.Errorf("%d are remembered", n)
	}
}

func TestReadRefuses(t *testing.T) {
	good := string(AppendRequest(nil, sample(), key))
	swap := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for _, c := range []struct{ line, want string }{
		{"", ""}, {"\n", ""}, {"GET / HTTP/1.1", ""}, {strings.TrimSpace(magic), ": it has 1 fields, want 6"},
		{magic, ": it has 1 fields, want 6"},
		{swap(" b.x ", " "), ": it has 5 fields, want 6"},
		{strings.TrimSuffix(good, "\n") + " \n", ": it has 7 fields, want 6"},
		{good + strings.Repeat(" ", MaxLine), ": it has 4286 bytes, and 4096 are allowed"},
		{swap(" b.x ", "  "), `: domain "": want 1 to 64 letters, digits, hyphens, dots or underscores`},
		{swap("b.x", "b/x"), `: domain "b/x": want 1 to 64 letters, digits, hyphens, dots or underscores`},
		{swap("b.x", strings.Repeat("b", 65)), `: domain "` + strings.Repeat("b", 65) + `": want 1 to 64 letters, digits, hyphens, dots or underscores`},
		{swap("10.0.0.7:4000", "there:4000"), `: "there:4000" is no address with a port`},
		{swap("10.0.0.7:4000", ""), `: "" is no address with a port`},
		{swap(":4000", ":0"), `: "10.0.0.7:0" is no address with a port`},
		{swap("10.0.0.7:4000", strings.Repeat("1.1.1.1:1,", MaxTargets)+"1.1.1.1:1"), ": it names 34 addresses, and 32 are allowed"},
		{swap("0102", "010"), `: its job "0100000000000000000000000000000" is not 32 hexadecimal digits`},
		{swap("0102", "01x2"), `: its job "01x20000000000000000000000000000" is not 32 hexadecimal digits`},
		{swap(" 09", " 9"), `: its nonce "9000000000000000000000000000000" is not 32 hexadecimal digits`},
		{swap("1800000000", "soon"), `: its time "soon" is no number of seconds`},
		{good[:len(good)-60], `: its proof "` + good[len(good)-65:len(good)-60] + `" is not 64 hexadecimal digits`},
	} {
		if r, err := ReadRequest([]byte(c.line)); err == nil || err.Error() != "relay: this is no request to a gateway"+c.want {
			t.Errorf("%.150q is %+v: %v, want\n%s", c.line, r, err, c.want)
		}
	}
	const older = `relay: a request of version "2", want "1": use ranks and gateways of one FitMPI version`
	if _, err := ReadRequest([]byte(swap("RELAY 1", "RELAY 2"))); err == nil || err.Error() != older {
		t.Errorf("%v, want %s", err, older)
	}
}

// The longest request fits MaxLine.
func TestLongest(t *testing.T) {
	r := sample()
	r.Domain, r.Targets = strings.Repeat("d", MaxDomain), nil
	for range MaxTargets + 5 {
		r.Targets = append(r.Targets, netip.MustParseAddrPort("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%averylongname00]:65535"))
	}
	line := AppendRequest(nil, r, key)
	if got, err := ReadRequest(line); err != nil || len(got.Targets) != MaxTargets {
		t.Errorf("%d bytes: %v", len(line), err)
	}
}

func FuzzReadRequest(f *testing.F) {
	f.Add(AppendRequest(nil, sample(), key))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ReadRequest(line)
		if err != nil {
			return
		}
		if err := r.Verify(key, time.Unix(r.Time, 0), new(Seen)); err != nil {
			return
		}
		again, err := ReadRequest(AppendRequest(nil, r, key))
		if err != nil {
			t.Fatal(err)
		}
		again.signed, r.signed = nil, nil
		if !reflect.DeepEqual(r.Targets, again.Targets) || r.Job != again.Job || r.Domain != again.Domain || r.Nonce != again.Nonce || r.Time != again.Time {
			t.Errorf("%+v became %+v", r, again)
		}
	})
}

func TestCheckDomain(t *testing.T) {
	for _, good := range []string{"a", "Az-09._", strings.Repeat("d", MaxDomain)} {
		if err := CheckDomain(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "a b", "a:b", "\xff", "ä", strings.Repeat("d", MaxDomain+1)} {
		if err := CheckDomain(bad); err == nil || !strings.HasSuffix(err.Error(), ": want 1 to 64 letters, digits, hyphens, dots or underscores") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
