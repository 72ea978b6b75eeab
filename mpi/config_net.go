package mpi

import "github.com/fitmpi/fitmpi/internal/netif"

// netSettings say how a rank reaches others that share no memory with it.
//
// What the launcher says, by an option of its user, is about this job; a variable, which may come
// from a profile of the host, counts for interfaces and ports where the launcher says nothing. TLS
// is used if either asks for it: nothing on the way may turn off what the other has asked for.
type netSettings struct {
	choice netif.Choice // of addresses to listen on
	ports  netif.Ports  // to listen on
	remote bool         // some rank is on another host
	tls    bool
}
