package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/control"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/hang"
	"github.com/fitmpi/fitmpi/internal/hang/quiesce"
	"github.com/fitmpi/fitmpi/internal/plain"
)

const statusUsage = `fitrun status says what a running job does: for each rank the calls that it waits in, with peer, tag, communicator, size
and line of source, or where it computes; which ranks wait for which; and why, if they wait for ever.

Usage:
  fitrun status                 list this user's running jobs
  fitrun status [--json] PID    ask the fitrun with this process id

SIGQUIT (^\ at the terminal, or kill -QUIT PID) makes a fitrun print the same on its standard error. The job goes on; all
goroutines of a rank stand still for a moment.

Exit codes: 0 answered, 1 not, 2 wrong use.
`

// statusWait is how long fitrun status waits; ranks that do not answer are waited for half as long.
const (
	statusWait   = 15 * time.Second
	statusSilent = 2 * time.Second // twice that at most: see quiesce.Look
)

// statusPart answers fitrun status and SIGQUIT.
type statusPart struct {
	program string
	began   time.Time
	verbose bool // say why fitrun status cannot ask
}

func newStatusPart(o *options) *statusPart {
	return &statusPart{program: strings.Join(o.apps[0].program, " "), began: time.Now(), verbose: o.verbose}
}

func (p *statusPart) run(ctx context.Context, v *view.View) {
	quit := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGQUIT) {
		signal.Notify(quit, syscall.SIGQUIT)
		defer signal.Stop(quit)
	}
	d, err := control.Open(func(ctx context.Context, want string) control.Answer { return p.answer(ctx, v, want) })
	if err == nil {
		defer d.Close()
	} else if p.verbose {
		fmt.Fprintf(os.Stderr, "fitrun: %v; going on without\n", err)
	}
	for {
		select {
		case <-quit:
			p.print(ctx, v)
		case <-ctx.Done():
			return
		}
	}
}

// print is what SIGQUIT does.
func (p *statusPart) print(ctx context.Context, v *view.View) {
	e, err := look(ctx, v)
	if err != nil {
		fmt.Fprintf(os.Stderr, "fitrun: %v\n", err)
		return
	}
	v.Control().Say("status: " + e.Text())
}

// look asks the ranks what they do.
func look(ctx context.Context, v *view.View) (*hang.Explanation, error) {
	if v.Ranks() == nil {
		return nil, errNoJob
	}
	return quiesce.Look(ctx, asked{v}, hereDir(), statusSilent), nil
}

// explain is look in words.
func explain(ctx context.Context, v *view.View) (string, error) {
	e, err := look(ctx, v)
	if err != nil {
		return "", err
	}
	return e.Text(), nil
}

var errNoJob = errors.New("the job has not begun: fitrun reaches its hosts, or copies the program there; ask again soon")

// answer is what fitrun status is told.
func (p *statusPart) answer(ctx context.Context, v *view.View, want string) control.Answer {
	here := slices.DeleteFunc(v.Ranks(), func(r view.Rank) bool { return r.Vacant })
	a := control.Answer{Program: p.program, Ranks: len(here), Began: p.began}
	if start, _ := v.Times(); !start.IsZero() {
		a.Began = start
	}
	if want == control.Who {
		return a
	}
	e, err := look(ctx, v)
	if err != nil {
		a.Error = err.Error()
		return a
	}
	a.Text = e.Text()
	if want == control.Data {
		if a.Data, err = json.Marshal(e); err != nil {
			a.Error = err.Error()
		}
	}
	return a
}

func (p *statusPart) after(*view.View, io.Writer) {}

func (p *statusPart) asksOnly() {}

// statusMain is fitrun status. It returns the exit code.
func statusMain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithTimeout(ctx, statusWait)
	defer cancel()
	pid, asJSON, err := parseStatus(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		io.WriteString(stdout, launch.HelpText(stdout, statusUsage))
		return 0
	case err != nil:
		fmt.Fprintf(launch.Folded(stderr), "fitrun status: %v\n", err)
		return launch.ExitUsage
	case pid == 0:
		err = listJobs(ctx, stdout, asJSON)
	default:
		err = showJob(ctx, stdout, pid, asJSON)
	}
	if err != nil {
		fmt.Fprintf(launch.Folded(stderr), "fitrun status: %v\n", err)
		return launch.ExitError
	}
	return 0
}

// parseStatus reads the command line; pid is 0 if none is given.
func parseStatus(args []string) (pid int, asJSON bool, err error) {
	fs := flag.NewFlagSet("fitrun status", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&asJSON, "json", false, "")
	if err := fs.Parse(args); err != nil {
		return 0, false, explainFlagOf("fitrun status", err, fs)
	}
	switch {
	case fs.NArg() == 0:
		return 0, asJSON, nil
	case fs.NArg() > 1:
		return 0, false, errors.New("one process id at most; fitrun status --help says more")
	}
	if pid, err = strconv.Atoi(fs.Arg(0)); err != nil || pid < 1 {
		return 0, false, fmt.Errorf("%q is no process id; fitrun status without one lists the jobs, each with that of its fitrun", fs.Arg(0))
	}
	return pid, asJSON, nil
}

func listJobs(ctx context.Context, stdout io.Writer, asJSON bool) error {
	jobs, err := control.List(ctx)
	switch {
	case err != nil:
		return err
	case asJSON:
		return json.NewEncoder(stdout).Encode(jobs)
	case len(jobs) == 0:
		fmt.Fprintln(stdout, "no jobs of this user run here")
		return nil
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PID\tRANKS\tRUNNING\tPROGRAM")
	for _, j := range jobs {
		fmt.Fprintf(w, "%d\t%d\t%v\t%s\n", j.PID, j.Ranks, time.Since(j.Began).Round(time.Second), plain.Line(j.Program))
	}
	return w.Flush()
}

func showJob(ctx context.Context, stdout io.Writer, pid int, asJSON bool) error {
	want := control.Text
	if asJSON {
		want = control.Data
	}
	a, err := control.Ask(ctx, pid, want)
	if err != nil {
		return errors.New(plain.Text(err.Error()))
	}
	if asJSON {
		a.Text = ""
		return json.NewEncoder(stdout).Encode(a)
	}
	fmt.Fprintf(stdout, "%s, running for %v\n%s\n", plain.Line(a.Program), time.Since(a.Began).Round(time.Second), plain.Text(a.Text))
	return nil
}
