// Package names is where ports are published (MPI 4.1, section 11.9.4): one job publishes the name
// of a port under the name of a service, another looks it up.
//
//	s := names.Of(os.Getenv(names.Variable))
//	err := s.Publish(ctx, "ocean", port)
//	port, err := s.Lookup(ctx, "ocean")
//	err = s.Unpublish(ctx, "ocean")
//
// Without a server, names are files in a directory of the user's on this host, which no other user
// may read: a port is a secret. What a process has published that is gone counts no more. With one
// (fitrun nameserver), names hold on all hosts that reach it, until they are taken back or it ends.
package names

import (
	"context"
	"errors"
	"fmt"
)

// Variable names the environment variable with the server.
const Variable = "FITMPI_NAMESERVER"

// Errors of a Store.
var (
	ErrTaken   = errors.New("the name is published already, and its process lives")
	ErrUnknown = errors.New("no such name is published")
)

// maxName and maxPort bound what is published, in bytes.
const (
	maxName = 256
	maxPort = 4096
)

// Store keeps names. Its methods are safe for concurrent use, by many processes.
type Store interface {
	// Publish makes port the port of a service. A name that is published is ErrTaken.
	Publish(ctx context.Context, service, port string) error
	// Lookup is the port of a service, or ErrUnknown.
	Lookup(ctx context.Context, service string) (port string, err error)
	// Unpublish takes back what this process has published, or any process with a server. It is
	// ErrUnknown if there is nothing.
	Unpublish(ctx context.Context, service string) error
}

// Of is the store at a server, or, if that is empty, that of this user on this host.
func Of(server string) Store {
	if server != "" {
		return &remote{server}
	}
	return &directory{}
}

// check says what is wrong with the name of a service.
func check(service string) error {
	if service == "" || len(service) > maxName {
		return fmt.Errorf("the name of a service has %d bytes: 1 to %d are possible", len(service), maxName)
	}
	return nil
}

func checkPort(port string) error {
	if port == "" || len(port) > maxPort {
		return fmt.Errorf("the name of a port has %d bytes: 1 to %d are possible", len(port), maxPort)
	}
	return nil
}
