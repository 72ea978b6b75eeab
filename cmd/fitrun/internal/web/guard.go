//go:build linux

package web

import (
	"embed"
	"net"
	"net/http"
	"path"

	"github.com/fitmpi/fitmpi/internal/httpguard"
)

//go:embed page
var page embed.FS

// file is one that the page consists of.
type file struct {
	kind string
	data []byte
}

// files are the page, by path.
var files = loadFiles()

func loadFiles() map[string]file {
	kinds := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	entries, err := page.ReadDir("page")
	if err != nil {
		panic("web: bug: " + err.Error())
	}
	all := make(map[string]file)
	for _, e := range entries {
		data, err := page.ReadFile("page/" + e.Name())
		if err != nil {
			panic("web: bug: " + err.Error())
		}
		name := "/" + e.Name()
		if name == "/index.html" {
			name = "/{$}"
		}
		all[name] = file{kinds[path.Ext(e.Name())], data}
	}
	return all
}

func (f file) serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "no-cache") // the next fitrun at this address may have another page
	w.Write(f.data)
}

// tokenName is what the token is called in the address. The cookie's name has the port as well:
// browsers give cookies of one port to all ports of a host.
const tokenName = "token"

// guarded lets through the requests that may see the page.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		restrict(w.Header())
		given := r.URL.Query().Get(tokenName)
		status, why := s.guard.Refusal(s.listener.Addr(), r)
		switch {
		case s.token == "" && status == 0, s.token != "" && r.ContentLength == 0 && (s.hasCookie(r) || s.guard.Knows(r)):
			httpguard.Welcome(r)
			next.ServeHTTP(w, r)
		case s.token != "" && r.ContentLength == 0 && httpguard.Equal(given, s.token):
			http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Value: s.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, "/", http.StatusSeeOther) // the token leaves the address, which people copy and photograph
		case status == 0, status == http.StatusUnauthorized:
			why = "this page is shown to a browser that opens it by the address that fitrun has written to its stderr, with the token"
			if len(s.guard.Secret) > 0 {
				httpguard.Refuse(w, http.StatusUnauthorized, why+", or to a client that knows the secret of --http-auth")
				return
			}
			http.Error(w, why, http.StatusUnauthorized)
		default:
			httpguard.Refuse(w, status, why)
		}
	})
}

// restrict forbids browsers everything that the page does not need.
func restrict(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

func (s *Server) cookieName() string {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	return "fitrun-" + port
}

func (s *Server) hasCookie(r *http.Request) bool {
	c, err := r.Cookie(s.cookieName())
	return err == nil && httpguard.Equal(c.Value, s.token)
}
