//go:build linux && !fitmpi_portable

package netlab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// askWith is Go's resolver, which asks this server by one protocol, or by both as it likes.
func askWith(d *DNS, network string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, asked, _ string) (net.Conn, error) {
		if network != "" {
			asked = network
		}
		return new(net.Dialer).DialContext(ctx, asked, d.udp.LocalAddr().String())
	}}
}

func newDNS(t *testing.T) *DNS {
	t.Helper()
	d, err := listenDNS("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	return d
}

func TestDNS(t *testing.T) {
	d := newDNS(t)
	d.Publish(t, "job-0.ring.default.svc.cluster.local", "10.0.0.1", "fd00::1")
	d.Publish(t, "six.cluster.local.", "fd00::6")
	for _, network := range []string{"udp", "tcp"} {
		for _, c := range []struct {
			family, name string
			want         []string
			isNone       bool
		}{
			{family: "ip", name: "job-0.ring.default.svc.cluster.local.", want: []string{"10.0.0.1", "fd00::1"}},
			{family: "ip4", name: "JOB-0.ring.Default.svc.cluster.local.", want: []string{"10.0.0.1"}},
			{family: "ip6", name: "job-0.ring.default.svc.cluster.local.", want: []string{"fd00::1"}},
			{family: "ip", name: "six.cluster.local.", want: []string{"fd00::6"}},
			{family: "ip4", name: "six.cluster.local.", isNone: true},
			{family: "ip", name: "job-1.ring.default.svc.cluster.local.", isNone: true},
			{family: "ip", name: "cluster.local.", isNone: true},
		} {
			got, err := askWith(d, network).LookupNetIP(t.Context(), c.family, c.name)
			var texts []string
			for _, a := range got {
				texts = append(texts, a.String())
			}
			slices.Sort(texts)
			e, isDNS := errors.AsType[*net.DNSError](err)
			if !slices.Equal(texts, c.want) || c.isNone != (isDNS && e.IsNotFound) || !c.isNone && err != nil {
				t.Errorf("%s of %s by %s: %q, %v", c.family, c.name, network, texts, err)
			}
		}
	}
}

// A name is not there until it is published, and then has the addresses of the last time.
func TestDNSPublish(t *testing.T) {
	d := newDNS(t)
	const name = "late.cluster.local."
	for _, want := range [][]string{nil, {"10.0.0.2"}, {"10.0.0.3"}} {
		if want != nil {
			d.Publish(t, name, want...)
		}
		got, err := askWith(d, "").LookupHost(t.Context(), name)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if n := d.Asked(name); n < 3 {
		t.Errorf("asked %d times, want 3 or more", n)
	}
}

// An answer that is too long for UDP comes by TCP.
func TestDNSTruncated(t *testing.T) {
	d := newDNS(t)
	var all []string
	for i := range 200 {
		all = append(all, fmt.Sprintf("10.0.1.%d", i))
	}
	d.Publish(t, "ring.cluster.local", all...)
	got, err := askWith(d, "").LookupHost(t.Context(), "ring.cluster.local.")
	if err != nil || len(got) != len(all) {
		t.Errorf("%d addresses, %v, want %d", len(got), err, len(all))
	}
	if _, err := askWith(d, "udp").LookupHost(t.Context(), "ring.cluster.local."); err == nil {
		t.Error("all of it came by UDP")
	}
}

func TestDNSMute(t *testing.T) {
	d := newDNS(t)
	d.Publish(t, "mute.cluster.local", "10.0.0.1")
	d.Mute("mute.cluster.local")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // ends with the test
		for d.Asked("mute.cluster.local") == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		time.AfterFunc(50*time.Millisecond, cancel)
	}()
	r := askWith(d, "udp")
	dial := r.Dial
	r.Dial = func(dialCtx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(dialCtx, network, address)
		if err == nil { // a lookup whose context ends waits for an answer all the same
			context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
		}
		return conn, err
	}
	if got, err := r.LookupHost(ctx, "mute.cluster.local."); err == nil {
		t.Errorf("%q, although it says nothing", got)
	}
	if d.Asked("mute.cluster.local") == 0 {
		t.Error("it was not asked")
	}
}

// What is no question has no answer, or one that says so.
func TestDNSStrange(t *testing.T) {
	d := newDNS(t)
	pack := func(m dnsmessage.Message) []byte { return packed(m) }
	name := dnsmessage.MustNewName("a.cluster.local.")
	chaos := dnsmessage.Question{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassCHAOS}
	mail := dnsmessage.Question{Name: name, Type: dnsmessage.TypeMX, Class: dnsmessage.ClassINET}
	d.Publish(t, name.String(), "10.0.0.1")
	for what, c := range map[string]struct {
		question []byte
		code     dnsmessage.RCode
		isMute   bool
	}{
		"nothing":      {question: nil, isMute: true},
		"short":        {question: []byte{1, 2, 3}, isMute: true},
		"an answer":    {question: pack(dnsmessage.Message{Header: dnsmessage.Header{ID: 7, Response: true}}), isMute: true},
		"no question":  {question: pack(dnsmessage.Message{Header: dnsmessage.Header{ID: 7}}), code: dnsmessage.RCodeFormatError},
		"of chaos":     {question: pack(dnsmessage.Message{Header: dnsmessage.Header{ID: 7}, Questions: []dnsmessage.Question{chaos}}), code: dnsmessage.RCodeNotImplemented},
		"another type": {question: pack(dnsmessage.Message{Header: dnsmessage.Header{ID: 7}, Questions: []dnsmessage.Question{mail}}), code: dnsmessage.RCodeSuccess},
	} {
		b := d.answer(c.question, false)
		if (b == nil) != c.isMute {
			t.Errorf("%s: it says %q", what, b)
		}
		if b == nil {
			continue
		}
		var m dnsmessage.Message
		if err := m.Unpack(b); err != nil || m.ID != 7 || !m.Response || m.RCode != c.code || len(m.Answers) != 0 {
			t.Errorf("%s: %v, %v", what, m.GoString(), err)
		}
	}
}
