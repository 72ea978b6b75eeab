package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"github.com/fitmpi/fitmpi/internal/launch"
	"github.com/fitmpi/fitmpi/internal/sys"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == launch.GuardArg {
		launch.GuardMain(os.Stdin)
		return
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is fitrun. It returns the exit code.
func run(ctx context.Context, args []string, stdin *os.File, stdout, stderr io.Writer) int {
	o, err := parse(args)
	switch {
	case err != nil:
		return refuse(stderr, err)
	case o.help:
		io.WriteString(stdout, usage)
		return 0
	case o.version:
		fmt.Fprintln(stdout, versionLine())
		return 0
	}
	prog, err := launch.FindProgram(o.program[0])
	if err != nil {
		return refuse(stderr, err)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, stopSignals()...)
	defer signal.Stop(signals)

	guard, err := launch.StartGuard()
	if err != nil && o.verbose {
		fmt.Fprintf(stderr, "fitrun: %v; going on without\n", err)
	}
	defer guard.Close()
	if prog.Package != "" {
		dir, err := launch.TempDir()
		if err != nil {
			return fail(stderr, err)
		}
		defer os.RemoveAll(dir)
		guard.Temp(dir)
		if prog.Path, err = build(ctx, signals, prog, dir, stderr); err != nil {
			return refuse(stderr, err)
		}
	}
	return start(ctx, o, prog, guard, signals, stdin, stdout, stderr)
}

// start plans the job and runs it.
func start(ctx context.Context, o options, prog launch.Program, guard *launch.Guard, signals <-chan os.Signal,
	stdin *os.File, stdout, stderr io.Writer) int {
	req := o.request(os.Environ())
	req.Apps[0].Program, req.Cores, req.CPUs = prog, allowedCores(), sys.AllowedCPUs()
	adopted := sys.AdoptOrphans() == nil // else only process groups are cleaned up
	return launch.Execute(ctx, req, launch.Config{
		Stdin: stdin, Stdout: stdout, Stderr: stderr, Signals: signals,
		Tag: o.tag, Verbose: o.verbose, Bindings: o.bindings, Guard: guard, AdoptedOrphans: adopted,
	})
}

// interruptedError is a signal that came before any rank was started.
type interruptedError struct{ signal syscall.Signal }

func (e interruptedError) Error() string { return e.signal.String() }

// build builds prog unless a signal comes.
func build(ctx context.Context, signals <-chan os.Signal, prog launch.Program, dir string, stderr io.Writer) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() {
		select {
		case sig := <-signals:
			cancel(interruptedError{sig.(syscall.Signal)})
		case <-ctx.Done():
		}
	})
	return launch.Build(ctx, prog, dir, stderr)
}

// refuse says why no job was started, and returns the exit code.
func refuse(stderr io.Writer, err error) int {
	if errors.Is(err, launch.ErrBuild) {
		return launch.ExitUsage // the go command has said everything
	}
	if e, ok := errors.AsType[interruptedError](err); ok {
		fmt.Fprintf(stderr, "fitrun: %v\n", err)
		return 128 + int(e.signal)
	}
	fmt.Fprintf(stderr, "fitrun: %v\n", err)
	return launch.ExitUsage
}

func fail(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "fitrun: %v\n", err)
	return launch.ExitError
}

// stopSignals are the signals that end a job. One that our parent ignores, as nohup does, stays ignored.
func stopSignals() []os.Signal {
	var sigs []os.Signal
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			sigs = append(sigs, s)
		}
	}
	return sigs
}

// allowedCores is the number of cores that this process may use: its affinity mask and its cgroup's limit, as the Go
// runtime sees them, but regardless of a GOMAXPROCS that is meant for the ranks.
func allowedCores() int {
	runtime.SetDefaultGOMAXPROCS()
	return runtime.GOMAXPROCS(0)
}

// absDir checks a directory for --wdir.
func absDir(dir string) (string, error) {
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("--wdir %s: no such directory", dir)
	case err != nil:
		return "", fmt.Errorf("--wdir %s: %w", dir, errors.Unwrap(err))
	case !st.IsDir():
		return "", fmt.Errorf("--wdir %s: not a directory", dir)
	}
	return filepath.Abs(dir)
}
