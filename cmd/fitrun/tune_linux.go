package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
)

const tuneUsage = `fitrun tune finds by measuring at which lengths messages between two ranks are to change their way, and keeps that for
later jobs of this user.

Usage:
  fitrun tune [options]         between two ranks of this machine
  fitrun tune -H a,b [options]  between two hosts

It starts some jobs of two ranks that bounce messages, one after the other, in a minute or so. Nothing else should run
there meanwhile. It finds
  FITMPI_EAGER_MAX      up to which length a message is sent without asking the receiver
  FITMPI_SOCKET_BUFFER  whether larger buffers of sockets than the system's make long messages faster
  FITMPI_CONGESTION     whether the system's TCP congestion control does
  FITMPI_SHM_COPY       between ranks of this machine: whether one way of copying between processes is better at all lengths
and writes them to $XDG_CONFIG_HOME/fitmpi/tuned (~/.config/fitmpi/tuned), or where FITMPI_TUNED says. fitrun gives them to
all ranks, unless the environment, -x or -genv say otherwise; fitrun --print-config shows them as "tuned". What
depends on the program, or on more than two ranks, it leaves as it is, and says so. To forget them remove the file; FITMPI_TUNED=none leaves it alone.

Options:
  -H LIST               the two hosts
  --hostfile FILE, --ssh-args WORDS, --iface LIST, --port-range FROM-TO, --tls
                        as for a job
  --bench WORDS         the program that measures, perhaps with arguments; by default fitbench is built by the go command,
                        in FitMPI's source or in a module that requires it
  --rounds N            how often each setting is measured (default 3)
  --dry-run             measure and say what was found, and write nothing
  -h, --help            print this

Exit codes: 0 found, 1 it could not be measured or written, 2 wrong use.
`

// tuneOptions is the command line of fitrun tune.
type tuneOptions struct {
	job    []string // options of the jobs
	bench  []string
	rounds int
	dryRun bool
}

func parseTune(args []string) (tuneOptions, error) {
	o := tuneOptions{rounds: 3}
	fs := flag.NewFlagSet("fitrun tune", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	for _, name := range []string{"H", "hostfile", "ssh-args", "iface", "port-range"} {
		fs.Func(name, "", func(value string) error {
			o.job = append(o.job, dashed(name), value)
			return nil
		})
	}
	fs.BoolFunc("tls", "", func(string) error {
		o.job = append(o.job, "--tls")
		return nil
	})
	fs.Func("bench", "", func(value string) error { return words(&o.bench)("--bench", value) })
	fs.Func("rounds", "", func(value string) error { return count(&o.rounds, 100, "rounds")("--rounds", value) })
	fs.BoolVar(&o.dryRun, "dry-run", false, "")
	if err := fs.Parse(args); err != nil {
		return o, explainFlagOf("fitrun tune", err, fs)
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("%q: it takes options only; fitrun tune --help lists them", fs.Arg(0))
	}
	return o, nil
}

// tuneMain is fitrun tune. It returns the exit code.
func tuneMain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseTune(args)
	if errors.Is(err, flag.ErrHelp) {
		io.WriteString(stdout, launch.HelpText(stdout, tuneUsage))
		return 0
	}
	say := launch.Folded(stderr)
	if err != nil {
		fmt.Fprintf(say, "fitrun tune: %v\n", err)
		return launch.ExitUsage
	}
	path := tunedPath(os.Environ())
	if path == "" && !o.dryRun {
		fmt.Fprintf(say, "fitrun tune: there is no place for what is found: neither HOME nor %s names one\n", tunedFile)
		return launch.ExitUsage
	}
	ctx, stop := signal.NotifyContext(ctx, stopSignals()...)
	defer stop()
	if err := o.run(ctx, path, stdout, say); err != nil {
		fmt.Fprintf(say, "fitrun tune: %v\n", err)
		return launch.ExitError
	}
	return 0
}

// run measures, says what was found, and writes it to path.
func (o *tuneOptions) run(ctx context.Context, path string, stdout, stderr io.Writer) error {
	if o.bench == nil {
		dir, err := os.MkdirTemp("", "fitrun-tune-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		fmt.Fprintln(stderr, "fitrun tune: building fitbench")
		if o.bench, err = buildBench(ctx, dir); err != nil {
			return err
		}
	}
	t := tuning{measure: o.measure, between: o.isBetween(), rounds: o.rounds, say: func(done, all int, what string) {
		fmt.Fprintf(stderr, "fitrun tune: %d of %d measured: %s\n", done, all, what)
	}}
	found, err := t.find(ctx)
	if err != nil {
		return err
	}
	found.print(stdout)
	if o.dryRun {
		return nil
	}
	where := "two ranks of this machine"
	if i := slices.Index(o.job, "-H"); i >= 0 {
		where = o.job[i+1]
	}
	comment := fmt.Sprintf("found by fitrun tune, %s, between %s\nfitrun reads this file: see fitrun tune --help", time.Now().Format(time.DateTime), where)
	if err := writeTuned(path, comment, found.set); err != nil {
		return fmt.Errorf("writing what was found: %w", err)
	}
	fmt.Fprintf(stdout, "\nwritten to %s\n", path)
	return nil
}

const benchPackage = "github.com/fitmpi/fitmpi/cmd/fitbench"

// buildBench builds the program that measures.
func buildBench(ctx context.Context, dir string) ([]string, error) {
	path := filepath.Join(dir, "fitbench")
	out, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-tags", "noplot", "-o", path, benchPackage).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("fitbench, which measures, cannot be built here; call fitrun tune in FitMPI's source or in a module that requires it, or give --bench: %w\n%s",
			err, bytes.TrimSpace(out))
	}
	return []string{path}, nil
}

// tuneIterations is how many round trips are one figure.
const tuneIterations = 200

// isBetween reports whether the ranks are on the hosts that a list has.
func (o *tuneOptions) isBetween() bool {
	return slices.Contains(o.job, "-H") || slices.Contains(o.job, "--hostfile")
}

// measure runs a job in which two ranks bounce messages.
func (o *tuneOptions) measure(ctx context.Context, transport string, set []string, sizes []int) (map[int]float64, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var list []string
	for _, n := range sizes {
		list = append(list, strconv.Itoa(n))
	}
	args := append([]string{"fitrun"}, o.job...)
	if !o.isBetween() {
		args = append(args, "-H", "localhost:2")
	}
	args = append(args, "-n", "2", "--map-by", "node", "--transport", transport, "--timeout", "2m")
	for _, s := range set {
		args = append(args, "-x", s)
	}
	args = slices.Concat(args, o.bench, []string{"-csv", "-iterations", strconv.Itoa(tuneIterations), "-sizes", strings.Join(list, ","), "pingpong"})
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Args, cmd.Stdout, cmd.Stderr = args, &stdout, &stderr
	cmd.Env = append(os.Environ(), tunedFile+"="+noneTuned)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("a job of two ranks: %w\n%s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return readTimes(&stdout, sizes)
}

// readTimes reads half round trips in microseconds from what fitbench has printed.
func readTimes(r io.Reader, sizes []int) (map[int]float64, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("what the ranks have printed is no table of fitbench: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	size, time := slices.Index(rows[0], "size"), slices.Index(rows[0], "sextile1")
	times := map[int]float64{}
	for _, row := range rows[1:] {
		if size < 0 || time < 0 {
			break
		}
		n, err := strconv.Atoi(row[size])
		us, terr := strconv.ParseFloat(row[time], 64)
		if err == nil && terr == nil && us > 0 {
			times[n] = us
		}
	}
	for _, n := range sizes {
		if times[n] == 0 {
			return nil, fmt.Errorf("the ranks have not measured messages of %d bytes", n)
		}
	}
	return times, nil
}

// print writes what was measured and found.
func (f *found) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, t := range f.tables {
		for _, row := range t {
			fmt.Fprintln(w, strings.Join(row, "\t")+"\t")
		}
		w.Flush()
		fmt.Fprintln(out)
	}
	for _, line := range f.words {
		fmt.Fprintln(out, line)
	}
}
