package httpguard

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Guard says which clients are let in. It must not change while it is used.
type Guard struct {
	Secret []byte   // what clients must give; nil if nothing. At a Unix socket it is not asked for
	Open   bool     // every client that reaches the address is let in, wherever it is; of no effect with a Secret
	Names  []string // by which this machine may be asked without a secret, beside numbers and localhost
}

// ExposedError says that a server would answer other machines, and that it was not said which
// clients may ask.
type ExposedError struct{ Addr net.Addr }

func (e *ExposedError) Error() string {
	return fmt.Sprintf("%v can be reached by other machines: give a file with a secret that they must know (--http-auth, FITMPI_HTTP_AUTH), "+
		"or say that every client may ask (--http-open, FITMPI_HTTP_OPEN=1)", e.Addr)
}

// Admit returns l if a server may listen there. Else it closes l, and the error is an
// *ExposedError.
func (g *Guard) Admit(l net.Listener) (net.Listener, error) {
	if g.Open || len(g.Secret) > 0 || !IsExposed(l.Addr()) {
		return l, nil
	}
	l.Close()
	return nil, &ExposedError{l.Addr()}
}

// IsExposed reports whether other machines may reach an address: it is neither a Unix socket nor of
// the loopback interface.
func IsExposed(a net.Addr) bool {
	switch a := a.(type) {
	case *net.UnixAddr:
		return false
	case *net.TCPAddr:
		return !a.IP.IsLoopback()
	default:
		return true
	}
}

// Refusal says why a request to a server at this address is not answered; 0 if it is.
func (g *Guard) Refusal(at net.Addr, r *http.Request) (status int, why string) {
	switch {
	case r.ContentLength != 0:
		return http.StatusRequestEntityTooLarge, "no request to this server has a body"
	case at.Network() == "unix":
	case len(g.Secret) > 0:
		if !g.Knows(r) {
			return http.StatusUnauthorized, "this server wants the secret of its --http-auth file, as a bearer token or as the password of any user"
		}
	case !IsExposed(at) && !IsHere(r.Host, g.Names...):
		return http.StatusMisdirectedRequest, "this is a server of FitMPI; ask it by its number, or as localhost"
	}
	return 0, ""
}

// Refuse answers a request that is not let in.
func Refuse(w http.ResponseWriter, status int, why string) {
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="FitMPI", charset="UTF-8"`)
	}
	w.Header().Set("Connection", "close")
	http.Error(w, why, status)
}

// Knows reports whether a request gives the secret.
func (g *Guard) Knows(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, given, ok = r.BasicAuth()
	}
	return ok && len(g.Secret) > 0 && Equal(given, string(g.Secret))
}

// Equal compares in a time that says nothing of what is wanted, not even its length.
func Equal(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// IsHere reports whether a browser that asked for this host cannot have been led here by a
// stranger's name: it is a number, a name that always means the browser's own machine, or one of
// names. The port does not matter: ssh may have brought the request from another.
func IsHere(asked string, names ...string) bool {
	host := asked
	if h, _, err := net.SplitHostPort(asked); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	for _, name := range names {
		if name != "" && host == strings.ToLower(name) {
			return true
		}
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
