package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/agent"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/sys"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == crew.GuardArg {
		crew.GuardMain(os.Stdin)
		return
	}
	if len(os.Args) > 1 && os.Args[1] == agent.Arg {
		os.Exit(agent.Main(os.Args[2:]))
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is fitrun. It returns the exit code.
func run(ctx context.Context, args []string, stdin *os.File, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "nameserver" {
		return nameserverMain(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "gateway" {
		return gatewayMain(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "status" {
		return statusMain(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "tune" {
		return tuneMain(ctx, args[1:], stdout, stderr)
	}
	o, err := parse(args)
	switch {
	case err != nil:
		return refuse(stderr, err)
	case o.help:
		io.WriteString(stdout, launch.HelpText(stdout, usage))
		return 0
	case o.version:
		fmt.Fprintln(stdout, versionLine())
		return 0
	}
	o.tuned = tuned(os.Environ(), stderr)
	if o.config != "" {
		return printConfig(o, os.Environ(), stdout, stderr)
	}
	return start(ctx, o, stdin, stdout, stderr)
}

// start finds the hosts and the programs, builds what must be built, and runs the job.
func start(ctx context.Context, o options, stdin *os.File, stdout, stderr io.Writer) int {
	warnUnknown(&o, os.Environ(), stderr)
	warnLimits(stderr)
	m := thisMachine()
	w, err := o.place(m)
	if err != nil {
		return refuse(stderr, err)
	}
	req, err := o.request(ctx, w, w.isLocal(m))
	if err != nil {
		return refuse(stderr, err)
	}
	if o.dryRun && req.ByLoad != nil {
		return refuse(stderr, errors.New("--dry-run with --map-by load: the load of hosts is known when they have been reached; --verbose says then where ranks are"))
	}
	if o.dryRun {
		dryRun(stdout, req)
		return 0
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, stopSignals()...)
	defer signal.Stop(signals)
	passed := make(chan os.Signal, 4)
	signal.Notify(passed, heard(syscall.SIGUSR1, syscall.SIGUSR2)...)
	defer signal.Stop(passed)
	look, err := o.watch(stderr)
	if err != nil {
		return refuse(stderr, err)
	}
	defer look.close()

	guard, err := crew.StartGuard()
	if err != nil && o.verbose {
		fmt.Fprintf(launch.Folded(stderr), "fitrun: %v; going on without\n", err)
	}
	defer guard.Close()
	dir, err := buildAll(ctx, signals, &req, guard, stderr)
	if dir != "" {
		defer os.RemoveAll(dir)
	}
	if err != nil {
		return refuse(stderr, err)
	}
	adopted := sys.AdoptOrphans() == nil // else only process groups are cleaned up
	return look.execute(ctx, req, launch.Config{
		Stdin: stdin, Stdout: stdout, Stderr: stderr, Signals: signals, Passed: passed,
		Tag: o.tag, Timestamp: o.stamp, OutputDir: o.outputDir, Verbose: o.verbose, Bindings: o.bindings, Guard: guard, AdoptedOrphans: adopted,
	})
}

// interruptedError is a signal that came before any rank was started.
type interruptedError struct{ signal syscall.Signal }

func (e interruptedError) Error() string { return e.signal.String() }

// Below these limits Go programs may not start, fitrun's own threads included; the runtime then
// dies with a trace that names no limit. A program reserves a good part of a GiB that it does not
// use.
const (
	littleSpace  = 2 << 30
	fewProcesses = 64
)

// warnLimits warns of limits under which fitrun or its ranks are likely to die before they can say
// why.
func warnLimits(stderr io.Writer) {
	if sys.AddressSpace.IsBelow(littleSpace) {
		fmt.Fprintf(launch.Folded(stderr), "fitrun: %v: programs in Go reserve much of it, and may die as they start; raise it\n", sys.AddressSpace)
	}
	if os.Geteuid() != 0 && sys.Processes.IsBelow(fewProcesses) {
		fmt.Fprintf(launch.Folded(stderr), "fitrun: %v: a rank has some ten threads, and may die as it starts; raise it\n", sys.Processes)
	}
}

// refuse says why no job was started, and returns the exit code.
func refuse(stderr io.Writer, err error) int {
	if errors.Is(err, launch.ErrBuild) {
		return launch.ExitUsage // the go command has said everything
	}
	if e, ok := errors.AsType[interruptedError](err); ok {
		fmt.Fprintf(launch.Folded(stderr), "fitrun: %v\n", err)
		return 128 + int(e.signal)
	}
	fmt.Fprintf(launch.Folded(stderr), "fitrun: %v\n", err)
	return launch.ExitUsage
}

// stopSignals are the signals that end a job.
func stopSignals() []os.Signal { return heard(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) }

// heard is those of sigs that our parent does not ignore, as nohup does: what it ignores stays
// ignored. If it ignores all, one is left that never comes, since package signal takes none for
// all.
func heard(sigs ...os.Signal) []os.Signal {
	sigs = slices.DeleteFunc(sigs, signal.Ignored)
	if len(sigs) == 0 {
		return []os.Signal{syscall.SIGKILL}
	}
	return sigs
}
