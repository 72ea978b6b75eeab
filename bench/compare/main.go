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
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// start does what the arguments say.
func start(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	opt, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	if len(chosen(opt)) == 0 {
		return errNothing
	}
	if opt.list {
		return writeList(stdout, opt)
	}
	if opt.from != "" {
		return again(opt, stdout)
	}
	return compare(ctx, opt, stdout, stderr)
}

// again writes the document from rows that were measured before.
func again(opt *options, stdout io.Writer) error {
	rec, err := load(opt.from)
	if err != nil {
		return err
	}
	if opt.dir == "" {
		opt.dir = "docs"
	}
	return publish(rec, opt.dir, stdout)
}

// compare measures and writes the document. Interrupted, it writes what there is, but
// not over a whole document unless -o says so.
func compare(ctx context.Context, opt *options, stdout, stderr io.Writer) error {
	if err := install(ctx, stderr); err != nil {
		return err
	}
	root, err := repository(ctx)
	if err != nil {
		return err
	}
	bin, err := os.MkdirTemp("", "fitmpi-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	peers := filepath.Join(bin, "peers")
	if err := build(ctx, stderr, root, bin, peers); err != nil {
		return err
	}
	pace := 0
	if needsPace(chosen(opt)) {
		if pace, err = findPace(ctx, bin); err != nil {
			return err
		}
	}
	isChosen := opt.dir != ""
	if opt.dir, err = directory(opt, root); err != nil {
		return err
	}
	rec := newRecord(opt, describe(ctx), time.Now())
	c := &campaign{
		runs:    schedule(chosen(opt), byName(contenders()), opt.repeats),
		setting: setting{bin: bin, peers: peers, netns: netnsScript(root), bind: opt.bind, pace: pace, quick: opt.quick},
		quick:   opt.quick, record: rec, links: &links{exec: quiet, root: root}, log: stderr, secrets: discreet(root, bin),
	}
	measured := c.measure(ctx)
	if measured != nil && !rec.Partial && !isChosen {
		if opt.dir, err = os.MkdirTemp("", "fitmpi-benchmarks-"); err != nil {
			return errors.Join(measured, err)
		}
	}
	rec.Partial = rec.Partial || measured != nil
	return errors.Join(measured, rec.save(filepath.Join(opt.dir, "bench")), publish(rec, opt.dir, stdout))
}

// directory is where the document goes. Figures of a part of the experiments do not
// take the place of whole ones unasked.
func directory(opt *options, root string) (string, error) {
	switch {
	case opt.dir != "":
		return opt.dir, nil
	case opt.isPartial():
		return os.MkdirTemp("", "fitmpi-benchmarks-")
	}
	return filepath.Join(root, "docs"), nil
}
