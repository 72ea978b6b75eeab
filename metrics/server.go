package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fitmpi/fitmpi/internal/httpguard"
)

// mostScrapes is how many scrapes of a rank go on at once; more are told to come again.
const mostScrapes = 8

// Server serves metrics.
type Server struct {
	// immutable after Listen
	listener net.Listener
	http     *http.Server

	wg  sync.WaitGroup // the goroutine of serve; Close stops it and waits
	err error          // why serve ended; owned by serve until wg is done
}

// Config says what a server shows, and where.
type Config struct {
	// Addr is host:port, where port 0 means any free port and no host the loopback interface, or
	// unix: and the path of a Unix socket, which only the user may connect to. A socket that is
	// left there by a process that is gone is replaced.
	Addr string
	// SecretFile names a file with a secret that clients must give: 32 bytes or more, which no
	// other user may read or write. Clients give it as a bearer token, or as the password of basic
	// authentication with any user name. "" asks for none. At a Unix socket it is not asked for.
	SecretFile string
	// Open lets every client read that reaches Addr. Without it and without SecretFile, Addr must
	// be of the loopback interface or a Unix socket.
	Open bool
	Source
	// Profiles serves /debug/pprof as well. A client that reaches that sees the program's arguments
	// and stacks and can make it slow, so Addr must be of the loopback interface or a Unix socket.
	Profiles bool
}

// Serve is Listen without profiles.
func Serve(addr string, src Source) (*Server, error) {
	return Listen(Config{Addr: addr, Source: src})
}

// Listen listens and answers GET /metrics until Close. Beside the rank's counters it shows those of
// the Go runtime and of the process.
func Listen(cfg Config) (*Server, error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry(cfg.Source), promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes}))
	if cfg.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	guard, err := cfg.guard()
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	l, err := listen(cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	if a := l.Addr(); cfg.Profiles && httpguard.IsExposed(a) {
		return nil, errors.Join(fmt.Errorf("metrics: %v is not of the loopback interface: profiles are served there or at a Unix socket only", a), l.Close())
	}
	return serveAt(l, mux, guard)
}

// guard says which clients may read.
func (cfg *Config) guard() (g httpguard.Guard, err error) {
	g.Open = cfg.Open
	if name, err := os.Hostname(); err == nil {
		g.Names = []string{name} // some machines have their own name mean the loopback interface
	}
	if cfg.SecretFile != "" {
		g.Secret, err = httpguard.ReadSecret(cfg.SecretFile)
	}
	return g, err
}

// ServeHandler listens at cfg.Addr until Close, and answers as h does the clients that cfg lets in.
// Only Addr, SecretFile and Open of cfg count.
func ServeHandler(cfg Config, h http.Handler) (*Server, error) {
	guard, err := cfg.guard()
	if err != nil {
		return nil, err
	}
	l, err := listen(cfg.Addr)
	if err != nil {
		return nil, err
	}
	return serveAt(l, h, guard)
}

// serveAt serves h at l, which it takes over.
func serveAt(l net.Listener, h http.Handler, guard httpguard.Guard) (*Server, error) {
	l, err := guard.Admit(l)
	if err != nil {
		return nil, err
	}
	s := &Server{listener: l, http: guard.Server(l.Addr(), h)}
	s.wg.Go(s.serve)
	return s, nil
}

// unixPrefix begins the address of a Unix socket.
const unixPrefix = "unix:"

func listen(addr string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(addr, unixPrefix); ok {
		return listenUnix(path)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w; port 0 takes a free one", err)
	}
	return l, err
}

// listenUnix listens at path. It narrows the permissions of the socket before any client can
// connect. Connections are refused until a socket is listened to, but net binds and listens in one
// step. So the socket is made under another name.
func listenUnix(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != fs.ModeSocket {
			return nil, fmt.Errorf("%s is there, and no socket", path)
		}
		if c, err := net.Dial("unix", path); err == nil {
			return nil, errors.Join(fmt.Errorf("another process listens at %s", path), c.Close())
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".fitmpi") // no other user may enter it
	if err != nil {
		return nil, err
	}
	defer os.Remove(dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, "s")})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	l.SetUnlinkOnClose(false)
	u := &unixListener{UnixListener: l, path: path}
	if err := errors.Join(os.Chmod(filepath.Join(dir, "s"), 0o600), os.Rename(filepath.Join(dir, "s"), path)); err != nil {
		return nil, errors.Join(err, u.Close(), os.RemoveAll(dir))
	}
	return u, nil
}

// unixListener is a listener at a path that its socket was moved to.
type unixListener struct {
	*net.UnixListener
	path string
	once sync.Once
}

// Addr is the path.
func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Net: "unix", Name: l.path} }

// Close closes the listener and removes its path, once.
func (l *unixListener) Close() (err error) {
	l.once.Do(func() {
		err = l.UnixListener.Close()
		if e := os.Remove(l.path); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	})
	return err
}

// latencies are those metrics of the Go runtime, beside its counters of memory and goroutines, that
// tell why a rank is late: how long goroutines waited to run, and how long the world was stopped.
var latencies = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/sched/(latencies|pauses/total/gc):seconds$`)}

func registry(src Source) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(NewCollector(src))
	prometheus.WrapRegistererWith(rankLabels(src), reg).MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(latencies)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

func (s *Server) serve() {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		s.err = fmt.Errorf("metrics: %w", err)
	}
}

// Addr is the address that the server listens on, its port never 0.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Name is Addr in the form of Config.Addr.
func (s *Server) Name() string {
	if a := s.Addr(); a.Network() == "unix" {
		return unixPrefix + a.String()
	}
	return s.Addr().String()
}

// Close stops the server and waits until it has. Requests that are being answered may finish until
// ctx is done; then their connections are cut, and Close returns ctx's error. It may be called more
// than once.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		s.http.Close()
	}
	s.wg.Wait()
	return cmp.Or(s.err, err)
}
