//go:build linux && !fitmpi_portable

package metrics

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine"
)

// client returns an HTTP client that leaves no connection behind.
func client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 10 * time.Second}
}

func serve(t *testing.T, addr string, rank int, stats func() engine.Stats) *Server {
	t.Helper()
	s, err := Serve(addr, Source{Rank: rank, Stats: stats})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return s
}

// get fetches a path of the server.
func get(t *testing.T, c *http.Client, s *Server, path string) (int, string) {
	t.Helper()
	resp, err := c.Get("http://" + s.Addr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// samples parses the text format: series to value.
func samples(body string) map[string]string {
	m := map[string]string{}
	for sc := bufio.NewScanner(strings.NewReader(body)); sc.Scan(); {
		if line := sc.Text(); !strings.HasPrefix(line, "#") {
			name, value, _ := strings.Cut(line, " ")
			m[name] = value
		}
	}
	return m
}

func TestScrape(t *testing.T) {
	var calls atomic.Int64
	s := serve(t, "127.0.0.1:0", 5, func() engine.Stats {
		st := engine.Stats{BytesIn: uint64(1000 * calls.Add(1)), Connections: 2, Rejects: map[string]uint64{"bad-proof": 9}}
		st.Ways[engine.TCP].Peers = 1
		st.Ways[engine.TCP].Sent[1].Messages = 7
		return st
	})
	c := client(t)
	for scrape, wantBytes := range []string{"1000", "2000"} {
		code, body := get(t, c, s, "/metrics")
		if code != http.StatusOK {
			t.Fatalf("scrape %d: status %d: %s", scrape, code, body)
		}
		got := samples(body)
		for series, want := range map[string]string{
			`fitmpi_socket_read_bytes_total{rank="5"}`:                                   wantBytes, // stats is called once a scrape
			`fitmpi_connections{rank="5"}`:                                               "2",
			`fitmpi_sent_messages_total{protocol="eager",rank="5",transport="tcp"}`:      "7",
			`fitmpi_sent_messages_total{protocol="rendezvous",rank="5",transport="tcp"}`: "0",
			`fitmpi_rejected_handshakes_total{rank="5",reason="bad-proof"}`:              "9",
			`fitmpi_received_messages_total{protocol="eager",rank="5",transport="tcp"}`:  "0",
		} {
			if got[series] != want {
				t.Errorf("scrape %d: %s is %q, want %q", scrape, series, got[series], want)
			}
		}
		for _, series := range []string{`go_goroutines{rank="5"}`, `process_open_fds{rank="5"}`} {
			if got[series] == "" {
				t.Errorf("scrape %d: no %s", scrape, series)
			}
		}
	}
	for _, path := range []string{"/", "/metrics/", "/debug/pprof/"} {
		if code, _ := get(t, c, s, path); code != http.StatusNotFound {
			t.Errorf("GET %s: status %d, want %d", path, code, http.StatusNotFound)
		}
	}
	if resp, err := c.Post("http://"+s.Addr().String()+"/metrics", "text/plain", nil); err != nil {
		t.Error(err)
	} else if resp.Body.Close(); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST /metrics: status %d, want %d", resp.StatusCode, http.StatusMethodNotAllowed)
	}
}

// TestEngine scrapes the counters of a real engine.
func TestEngine(t *testing.T) {
	e, err := engine.Listen(engine.Config{Size: 1, Secret: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start([]engine.PeerInfo{{Routes: engine.Direct(e.Addr())}}); err != nil {
		t.Fatal(err)
	}
	defer e.Close(5 * time.Second)
	send := &engine.MSO{Kind: engine.KindSend, Buf: []byte("to myself")}
	recv := &engine.MSO{Kind: engine.KindRecv, Buf: make([]byte, 16)}
	e.Post(recv, engine.Computes)
	e.Post(send, engine.Computes)
	e.Wait(recv)
	e.Wait(send)

	_, body := get(t, client(t), serve(t, ":0", 0, e.Stats), "/metrics")
	got := samples(body)
	for series, want := range map[string]string{
		`fitmpi_sent_messages_total{protocol="self",rank="0",transport="self"}`:     "1",
		`fitmpi_received_messages_total{protocol="self",rank="0",transport="self"}`: "1",
		`fitmpi_received_bytes_total{protocol="self",rank="0",transport="self"}`:    "9",
		`fitmpi_sent_message_size_bytes_bucket{rank="0",le="4"}`:                    "0",
		`fitmpi_sent_message_size_bytes_bucket{rank="0",le="16"}`:                   "1",
		`fitmpi_sent_message_size_bytes_sum{rank="0"}`:                              "9",
		`fitmpi_match_attempts_total{queue="request",rank="0"}`:                     "1",
		`fitmpi_match_attempts_total{queue="event",rank="0"}`:                       "1",
		`fitmpi_active_operations{rank="0"}`:                                        "0",
	} {
		if got[series] != want {
			t.Errorf("%s is %q, want %q", series, got[series], want)
		}
	}
}

func TestServeAddress(t *testing.T) {
	s := serve(t, ":0", 0, func() engine.Stats { return engine.Stats{} })
	if a := s.Addr().(*net.TCPAddr); !a.IP.IsLoopback() || a.Port == 0 {
		t.Errorf("Serve without a host listens on %v, want the loopback interface and a port", a)
	}
	for _, addr := range []string{"", "127.0.0.1", "127.0.0.1:http:0", s.Addr().String()} {
		if s, err := Serve(addr, Source{}); err == nil {
			s.Close(t.Context())
			t.Errorf("Serve(%q) works, want an error", addr)
		}
	}
}

func TestCloseCutsSlowRequests(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	s := serve(t, ":0", 0, func() engine.Stats {
		close(began)
		<-release
		return engine.Stats{}
	})
	defer close(release)
	failed := make(chan error, 1)
	c := client(t)
	go func() {
		resp, err := c.Get("http://" + s.Addr().String() + "/metrics")
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close with a request under way: %v, want %v", err, context.DeadlineExceeded)
	}
	if err := <-failed; err == nil {
		t.Error("the request that was cut succeeded")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestPortInUse: the error of a port that another process has says how to get one that is free.
func TestPortInUse(t *testing.T) {
	first, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := listen(first.Addr().String()); err == nil || !strings.Contains(err.Error(), "port 0 takes a free one") {
		t.Errorf("a second listener at %s: %v", first.Addr(), err)
	}
}
