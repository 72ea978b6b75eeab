package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/gateway"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/secure"
)

const gatewayUsage = `fitrun gateway joins a domain of hosts to others that cannot reach it, or that it cannot reach, directly.

Usage:
  fitrun gateway --domain NAME --listen HOST:PORT --secret-file FILE [options]

Run one in each domain, on a host that the domain's ranks can reach; of two gateways, one must be able to dial the other.
In the host file of a job, say domain=NAME behind the hosts of a domain; and tell fitrun the gateways:
  fitrun --hostfile hosts --gateway west=10.1.0.1:7100 --gateway east=10.2.0.1:7100 --secret-file FILE ./prog
What ranks of one domain send to another then goes through the gateways, encrypted between them. The program is the same.

Options:
  --domain NAME         the domain whose ranks this gateway reaches
  --listen HOST:PORT    where ranks of the domain, and other gateways, connect; may be repeated
  --peer HOST:PORT      a gateway that this one dials, and keeps a link to; may be repeated
  --proxy HOST:PORT     a web proxy by which it dials those, asking it to CONNECT; many allow port 443 only: let the other
                        gateway listen there
  --proxy-auth FILE     a file with USER:PASSWORD for the proxy; no other user may read it
  --secret-file FILE    a file of 32 random bytes or more, which all gateways and fitrun have; no other user may read it
  --allow NETWORKS      where ranks of the domain may be, for example 10.1.0.0/16; by default every address but those of
                        this host alone (loopback, link-local)
  --max-streams N       most connections at a time of peers that have proved that they may
                        be there (default 4096); more are refused
  -v, --verbose         say what is relayed too
  -h, --help            print this

It runs until SIGINT or SIGTERM. What goes wrong is said on standard error. Exit codes: 0 ended by a signal, 1 a listener
failed, 2 wrong use.
`

// gatewayOptions is the command line of fitrun gateway.
type gatewayOptions struct {
	cfg     gateway.Config
	listen  []string
	secret  string // file
	proxy   string // HOST:PORT, "" for none
	user    string // file with USER:PASSWORD for the proxy
	verbose bool
	help    bool
}

// gatewayMain is fitrun gateway. It returns the exit code.
func gatewayMain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseGateway(args)
	if err == nil && o.help {
		io.WriteString(stdout, launch.HelpText(stdout, gatewayUsage))
		return 0
	}
	if err == nil {
		o.cfg.Secret, err = secure.ReadSecret(o.secret)
	}
	if err == nil {
		err = o.takeProxy()
	}
	if err != nil {
		fmt.Fprintf(launch.Folded(stderr), "fitrun gateway: %v\n", err)
		return launch.ExitUsage
	}
	ctx, stop := signal.NotifyContext(ctx, stopSignals()...)
	defer stop()
	return runGateway(ctx, o, stderr)
}

// takeProxy puts the proxy into the configuration.
func (o *gatewayOptions) takeProxy() error {
	switch {
	case o.proxy == "" && o.user != "":
		return errors.New("--proxy-auth without --proxy")
	case o.proxy == "":
		return nil
	case len(o.cfg.Peers) == 0:
		return errors.New("--proxy without --peer: a gateway dials only those")
	}
	o.cfg.Proxy = &gateway.Proxy{Addr: o.proxy}
	if o.user == "" {
		return nil
	}
	st, err := os.Stat(o.user)
	if err != nil {
		return fmt.Errorf("--proxy-auth: %w", err)
	}
	if st.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("--proxy-auth %s: its mode %#o lets other users use it: chmod 600 it", o.user, st.Mode().Perm())
	}
	b, err := os.ReadFile(o.user)
	if err != nil {
		return fmt.Errorf("--proxy-auth: %w", err)
	}
	o.cfg.Proxy.User = strings.TrimRight(string(b), "\r\n")
	if name, _, ok := strings.Cut(o.cfg.Proxy.User, ":"); !ok || name == "" || strings.ContainsAny(o.cfg.Proxy.User, "\r\n") {
		return fmt.Errorf("--proxy-auth %s: want one line, USER:PASSWORD", o.user)
	}
	return nil
}

// oneAddress accepts HOST:PORT.
func oneAddress(field *string) setter {
	return func(name, value string) error {
		var list []string
		if err := addresses(&list)(name, value); err != nil || strings.Contains(value, "/") {
			return fmt.Errorf("%s %s: want HOST:PORT, for example %s proxy.example.org:3128", name, value, name)
		}
		*field = value
		return nil
	}
}

// runGateway serves until ctx ends or a listener fails.
func runGateway(ctx context.Context, o gatewayOptions, stderr io.Writer) int {
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	o.cfg.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	listeners, err := listenAll(o.listen)
	if err != nil {
		fmt.Fprintf(launch.Folded(stderr), "fitrun gateway: %v\n", err)
		return launch.ExitError
	}
	g, err := gateway.New(o.cfg)
	if err != nil {
		fmt.Fprintf(launch.Folded(stderr), "fitrun gateway: %v\n", err)
		return launch.ExitUsage
	}
	defer g.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, len(listeners))
	var wg sync.WaitGroup
	for _, l := range listeners {
		fmt.Fprintf(launch.Folded(stderr), "fitrun gateway: domain %s listens at %v\n", o.cfg.Domain, l.Addr())
		wg.Go(func() {
			if err := g.Serve(l); err != nil {
				failed <- fmt.Errorf("listening at %v: %w", l.Addr(), err)
				cancel()
			}
		})
	}
	<-ctx.Done()
	g.Close()
	wg.Wait()
	select {
	case err := <-failed:
		fmt.Fprintf(launch.Folded(stderr), "fitrun gateway: %v\n", err)
		return launch.ExitError
	default:
		return 0
	}
}

func listenAll(addrs []string) (all []net.Listener, err error) {
	for _, addr := range addrs {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			for _, l := range all {
				l.Close()
			}
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func parseGateway(args []string) (gatewayOptions, error) {
	var o gatewayOptions
	fs := flag.NewFlagSet("fitrun gateway", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	r := registrar{fs: fs, isFirst: true}
	r.job(text(&o.cfg.Domain, "west"), "domain")
	r.job(addresses(&o.listen), "listen")
	r.job(addresses(&o.cfg.Peers), "peer")
	r.job(oneAddress(&o.proxy), "proxy")
	r.job(text(&o.user, "file"), "proxy-auth")
	r.job(text(&o.secret, "secret"), "secret-file")
	r.job(networks(&o.cfg.Allow), "allow")
	r.job(count(&o.cfg.Streams, 1<<20, "connections"), "max-streams")
	r.jobFlag(&o.verbose, "v", "verbose")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		o.help = true
		return o, nil
	case r.bad != nil:
		return o, r.bad
	case err != nil:
		return o, explainFlagOf("fitrun gateway", err, fs)
	case fs.NArg() > 0:
		return o, fmt.Errorf("%q: a gateway takes options only; fitrun gateway --help lists them", fs.Arg(0))
	case o.cfg.Domain == "", len(o.listen) == 0, o.secret == "":
		return o, errors.New("want --domain, --listen and --secret-file; fitrun gateway --help explains them")
	}
	return o, nil
}

// addresses accepts HOST:PORT, any number of times.
func addresses(list *[]string) setter {
	return func(name, value string) error {
		if _, port, err := net.SplitHostPort(value); err != nil || port == "" {
			return fmt.Errorf("%s %s: want HOST:PORT, for example %s 10.1.0.1:7100", name, value, name)
		}
		*list = append(*list, value)
		return nil
	}
}

// networks accepts networks with commas between them.
func networks(list *[]netip.Prefix) setter {
	return func(name, value string) error {
		for item := range strings.SplitSeq(value, ",") {
			p, err := netip.ParsePrefix(item)
			if err != nil {
				return fmt.Errorf("%s %s: want networks such as 10.1.0.0/16 with commas between them", name, value)
			}
			*list = append(*list, p)
		}
		return nil
	}
}
