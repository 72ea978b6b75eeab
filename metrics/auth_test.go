//go:build linux && !fitmpi_portable

package metrics

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const secret = "0123456789abcdef0123456789abcdef"

func secretFile(t *testing.T, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte(secret+"\n"), mode); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestExposed: a server that other machines reach wants a secret, or to be told that every client
// may read.
func TestExposed(t *testing.T) {
	if s, err := Listen(Config{Addr: "0.0.0.0:0", Source: Source{Stats: none}}); err == nil {
		s.Close(t.Context())
		t.Error("everybody may read, and nobody said so")
	} else if !strings.Contains(err.Error(), "FITMPI_HTTP_AUTH") || !strings.Contains(err.Error(), "FITMPI_HTTP_OPEN") {
		t.Errorf("%v does not say what to do", err)
	}
	for _, mode := range []os.FileMode{0o644, 0o666} {
		name := secretFile(t, 0o600)
		os.Chmod(name, mode)
		if s, err := Listen(Config{Addr: "127.0.0.1:0", SecretFile: name, Source: Source{Stats: none}}); err == nil {
			s.Close(t.Context())
			t.Errorf("a secret of mode %v is none", mode)
		}
	}
	open := listenAt(t, Config{Addr: "0.0.0.0:0", Open: true})
	if resp, err := over(t, open).Get("http://node7.example/metrics"); err != nil {
		t.Error(err)
	} else if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		t.Errorf("open: %s", resp.Status)
	}
}

// TestSecret: it opens as a bearer token and as a password, and nothing else does, at the loopback
// interface too.
func TestSecret(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "127.0.0.1:0"} {
		s := listenAt(t, Config{Addr: addr, SecretFile: secretFile(t, 0o600), Profiles: addr == "127.0.0.1:0"})
		for name, test := range map[string]struct {
			how  func(*http.Request)
			want int
		}{
			"nothing":         {func(*http.Request) {}, 401},
			"bearer":          {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }, 200},
			"bearer, wrong":   {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret[1:]) }, 401},
			"bearer, longer":  {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret+"0") }, 401},
			"bearer, empty":   {func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, 401},
			"password":        {func(r *http.Request) { r.SetBasicAuth("prometheus", secret) }, 200},
			"password, empty": {func(r *http.Request) { r.SetBasicAuth("prometheus", "") }, 401},
			"user, swapped":   {func(r *http.Request) { r.SetBasicAuth(secret, "prometheus") }, 401},
			"in the address":  {func(r *http.Request) { r.URL.RawQuery = "token=" + secret }, 401},
		} {
			for _, path := range []string{"/metrics", "/debug/pprof/", "/other"} {
				req, err := http.NewRequestWithContext(t.Context(), "GET", "http://node7.example"+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				test.how(req)
				resp, err := over(t, s).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				want := test.want
				if want == 200 && (path == "/other" || path != "/metrics" && addr != "127.0.0.1:0") {
					want = 404
				}
				if resp.StatusCode != want {
					t.Errorf("%s, %s, %s: %s, want %d", addr, name, path, resp.Status, want)
				}
				if want == 401 && !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Basic ") {
					t.Errorf("%s: a browser would not ask for a password: %v", name, resp.Header)
				}
			}
		}
	}
}
