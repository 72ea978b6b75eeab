//go:build linux

package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
)

// failsafe ends a test that hangs; no test waits for it to pass.
const failsafe = 30 * time.Second

// explain is what is said of all jobs here.
func explain(ctx context.Context) (string, error) {
	return "rank 0 waits in Recv <b>for ever</b>", ctx.Err()
}

// served runs a server for src until the test ends, or stop is called.
func served(t testing.TB, src Source, addr string) (s *Server, stop func()) {
	t.Helper()
	s, err := Listen(Config{Addr: addr, Explain: explain})
	if err != nil {
		t.Fatal(err)
	}
	return s, run(t, s, src)
}

// run runs s for src until the test ends, or stop is called.
func run(t testing.TB, s *Server, src Source) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Run(ctx, src); err != nil {
			t.Error(err)
		}
	})
	stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// client neither follows redirections nor keeps connections.
func client(t testing.TB) *http.Client {
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: failsafe, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// ask sends a request, changed by change, and returns the answer with its body read.
func ask(t testing.TB, method, address string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	res, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func TestFiles(t *testing.T) {
	s, _ := served(t, newFake(1, 1), "127.0.0.1:0")
	base := s.URL()
	for path, kind := range map[string]string{"": "text/html", "style.css": "text/css", "main.js": "text/javascript", "icon.svg": "image/svg+xml"} {
		res, body := ask(t, "GET", base+path, nil)
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), kind) || len(body) < 100 {
			t.Errorf("/%s: %s, %s, %d bytes", path, res.Status, res.Header.Get("Content-Type"), len(body))
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := res.Header.Get(name); !strings.HasPrefix(got, want) {
				t.Errorf("/%s: %s: %q, want %q", path, name, got, want)
			}
		}
		if got := res.Header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("/%s lets pages of %q read it", path, got)
		}
	}
	// Nothing comes from elsewhere, and nothing is written into the page that its policy forbids.
	for path, f := range files {
		text := strings.ReplaceAll(string(f.data), `xmlns="http://www.w3.org/2000/svg"`, "")
		for _, bad := range []string{"http://", "https://", "style=\"", " onclick=", "innerHTML"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s in it", path, bad)
			}
		}
	}
}

func TestMethodsAndPaths(t *testing.T) {
	s, _ := served(t, newFake(1, 1), "127.0.0.1:0")
	for _, test := range []struct {
		method, path string
		want         int
	}{
		{"POST", "explain", 200}, {"GET", "explain", 405}, {"HEAD", "explain", 405}, {"HEAD", "", 200}, {"HEAD", "events", 200}, {"POST", "", 405}, {"PUT", "events", 405}, {"DELETE", "main.js", 405}, {"OPTIONS", "events", 405},
		{"GET", "nothing", 404}, {"GET", "page/", 404}, {"GET", "index.html", 404}, {"GET", "../server.go", 307}, {"GET", "events/", 404},
	} {
		if res, _ := ask(t, test.method, s.URL()+test.path, nil); res.StatusCode != test.want {
			t.Errorf("%s /%s: %s, want %d", test.method, test.path, res.Status, test.want)
		}
	}
	res, _ := ask(t, "GET", s.URL(), func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader("much")), 4
	})
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a request with a body: %s", res.Status)
	}
}

// Only this page asks for an explanation, and one at a time.
func TestExplanation(t *testing.T) {
	release, begun := make(chan string), make(chan bool)
	s, err := Listen(Config{Addr: "127.0.0.1:0", Explain: func(context.Context) (string, error) {
		begun <- true
		text := <-release
		if text == "" {
			return "", errors.New("the job has not begun")
		}
		return text, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { s.Run(ctx, newFake(1, 1)) })
	for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"} {
		if res, _ := ask(t, "POST", s.URL()+"explain", func(r *http.Request) { r.Header.Set(header, value) }); res.StatusCode != http.StatusForbidden {
			t.Errorf("with %s: %s it says %s", header, value, res.Status)
		}
	}
	for text, want := range map[string]int{"a\ncircle": 200, "": 503} {
		var first *http.Response
		var body string
		var one sync.WaitGroup
		one.Go(func() {
			first, body = ask(t, "POST", s.URL()+"explain", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") })
		})
		<-begun
		if res, _ := ask(t, "POST", s.URL()+"explain", nil); res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("the second at a time: %s", res.Status)
		}
		release <- text
		one.Wait()
		if first.StatusCode != want || !strings.HasPrefix(first.Header.Get("Content-Type"), "text/plain") || want == 200 && body != text {
			t.Errorf("%q: %s, %q", text, first.Status, body)
		}
	}
}

// A page of a stranger's whose name has been made to mean this machine sends that name.
func TestHostIsChecked(t *testing.T) {
	s, _ := served(t, newFake(1, 1), "localhost:0")
	for host, want := range map[string]int{
		"": 200, "localhost": 200, "LOCALHOST:1234": 200, "127.0.0.1": 200, "[::1]:80": 200, "job.localhost": 200, "localhost.": 200, "10.1.2.3:8080": 200,
		"evil.example": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example:8080": 421, "evil.example:127": 421, "1.2.3.4.": 200,
	} {
		for _, path := range []string{"", "events"} {
			req, err := http.NewRequest("HEAD", s.URL()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			res, err := client(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if res.Body.Close(); res.StatusCode != want {
				t.Errorf("host %q, /%s: %s, want %d", host, path, res.Status, want)
			}
		}
	}
}

func TestToken(t *testing.T) {
	s, _ := served(t, newFake(1, 1), "0.0.0.0:0")
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	token := u.Query().Get("token")
	if len(token) < 26 {
		t.Fatalf("%s has no token of 128 bits", s.URL())
	}
	base := fmt.Sprintf("http://127.0.0.1:%s/", u.Port())
	for _, path := range []string{"", "events", "main.js", "?token=", "?token=" + token[1:], "?token=" + token + "A", "events?token=x"} {
		if res, body := ask(t, "GET", base+path, nil); res.StatusCode != 401 || strings.Contains(body, token) || len(res.Cookies()) > 0 {
			t.Errorf("/%s: %s, want 401", path, res.Status)
		}
	}
	res, _ := ask(t, "GET", base+"?token="+token, func(r *http.Request) { r.Host = "node7.cluster.example" })
	cookies := res.Cookies()
	if res.StatusCode != 303 || res.Header.Get("Location") != "/" || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode {
		t.Fatalf("with the token: %s to %q, cookies %v", res.Status, res.Header.Get("Location"), cookies)
	}
	if res, _ := ask(t, "HEAD", base+"events", func(r *http.Request) { r.AddCookie(cookies[0]) }); res.StatusCode != 200 {
		t.Errorf("with the cookie: %s", res.Status)
	}
	cookies[0].Value = token[:len(token)-1] + "?"
	if res, _ := ask(t, "HEAD", base+"events", func(r *http.Request) { r.AddCookie(cookies[0]) }); res.StatusCode != 401 {
		t.Errorf("with another cookie: %s", res.Status)
	}
}

// TestSecret: with a secret the page is shown to requests that give it, and to those that have the
// address; at the loopback interface too.
func TestSecret(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	s, err := Listen(Config{Addr: "127.0.0.1:0", Explain: explain, Secret: []byte(secret), Open: true})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, newFake(1, 1))
	base, _, _ := strings.Cut(s.URL(), "?")
	res, body := ask(t, "GET", base, nil)
	if res.StatusCode != 401 || !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Basic ") || strings.Contains(body, secret) {
		t.Errorf("without it: %s, %v", res.Status, res.Header)
	}
	for name, how := range map[string]func(*http.Request){
		"a password": func(r *http.Request) { r.SetBasicAuth("me", secret) },
		"a bearer":   func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) },
	} {
		if res, _ := ask(t, "HEAD", base+"events", how); res.StatusCode != 200 {
			t.Errorf("with %s: %s", name, res.Status)
		}
	}
	if res, _ := ask(t, "GET", base, func(r *http.Request) { r.SetBasicAuth(secret, "me") }); res.StatusCode != 401 {
		t.Errorf("with another password: %s", res.Status)
	}
	if res, _ := ask(t, "GET", s.URL(), nil); res.StatusCode != 303 {
		t.Errorf("with the address: %s", res.Status)
	}
}

// TestOpen: every request that reaches the server is let in, if that was said.
func TestOpen(t *testing.T) {
	s, err := Listen(Config{Addr: "0.0.0.0:0", Explain: explain, Open: true})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, newFake(1, 1))
	if strings.Contains(s.URL(), "token") {
		t.Errorf("%s has a token", s.URL())
	}
	base := fmt.Sprintf("http://127.0.0.1:%d/", s.listener.Addr().(*net.TCPAddr).Port)
	if res, _ := ask(t, "GET", base, func(r *http.Request) { r.Host = "node7" }); res.StatusCode != 200 {
		t.Errorf("%s", res.Status)
	}
}

func TestListen(t *testing.T) {
	for _, addr := range []string{"8080", "", "127.0.0.1", ":http:", "256.0.0.1:1"} {
		if s, err := Listen(Config{Addr: addr}); err == nil {
			s.Close()
			t.Errorf("listens at %q", addr)
		}
	}
	s, err := Listen(Config{Addr: ":0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if a := s.listener.Addr().(*net.TCPAddr); !a.IP.IsLoopback() || s.token != "" {
		t.Errorf("without a host it listens at %v, token %q", a, s.token)
	}
	if s, err := Listen(Config{Addr: s.listener.Addr().String()}); err == nil {
		s.Close()
		t.Error("two listen at one address")
	}
}

// reader reads the stream as a browser would.
type reader struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Reader
	screen
}

func openStream(t testing.TB, s *Server) *reader {
	t.Helper()
	res, err := client(t).Get(s.URL() + "events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || got != "text/event-stream" {
		t.Fatalf("%s, %q", res.Status, got)
	}
	return &reader{t: t, body: res.Body, in: bufio.NewReader(res.Body)}
}

// next takes one event. It returns false at the end of the stream.
func (r *reader) next() bool {
	r.t.Helper()
	var event []byte
	for !strings.HasSuffix(string(event), "\n\n") {
		line, err := r.in.ReadBytes('\n')
		if err == io.EOF && len(event)+len(line) == 0 {
			return false
		}
		if err != nil {
			r.t.Fatalf("the stream ends with %v", err)
		}
		event = append(event, line...)
	}
	r.take(r.t, event)
	return true
}

// TestStreamToTheEnd: the stream says how ranks fare until the job is over, then how they ended,
// and ends. It does so also for a browser that has taken nothing for long. The server does not wait
// for one that takes nothing at all.
func TestStreamToTheEnd(t *testing.T) {
	f := newFake(256, 16)
	steps := 0
	f.onAsk = func(f *fake) {
		steps++
		f.stencil(16, steps)
	}
	s, stop := served(t, f, "127.0.0.1:0")
	quick, late := openStream(t, s), openStream(t, s)
	stuck, err := net.Dial("tcp", s.listener.Addr().String()) // and reads nothing
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	stuck.(*net.TCPConn).SetReadBuffer(1024)
	fmt.Fprintf(stuck, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
	idle, err := net.Dial("tcp", s.listener.Addr().String()) // as browsers have one ready
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	for quick.next() && !(len(quick.ranks) == 256 && quick.ranks[0].Known) {
	}
	if got := quick.cells[1].messages; got == 0 {
		t.Errorf("rank 0 has sent rank 1 %d messages", got)
	}
	f.change(func(f *fake) {
		f.end = time.Now()
		for r := range f.ranks {
			f.ranks[r].State = launch.State{Phase: launch.Over, Why: "was ended with the job"}
		}
		f.ranks[3].State = launch.State{Phase: launch.Over, Code: 137, Why: "was killed by signal 9 (killed)"}
	})
	began := time.Now()
	stop()
	if took := time.Since(began); took > lastPatience+failsafe {
		t.Errorf("the end took %v", took)
	}
	for _, r := range []*reader{quick, late} {
		for r.next() {
		}
		if !r.last || r.ranks[3].State != stateFailed || r.ranks[4].State != stateEnded || !r.ranks[3].Known || r.cells[1].messages == 0 {
			t.Errorf("at the end: last %t, rank 3 %+v", r.last, r.ranks[3])
		}
	}
	if _, err := net.Dial("tcp", s.listener.Addr().String()); err == nil {
		t.Error("it listens still")
	}
}

// A connection that a browser has ready, and asks nothing on, holds up nothing.
func TestIdleConnection(t *testing.T) {
	s, err := Listen(Config{Addr: "127.0.0.1:0", Explain: explain})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.http.Serve(s.listener) })
	idle, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	ask(t, "HEAD", s.URL(), nil) // which was accepted after it
	if err := s.stop(); err != nil {
		t.Errorf("it was waited for: %v", err)
	}
}

func TestTooManyStreams(t *testing.T) {
	s, _ := served(t, newFake(1, 1), "127.0.0.1:0")
	var open []*reader
	for range maxStreams {
		r := openStream(t, s)
		r.next() // it has been let in
		open = append(open, r)
	}
	if res, _ := ask(t, "GET", s.URL()+"events", nil); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %s", res.Status)
	}
	for _, r := range open {
		r.body.Close()
	}
	for end := time.Now().Add(failsafe); s.hub.isWatched(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("those who went are still counted")
		}
	}
}

// TestPortInUse: the error of a port that another process has says how to get one that is free.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(Config{Addr: l.Addr().String()}); err == nil || !strings.Contains(err.Error(), "port 0 takes a free one") {
		t.Errorf("a page at %s: %v", l.Addr(), err)
	}
}
