//go:build linux

package main

import (
	"cmp"
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
	if opt.suites != "" {
		if opt.suites, err = filepath.Abs(opt.suites); err != nil {
			return err
		}
	}
	if len(chosen(opt)) == 0 {
		return errNothing
	}
	if opt.list {
		return writeList(stdout, opt)
	}
	if opt.judge {
		return judgeRows(opt, stdout)
	}
	if opt.from != "" {
		return again(opt, stdout)
	}
	return compare(ctx, opt, stdout, stderr)
}

// again writes the pages from rows that were measured before.
func again(opt *options, stdout io.Writer) error {
	dir := cmp.Or(opt.dir, "docs")
	if opt.add != "" {
		rec, err := load(opt.from)
		if err != nil {
			return err
		}
		return add(rec, opt.add, dir, stdout)
	}
	records, err := loadAll(opt.from)
	if err != nil {
		return err
	}
	return publish(records, dir, stdout)
}

// add keeps a record as that of a further machine below dir, and writes the pages again.
func add(rec *record, name, dir string, stdout io.Writer) error {
	first, err := firstRows(dir)
	if err != nil {
		return err
	}
	rec.Name = name
	if err := rec.save(filepath.Join(dir, "bench", machinesDir, name)); err != nil {
		return err
	}
	records, err := loadAll(first)
	if err != nil {
		return err
	}
	return publish(records, dir, stdout)
}

// firstRows is the file of the rows of the first machine, beside which others stand.
func firstRows(dir string) (string, error) {
	file := filepath.Join(dir, "bench", rowsFile)
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("a further machine stands beside a first one: %w: run compare without -add first", err)
	}
	return file, nil
}

// finish keeps what was measured and writes the pages.
func finish(rec *record, opt *options, stdout io.Writer) error {
	if opt.add != "" && !rec.Partial {
		return add(rec, opt.add, opt.dir, stdout)
	}
	bench := filepath.Join(opt.dir, "bench")
	if err := rec.save(bench); err != nil {
		return err
	}
	more, err := loadMore(bench)
	if err != nil {
		return err
	}
	return publish(append([]*record{rec}, more...), opt.dir, stdout)
}

// compare measures and writes the pages. Interrupted, it writes what there is, but
// not over whole pages unless -o says so.
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
	pace, list := 0, withoutSuites(chosen(opt), opt, stderr)
	if needsPace(list) {
		if pace, err = findPace(ctx, bin); err != nil {
			return err
		}
	}
	isChosen := opt.dir != ""
	if opt.dir, err = directory(opt, root); err != nil {
		return err
	}
	if opt.add != "" {
		if _, err := firstRows(opt.dir); err != nil {
			return err
		}
	}
	rec := newRecord(opt, describe(ctx), time.Now())
	c := &campaign{
		runs: schedule(list, byName(contenders()), opt.repeats),
		setting: setting{bin: bin, peers: peers, suites: opt.suites, netns: netnsScript(root), bind: opt.bind, pace: pace, quick: opt.quick,
			answers: &answers{}},
		quick: opt.quick, record: rec, links: &links{exec: quiet, root: root}, log: stderr, secrets: discreet(root, bin),
	}
	measured := c.measure(ctx)
	if measured != nil && !rec.Partial && (!isChosen || opt.add != "") {
		if opt.dir, err = os.MkdirTemp("", "fitmpi-benchmarks-"); err != nil {
			return errors.Join(measured, err)
		}
	}
	rec.Partial = rec.Partial || measured != nil
	return errors.Join(measured, finish(rec, opt, stdout))
}

// directory is where the pages go. Figures of a part of the experiments do not
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
