// Command programs runs programs of Debian that are linked with Open MPI or MPICH, as they are,
// under that library and on the C library, and compares what they say and how long they take.
//
//	go run ./suites/programs [-install] [-lib DIR] [-fitrun FILE] [-n N] [-runs N] [PROGRAM...]
//
// The working directory is that of the module. The library is what go run ./build has made. With
// -install it installs what is not there, by apt-get. It prints a table, whose times are the least
// of the runs, from start to end; it fails if an answer is another one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings say what to run with.
type settings struct {
	lib, fitrun string
	install     bool
	ranks, runs int
}

func main() {
	s := settings{}
	flag.StringVar(&s.lib, "lib", "out", "`directory` of the C library")
	flag.StringVar(&s.fitrun, "fitrun", "fitrun", "the `program` fitrun")
	flag.BoolVar(&s.install, "install", false, "install what is not there")
	flag.IntVar(&s.ranks, "n", 2, "`ranks`")
	flag.IntVar(&s.runs, "runs", 3, "`runs` of each program, of which the fastest counts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "programs:", err)
		os.Exit(1)
	}
}

// run runs the programs that are named, or all.
func (s *settings) run(ctx context.Context, names []string) error {
	lib, err := filepath.Abs(s.lib)
	if err != nil {
		return err
	}
	if err := os.Setenv("FITMPI_CABI", lib); err != nil {
		return err
	}
	var errs []error
	fmt.Printf("| program | linked with | what is compared | by that | FitMPI | answers |\n|---|---|---|---|---|---|\n")
	for _, p := range programs {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		if err := s.compare(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	return errors.Join(errs...)
}

// compare runs one program both ways, and prints its line.
func (s *settings) compare(ctx context.Context, p program) error {
	if err := s.provide(ctx, p); err != nil {
		return err
	}
	n := strconv.Itoa(s.ranks)
	theirs, slow, err := s.least(ctx, p, append(strings.Fields(launchers[p.of]), n)...)
	if err != nil {
		return err
	}
	ours, fast, err := s.least(ctx, p, s.fitrun, "-n", n)
	if err != nil {
		return err
	}
	same := "the same"
	if ours != theirs {
		same, err = "**others**", fmt.Errorf("another answer\n--- %s\n%s\n--- FitMPI\n%s", p.of, theirs, ours)
	}
	fmt.Printf("| %s, %s | %s | %s | %.2f s | %.2f s | %s |\n", p.name, p.what, p.of, p.compared, slow.Seconds(), fast.Seconds(), same)
	return err
}

// launchers are those of the libraries, up to the number of ranks.
var launchers = map[string]string{
	openMPI: "mpirun.openmpi --allow-run-as-root --oversubscribe -np",
	mpich:   "mpirun.mpich -np",
}

// provide installs the packages of a program.
func (s *settings) provide(ctx context.Context, p program) error {
	if _, err := exec.LookPath(p.command[0]); err == nil {
		return nil
	}
	if !s.install {
		return fmt.Errorf("%s is not there: apt-get install %s, or -install", p.command[0], p.packages)
	}
	args := append([]string{"install", "-q", "-y", "--no-install-recommends"}, strings.Fields(p.packages)...)
	if out, err := exec.CommandContext(ctx, "apt-get", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get: %w\n%s", err, out)
	}
	return nil
}

// least runs a program some times by a launcher. All runs must have one answer.
func (s *settings) least(ctx context.Context, p program, launcher ...string) (answer string, took time.Duration, err error) {
	for i := range max(s.runs, 1) {
		dir, err := os.MkdirTemp("", "fitmpi-programs-")
		if err != nil {
			return "", 0, err
		}
		defer os.RemoveAll(dir)
		if err := p.place(dir); err != nil {
			return "", 0, err
		}
		cmd := exec.CommandContext(ctx, launcher[0], append(launcher[1:len(launcher):len(launcher)], p.command...)...)
		cmd.Dir = dir
		began := time.Now()
		out, err := cmd.CombinedOutput()
		t := time.Since(began)
		if err != nil {
			return "", 0, fmt.Errorf("%s: %w\n%s", launcher[0], err, out)
		}
		a, err := p.answer(dir, string(out))
		switch {
		case err != nil:
			return "", 0, err
		case i > 0 && a != answer:
			return "", 0, fmt.Errorf("%s: two runs, two answers:\n%s\n%s", launcher[0], answer, a)
		case i == 0 || t < took:
			took = t
		}
		answer = a
	}
	return answer, took, nil
}
