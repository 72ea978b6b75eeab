//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// options are what the command line says.
type options struct {
	test       test
	style      style
	sizes      []int
	iterations int // 0: by size
	warmup     int // negative: by size
	window     int // 0: by size
	buffer     int // SO_SNDBUF and SO_RCVBUF; 0: the system's
	congestion string
	serve      bool
	host       string // where the server is, or listens; empty: start one
	port       int    // 0: the system chooses, and the server says it
}

// Where the server listens if -host is given without -port: that of rawtcp.
const usualPort = 7911

const usageText = `rawgo measures TCP sockets in Go.

Usage:
  rawgo TEST [options]
  rawgo -serve -host ADDRESS [options]     serves one client

TEST is pingpong, bw or histogram.

Options:
  -policy STYLE           conn, bufio, goroutine, poll, wait or hold (default conn): see the package's documentation
  -sizes 8,64K            bytes of a message
  -iterations N, -warmup N, -window N   as of fitbench
  -congestion NAME        TCP congestion control, such as cubic
  -sockbuf BYTES          SO_SNDBUF and SO_RCVBUF
  -host ADDRESS -port N   where the server is; without them it is started
`

func parseOptions(args []string, stderr io.Writer) (*options, error) {
	opt := &options{}
	fs := opt.flags()
	fs.SetOutput(stderr)
	fs.Usage = func() { io.WriteString(stderr, usageText) }
	var names []string
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if args = fs.Args(); len(args) > 0 {
			names, args = append(names, args[0]), args[1:]
		}
	}
	return opt, opt.check(names)
}

// flags are the flags that set opt.
func (opt *options) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("rawgo", flag.ContinueOnError)
	opt.style = styles[0]
	fs.Func("policy", "", func(s string) error {
		i := slices.IndexFunc(styles, func(x style) bool { return x.name == s })
		if i < 0 {
			return fmt.Errorf("choose one of %s", strings.Join(styleNames(), ", "))
		}
		opt.style = styles[i]
		return nil
	})
	fs.Func("sizes", "", func(s string) (err error) {
		opt.sizes, err = bench.ParseSizes(s)
		return err
	})
	fs.Func("sockbuf", "", func(s string) error {
		sizes, err := bench.ParseSizes(s)
		if err == nil && len(sizes) != 1 {
			err = errors.New("give one size")
		}
		if err == nil {
			opt.buffer = sizes[0]
		}
		return err
	})
	fs.IntVar(&opt.iterations, "iterations", 0, "")
	fs.IntVar(&opt.warmup, "warmup", -1, "")
	fs.IntVar(&opt.window, "window", 0, "")
	fs.StringVar(&opt.congestion, "congestion", "", "")
	fs.BoolVar(&opt.serve, "serve", false, "")
	fs.StringVar(&opt.host, "host", "", "")
	fs.IntVar(&opt.port, "port", usualPort, "")
	return fs
}

func (opt *options) check(names []string) error {
	switch {
	case opt.host != "":
		if _, err := opt.addr(); err != nil {
			return fmt.Errorf("-host %s: need an address such as 127.0.0.1", opt.host)
		}
	case opt.serve:
		return errors.New("-serve needs -host, the address to listen at")
	}
	switch {
	case opt.iterations < 0 || opt.window < 0 || opt.port < 0 || opt.port > 1<<16-1:
		return errors.New("-iterations, -window and -port are not negative, and a port is below 65536")
	case opt.serve: // it is told the test, and does not need it
		return nil
	case len(names) != 1:
		return fmt.Errorf("name one test: %s", strings.Join(testNames(), ", "))
	}
	i := slices.IndexFunc(tests, func(t test) bool { return t.name == names[0] })
	if i < 0 {
		return fmt.Errorf("no test %q: choose one of %s", names[0], strings.Join(testNames(), ", "))
	}
	opt.test = tests[i]
	if len(opt.sizes) == 0 {
		opt.sizes = opt.test.sizes
	}
	return nil
}

// addr is where the server is.
func (opt *options) addr() (netip.AddrPort, error) {
	a, err := netip.ParseAddr(opt.host)
	return netip.AddrPortFrom(a, uint16(opt.port)), err
}

// patience is how long the two processes wait for each other.
const patience = 10 * time.Second

// startServer starts this program again, as the server of this process, and sets opt to where it
// listens. stop waits for its end; it ends by itself when its connection does.
func (opt *options) startServer(ctx context.Context, args []string, stderr io.Writer) (stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, slices.Concat(args, []string{"-serve", "-host", "127.0.0.1", "-port", "0"})...)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscanf(said, portLine, &opt.port)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server does not say its port: %w", err), cmd.Cancel(), cmd.Wait())
	}
	opt.host = "127.0.0.1"
	return cmd.Wait, nil
}

// portLine is how a server that the system has chosen a port for says so.
const portLine = "port %d\n"
