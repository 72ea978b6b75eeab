//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
)

const usageText = `compare measures FitMPI beside Open MPI, MPICH and raw sockets, and writes BENCHMARKS.md and the pages below it.

Usage:
  go run ./bench/compare [options]

It needs Debian and root: it installs the peers' packages and makes network namespaces.

Options:
  -list           say what would run, in which order and for about how long; measure nothing
  -only REGEXP    only experiments whose name matches
  -quick          one repeat with few sizes: to see that everything works, not for figures
  -repeats N      how often everything is repeated (default 5)
  -suites DIR     also check our programs in C by OSU's and Intel's, which you have built: DIR/openmpi and
                  DIR/mpich have osu_latency, osu_bw, osu_allreduce and IMB-MPI1
  -bind none|core leave ranks to the scheduler (default), or bind each to a core of its own
  -from FILE      measure nothing: write the pages from the rows in FILE, and those of further
                  machines beside it
  -add NAME       measure a further machine, or with -from take the rows in FILE for its own, and
                  show its gains beside those of the others; NAME is what the pages call it
  -judge          with -from: say which targets of the project the rows reach; write nothing
  -o DIR          where BENCHMARKS.md, benchmarks/ with pages, and bench/ with rows and plots, go
                  (default docs; with -quick or -only a new temporary directory)
`

// options are what the command line says.
type options struct {
	list, quick bool
	judge       bool
	only        *regexp.Regexp // nil: all
	repeats     int
	bind        string // none or core
	from        string // file of rows, or empty
	add         string // name of a further machine, or empty
	dir         string // -o; empty: not given
	suites      string // -suites; empty: not given
}

func parseOptions(args []string, stderr io.Writer) (*options, error) {
	opt := &options{repeats: 5, bind: "none"}
	fs := flag.NewFlagSet("compare", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { io.WriteString(stderr, usageText) }
	fs.BoolVar(&opt.list, "list", false, "")
	fs.BoolVar(&opt.quick, "quick", false, "")
	fs.Func("only", "", func(s string) (err error) {
		opt.only, err = regexp.Compile(s)
		return err
	})
	fs.IntVar(&opt.repeats, "repeats", opt.repeats, "")
	fs.StringVar(&opt.bind, "bind", opt.bind, "")
	fs.StringVar(&opt.from, "from", "", "")
	fs.StringVar(&opt.add, "add", "", "")
	fs.BoolVar(&opt.judge, "judge", false, "")
	fs.StringVar(&opt.dir, "o", "", "")
	fs.StringVar(&opt.suites, "suites", "", "")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case fs.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q: -h shows the options", fs.Arg(0))
	case opt.repeats < 1:
		return nil, fmt.Errorf("-repeats %d: choose 1 or more", opt.repeats)
	case opt.judge && opt.from == "":
		return nil, errors.New("-judge judges rows that were measured: add -from docs/bench/rows.csv")
	case opt.add != "" && !machineName.MatchString(opt.add):
		return nil, fmt.Errorf("-add %s: choose a name of small letters, digits, dots and hyphens, such as xeon-8", opt.add)
	case opt.add != "" && opt.isPartial():
		return nil, errors.New("-add keeps a whole run: leave out -quick and -only")
	case opt.bind != "none" && opt.bind != "core":
		return nil, fmt.Errorf("-bind %s: choose none or core", opt.bind)
	}
	if opt.quick {
		opt.repeats = 1
	}
	return opt, nil
}

// isPartial reports whether the figures will not be those of a whole run, so that
// they should not take its place.
func (opt *options) isPartial() bool { return opt.quick || opt.only != nil }
