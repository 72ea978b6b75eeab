//go:build linux

package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// options are what the command line says.
type options struct {
	test       test
	kase       string // which case of the test; empty: all
	ranks      int    // without a launcher: how many thread ranks
	policy     string
	via        string // FITMPI_TRANSPORT
	sizes      []int
	any        bool // test pingpong receives from any source with any tag
	window     int  // 0: by size
	iterations int  // 0: by size
	warmup     int  // negative: by size
	late       time.Duration
	partitions int           // of test partitioned, as the two below
	goroutines int           // 0: as many as cores
	compute    time.Duration // negative: as long as the message takes
	pace       int           // of test solve: steps of work in a millisecond; 0: as calibrated
	csv, json  bool
	plot       string // file, or empty
	stderr     io.Writer
}

// parseOptions reads the arguments: options, the name of a test, options.
func parseOptions(args []string, stderr io.Writer) (*options, error) {
	opt := &options{stderr: stderr}
	fs := opt.flags()
	fs.SetOutput(stderr)
	fs.Usage = func() { usage(stderr, fs) }
	var name string
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if args = fs.Args(); len(args) > 0 {
			if name != "" {
				return nil, fmt.Errorf("one test at a time: %s or %s?", name, args[0])
			}
			name, args = args[0], args[1:]
		}
	}
	return opt, opt.check(name)
}

// flags are the flags that set opt.
func (opt *options) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("fitbench", flag.ContinueOnError)
	fs.StringVar(&opt.kase, "case", "", "measure this case of the test only, such as allreduce of coll")
	fs.IntVar(&opt.ranks, "ranks", 2, "without a launcher: number of ranks, as threads of this process")
	fs.StringVar(&opt.policy, "policy", "", "what moves messages: worker, assist or caller (default: FITMPI_PROGRESS, else assist)")
	fs.StringVar(&opt.via, "transport", "",
		"auto, the best there is; tcp; or shm, an error where ranks share no memory (default: FITMPI_TRANSPORT, else auto, of penalty and logp tcp)")
	fs.Func("sizes", "bytes of a message, such as 8,64K,1M (of match: depths of the queue)", func(s string) (err error) {
		opt.sizes, err = bench.ParseSizes(s)
		return err
	})
	fs.BoolVar(&opt.any, "any", false, "in pingpong: receive by AnySource and AnyTag (case any)")
	fs.IntVar(&opt.window, "window", 0, "messages on their way at once, in bw, bibw and rate (default: 64, from 1 MiB 16)")
	fs.IntVar(&opt.iterations, "iterations", 0, "measurements of each figure (default: by size)")
	fs.IntVar(&opt.warmup, "warmup", -1, "repetitions before measuring (default: a tenth of the iterations, at least 5)")
	fs.DurationVar(&opt.late, "late", 100*time.Millisecond, "how late the late rank of test send is")
	fs.IntVar(&opt.partitions, "partitions", 16, "of a message of test partitioned")
	fs.IntVar(&opt.goroutines, "goroutines", 0, "that compute in test partitioned (default: one for each core of rank 0)")
	fs.DurationVar(&opt.compute, "compute", -1, "how long each goroutine of test partitioned computes (default: as long as the message takes)")
	fs.IntVar(&opt.pace, "pace", 0, "steps of work in a millisecond of test solve, so that several jobs do the same work (default: as calibrated)")
	fs.BoolVar(&opt.csv, "csv", false, "write CSV instead of text")
	fs.BoolVar(&opt.json, "json", false, "write JSON instead of text")
	fs.StringVar(&opt.plot, "plot", "", "also draw the figures, as SVG to this `file`")
	return fs
}

func (opt *options) check(name string) error {
	all := tests()
	i := slices.IndexFunc(all, func(t test) bool { return t.name == name })
	switch {
	case name == "":
		return errors.New("name a test: " + strings.Join(testNames(), ", "))
	case i < 0:
		return fmt.Errorf("no test %q: choose one of %s", name, strings.Join(testNames(), ", "))
	case opt.csv && opt.json:
		return errors.New("-csv or -json, not both")
	case opt.ranks < 1:
		return fmt.Errorf("-ranks %d: give 1 or more", opt.ranks)
	case opt.window < 0:
		return fmt.Errorf("-window %d: give 1 or more, or 0 to go by size", opt.window)
	case opt.iterations < 0:
		return fmt.Errorf("-iterations %d: give 1 or more, or 0 to go by size", opt.iterations)
	case opt.late < 0:
		return fmt.Errorf("-late %v: give a time that is not negative", opt.late)
	case opt.partitions < 1:
		return fmt.Errorf("-partitions %d: give 1 or more", opt.partitions)
	case opt.goroutines < 0:
		return fmt.Errorf("-goroutines %d: give 1 or more, or 0 for one on each core", opt.goroutines)
	case opt.pace < 0:
		return fmt.Errorf("-pace %d: give 1 or more, or 0 to calibrate", opt.pace)
	case opt.plot != "" && !canPlot:
		return errors.New("-plot: this fitbench cannot draw, it was built with -tags noplot: build it without, or give -csv")
	case opt.plot != "" && !strings.HasSuffix(opt.plot, ".svg"):
		return fmt.Errorf("-plot %s: give a file that ends in .svg", opt.plot)
	}
	opt.test = all[i]
	opt.policy = cmp.Or(opt.policy, os.Getenv("FITMPI_PROGRESS"), "assist")
	opt.via = cmp.Or(opt.via, os.Getenv("FITMPI_TRANSPORT"), usualTransport(name))
	return errors.Join(
		oneOf("-policy", opt.policy, "worker", "assist", "caller"),
		oneOf("-transport", opt.via, "auto", "tcp", "shm"),
	)
}

// usualTransport is the transport of a test if the user chooses none: tests that measure engines
// beside the job do that over TCP.
func usualTransport(test string) string {
	if test == "penalty" || test == "logp" {
		return "tcp"
	}
	return "auto"
}

// oneOf checks that the value of a flag is one of several.
func oneOf(name, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("%s %q: choose %s", name, value, strings.Join(choices, ", "))
}

// apply passes on what the library reads from the environment.
func (opt *options) apply() error {
	return errors.Join(os.Setenv("FITMPI_PROGRESS", opt.policy), os.Setenv("FITMPI_TRANSPORT", opt.via))
}

// write writes rows in the chosen form, and draws them if asked to.
func (opt *options) write(w io.Writer, rows []bench.Row) error {
	var err error
	switch {
	case opt.csv:
		err = bench.WriteCSV(w, rows)
	case opt.json:
		err = bench.WriteJSON(w, rows)
	default:
		err = bench.WriteText(w, rows)
	}
	if err != nil || opt.plot == "" {
		return err
	}
	return savePlot(opt.plot, rows)
}

func testNames() (names []string) {
	for _, t := range tests() {
		names = append(names, t.name)
	}
	return names
}

func usage(w io.Writer, fs *flag.FlagSet) {
	fmt.Fprint(w, usageHead)
	for _, t := range tests() {
		fmt.Fprintf(w, "  %-12s %s\n", t.name, t.about)
	}
	fmt.Fprint(w, "\nOptions, before or after TEST:\n")
	fs.PrintDefaults()
}

const usageHead = `fitbench measures FitMPI.

Usage:
  fitrun -n 2 fitbench [options] TEST      ranks are processes
  fitbench [options] TEST                  ranks are threads of this process

Examples:
  fitrun -n 2 fitbench pingpong -sizes 8,64K -csv
  fitrun -n 2 --transport tcp fitbench bw -policy worker -plot bw.svg
  fitbench -ranks 4 coll -case allreduce

Tests:
`
