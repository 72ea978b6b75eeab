//go:build linux

package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/secure"
)

// Arg is the first argument of a fitrun that is to be an agent.
const Arg = "agent"

const usage = `fitrun agent serves hosts that have no sshd: it starts ranks for every fitrun that knows the secret.

Usage:
  fitrun agent --listen HOST:PORT --secret-file FILE

Run it on each such host; in the host file of a job say agent behind the host, and give fitrun the same file:
  fitrun --hostfile hosts --secret-file FILE ./prog
A client that knows the secret can run any program as the user of the agent. All that is said is encrypted.

Options:
  --listen HOST:PORT    where fitrun connects; the usual port is ` + defaultPortText + `, and :` + defaultPortText + ` is all addresses
  --secret-file FILE    a file of 32 random bytes or more, which no other user may read
  -h, --help            print this

It runs until SIGINT or SIGTERM, and then ends what it has started.
`

const defaultPortText = "7117"

// Main is fitrun as an agent, with the arguments after Arg. It returns the exit code.
func Main(args []string) int {
	var err error
	switch {
	case len(args) > 0 && args[0] == "--stdio":
		err = serveArgs(args)
	default:
		err = listenArgs(args)
	}
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(os.Stderr, "fitrun agent: %v; fitrun agent --help explains it\n", err)
		return 2
	}
	fmt.Fprintf(os.Stderr, "fitrun agent: %v\n", err)
	return 1
}

// errUsage is wrong use.
var errUsage = errors.New("want --listen HOST:PORT and --secret-file FILE")

// listenArgs listens as the user wants it.
func listenArgs(args []string) error {
	fs := flag.NewFlagSet("fitrun agent", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	addr, file := fs.String("listen", "", ""), fs.String("secret-file", "", "")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		io.WriteString(os.Stdout, usage)
		return err
	case err != nil:
		return fmt.Errorf("%w, and not what is there: %w", errUsage, err)
	case fs.NArg() > 0:
		return fmt.Errorf("%w, and not %q", errUsage, fs.Arg(0))
	case *addr == "" || *file == "":
		return errUsage
	}
	secret, err := secure.ReadSecret(*file)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	log.Info("listening", "address", l.Addr())
	return Listen(ctx, l, secret, log)
}

// serveArgs serves as the prologue wants it: --stdio SILENCE [HASH].
func serveArgs(args []string) error {
	if len(args) < 2 || len(args) > 3 {
		return errors.New("--stdio is for fitrun on other hosts, and of no use by hand")
	}
	silence, err := parseSilence(args[1])
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if len(args) == 3 { // the host has no sha256sum
		if err := verify(exe, args[2]); err != nil {
			return err
		}
	}
	in, err := pollable(os.Stdin)
	if err != nil {
		return err
	}
	out, err := pollable(os.Stdout)
	if err != nil {
		return err
	}
	return Serve(in, out, silence, exe)
}

// minSilence is the least time after which a host may be taken for lost: signs of life come a few
// times in it.
const minSilence = time.Second

// parseSilence reads how long a neighbour may say nothing.
func parseSilence(s string) (time.Duration, error) {
	silence, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration", s)
	}
	if silence < minSilence {
		return 0, fmt.Errorf("a host that is lost after %v of silence: want %v or more", silence, minSilence)
	}
	return silence, nil
}

// verify removes a copy that is not whole.
func verify(exe, want string) error {
	sum, _, err := SumFile(exe)
	if err == nil && sum != want {
		os.Remove(exe)
		err = fmt.Errorf("the copy of fitrun in %s was damaged, and is removed; start the job again", filepath.Dir(exe))
	}
	return err
}

// pollable is a duplicate of f of which reads and writes can be interrupted by Close.
func pollable(f *os.File) (*os.File, error) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
