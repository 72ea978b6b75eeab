package gateway

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
)

// webProxy is a web proxy on the loopback interface. It connects wherever it is asked to, for the
// user, and counts that.
type webProxy struct {
	addr string
	user string

	mu    sync.Mutex
	asked []string
}

func startProxy(t *testing.T, user string) *webProxy {
	l := listen(t)
	p := &webProxy{addr: l.Addr().String(), user: user}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return p
}

func (p *webProxy) serve(conn net.Conn) {
	defer conn.Close()
	from := bufio.NewReader(conn)
	req, err := http.ReadRequest(from)
	if err != nil {
		return
	}
	if want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user)); p.user != "" && req.Header.Get("Proxy-Authorization") != want {
		fmt.Fprint(conn, "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")
		return
	}
	if req.Method != http.MethodConnect {
		fmt.Fprint(conn, "HTTP/1.1 405 Method Not Allowed\r\n\r\n")
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, req.Host)
	p.mu.Unlock()
	to, err := net.DialTimeout("tcp", req.Host, failsafe)
	if err != nil {
		fmt.Fprint(conn, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	defer to.Close()
	fmt.Fprint(conn, "HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n")
	back := make(chan struct{})
	go func() {
		defer close(back)
		io.Copy(conn, to)
		conn.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(to, from)
	to.(*net.TCPConn).CloseWrite()
	<-back
}

// PMPI's domains behind firewalls: a gateway that reaches the world by a web proxy only dials the
// other by that. Ranks of both domains reach each other, whichever begins.
func TestProxy(t *testing.T) {
	proxy := startProxy(t, "user:pass:word")
	west := run(t, Config{Domain: "west"})
	east := run(t, Config{Domain: "east", Peers: []string{west.addr}, Proxy: &Proxy{Addr: proxy.addr, User: proxy.user}})
	west.log.await(t, "linked")
	east.log.await(t, "linked")
	want(t, west.addr, "east", rank(t, "rank of the east"), "hello", "rank of the east hears: hello")
	want(t, east.addr, "west", rank(t, "rank of the west"), "hello", "rank of the west hears: hello")
	proxy.mu.Lock()
	defer proxy.mu.Unlock()
	if len(proxy.asked) < 3 {
		t.Errorf("the proxy was asked for %v: a link, and two streams", proxy.asked)
	}
	for _, host := range proxy.asked {
		if host != west.addr {
			t.Errorf("it was asked for %s", host)
		}
	}
}

// A proxy that refuses, or is none, is said with the reason, and the gateway tries again.
func TestProxyRefuses(t *testing.T) {
	proxy := startProxy(t, "user:password")
	gone := faultproxy.Deserted(t).String()
	for _, tt := range []struct{ addr, user, peer, want string }{
		{proxy.addr, "user:wrong", "127.0.0.1:1", "it refuses to connect to 127.0.0.1:1: 407 Proxy Authentication Required"},
		{proxy.addr, "user:password", gone, "502 Bad Gateway"},
		{gone, "", "127.0.0.1:1", "connection refused"},
		{saying(t, "SSH-2.0-OpenSSH\r\n\r\n"), "", "127.0.0.1:1", "it does not answer as a web proxy: SSH-2.0-OpenSSH"},
		{saying(t, "HTTP/1.1 200 OK\r\n"), "", "127.0.0.1:1", "it does not answer as a web proxy: EOF"},
		{saying(t, strings.Repeat("x", 2*maxAnswer)), "", "127.0.0.1:1", "its answer has no end"},
	} {
		g := run(t, Config{Domain: "east", Peers: []string{tt.peer}, Proxy: &Proxy{Addr: tt.addr, User: tt.user}})
		g.log.await(t, "no link")
		g.log.await(t, tt.want)
		g.Close()
	}
}

// saying is the address of something that reads a little, says text, and closes.
func saying(t *testing.T, text string) string {
	l := listen(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.SetDeadline(time.Now().Add(failsafe))
			bufio.NewReader(conn).ReadString('\n')
			io.WriteString(conn, text)
			conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, conn)
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}
