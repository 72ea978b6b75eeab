package secure

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	secret = []byte("0123456789abcdef0123456789abcdef")
	other  = []byte("0123456789abcdef0123456789abcdeF")
)

// ends is what both ends of a connection came to.
type ends struct {
	client, server       net.Conn
	clientErr, serverErr error
}

// meet runs both ends over a pipe of the network.
func meet(client, server net.Conn, clientSecret, serverSecret []byte, clientRole, serverRole string) (e ends) {
	var wg sync.WaitGroup
	wg.Go(func() { e.client, e.clientErr = Client(client, clientSecret, clientRole) })
	wg.Go(func() { e.server, e.serverErr = Server(server, serverSecret, serverRole) })
	wg.Wait()
	return e
}

// tcpPair returns both ends of a TCP connection.
func tcpPair(t *testing.T) (dialled, accepted net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if dialled, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if accepted, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialled.Close(); accepted.Close() })
	return dialled, accepted
}

func TestBothEndsKnowTheSecret(t *testing.T) {
	dialled, accepted := tcpPair(t)
	e := meet(dialled, accepted, secret, secret, "test", "test")
	if err := errors.Join(e.clientErr, e.serverErr); err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct{ from, to net.Conn }{{e.client, e.server}, {e.server, e.client}} {
		want := bytes.Repeat([]byte("there and back "), 10_000)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := way.from.Write(want); err != nil {
				t.Error(err)
			}
		})
		got := make([]byte, len(want))
		if _, err := io.ReadFull(way.to, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("what came is not what was sent: %v", err)
		}
		wg.Wait()
	}
	e.client.Close()
	if n, err := e.server.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes, %v after the other end closed, want %v", n, err, io.EOF)
	}
	e.server.Close()
}

func TestAnotherSecretOrRoleIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name       string
		secret     []byte // of the client; the server's is secret
		role       string // of the client; the server's is "test"
		clientSays string
	}{
		{"secret", other, "test", "another secret"},
		{"longer secret", append(bytes.Clone(secret), 'x'), "test", "another secret"},
		{"role", secret, "tests", "another secret"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dialled, accepted := tcpPair(t)
			e := meet(dialled, accepted, tc.secret, secret, tc.role, "test")
			if !errors.Is(e.serverErr, ErrRefused) {
				t.Errorf("server: %v, want %v", e.serverErr, ErrRefused)
			}
			if !errors.Is(e.clientErr, ErrRefused) || !strings.Contains(e.clientErr.Error(), tc.clientSays) {
				t.Errorf("client: %v, want %v", e.clientErr, ErrRefused)
			}
			if want := "secure: the other end has another secret, or is not of this job"; e.serverErr == nil || e.serverErr.Error() != want {
				t.Errorf("server: %v, want %s", e.serverErr, want)
			}
			wantClosed(t, dialled)
			wantClosed(t, accepted)
		})
	}
}

func wantClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after an error the connection is open (%v)", err)
	}
}

// TestManInTheMiddle: a process in the middle speaks TLS with both ends, and passes on all that
// they say within it.
func TestManInTheMiddle(t *testing.T) {
	client, toClient := tcpPair(t)
	toServer, server := tcpPair(t)
	cert, err := newCertificate()
	if err != nil {
		t.Fatal(err)
	}
	a := tls.Server(toClient, &tls.Config{Certificates: []tls.Certificate{cert}})
	b := tls.Client(toServer, &tls.Config{InsecureSkipVerify: true})
	var middle sync.WaitGroup
	middle.Go(func() { io.Copy(b, a); b.Close() })
	middle.Go(func() { io.Copy(a, b); a.Close() })
	e := meet(client, server, secret, secret, "test", "test")
	if !errors.Is(e.clientErr, ErrRefused) || !errors.Is(e.serverErr, ErrRefused) {
		t.Errorf("client: %v, server: %v; want both to refuse", e.clientErr, e.serverErr)
	}
	client.Close()
	server.Close()
	middle.Wait()
}

// A server that does not know the secret sends the client's proof back.
func TestReflection(t *testing.T) {
	client, server := tcpPair(t)
	cert, err := newCertificate()
	if err != nil {
		t.Fatal(err)
	}
	var mirror sync.WaitGroup
	mirror.Go(func() {
		s := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{cert}})
		defer s.Close()
		b := make([]byte, 32)
		if _, err := io.ReadFull(s, b); err == nil {
			s.Write(b)
		}
	})
	if _, err := Client(client, secret, "test"); !errors.Is(err, ErrRefused) {
		t.Errorf("%v, want %v", err, ErrRefused)
	}
	mirror.Wait()
}

// tap keeps all that is written.
type tap struct {
	net.Conn
	wrote bytes.Buffer // owned by the writer
}

func (c *tap) Write(b []byte) (int, error) {
	c.wrote.Write(b)
	return c.Conn.Write(b)
}

func TestNothingIsReadableOnTheWay(t *testing.T) {
	dialled, accepted := tcpPair(t)
	wire := &tap{Conn: dialled}
	e := meet(wire, accepted, secret, secret, "test", "test")
	if err := errors.Join(e.clientErr, e.serverErr); err != nil {
		t.Fatal(err)
	}
	const text = "the job's secret is this"
	if _, err := e.client.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(e.server, got); err != nil || string(got) != text {
		t.Fatalf("%q, %v", got, err)
	}
	for _, what := range [][]byte{[]byte(text), secret} {
		if bytes.Contains(wire.wrote.Bytes(), what) {
			t.Errorf("%q is on the wire", what)
		}
	}
}

// The clock of the bubble passes Timeout at once when all wait.
func TestSilentPeer(t *testing.T) {
	for name, end := range map[string]func(net.Conn, []byte, string) (net.Conn, error){"client": Client, "server": Server} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				var sink sync.WaitGroup
				sink.Go(func() { io.Copy(io.Discard, there) })
				began := time.Now()
				_, err := end(here, secret, "test")
				if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != Timeout {
					t.Errorf("%v after %v, want the deadline after %v", err, time.Since(began), Timeout)
				}
				there.Close()
				sink.Wait()
			})
		})
	}
}

// The handshake's deadline does not outlive it.
func TestDeadlineIsCleared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		e := meet(client, server, secret, secret, "test", "test")
		if err := errors.Join(e.clientErr, e.serverErr); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * Timeout)
		var wg sync.WaitGroup
		wg.Go(func() { e.client.Write([]byte{7}) })
		b := make([]byte, 1)
		if _, err := io.ReadFull(e.server, b); err != nil || b[0] != 7 {
			t.Errorf("%v, %v", b, err)
		}
		wg.Wait()
		client.Close()
		server.Close()
	})
}

func TestStrangers(t *testing.T) {
	for _, say := range []string{"", "GET / HTTP/1.1\r\n\r\n", strings.Repeat("\x16\x03", 1000)} {
		there, here := tcpPair(t)
		var stranger sync.WaitGroup
		stranger.Go(func() {
			io.WriteString(there, say)
			there.Close()
		})
		if _, err := Server(here, secret, "test"); err == nil || !strings.HasPrefix(err.Error(), "secure: ") {
			t.Errorf("one who says %.10q passed", say)
		}
		stranger.Wait()
	}
}

func TestArguments(t *testing.T) {
	for _, tc := range []struct {
		secret []byte
		role   string
		want   string
	}{
		{secret[:31], "test", "secure: a secret of 31 bytes: need 32 random bytes or more"},
		{nil, "test", "secure: a secret of 0 bytes: need 32 random bytes or more"},
		{secret, "", `secure: role "": need one, without zero bytes`},
		{secret, "a\x00b", `secure: role "a\x00b": need one, without zero bytes`},
	} {
		for _, end := range []func(net.Conn, []byte, string) (net.Conn, error){Client, Server} {
			here, there := net.Pipe()
			if _, err := end(here, tc.secret, tc.role); err == nil || err.Error() != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
			there.Close()
		}
	}
}
