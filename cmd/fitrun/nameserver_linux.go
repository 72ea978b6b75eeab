package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os/signal"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/names"
	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/internal/port"
)

const nameserverUsage = `fitrun nameserver keeps the names that jobs on several hosts publish for their ports.

Usage:
  fitrun nameserver [options]

It prints one line, NAME=VALUE, to be set in the environment of the jobs:
  export "$(fitrun nameserver --listen 10.1.0.1 | head -1)"; fitrun ./ocean & fitrun ./atmosphere
The value has a key in it. What knows it can publish, look up and take back names, so it is to be kept as a password is.
On one host jobs of one user need no server.

Options:
  --listen ADDRESS      where to listen, at any port of TCP (default 127.0.0.1); may be repeated
  --port-range FROM-TO  at one of these ports
  -h, --help            print this

It runs until SIGINT or SIGTERM. Exit codes: 0 ended by a signal, 1 it cannot listen, 2 wrong use.
`

// nameserverOptions is the command line of fitrun nameserver.
type nameserverOptions struct {
	listen []netip.Addr
	ports  netif.Ports
	help   bool
}

// nameserverMain is fitrun nameserver. It returns the exit code.
func nameserverMain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseNameserver(args)
	if err == nil && o.help {
		io.WriteString(stdout, launch.HelpText(stdout, nameserverUsage))
		return 0
	}
	if err != nil {
		fmt.Fprintf(launch.Folded(stderr), "fitrun nameserver: %v\n", err)
		return launch.ExitUsage
	}
	ctx, stop := signal.NotifyContext(ctx, stopSignals()...)
	defer stop()
	p, err := port.Open(o.listen, o.ports)
	if err != nil {
		fmt.Fprintf(launch.Folded(stderr), "fitrun nameserver: %v\n", err)
		return launch.ExitError
	}
	defer p.Close()
	fmt.Fprintf(stdout, "%s=%s\n", names.Variable, p.Name())
	new(names.Server).Serve(ctx, p)
	return 0
}

func parseNameserver(args []string) (nameserverOptions, error) {
	var o nameserverOptions
	fs := flag.NewFlagSet("fitrun nameserver", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	r := registrar{fs: fs, isFirst: true}
	r.job(addressList(&o.listen), "listen")
	r.job(portRange(&o.ports), "port-range")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		o.help = true
		return o, nil
	case r.bad != nil:
		return o, r.bad
	case err != nil:
		return o, explainFlagOf("fitrun nameserver", err, fs)
	case fs.NArg() > 0:
		return o, fmt.Errorf("%q: a name server takes options only; fitrun nameserver --help lists them", fs.Arg(0))
	}
	if len(o.listen) == 0 {
		o.listen = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	}
	return o, nil
}

// addressList accepts addresses, any number of times.
func addressList(list *[]netip.Addr) setter {
	return func(name, value string) error {
		a, err := netip.ParseAddr(value)
		if err != nil {
			return fmt.Errorf("%s %s: want an address of this host, for example %s 10.1.0.1", name, value, name)
		}
		*list = append(*list, a)
		return nil
	}
}

func portRange(ports *netif.Ports) setter {
	return func(name, value string) (err error) {
		if *ports, err = netif.ParsePorts(value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
}
