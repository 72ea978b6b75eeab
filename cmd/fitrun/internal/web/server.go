//go:build linux

package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/httpguard"
)

const (
	// patience is how long a browser may take to take what it is sent.
	patience = httpguard.Patience
	// lastPatience is how long browsers may take for the last picture, all together: fitrun waits
	// for that.
	lastPatience = time.Second
	// maxStreams is how many pages may be open at a time.
	maxStreams = 64
)

// Server serves the live page of one job.
type Server struct {
	// immutable after Listen
	listener net.Listener
	host     string // of the address to tell people
	token    string // "" if none is needed
	guard    httpguard.Guard
	http     *http.Server
	hub      *hub
	explain  func(context.Context) (string, error)

	asking   sync.Mutex // held while explain runs
	mu       sync.Mutex
	fresh    map[net.Conn]bool // connections on which nothing was asked yet; browsers open some to have them; guarded by mu
	stopping bool              // guarded by mu
}

// Config says where a Server listens.
type Config struct {
	// Addr is host:port, where port 0 means any free port and no host the loopback interface.
	Addr string
	// Secret lets those requests in that give it as a bearer token or as a password, beside those
	// that have the token of the page's address; nil is none.
	Secret []byte
	// Open lets in every request that reaches Addr. Else, unless Addr is of the loopback interface,
	// the page's address has a token. It is of no effect with a Secret.
	Open bool
	// Explain says what the ranks wait for, in words. It is called when a browser asks for that,
	// once at a time.
	Explain func(ctx context.Context) (string, error)
}

// Listen listens. No request is answered before Run.
func Listen(cfg Config) (*Server, error) {
	host, port, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("%w; write for example :8080", err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w; port 0 takes a free one", err)
	}
	if err != nil {
		return nil, err
	}
	s := &Server{listener: l, explain: cfg.Explain, hub: newHub(), fresh: make(map[net.Conn]bool)}
	at := l.Addr().(*net.TCPAddr)
	if s.host = cmp.Or(host, "127.0.0.1"); at.IP.IsUnspecified() {
		if s.host, err = os.Hostname(); err != nil {
			s.host = at.IP.String()
		}
	}
	s.guard = httpguard.Guard{Secret: cfg.Secret, Open: cfg.Open, Names: []string{s.host}}
	if len(cfg.Secret) > 0 || httpguard.IsExposed(at) && !cfg.Open {
		s.token = rand.Text()
	}
	s.http = httpguard.Bounded(s.guarded(s.routes()))
	s.http.ReadTimeout, s.http.ReadHeaderTimeout = 0, patience // a page is sent events for as long as it is open
	bound := s.http.ConnState
	s.http.ConnState = func(c net.Conn, state http.ConnState) {
		bound(c, state)
		s.connState(c, state)
	}
	return s, nil
}

// URL is the address of the page, with the token if it needs one.
func (s *Server) URL() string {
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(s.host, itoa(s.listener.Addr().(*net.TCPAddr).Port)), Path: "/"}
	if s.token != "" {
		u.RawQuery = url.Values{tokenName: {s.token}}.Encode()
	}
	return u.String()
}

// Close closes a Server that will not Run.
func (s *Server) Close() error { return s.listener.Close() }

// Run shows src until ctx ends. Then it gives the browsers that look a last picture, for which it
// waits no longer than a second, and returns.
func (s *Server) Run(ctx context.Context, src Source) error {
	var wg sync.WaitGroup
	var err error
	wg.Go(func() { err = s.http.Serve(s.listener) })
	s.hub.run(ctx, src)
	s.stop()
	wg.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// stop ends all connections: those with a page when it has the last picture, which the hub has by
// now. The error is that of having cut some because it took too long.
func (s *Server) stop() error {
	s.mu.Lock()
	s.stopping = true
	for c := range s.fresh { // Shutdown would wait for a request on them
		c.Close()
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lastPatience)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		s.http.Close()
	}
	return err
}

func (s *Server) connState(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.fresh, c)
	case s.stopping:
		c.Close()
	default:
		s.fresh[c] = true
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /events", s.stream)
	// It costs the ranks a moment, so no page of another site may have a browser ask.
	mux.Handle("POST /explain", http.NewCrossOriginProtection().Handler(http.HandlerFunc(s.serveExplanation)))
	for path, f := range files {
		mux.HandleFunc("GET "+path, f.serve)
	}
	return mux
}

// stream sends one browser a picture, and what changes, until it goes away, is too slow or the last
// picture is sent.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	if !s.hub.join(maxStreams) {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many look at this page already", http.StatusServiceUnavailable)
		return
	}
	defer s.hub.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return
	}
	to := http.NewResponseController(w)
	var has *picture
	for {
		data, cur, isLast, changed := s.hub.next(has)
		if len(data) > 0 {
			if to.SetWriteDeadline(time.Now().Add(patience)) != nil {
				return
			}
			if _, err := w.Write(data); err != nil || to.Flush() != nil {
				return
			}
			has = cur
			continue // there may be another by now
		}
		if isLast {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// serveExplanation says what the ranks wait for.
func (s *Server) serveExplanation(w http.ResponseWriter, r *http.Request) {
	if !s.asking.TryLock() {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "the ranks are being asked already; try again in a moment", http.StatusTooManyRequests)
		return
	}
	defer s.asking.Unlock()
	text, err := s.explain(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	io.WriteString(w, text)
}
