package httpguard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failsafe ends a test that hangs; no test waits for it to pass.
const failsafe = 30 * time.Second

// served runs a server until the test ends. It calls answering, if that is not nil, before each
// answer.
func served(t *testing.T, g Guard, network, addr string, answering func()) net.Listener {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	if l, err = g.Admit(l); err != nil {
		t.Fatal(err)
	}
	srv := g.Server(l.Addr(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answering != nil {
			answering()
		}
		io.WriteString(w, "served")
	}))
	serve(t, srv, l)
	return l
}

// serve lets srv answer at l until the test ends.
func serve(t *testing.T, srv *http.Server, l net.Listener) {
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		srv.Close()
		wg.Wait()
	})
}

// say sends a request as it is and returns the status and the body.
func say(t *testing.T, l net.Listener, request string) (int, string) {
	t.Helper()
	c, err := net.Dial(l.Addr().Network(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(failsafe))
	io.WriteString(c, request)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// TestWho: which clients are let in where.
func TestWho(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	with := "Authorization: Bearer " + secret + "\r\n"
	basic := "Authorization: Basic dTowMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZg==\r\n" // u:secret
	unix := filepath.Join(t.TempDir(), "s")
	for name, test := range map[string]struct {
		guard         Guard
		network, addr string
		host, head    string
		want          int
	}{
		"here":                         {Guard{}, "tcp", "127.0.0.1:0", "localhost", "", 200},
		"here, by number":              {Guard{}, "tcp", "127.0.0.1:0", "127.0.0.1:9", "", 200},
		"here, by a stranger's name":   {Guard{}, "tcp", "127.0.0.1:0", "evil.example", "", 421},
		"here, by its name":            {Guard{Names: []string{"Node7"}}, "tcp", "127.0.0.1:0", "node7:9600", "", 200},
		"here, without a name":         {Guard{Names: []string{""}}, "tcp", "127.0.0.1:0", "", "", 421},
		"here, with a body":            {Guard{}, "tcp", "127.0.0.1:0", "localhost", "Content-Length: 1\r\n", 413},
		"here, with chunks":            {Guard{}, "tcp", "127.0.0.1:0", "localhost", "Transfer-Encoding: chunked\r\n", 413},
		"secret, and none given":       {Guard{Secret: []byte(secret)}, "tcp", "127.0.0.1:0", "localhost", "", 401},
		"secret, a bearer":             {Guard{Secret: []byte(secret)}, "tcp", "0.0.0.0:0", "evil.example", with, 200},
		"secret, a password":           {Guard{Secret: []byte(secret)}, "tcp", "0.0.0.0:0", "node7", basic, 200},
		"secret, and open":             {Guard{Secret: []byte(secret), Open: true}, "tcp", "0.0.0.0:0", "node7", "", 401},
		"secret, nonsense":             {Guard{Secret: []byte(secret)}, "tcp", "0.0.0.0:0", "node7", "Authorization: Basic %%%\r\n", 401},
		"open":                         {Guard{Open: true}, "tcp", "0.0.0.0:0", "node7", "", 200},
		"socket":                       {Guard{}, "unix", unix + "1", "x", "", 200},
		"socket, with a secret":        {Guard{Secret: []byte(secret)}, "unix", unix + "2", "x", "", 200},
		"no secret, an empty password": {Guard{}, "tcp", "127.0.0.1:0", "evil.example", "Authorization: Bearer \r\n", 421},
	} {
		l := served(t, test.guard, test.network, test.addr, nil)
		status, body := say(t, l, "GET / HTTP/1.1\r\nHost: "+test.host+"\r\nConnection: close\r\n"+test.head+"\r\n")
		if status != test.want || (status == 200) != (body == "served") || strings.Contains(body, secret) {
			t.Errorf("%s: %d %q, want %d", name, status, body, test.want)
		}
	}
}

// TestExposed: without a secret no server listens where other machines reach it.
func TestExposed(t *testing.T) {
	for addr, exposed := range map[string]bool{"127.0.0.1:0": false, "127.0.0.2:0": false, "0.0.0.0:0": true} {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_, err = new(Guard).Admit(l)
		var e *ExposedError
		if errors.As(err, &e) != exposed {
			t.Errorf("%s: %v", addr, err)
		}
		want := l.Addr().String() + " can be reached by other machines: give a file with a secret that they must know (--http-auth, FITMPI_HTTP_AUTH), " +
			"or say that every client may ask (--http-open, FITMPI_HTTP_OPEN=1)"
		if exposed && err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if _, err := net.Dial("tcp", l.Addr().String()); exposed && err == nil {
			t.Errorf("%s is listened to", addr)
		}
		l.Close()
	}
}

// TestSlow: a client that sends its request slowly, or none, keeps no other out and loses its
// connection to others; a client that is being answered does not.
func TestSlow(t *testing.T) {
	begun, release := make(chan struct{}, 2), make(chan struct{})
	l := served(t, Guard{}, "tcp", "127.0.0.1:0", func() {
		begun <- struct{}{}
		<-release
	})
	dial := func(first string) net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(failsafe))
		io.WriteString(c, first)
		return c
	}
	const request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
	welcome := dial(request)
	<-begun // until then it is one of the connections that may go
	var slow []net.Conn
	for i := range 4 * maxStrangers {
		slow = append(slow, dial([]string{"", "GET / HT", request[:len(request)-1]}[i%3]))
	}
	if _, err := slow[0].Read(make([]byte, 1)); err == nil {
		t.Error("a slow one was answered")
	}
	last := dial(request)
	close(release)
	for name, c := range map[string]net.Conn{"the first": welcome, "the last": last} {
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s was kept out: %v", name, err)
			continue
		}
		resp.Body.Close()
	}
}

// TestIdle: a connection that has been answered gives way like others, until it asks again.
func TestIdle(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	guard := Guard{}
	srv := guard.Server(l.Addr(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	noted, isIdle := srv.ConnState, make(chan struct{}, maxStrangersPerHost+1)
	srv.ConnState = func(c net.Conn, state http.ConnState) {
		noted(c, state)
		if state == http.StateIdle {
			isIdle <- struct{}{}
		}
	}
	serve(t, srv, l)
	var first net.Conn
	for i := range maxStrangersPerHost + 1 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(failsafe))
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		resp.Body.Close()
		if i == 0 {
			first = c
		}
		<-isIdle // the next one comes after it, so that this test knows which is the oldest
	}
	if _, err := first.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the oldest idle connection is still there: %v", err)
	}
}

func TestWelcomeElsewhere(t *testing.T) {
	r, err := http.NewRequestWithContext(context.Background(), "GET", "http://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	Welcome(r) // of no server of ours: nothing happens
}
