// Command mpich judges the C library by MPICH's own tests: it fetches their source from Debian,
// compiles each program against our header and library, runs it under fitrun as its list says, and
// counts. With -cc it compiles them as MPICH does, for the library that has its interface, and so
// programs in Fortran too. Nothing of MPICH is in our tree.
//
//	go run ./suites/mpich [-cc COMPILER] [-src DIR] [-lib DIR] [-fitrun FILE] [-j N] [-run REGEXP]
//		[DIRECTORY...]
//
// The working directory is that of the module. Without -src it needs apt-get and the network. The
// library is what go run ./build has made. Directories are those of test/mpi. It prints a line for
// each test, with the end of the output of those that did not pass, a table by directory, and a
// table of what did not pass, with the reasons of reasons.txt. A test that has none makes the run
// fail. -write puts both tables into docs/STRANGERS.md; -keep names a directory for the programs.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// directories are those that run if none is named.
var directories = []string{"attr", "basic", "coll", "comm", "datatype", "errhan", "group", "info", "init", "io", "part", "pt2pt", "rma", "topo"}

// settings say what to run with.
type settings struct {
	src, lib, fitrun, work string
	compiler               string // of another library, or ""
	doc                    string
	jobs                   int
	limit                  time.Duration
	only                   *regexp.Regexp
	args                   []string // of fitrun
}

func main() {
	s := settings{}
	flag.StringVar(&s.src, "src", "", "`directory` of MPICH's source; fetched if empty")
	flag.StringVar(&s.lib, "lib", "out", "`directory` of the C library")
	flag.StringVar(&s.compiler, "cc", "", "`compiler` of MPICH, as mpicc.mpich: the library is that with its interface")
	flag.StringVar(&s.fitrun, "fitrun", "fitrun", "the `program` fitrun")
	flag.StringVar(&s.work, "keep", "", "`directory` for programs and outputs; removed if not named")
	flag.IntVar(&s.jobs, "j", 1, "`tests` at once")
	flag.DurationVar(&s.limit, "limit", 2*time.Minute, "the longest that a test may run")
	flag.StringVar(&s.doc, "write", "", "`document` that gets the tables, as ../docs/STRANGERS.md")
	only := flag.String("run", "", "only tests that match the `expression`, as DIRECTORY/NAME")
	args := flag.String("args", "", "`arguments` for fitrun, separated by spaces")
	flag.Parse()
	s.args = strings.Fields(*args)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if s.only, err = regexp.Compile(*only); err == nil {
		err = s.run(ctx, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mpich:", err)
		os.Exit(1)
	}
}

// run fetches, builds and runs.
func (s *settings) run(ctx context.Context, dirs []string) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if len(dirs) == 0 {
		dirs = directories
		if s.compiler != "" {
			dirs = append(slices.Clone(dirs), fortranDirectories()...)
		}
	}
	b, err := newBuilder(ctx, s)
	if err != nil {
		return err
	}
	var all []*test
	for _, dir := range dirs {
		tests, err := list(filepath.Join(s.src, "test/mpi"), dir)
		if err != nil {
			return err
		}
		for _, t := range tests {
			if s.only.MatchString(t.dir+"/"+t.name) && b.isThere(t) {
				all = append(all, t)
			}
		}
	}
	s.runAll(ctx, b, all)
	fmt.Printf("\n%s\n%s", table(all, dirs), s.failures(all))
	if s.doc != "" && ctx.Err() == nil {
		what := "suites/mpich"
		if s.compiler != "" {
			what += " -cc"
		}
		if err := s.write(what, all, dirs); err != nil {
			return err
		}
	}
	return cmp.Or(ctx.Err(), s.unexplained(all))
}

// runAll runs tests, some at once.
func (s *settings) runAll(ctx context.Context, b *builder, all []*test) {
	next := make(chan *test)
	var wg sync.WaitGroup
	for range max(s.jobs, 1) {
		wg.Go(func() {
			for t := range next {
				t.run(ctx, s, b)
				fmt.Println(t.line())
			}
		})
	}
	for _, t := range all {
		next <- t
	}
	close(next)
	wg.Wait()
}

// prepare makes paths absolute, and has a source and a place for programs.
func (s *settings) prepare(ctx context.Context) (err error) {
	if s.work == "" {
		if s.work, err = os.MkdirTemp("", "fitmpi-mpich-"); err != nil {
			return err
		}
	}
	for _, p := range []*string{&s.lib, &s.work, &s.src} {
		if *p != "" {
			if *p, err = filepath.Abs(*p); err != nil {
				return err
			}
		}
	}
	if s.src == "" {
		s.src, err = fetch(ctx, filepath.Join(s.work, "source"))
	}
	return err
}

// table counts, by directory.
func table(all []*test, dirs []string) string {
	var w strings.Builder
	w.WriteString("| directory | tests | passed | not built | failed | too long |\n|---|---|---|---|---|---|\n")
	var total [outcomes]int
	for _, dir := range dirs {
		var n [outcomes]int
		for _, t := range all {
			if t.dir == dir {
				n[t.outcome]++
				total[t.outcome]++
			}
		}
		row(&w, dir, n)
	}
	row(&w, "all", total)
	return w.String()
}

func row(w *strings.Builder, name string, n [outcomes]int) {
	sum := 0
	for _, k := range n {
		sum += k
	}
	fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d |\n", name, sum, n[passed], n[notBuilt], n[failed], n[tooLong])
}
