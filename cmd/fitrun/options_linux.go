package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/trace"
)

// options is the command line, checked.
type options struct {
	apps  []app    // at least one; none with help or version
	set   []string // variables for all of them
	file  string   // of --app, "" if not given
	tuned []string // what fitrun tune has found, of variables that the environment does not have

	hostFile string
	policy   hosts.Policy
	noLocal  bool
	launcher string        // "", ssh or srun
	sshArgs  []string      // nil if not given
	patience time.Duration // of --launch-timeout
	preload  bool
	iface    string
	ports    string
	tls      bool
	gateways []string // DOMAIN=HOST:PORT
	secret   string   // file
	dryRun   bool
	config   configForm    // of --print-config; "" if it was not given
	given    []givenOption // in the order of the command line

	perProcess int
	bind       string // a launch.Binding
	bindings   bool   // report them
	tag        bool
	stamp      bool
	outputDir  string
	timeout    time.Duration
	ft         bool
	restarts   int    // most
	restartDir string // absolute, "" if not given
	progress   string
	beat       string // of --heartbeat, as FITMPI_HEARTBEAT takes it
	silence    string // of --heartbeat-timeout
	transport  string
	check      bool
	verbose    bool
	version    bool
	help       bool

	// What looks at the job, and how.
	onDeadlock   string // "" is report
	metrics      string // where fitrun serves the job's
	ownMetrics   string // where ranks serve their own
	web          string // where the live page is served, "" if it is not
	httpAuth     string // file with the secret that they ask for; "" if none
	httpOpen     bool   // they ask for none, wherever they are
	progressLine bool
	summary      bool
	summaryFile  string
	trace        string        // file, "" if not given
	traceLast    time.Duration // of the job that the trace is to show; 0 is all
	traceRoom    int64         // bytes of events that each rank keeps for it
}

// parse reads the command line. Its errors are one line that says what to do.
func parse(args []string) (options, error) {
	o := options{perProcess: 1, traceRoom: trace.DefaultBuffer}
	segments := splitApps(args)
	for i := 0; i < len(segments) && !o.help && !o.version; i++ {
		a, err := o.parseApp(segments[i], i == 0)
		if err != nil {
			return o, err
		}
		switch {
		case o.help || o.version:
		case i == 0 && o.file != "":
			if err := o.onlyFile(a, segments); err != nil {
				return o, err
			}
			if segments, err = readApps(o.file); err != nil {
				return o, err
			}
			segments = slices.Insert(segments, 0, nil)
		case len(a.program) == 0 && len(segments) > 1:
			return o, fmt.Errorf("program %d of %d is missing; between colons stand options and a program, as in -n 2 ./a : -n 1 ./b", i+1, len(segments))
		case len(a.program) == 0 && o.config != "":
			o.apps = append(o.apps, a) // to print the configuration takes no program
		case len(a.program) == 0:
			return o, errors.New("no program given; write for example: fitrun -n 4 ./prog (fitrun --help says more)")
		default:
			o.apps = append(o.apps, a)
		}
	}
	return o, o.checkTogether()
}

// onlyFile checks that nothing but options of the whole job stands beside --app.
func (o *options) onlyFile(a app, segments [][]string) error {
	if len(segments) > 1 || len(a.program) > 0 || a.ranks > 0 || a.dir != "" || a.path != "" || len(a.set) > 0 {
		return fmt.Errorf("--app %s: its lines name the programs and their options; beside it go options of the whole job only", o.file)
	}
	return nil
}

// checkTogether refuses options that each make sense, and not together.
func (o *options) checkTogether() error {
	byNode := o.policy.RankBy == hosts.ByNode || o.policy.RankBy == "" && o.policy.MapBy == hosts.ByNode
	if o.perProcess > 1 && byNode {
		return errors.New("--ranks-per-process with ranks numbered by node: the ranks of a process follow each other; add --rank-by slot")
	}
	if o.trace == "" && (o.traceLast > 0 || o.traceRoom != trace.DefaultBuffer) {
		return errors.New("--trace-last and --trace-buffer are of a trace: add --trace FILE")
	}
	if o.trace != "" && o.restarts > 0 {
		return errors.New("--trace with --restart: a trace is of one run of a job; leave one of them out")
	}
	return nil
}

// parseApp reads what stands before, between or behind colons.
func (o *options) parseApp(args []string, isFirst bool) (app, error) {
	var a app
	fs := flag.NewFlagSet("fitrun", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	r := registrar{fs: fs, isFirst: isFirst, given: &o.given}
	o.jobOptions(&r)
	a.options(&r)
	args, err := joinPairs(args, r.isFlag)
	if err != nil {
		return a, err
	}
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		o.help = true
		return a, nil
	case r.bad != nil:
		return a, r.bad
	case err != nil:
		return a, explainFlag(err, fs)
	}
	a.program = fs.Args()
	return a, nil
}

// jobOptions are the options of the whole job, in the order of the help.
func (o *options) jobOptions(r *registrar) {
	r.job(text(&o.file, "jobfile"), "app", "configfile")
	r.job(text(&o.hostFile, "hosts"), "hostfile", "machinefile", "f")
	r.job(count(&o.policy.PerHost, launch.MaxRanks, "ranks on each host"), "ppn", "N", "npernode", "perhost")
	r.job(oneOf(&o.policy.MapBy, hosts.BySlot, hosts.ByNode, hosts.ByLoad), "map-by")
	r.job(oneOf(&o.policy.RankBy, hosts.BySlot, hosts.ByNode), "rank-by")
	r.jobFlag(&o.noLocal, "nolocal")
	r.jobFlag(&o.policy.Oversubscribe, "oversubscribe")
	r.job(oneOf(&o.launcher, "ssh", "srun"), "launcher")
	r.job(words(&o.sshArgs), "ssh-args")
	r.job(duration(&o.patience), "launch-timeout")
	r.jobFlag(&o.preload, "preload", "preload-binary")
	r.job(o.setIface, "iface")
	r.job(o.setPorts, "port-range")
	r.jobFlag(&o.tls, "tls")
	r.job(o.addGateway, "gateway")
	r.job(text(&o.secret, "secret"), "secret-file")
	r.jobFlag(&o.dryRun, "dry-run")
	r.config(&o.config)
	r.job(o.setPerProcess, "ranks-per-process")
	r.job(oneOf(&o.bind, string(launch.BindCore), string(launch.BindNone)), "bind-to")
	r.jobFlag(&o.bindings, "report-bindings")
	r.jobFlag(&o.tag, "l", "tag-output", "prepend-rank")
	r.jobFlag(&o.stamp, "timestamp-output")
	r.job(text(&o.outputDir, "out"), "output-filename")
	r.job(duration(&o.timeout), "timeout")
	r.faultTolerance(&o.ft)
	r.job(count(&o.restarts, maxRestarts, "times the job is started again"), "restart")
	r.job(o.setRestartDir, "restart-dir")
	r.job(oneOf(&o.progress, "worker", "assist", "caller"), "progress")
	r.job(span(&o.beat), "heartbeat")
	r.job(span(&o.silence), "heartbeat-timeout")
	r.job(oneOf(&o.transport, "auto", "tcp", "shm"), "transport")
	r.jobFlag(&o.check, "check")
	r.job(oneOf(&o.onDeadlock, deadlockReport, deadlockAbort, deadlockOff), "on-deadlock")
	r.job(address(&o.metrics), "metrics")
	r.job(o.setRankMetrics, "rank-metrics")
	r.job(hostPort(&o.web, ":8080"), "web")
	r.job(o.setHTTPAuth, "http-auth")
	r.jobFlag(&o.httpOpen, "http-open")
	r.job(text(&o.trace, "out.json"), "trace")
	r.job(o.setTraceBuffer, "trace-buffer")
	r.job(duration(&o.traceLast), "trace-last")
	r.jobFlag(&o.progressLine, "progress-line")
	r.jobFlag(&o.summary, "summary")
	r.job(text(&o.summaryFile, "summary.json"), "summary-file")
	r.job(variable(&o.set), "genv")
	r.job(variables(&o.set), "genvlist")
	r.jobFlag(&o.verbose, "v", "verbose")
	r.jobFlag(&o.version, "version", "V")
}

// options are those of one program.
func (a *app) options(r *registrar) {
	r.each(setRanks(&a.ranks), "n", "np")
	r.each(text(&a.hosts, "a:2,b:2"), "H", "host", "hosts")
	r.each(text(&a.dir, "/data"), "wdir", "wd")
	r.each(text(&a.path, "/opt/bin"), "path")
	r.each(variable(&a.set), "x", "env")
	r.each(variables(&a.set), "envlist")
}

// registrar puts options into a flag set.
type registrar struct {
	fs      *flag.FlagSet
	isFirst bool           // options of the whole job may stand here
	given   *[]givenOption // what was given is noted here, unless it is nil
	bad     error          // why a value was refused, without the words that package flag puts around it
}

// each registers an option under all its names.
func (r *registrar) each(set setter, names ...string) {
	for _, name := range names {
		r.fs.Func(name, "", func(value string) error {
			r.note(givenOption{dashed(name), value})
			return r.keep(set(dashed(name), value))
		})
	}
}

// note notes that an option was given.
func (r *registrar) note(o givenOption) {
	if r.given != nil {
		*r.given = append(*r.given, o)
	}
}

// job is each for an option of the whole job.
func (r *registrar) job(set setter, names ...string) {
	r.each(func(name, value string) error {
		if err := r.early(name); err != nil {
			return err
		}
		return set(name, value)
	}, names...)
}

// jobFlag registers an option of the whole job that has no value.
func (r *registrar) jobFlag(field *bool, names ...string) {
	for _, name := range names {
		r.fs.BoolFunc(name, "", func(value string) error {
			if value != "true" {
				return r.keep(fmt.Errorf("option %s=%s: give the option without a value", dashed(name), value))
			}
			*field = true
			r.note(givenOption{Name: dashed(name)})
			return r.keep(r.early(dashed(name)))
		})
	}
}

// early refuses an option of the whole job behind a colon.
func (r *registrar) early(name string) error {
	if r.isFirst {
		return nil
	}
	return fmt.Errorf("%s is an option of the whole job: give it before the first program", name)
}

func (r *registrar) keep(err error) error {
	if r.bad == nil {
		r.bad = err
	}
	return err
}

// isFlag reports whether there is an option of this name without a value.
func (r *registrar) isFlag(name string) bool {
	f := r.fs.Lookup(name)
	if f == nil {
		return name == "h" || name == "help"
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// explainFlag puts the errors of package flag our way. It knows their texts; an unknown one passes
// as it is.
func explainFlag(err error, fs *flag.FlagSet) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return fmt.Errorf("unknown option %s%s; fitrun --help lists the options; the program's own options go after its name", dashed(name), meant(name, fs))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return fmt.Errorf("option %s needs a value; fitrun --help says which", dashed(name))
	}
	return err
}

// explainFlagOf is explainFlag for a command of fitrun's that starts no program.
func explainFlagOf(command string, err error, fs *flag.FlagSet) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	text := strings.ReplaceAll(explainFlag(err, fs).Error(), "fitrun --help", command+" --help")
	return errors.New(strings.TrimSuffix(text, "; the program's own options go after its name"))
}

// dashed writes an option the way the help does.
func dashed(name string) string {
	short := []string{"np", "ppn", "genv", "genvlist", "env", "envlist", "host", "hosts", "wd", "perhost", "npernode"}
	if bare := strings.TrimRight(name, "0123456789"); len(name) == 1 || len(bare) == 1 || slices.Contains(short, bare) { // -n4 is written so
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
