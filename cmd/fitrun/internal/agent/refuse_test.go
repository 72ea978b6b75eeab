//go:build linux

package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
)

// TestListenRefuses: every wrong use of fitrun agent is one line that says what to do.
func TestListenRefuses(t *testing.T) {
	dir := t.TempDir()
	secret, short := filepath.Join(dir, "secret"), filepath.Join(dir, "short")
	for file, text := range map[string]string{secret: "thirty-two bytes or more of a test", short: "short"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const usage = "want --listen HOST:PORT and --secret-file FILE"
	for _, c := range []struct {
		args string
		want string
	}{
		{"", usage},
		{"--listen :0", usage},
		{"--secret-file " + secret, usage},
		{"--bogus", usage + ", and not what is there: flag provided but not defined: -bogus"},
		{"--listen", usage + ", and not what is there: flag needs an argument: -listen"},
		{"--listen :0 --secret-file " + secret + " more", usage + `, and not "more"`},
		{"--listen :0 --secret-file " + short, "secret file " + short + ": it has 5 bytes: need 32 random bytes or more"},
		{"--listen :0 --secret-file " + dir + "/none", "secret file " + dir + "/none: no such file or directory"},
		{"--listen nowhere --secret-file " + secret, "listen tcp: address nowhere: missing port in address"},
		{"--listen 192.0.2.1:1 --secret-file " + secret, "listen tcp 192.0.2.1:1: bind: cannot assign requested address"},
	} {
		if err := listenArgs(strings.Fields(c.args)); err == nil || err.Error() != c.want || errors.Is(err, errUsage) != strings.HasPrefix(c.want, usage) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
}

// TestServeRefuses: nor is an agent of use that fitrun has not started.
func TestServeRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--stdio":       "--stdio is for fitrun on other hosts, and of no use by hand",
		"--stdio 1 2 3": "--stdio is for fitrun on other hosts, and of no use by hand",
		"--stdio soon":  `"soon" is no duration`,
		"--stdio 1ms":   "a host that is lost after 1ms of silence: want 1s or more",
	} {
		if err := serveArgs(strings.Fields(args)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	copied := filepath.Join(t.TempDir(), "fitrun")
	if err := os.WriteFile(copied, []byte("cut off"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := "the copy of fitrun in " + filepath.Dir(copied) + " was damaged, and is removed; start the job again"
	whole := sha256.Sum256([]byte("cut off, and more"))
	if err := verify(copied, hex.EncodeToString(whole[:])); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := os.Stat(copied); !os.IsNotExist(err) {
		t.Errorf("it is there: %v", err)
	}
}

// TestDialRefuses: a host whose agent is not to be had is named with what to do.
func TestDialRefuses(t *testing.T) {
	at := faultproxy.Deserted(t)
	target := Target{Name: "127.0.0.1", Port: int(at.Port()), Agent: true}
	for _, c := range []struct {
		secret []byte
		want   string
	}{
		{nil, "the agent that listens there wants to be shown its secret: give the file, --secret-file FILE"},
		{[]byte("thirty-two bytes or more of a test"), "reaching its agent: dial tcp " + at.String() + ": connect: connection refused"},
	} {
		if _, _, _, err := dial(t.Context(), target, c.secret, time.Second); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target.Port = l.Addr().(*net.TCPAddr).Port
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Listen(ctx, l, []byte("another secret of as many bytes, or more"), slog.New(slog.DiscardHandler))
	}()
	want := "its agent at " + l.Addr().String() + ": secure: the other end has another secret, or is not of this job"
	_, _, _, err = dial(t.Context(), target, []byte("thirty-two bytes or more of a test"), time.Second)
	if err == nil || err.Error() != want && !strings.HasPrefix(err.Error(), want+" (") { // and how the connection ended
		t.Errorf("%v, want %s", err, want)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestReachRefuses: a host that is reached by a command and is of no use is named with why.
func TestReachRefuses(t *testing.T) {
	const linux = "echo " + marker + " Linux x86_64; read -r line; "
	octal := func(f frame, change func(b []byte)) string { // as printf takes it
		b := appendFrame(nil, f)
		change(b)
		var s strings.Builder
		for _, c := range b {
			fmt.Fprintf(&s, "\\%03o", c)
		}
		return s.String()
	}
	own := Binary{Path: os.DevNull, Sum: strings.Repeat("0", 2*sumSize)}
	binary := func(_ context.Context, arch string) (Binary, error) { return own, nil }
	a := newAgent(strings.NewReader(""), nil, time.Second, os.DevNull, cache{}, nil)
	for _, c := range []struct {
		script string
		binary func(ctx context.Context, arch string) (Binary, error)
		want   string
	}{
		{"echo " + marker + " Darwin arm64", binary, "it runs Darwin; fitrun is for Linux"},
		{linux + "echo WHAT", binary, `its shell answered "WHAT\n", want HAVE or NEED`},
		{linux + "echo HAVE; printf '" + octal(frame{kindDone, 0, nil}, func([]byte) {}) + "'", binary,
			"its first frame is of kind 29, want 17, what it says of its host"},
		{linux + "echo HAVE; printf '" + octal(frame{kindFacts, 0, nil}, func(b []byte) { b[4] = 7 }) + "'", binary,
			"agent protocol version 7 at the other end, 1 here: use a fitrun and an agent of one FitMPI version"},
		{linux + "echo the disk is full >&2; exit 1", binary, "the disk is full"},
		{"echo " + marker + " Linux vax", a.below.binary, "it is vax, and the host from which it is to be reached is " + runtime.GOARCH +
			": with hosts of several architectures use a fan-out that lets fitrun reach all of them itself"},
	} {
		way := Way{Command: []string{"sh", "-c", c.script}}
		if _, _, _, err := open(t.Context(), Target{Name: "h"}, way, c.binary, time.Second, nil); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v, want\n%s", c.script, err, c.want)
		}
	}
}

// TestGreetingRefused: a client that knows the secret and speaks otherwise is told that versions
// must be the same.
func TestGreetingRefused(t *testing.T) {
	const language = "it speaks another language: use a fitrun and an agent of one FitMPI version"
	for text, want := range map[string]string{
		"hello\n":                          language,
		marker + "\n":                      language,
		"FITMPI-AGENT-0 1s\n":              language,
		strings.Repeat("x", 2*maxGreeting): language,
		marker + " soon\n":                 `"soon" is no duration`,
		marker + " 1ms\n":                  "a host that is lost after 1ms of silence: want 1s or more",
	} {
		a, b := net.Pipe()
		go func() { // ends when b is closed
			a.Write([]byte(text))
			a.Close()
		}()
		if _, err := readGreeting(b); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
		b.Close()
	}
}

// TestFrameRefused: what no agent of this version says ends the conversation with a word of what it
// was.
func TestFrameRefused(t *testing.T) {
	set := func(at int, to byte) func(b []byte) []byte {
		return func(b []byte) []byte {
			b[at] = to
			return b
		}
	}
	for _, c := range []struct {
		want   string
		change func(b []byte) []byte
	}{
		{"agent protocol version 2 at the other end, 1 here: use a fitrun and an agent of one FitMPI version", set(4, Version+1)},
		{"frame of unknown kind 0", set(5, 0)},
		{"frame of unknown kind 36", set(5, byte(kindEnd))},
		{"frame of unknown kind 255", set(5, 255)},
		{"frame with reserved bytes that are not 0", set(6, 1)},
		{"frame with reserved bytes that are not 0", set(7, 1)},
		{"frame of 4278190080 bytes; at most 4194304 are allowed", set(3, 255)},
		{"frame without a newline at its end", set(headerSize, ' ')},
		{"unexpected EOF", func(b []byte) []byte { return b[:headerSize-1] }},
		{"unexpected EOF", func(b []byte) []byte { return b[:headerSize] }},
	} {
		b := c.change(appendFrame(nil, frame{kindPing, 0, nil}))
		if _, err := readFrame(bytes.NewReader(b)); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
