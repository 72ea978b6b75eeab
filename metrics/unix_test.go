//go:build linux && !fitmpi_portable

package metrics

import (
	"context"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

func none() engine.Stats { return engine.Stats{} }

func listenAt(t *testing.T, cfg Config) *Server {
	t.Helper()
	cfg.Stats = none
	s, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// over returns a client that reaches s whatever its address.
func over(t *testing.T, s *Server) *http.Client {
	t.Helper()
	c := client(t)
	c.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
		return net.Dial(s.Addr().Network(), s.Addr().String())
	}
	return c
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.sock")
	s := listenAt(t, Config{Addr: "unix:" + path, Source: Source{Rank: 2}})
	if s.Name() != "unix:"+path {
		t.Errorf("the server's name is %s", s.Name())
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("the socket's mode is %v", info.Mode())
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("beside the socket there is something: %v", files)
	}
	resp, err := over(t, s).Get("http://localhost/metrics")
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", resp.StatusCode)
	}
	if other, err := Listen(Config{Addr: "unix:" + path, Source: Source{Stats: none}}); err == nil {
		other.Close(t.Context())
		t.Error("a second server takes the socket of one that runs")
	} else if !strings.Contains(err.Error(), "another process listens") {
		t.Error(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is there after Close")
	}
}

// TestUnixSocketLeft: one that a process left which was killed is replaced; a file is not.
func TestUnixSocketLeft(t *testing.T) {
	dir := t.TempDir()
	path, file := filepath.Join(dir, "left.sock"), filepath.Join(dir, "file")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	listenAt(t, Config{Addr: "unix:" + path})
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Listen(Config{Addr: "unix:" + file, Source: Source{Stats: none}}); err == nil {
		s.Close(t.Context())
		t.Error("a file was replaced")
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
		t.Errorf("the file holds %q: %v", b, err)
	}
	if s, err := Listen(Config{Addr: "unix:" + filepath.Join(dir, "missing", "s"), Source: Source{Stats: none}}); err == nil {
		s.Close(t.Context())
		t.Error("a directory was made")
	}
}

// TestProfiles: they are served only when asked for, and only where no other machine gets at them.
func TestProfiles(t *testing.T) {
	effort.Need(t, effort.Usual, "a profile takes seconds")
	for _, test := range []struct {
		addr     string
		profiles bool
		status   int // 0: refused
	}{
		{"127.0.0.1:0", true, http.StatusOK},
		{"[::1]:0", true, http.StatusOK},
		{"unix:" + filepath.Join(t.TempDir(), "s"), true, http.StatusOK},
		{"0.0.0.0:0", true, 0},
		{"127.0.0.1:0", false, http.StatusNotFound},
		{"0.0.0.0:0", false, http.StatusNotFound},
	} {
		cfg := Config{Addr: test.addr, Open: true, Profiles: test.profiles, Source: Source{Stats: none}}
		if test.status == 0 {
			if s, err := Listen(cfg); err == nil {
				s.Close(t.Context())
				t.Errorf("%+v: profiles for everybody", test)
			} else if !strings.Contains(err.Error(), "loopback") {
				t.Errorf("%+v: %v", test, err)
			}
			continue
		}
		if test.addr[0] == '[' {
			if l, err := net.Listen("tcp", test.addr); err != nil {
				t.Logf("no IPv6 here: %v", err)
				continue
			} else {
				l.Close()
			}
		}
		s := listenAt(t, cfg)
		for _, path := range []string{"", "goroutine?debug=1", "cmdline", "profile?seconds=1", "symbol", "trace?seconds=0.01"} {
			resp, err := over(t, s).Get("http://localhost/debug/pprof/" + path)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Body.Close(); resp.StatusCode != test.status {
				t.Errorf("%+v: %q: status %d", test, path, resp.StatusCode)
			}
		}
	}
}
