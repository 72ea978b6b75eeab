package port

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/internal/netif"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}

func open(t *testing.T) *Port {
	t.Helper()
	p, err := Open(loopback, netif.Ports{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Two jobs that meet at a port tell each other what they like, and any length of it (MPI 4.1,
// section 11.8).
func TestMeet(t *testing.T) {
	p := open(t)
	var dialled sync.WaitGroup
	defer dialled.Wait()
	long := bytes.Repeat([]byte("x"), 5<<20)
	dialled.Go(func() {
		l, err := Dial(t.Context(), p.Name())
		if err != nil {
			t.Error(err)
			return
		}
		defer l.Close()
		for _, mine := range [][]byte{long, nil, []byte("c")} {
			theirs, err := l.Exchange(t.Context(), mine)
			if err != nil || !bytes.Equal(theirs, append([]byte("to "), mine...)) {
				t.Errorf("%d bytes, %v", len(theirs), err)
			}
		}
	})
	l, err := p.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, want := range [][]byte{long, nil, []byte("c")} {
		theirs, err := l.Exchange(t.Context(), append([]byte("to "), want...))
		if err != nil || !bytes.Equal(theirs, want) {
			t.Errorf("%d bytes, %v", len(theirs), err)
		}
	}
}

// What does not know the key is dropped, however it begins, and keeps no other out.
func TestStrangers(t *testing.T) {
	p := open(t)
	_, addrs, err := parse(p.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"", "GET / HTTP/1.1\r\n\r\n"} {
		conn, err := net.Dial("tcp", addrs[0])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, says)
	}
	other := open(t)
	forged := prefix + strings.TrimPrefix(other.Name()[:strings.Index(other.Name(), "@")], prefix) + "@" + addrs[0]
	if _, err := Dial(t.Context(), forged); err == nil {
		t.Error("let in with the key of another port")
	}
	done := make(chan error, 1)
	go func() {
		l, err := Dial(t.Context(), p.Name())
		if err == nil {
			err = l.Close()
		}
		done <- err
	}()
	l, err := p.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A job that waits at a port hears when it is closed, and so does the rank that accepts there. What
// has gone meanwhile is passed over.
func TestClose(t *testing.T) {
	p := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := Dial(ctx, p.Name())
		gone <- err
	}()
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("a dial that was given up: %v", err)
	}
	waits := make(chan error, 2)
	go func() {
		_, err := Dial(t.Context(), p.Name())
		waits <- err
	}()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err == nil {
		t.Error("accepted by a port that was closed")
	}
	if _, err := p.Accept(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Accept of a closed port: %v", err)
	}
	if _, err := Dial(t.Context(), p.Name()); err == nil || !strings.Contains(err.Error(), "no such port is open") {
		t.Errorf("Dial of a closed port: %v", err)
	}
}

// A name that is no name of a port is told from one that nothing listens at.
func TestNames(t *testing.T) {
	good := open(t).Name()
	for _, name := range []string{"", "x", "fitmpi:", "fitmpi:abc", "fitmpi:abc@127.0.0.1:1", strings.Replace(good, "@", "@there:", 1), good[:len(good)-6]} {
		if _, _, err := parse(name); err == nil {
			t.Errorf("%q passed", name)
		}
	}
	if key, addrs, err := parse(good); err != nil || len(key) != keySize || len(addrs) != 1 {
		t.Errorf("%q: %v, %v", good, addrs, err)
	}
}

// What the other end says is not trusted: a length beyond the limit is an error, and less than was
// announced too.
func TestSwapChecks(t *testing.T) {
	for _, tt := range []struct{ says, want string }{
		{"\xff\xff\xff\xff", "announces"}, {"\x00\x00\x00\x05ab", "not said all"}, {"\x00\x00", "has not answered"},
	} {
		a, b := net.Pipe()
		go func() {
			io.WriteString(b, tt.says)
			b.Close()
		}()
		if _, err := Swap(a, []byte("mine")); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want one with %q", tt.says, err, tt.want)
		}
		a.Close()
	}
}

// FuzzName: whatever stands where the name of a port should be, it is read or refused.
func FuzzName(f *testing.F) {
	f.Add("fitmpi:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA@127.0.0.1:1,[::1]:2")
	f.Add("fitmpi:@")
	f.Fuzz(func(t *testing.T, name string) {
		key, addrs, err := parse(name)
		if err == nil && (len(key) != keySize || len(addrs) == 0) {
			t.Errorf("%q: a key of %d bytes, %d addresses", name, len(key), len(addrs))
		}
	})
}
