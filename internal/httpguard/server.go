package httpguard

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/fitmpi/fitmpi/internal/strangers"
)

// Limits of a server.
const (
	Patience  = 10 * time.Second // for a request to come, and for an answer to be taken
	idle      = time.Minute
	maxHeader = 16 << 10

	// Connections on which no admitted client is being answered: of all, and from one address.
	maxStrangers        = 64
	maxStrangersPerHost = 32
)

// Server returns a server for the address that answers what h does, to the clients that are let in.
// Its fields may be changed before it serves, but for Handler, ConnState and ConnContext.
func (g *Guard) Server(at net.Addr, h http.Handler) *http.Server {
	return Bounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, why := g.Refusal(at, r); status != 0 {
			Refuse(w, status, why)
			return
		}
		Welcome(r)
		h.ServeHTTP(w, r)
	}))
}

// Bounded returns a server with the limits of this package, for a handler that says by Welcome
// which clients it lets in.
func Bounded(h http.Handler) *http.Server {
	set := strangers.New(maxStrangers, maxStrangersPerHost)
	return &http.Server{
		Handler: h, ReadTimeout: Patience, WriteTimeout: Patience, IdleTimeout: idle, MaxHeaderBytes: maxHeader,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, welcomeKey{}, func() { set.Leave(c) })
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew, http.StateIdle:
				set.Enter(c)
			case http.StateClosed, http.StateHijacked:
				set.Leave(c)
			case http.StateActive: // until it is welcome
			}
		},
	}
}

type welcomeKey struct{}

// Welcome says that the client that sent a request may be here: until it is answered, its
// connection gives way to no other.
func Welcome(r *http.Request) {
	if welcome, ok := r.Context().Value(welcomeKey{}).(func()); ok {
		welcome()
	}
}
