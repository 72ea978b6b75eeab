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
	"strconv"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// options are what the command line says.
type options struct {
	test       test
	ranks      int // without a launcher: how many thread ranks
	policy     string
	sizes      []int
	window     int
	iterations int // 0: by size
	warmup     int // negative: by size
	late       time.Duration
	csv, json  bool
	plot       string // file, or empty
}

// parseOptions reads the arguments: options, the name of a test, options.
func parseOptions(args []string, stderr io.Writer) (*options, error) {
	opt := &options{}
	fs := flag.NewFlagSet("fitbench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { usage(stderr, fs) }
	fs.IntVar(&opt.ranks, "ranks", 2, "without a launcher: number of ranks, as threads of this process")
	fs.StringVar(&opt.policy, "policy", "", "who moves messages: worker, assist or caller (default: FITMPI_PROGRESS, else assist)")
	fs.Func("sizes", "bytes of a message, such as 8,64K,1M (of match: depths of the queue)", func(s string) (err error) {
		opt.sizes, err = parseSizes(s)
		return err
	})
	fs.IntVar(&opt.window, "window", 64, "messages on their way at once, in bw, bibw and rate")
	fs.IntVar(&opt.iterations, "iterations", 0, "measurements of each figure (default: by size)")
	fs.IntVar(&opt.warmup, "warmup", -1, "repetitions before measuring (default: a tenth of the iterations)")
	fs.DurationVar(&opt.late, "late", 100*time.Millisecond, "how late the late rank of test send is")
	fs.BoolVar(&opt.csv, "csv", false, "write CSV instead of text")
	fs.BoolVar(&opt.json, "json", false, "write JSON instead of text")
	fs.StringVar(&opt.plot, "plot", "", "also draw the figures, as SVG to this `file`")
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

func (opt *options) check(name string) error {
	if name == "" {
		return errors.New("name a test: " + strings.Join(testNames(), ", "))
	}
	i := slices.IndexFunc(tests(), func(t test) bool { return t.name == name })
	if i < 0 {
		return fmt.Errorf("no test %q: choose one of %s", name, strings.Join(testNames(), ", "))
	}
	opt.test = tests()[i]
	if opt.csv && opt.json {
		return errors.New("-csv or -json, not both")
	}
	if opt.ranks < 1 || opt.window < 1 || opt.iterations < 0 {
		return errors.New("-ranks and -window are 1 or more, -iterations is not negative")
	}
	opt.policy = cmp.Or(opt.policy, os.Getenv("FITMPI_PROGRESS"), "assist")
	return nil
}

// apply passes on what the library reads from the environment.
func (opt *options) apply() error { return os.Setenv("FITMPI_PROGRESS", opt.policy) }

// transport names how the messages of this job travel.
func (opt *options) transport() string { return "tcp" }

// write writes rows in the chosen form.
func (opt *options) write(w io.Writer, rows []bench.Row) error {
	fmt.Fprint(os.Stderr, "\r\x1b[K")
	switch {
	case opt.csv:
		return bench.WriteCSV(w, rows)
	case opt.json:
		return bench.WriteJSON(w, rows)
	}
	return bench.WriteText(w, rows)
}

func testNames() (names []string) {
	for _, t := range tests() {
		names = append(names, t.name)
	}
	return names
}

func usage(w io.Writer, fs *flag.FlagSet) {
	fmt.Fprint(w, "fitbench measures FitMPI.\n\nUsage:\n  fitrun -n 2 fitbench [options] TEST      ranks are processes\n"+
		"  fitbench [options] TEST                  ranks are threads of this process\n\nTests:\n")
	for _, t := range tests() {
		fmt.Fprintf(w, "  %-12s %s\n", t.name, t.about)
	}
	fmt.Fprint(w, "\nOptions:\n")
	fs.PrintDefaults()
}

// parseSizes reads sizes such as 8,64K,1M.
func parseSizes(s string) ([]int, error) {
	var sizes []int
	for f := range strings.SplitSeq(s, ",") {
		digits, unit := strings.TrimSpace(f), 1
		if i := strings.IndexAny(digits, "KMG"); i >= 0 && i == len(digits)-1 {
			unit = 1 << (10 * (1 + strings.IndexByte("KMG", digits[i])))
			digits = digits[:i]
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 || n > (1<<40)/unit {
			return nil, fmt.Errorf("size %q: need bytes such as 8, 64K or 1M", f)
		}
		sizes = append(sizes, n*unit)
	}
	return sizes, nil
}

// before is where a test measures what must be measured before the job starts.
func before(*options) {}
