// Package httpguard keeps clients that have no business there out of our HTTP servers. The servers
// show counters and pictures of a job and change nothing, but what a job does is its users'
// business, and a server that is flooded must cost the job nothing.
//
//	g := httpguard.Guard{Secret: secret} // or Open: true, or neither
//	l, err := g.Admit(l)                 // an error if it needs a secret there and has none
//	srv := g.Server(l.Addr(), handler)   // with limits of time, of headers and of connections
//	err = srv.Serve(l)
//
// # Which clients are let in
//
// At a Unix socket, whose file is the user's alone, every client that can connect is let in. With a
// Secret, every client that gives it: as a bearer token or as the password of basic authentication,
// with any user name, so that Prometheus (authorization, or basic_auth) and browsers can. Without a
// Secret, every client on this machine, if the address is of the loopback interface: clients of
// other users of the machine too. Admit refuses every other address, unless the server is Open,
// which is to be said in so many words.
//
// A web page of a stranger can have a browser ask a server on its machine, and read the answer if
// it makes its own name mean that machine (DNS rebinding). So what asks without a secret at the
// loopback interface must ask by a number, or by a name that cannot be bent: localhost, or one of
// Names.
//
// HTTP here is plain: a process that can listen on the way reads the secret too. Across networks
// that are not trusted, put a server that does TLS before it, or use ssh -L.
//
// # Limits
//
// Requests have 10 s to come, 16 KiB of headers and no body. Of connections on which no admitted
// client is being answered, 64 are held, 32 from one address; the oldest gives way. What is
// answered is bounded by the handlers.
//
// All functions are safe for concurrent use.
package httpguard
