package mpi

import (
	"cmp"
	"fmt"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/netif"
)

// netSettings say how a rank reaches others that share no memory with it.
//
// What the launcher says, by an option of its user, is about this job; a variable, which may come from a profile of the
// host, counts for interfaces and ports where the launcher says nothing. TLS is used if either asks for it: nothing
// on the way may turn off what the other has asked for.
type netSettings struct {
	choice netif.Choice // of addresses to listen on
	ports  netif.Ports  // to listen on
	remote bool         // some rank is on another host
	tls    bool
}

// parseNet merges what the launcher and the environment say.
func (set *settings) parseNet(n *boot.Net, v *variables) {
	set.net.remote, set.net.tls = n.Remote, n.TLS
	v.parseOr(n.Interface, envInterface, func(s string) (err error) {
		set.net.choice, err = netif.ParseChoice(s)
		return err
	})
	v.parseOr(n.Ports, envPorts, func(s string) (err error) {
		set.net.ports, err = netif.ParsePorts(s)
		return err
	})
	v.parse(envTLS, func(s string) error {
		if s != "0" && s != "1" {
			return fmt.Errorf("%q: 1 encrypts connections between ranks, 0 does not", s)
		}
		set.net.tls = set.net.tls || s == "1"
		return nil
	})
}

// parseOr is parse of what the launcher said, or if that is nothing of a variable.
func (v *variables) parseOr(said, name string, f func(string) error) {
	if s := cmp.Or(said, v.getenv(name)); s != "" && v.err == nil {
		if err := f(s); err != nil {
			v.err = fmt.Errorf("%s=%s: %w", name, s, err)
		}
	}
}
