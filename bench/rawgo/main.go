//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/fitmpi/fitmpi/internal/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "rawgo:", err)
		os.Exit(2)
	}
}

// run measures as the arguments say, or serves a process that does.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	opt, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	switch {
	case opt.serve:
		return serve(ctx, opt, stdout)
	case opt.host != "":
		return measure(ctx, opt, stdout)
	}
	stop, err := opt.startServer(ctx, args, stderr)
	if err != nil {
		return err
	}
	return errors.Join(measure(ctx, opt, stdout), stop())
}

// measure connects, measures, and writes the rows.
func measure(ctx context.Context, opt *options, stdout io.Writer) (err error) {
	w, err := dial(ctx, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	stop := context.AfterFunc(ctx, w.interrupt)
	defer stop()
	rows, err := (&client{wire: w, opt: opt}).all()
	if err != nil {
		return err
	}
	return bench.WriteCSV(stdout, rows)
}

// serve does what one client says.
func serve(ctx context.Context, opt *options, stdout io.Writer) (err error) {
	w, err := accept(ctx, opt, stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	stop := context.AfterFunc(ctx, w.interrupt)
	defer stop()
	return serveWire(w)
}
