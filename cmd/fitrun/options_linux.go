package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/launch"
)

// options is the command line, checked.
type options struct {
	ranks      int
	perProcess int
	bind       string // a launch.Binding
	bindings   bool   // report them
	tag        bool
	timeout    time.Duration
	progress   string
	transport  string
	check      bool
	metrics    string
	dir        string // absolute, or ""
	set        []string
	verbose    bool
	version    bool
	help       bool
	program    []string // the program and its arguments; empty only with help or version
}

// parse reads the command line. Its errors are one line that says what to do.
func parse(args []string) (options, error) {
	o := options{ranks: 1, perProcess: 1}
	fs := flag.NewFlagSet("fitrun", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	var bad error // why a value was refused, without the words that package flag puts around it
	each := func(set func(name, value string) error, names ...string) {
		for _, name := range names {
			fs.Func(name, "", func(value string) error {
				if err := set(dashed(name), value); err != nil && bad == nil {
					bad = err
				}
				return bad
			})
		}
	}
	each(o.setRanks, "n", "np")
	each(o.setPerProcess, "ranks-per-process")
	each(oneOf(&o.bind, string(launch.BindCore), string(launch.BindNone)), "bind-to")
	each(o.setTimeout, "timeout")
	each(oneOf(&o.progress, "worker", "assist", "caller"), "progress")
	each(oneOf(&o.transport, "auto", "tcp", "shm"), "transport")
	each(o.setMetrics, "metrics")
	each(o.setDir, "wdir")
	each(o.setVariable, "x")
	for _, name := range []string{"l", "tag-output"} {
		fs.BoolVar(&o.tag, name, false, "")
	}
	for _, name := range []string{"v", "verbose"} {
		fs.BoolVar(&o.verbose, name, false, "")
	}
	fs.BoolVar(&o.check, "check", false, "")
	fs.BoolVar(&o.bindings, "report-bindings", false, "")
	fs.BoolVar(&o.version, "version", false, "")

	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		o.help = true
		return o, nil
	case bad != nil:
		return o, bad
	case err != nil:
		return o, explainFlag(err)
	}
	o.program = fs.Args()
	if len(o.program) == 0 && !o.version {
		return o, errors.New("no program given; write for example: fitrun -n 4 ./prog (fitrun --help says more)")
	}
	return o, nil
}

func (o *options) setRanks(name, value string) error {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: want the number of ranks, for example %s 4", name, value, name)
	case n < 1:
		return fmt.Errorf("%s %s: a job has at least 1 rank", name, value)
	case n > launch.MaxRanks:
		return fmt.Errorf("%s %s: a job has at most %d ranks", name, value, launch.MaxRanks)
	}
	o.ranks = n
	return nil
}

// setPerProcess takes more than the job's ranks too: then one process holds all of them.
func (o *options) setPerProcess(name, value string) error {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: want the number of ranks that one process holds, for example %s 4", name, value, name)
	case n < 1:
		return fmt.Errorf("%s %s: a process holds at least 1 rank", name, value)
	}
	o.perProcess = n
	return nil
}

func (o *options) setTimeout(name, value string) error {
	d, err := time.ParseDuration(value)
	if seconds, errF := strconv.ParseFloat(value, 64); err != nil && errF == nil {
		d, err = time.Duration(seconds*float64(time.Second)), nil // a bare number, as timeout(1) takes it
	}
	if err != nil || d <= 0 {
		return fmt.Errorf("%s %s: want a duration above 0, for example 90s, 10m or 1h30m", name, value)
	}
	o.timeout = d
	return nil
}

// oneOf accepts the values that exist.
func oneOf(field *string, values ...string) func(name, value string) error {
	return func(name, value string) error {
		if !slices.Contains(values, value) {
			return fmt.Errorf("%s %s: there is %s", name, value, strings.Join(values, ", "))
		}
		*field = value
		return nil
	}
}

// setMetrics leaves ports to launch.Plan, which knows the number of ranks.
func (o *options) setMetrics(name, value string) error {
	if !strings.Contains(value, ":") {
		return fmt.Errorf("%s %s: want HOST:PORT, for example 127.0.0.1:9100", name, value)
	}
	o.metrics = value
	return nil
}

func (o *options) setDir(_, value string) (err error) {
	o.dir, err = absDir(value)
	return err
}

func (o *options) setVariable(name, value string) error {
	variable, _, hasValue := strings.Cut(value, "=")
	if variable == "" {
		return fmt.Errorf("%s %s: want NAME=VALUE, or the NAME of a variable that is set here", name, value)
	}
	if !hasValue {
		here, ok := os.LookupEnv(variable)
		if !ok {
			return fmt.Errorf("%s %s: %s is not set here; write %s %s=VALUE", name, value, variable, name, variable)
		}
		value += "=" + here
	}
	o.set = append(o.set, value)
	return nil
}

// request is what o asks for, with the environment env.
func (o *options) request(env []string) launch.Request {
	return launch.Request{
		Apps:       []launch.App{{Args: o.program, Set: o.set, Dir: o.dir, Ranks: o.ranks}},
		PerProcess: o.perProcess, Bind: launch.Binding(o.bind), Env: env,
		Progress: o.progress, Transport: o.transport, Check: o.check, Metrics: o.metrics, Timeout: o.timeout,
	}
}

// explainFlag puts the errors of package flag our way. It knows their texts; an unknown one passes as it is.
func explainFlag(err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return fmt.Errorf("unknown option %s; fitrun --help lists the options; the program's own options go after its name", dashed(name))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return fmt.Errorf("option %s needs a value; fitrun --help says which", dashed(name))
	}
	if strings.HasPrefix(text, "invalid boolean value") {
		return fmt.Errorf("%s; give the option without a value", text)
	}
	return err
}

// dashed writes an option the way the help does.
func dashed(name string) string {
	if len(name) <= 2 { // -n, -np
		return "-" + name
	}
	return "--" + name
}

func versionLine() string {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return fmt.Sprintf("fitrun (FitMPI) %s %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
