//go:build linux && !fitmpi_portable

package names

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/internal/port"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stores are a directory and a server.
func stores(t *testing.T) map[string]Store {
	p, err := port.Open([]netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, netif.Ports{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() { new(Server).Serve(ctx, p) })
	t.Cleanup(func() {
		cancel()
		served.Wait()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return map[string]Store{"directory": &directory{filepath.Join(t.TempDir(), "names")}, "server": Of(p.Name())}
}

// MPI 4.1, section 11.9.4: a name is found from when it is published to when it is taken back, and
// is one port's.
func TestStore(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			const service = "a/b ../ü"
			if _, err := s.Lookup(ctx, service); !errors.Is(err, ErrUnknown) {
				t.Errorf("before: %v", err)
			}
			if err := s.Unpublish(ctx, service); !errors.Is(err, ErrUnknown) {
				t.Errorf("taken back before: %v", err)
			}
			if err := s.Publish(ctx, service, "port 1"); err != nil {
				t.Fatal(err)
			}
			if err := s.Publish(ctx, service, "port 2"); !errors.Is(err, ErrTaken) {
				t.Errorf("again: %v", err)
			}
			if p, err := s.Lookup(ctx, service); p != "port 1" || err != nil {
				t.Errorf("found %q, %v", p, err)
			}
			if err := s.Unpublish(ctx, service); err != nil {
				t.Error(err)
			}
			if _, err := s.Lookup(ctx, service); !errors.Is(err, ErrUnknown) {
				t.Errorf("after: %v", err)
			}
			for _, bad := range []string{"", strings.Repeat("x", maxName+1)} {
				if err := s.Publish(ctx, bad, "port"); err == nil {
					t.Errorf("a name of %d bytes passed", len(bad))
				}
			}
			if err := s.Publish(ctx, "empty", ""); err == nil {
				t.Error("a port without a name passed")
			}
		})
	}
}

// What a process has published that is gone counts no more, and a damaged file does not stay in the
// way.
func TestGone(t *testing.T) {
	d := &directory{filepath.Join(t.TempDir(), "names")}
	ctx := t.Context()
	if err := d.Publish(ctx, "s", "old"); err != nil {
		t.Fatal(err)
	}
	name, err := d.file("s")
	if err != nil {
		t.Fatal(err)
	}
	e, err := read(name)
	if err != nil || !e.isAlive() {
		t.Fatalf("%+v, %v", e, err)
	}
	e.Began = "1" // another process had the number
	dead, _ := json.Marshal(e)
	for _, data := range [][]byte{dead, []byte("{")} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := d.Lookup(ctx, "s"); err == nil {
			t.Errorf("found %q", p)
		}
		if err := d.Publish(ctx, "s", "new"); err != nil {
			t.Error(err)
		}
		if p, err := d.Lookup(ctx, "s"); p != "new" {
			t.Errorf("found %q, %v", p, err)
		}
	}
}

// A directory that others may read or write is not used.
func TestPrivate(t *testing.T) {
	root := filepath.Join(t.TempDir(), "names")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	d := &directory{root}
	if err := d.Publish(t.Context(), "s", "p"); err == nil || !strings.Contains(err.Error(), "mode 0700") {
		t.Errorf("published where all may read: %v", err)
	}
}

// A server that is not there is an error that says what was asked.
func TestNoServer(t *testing.T) {
	for _, server := range []string{"nonsense", "fitmpi:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA@127.0.0.1:1"} {
		if _, err := Of(server).Lookup(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), Variable) {
			t.Errorf("%s: %v", server, err)
		}
	}
}
