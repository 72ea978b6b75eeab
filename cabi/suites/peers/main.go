// Command peers measures one program on several libraries: mpibench of bench/peers, compiled by the
// compilers of MPICH and of Open MPI, each on its own library and, the same file, on the C library;
// and compiled for the standard ABI.
//
//	go run ./suites/peers [-lib DIR] [-fitrun FILE] [-runs N] [-transport shm|tcp] [-work DIR]
//
// The working directory is that of the module. The library is what go run ./build has made. It
// needs make and, of Debian, libmpich-dev, mpich, libopenmpi-dev and openmpi-bin. It prints a
// table: of each figure the best of the runs, which take turns. bench/METHOD.md says what the tests
// do.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// contender is a program with the library that it runs on.
type contender struct {
	name     string
	compiled string // by mpicc.NAME
	launcher []string
	env      []string
}

// measured are the tests of mpibench that are run.
var measured = [][]string{
	{"pingpong", "-sizes", "8,4K,64K,1M"},
	{"bw", "-sizes", "64K,1M"},
	{"rate"},
	{"coll", "-case", "allreduce", "-sizes", "8,64K"},
}

// limit is far more than any job takes.
const limit = 2 * time.Minute

// settings say what to run with.
type settings struct {
	lib, fitrun, transport, work string
	runs                         int
}

func main() {
	s := settings{}
	flag.StringVar(&s.lib, "lib", "out", "`directory` of the C library")
	flag.StringVar(&s.fitrun, "fitrun", "fitrun", "the `program` fitrun")
	flag.StringVar(&s.transport, "transport", "shm", "shm or tcp: how the two ranks talk")
	flag.StringVar(&s.work, "work", "", "`directory` for the programs; they are made anew in one of their own without it")
	flag.IntVar(&s.runs, "runs", 3, "`runs` of each test, of which the best counts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func (s *settings) run(ctx context.Context) error {
	if s.transport != "shm" && s.transport != "tcp" {
		return fmt.Errorf("-transport %s: choose shm or tcp", s.transport)
	}
	lib, err := filepath.Abs(s.lib)
	if err != nil {
		return err
	}
	if err := os.Setenv("FITMPI_CABI", lib); err != nil {
		return err
	}
	if s.work == "" {
		if s.work, err = os.MkdirTemp("", "fitmpi-peers-"); err != nil {
			return err
		}
		defer os.RemoveAll(s.work)
	}
	all := s.contenders()
	if err := s.build(ctx, lib, all); err != nil {
		return err
	}
	rows := make([][]bench.Row, len(all))
	for range max(s.runs, 1) {
		for i := range all {
			more, err := s.measure(ctx, &all[i])
			if err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
			rows[i] = append(rows[i], more...)
		}
	}
	s.print(all, rows)
	return nil
}

// contenders are those of a transport.
func (s *settings) contenders() []contender {
	ours := []string{s.fitrun, "-n", "2", "--transport", s.transport}
	mpich := contender{name: "MPICH", compiled: "mpich", launcher: []string{"mpirun.mpich", "-bind-to", "none", "-np", "2"}}
	over := "vader,self"
	if s.transport == "tcp" {
		mpich.env = []string{"MPIR_CVAR_NOLOCAL=1", "UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo"}
		over = "tcp,self"
	}
	openmpi := contender{name: "Open MPI", compiled: "openmpi", launcher: strings.Fields(
		"mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none --mca pml ob1 --mca btl_tcp_if_include lo --mca btl " + over + " -np 2")}
	return []contender{
		mpich, {name: "the same on FitMPI", compiled: "mpich", launcher: ours},
		openmpi, {name: "the same on FitMPI", compiled: "openmpi", launcher: ours},
		{name: "standard ABI, FitMPI", compiled: "fitmpi", launcher: ours},
	}
}

// build compiles mpibench by each compiler, once.
func (s *settings) build(ctx context.Context, lib string, all []contender) error {
	script := "#!/bin/sh\nexec " + filepath.Join(lib, "bin", "fitmpicc") + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(s.work, "mpicc.fitmpi"), []byte(script), 0o755); err != nil {
		return err
	}
	args := []string{"-C", "../bench/peers", "BUILD=" + s.work}
	for _, c := range all {
		if goal := filepath.Join(s.work, c.compiled, "mpibench"); !slices.Contains(args, goal) {
			args = append(args, goal)
		}
	}
	cmd := exec.CommandContext(ctx, "make", args...)
	cmd.Env = append(os.Environ(), "PATH="+s.work+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make: %w\n%s", err, out)
	}
	return nil
}

// measure runs all tests once.
func (s *settings) measure(ctx context.Context, c *contender) (rows []bench.Row, _ error) {
	for _, test := range measured {
		more, err := s.job(ctx, c, test)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", test[0], err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// job runs one test. An empty line follows its last row: what becomes of the job after that does
// not matter.
func (s *settings) job(ctx context.Context, c *contender, test []string) ([]bench.Row, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := append(slices.Clone(c.launcher[1:]), filepath.Join(s.work, c.compiled, "mpibench"))
	cmd := exec.CommandContext(ctx, c.launcher[0], append(append(args, test...), "-transport", s.transport)...)
	cmd.Env = append(os.Environ(), c.env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	text, _, whole := strings.Cut(out.String(), "\n\n")
	if !whole {
		return nil, errors.Join(err, fmt.Errorf("not all rows are there:\n%s%s", out.String(), said.String()))
	}
	return bench.ReadCSV(strings.NewReader(text + "\n"))
}

// print prints the table.
func (s *settings) print(all []contender, rows [][]bench.Row) {
	fmt.Printf("| %s |", s.transport)
	for _, c := range all {
		fmt.Printf(" %s |", c.name)
	}
	fmt.Printf("\n|%s\n", strings.Repeat("---|", len(all)+1))
	var done []string
	for _, r := range rows[0] {
		name := title(&r)
		if slices.Contains(done, name) {
			continue
		}
		done = append(done, name)
		fmt.Printf("| %s |", name)
		for i := range all {
			fmt.Printf(" %s |", best(rows[i], name))
		}
		fmt.Println()
	}
}

// title says what a row is of.
func title(r *bench.Row) string {
	parts := []string{r.Test}
	if r.Case != "" && r.Case != r.Test {
		parts = append(parts, r.Case)
	}
	return strings.Join(append(parts, r.Measure, fmt.Sprint(r.Size, " bytes"), r.Unit), ", ")
}

// best is the best value of the rows of a title.
func best(rows []bench.Row, name string) string {
	value, found := 0.0, false
	for i := range rows {
		if r := &rows[i]; title(r) == name {
			if better := bench.HigherIsBetter(r.Unit) == (r.Sextile1 > value); !found || better {
				value, found = r.Sextile1, true
			}
		}
	}
	if !found {
		return "-"
	}
	return fmt.Sprintf("%.3g", value)
}
