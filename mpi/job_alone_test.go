//go:build linux && !fitmpi_portable

package mpi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// loners are programs without a launcher that fail, by name.
var loners = map[string]struct {
	main func()
	code int
	want string // what is said on standard error, a regular expression
}{
	"error": {func() {
		mpi.Main(func(context.Context, *mpi.Comm) error { return errors.New("no such input: grid.dat") })
	}, 1, `^fitmpi: rank 0 \(pid \d+ on .*\) aborted the job with code 1: rank 0: no such input: grid.dat\n$`},
	"error in context": {func() {
		mpi.Main(func(_ context.Context, world *mpi.Comm) error {
			defer fmt.Fprintln(os.Stderr, "deferred")
			if err := mpi.Send(world, []int{1}, 5, 0); err != nil {
				return fmt.Errorf("block 7: %w", err)
			}
			return nil
		})
	}, 1, `^deferred\nfitmpi: rank 0 .*: block 7: mpi: Send on rank 0 .*: invalid rank: destination 5: .*\(job_alone_test.go:\d+\)\n$`},
	"fatal": {func() {
		world, err := mpi.Init()
		if err == nil {
			mpi.Send(world, []int{1}, 5, 0) // the program ignores its error: it ends the process
		}
	}, 1, `^fitmpi: rank 0 .* aborted the job with code 1: mpi: Send on rank 0 .*: invalid rank: destination 5: .*\(job_alone_test.go:\d+\)\n$`},
	"abort": {func() {
		mpi.Main(func(_ context.Context, world *mpi.Comm) error {
			world.Abort(7, "diverged")
			return nil
		})
	}, 7, `^fitmpi: rank 0 .* aborted the job with code 7: diverged\n$`},
	"panic": {func() {
		mpi.Main(func(context.Context, *mpi.Comm) error { panic("boom") })
	}, 2, `(?s)^panic on rank 0: boom\n.*alone_test.go.*fitmpi: rank 0 .* aborted the job with code 2: rank 0 panicked: boom\n$`},
	"goexit": {func() {
		mpi.Main(func(context.Context, *mpi.Comm) error { runtime.Goexit(); return nil })
	}, 1, `^fitmpi: rank 0 .* aborted the job with code 1: rank 0: its function ended its goroutine instead of returning .*\n$`},
	"goexit in Finalize": {func() {
		mpi.Main(func(_ context.Context, world *mpi.Comm) error {
			return mpi.KeyvalCreate(nil, func(*mpi.Comm, int) error { runtime.Goexit(); return nil }).Set(world, 1)
		})
	}, 1, `^fitmpi: rank 0 .* aborted the job with code 1: rank 0: Finalize: .*alone_test.go:\d+ ended its goroutine instead of returning .*\n$`},
	"goexit in a tool": {func() {
		useLeavingTool("attach")
		mpi.Main(func(context.Context, *mpi.Comm) error { return nil })
	}, 1, `^mpi: Init.*: a tool: .*p2p_callback_goexit_test.go:\d+ ended its goroutine instead of returning .*\n$`},
	"goexit in Message": {func() {
		useLeavingTool("Message")
		mpi.Main(func(_ context.Context, world *mpi.Comm) error { return mpi.Send(world, []int{1}, 0, 0) })
	}, 2, `(?s)^rank 0: the tool mpi_test.leavingTool failed in Message: .*p2p_callback_goexit_test.go:\d+ ended its goroutine instead of returning .*\n$`},
	"goexit in Message of threads": {func() {
		useLeavingTool("Message")
		mpi.RunThreads(2, everyToolCall)
	}, 2, `(?s)^rank 0: the tool mpi_test.leavingTool failed in Message: .*p2p_callback_goexit_test.go:\d+ ended its goroutine instead of returning .*\n$`},
	"goexit in Turn of threads": {func() {
		useLeavingTool("Turn")
		mpi.RunThreads(2, everyToolCall)
	}, 2, `(?s)^rank 0: the tool mpi_test.leavingTool failed in Turn: .*p2p_callback_goexit_test.go:\d+ ended its goroutine instead of returning .*\n$`},
	"finalize": {func() {
		mpi.Main(func(_ context.Context, world *mpi.Comm) error {
			return mpi.KeyvalCreate(nil, func(*mpi.Comm, int) error { return errors.New("not written") }).Set(world, 1)
		})
	}, 1, `^fitmpi: rank 0 .*: mpi: Finalize on rank 0 .*: not written.*\n$`},
	"signal": {func() {
		mpi.Main(func(ctx context.Context, _ *mpi.Comm) error {
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		})
	}, 128 + int(syscall.SIGTERM), `^fitmpi: rank 0 .*: rank 0: context canceled \(signal: terminated\)\n$`},
}

// A program that no launcher has started says why it ends, as a launcher would: which rank, the
// operation, the cause and the line.
func TestAloneSaysWhy(t *testing.T) {
	const mark = "FITMPI_TEST_LONER"
	if name := os.Getenv(mark); name != "" {
		loners[name].main()
		os.Exit(0)
	}
	for name, l := range loners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAloneSaysWhy$")
			cmd.Env = append(os.Environ(), mark+"="+name, "FITMPI_LAUNCHER=none", "GOCOVERDIR="+t.TempDir())
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != l.code {
				t.Errorf("exit code %d, want %d", code, l.code)
			}
			if !regexp.MustCompile(l.want).Match(stderr.Bytes()) {
				t.Errorf("it says\n%s\nwant %s", stderr.String(), l.want)
			}
		})
	}
}
