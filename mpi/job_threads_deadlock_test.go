//go:build linux && !fitmpi_portable

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// deadlockAlone runs f in a process of its own: goroutines and timers of other tests are none of
// its concern. timeout is of the tests there.
func deadlockAlone(t *testing.T, timeout string, f func()) (output string) {
	t.Helper()
	const mark = "FITMPI_TEST_DEADLOCK"
	if os.Getenv(mark) == t.Name() {
		threadsPause = 20 * time.Millisecond
		f()
		return ""
	}
	parts := strings.Split(t.Name(), "/")
	for i := range parts {
		parts[i] = "^" + parts[i] + "$"
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+strings.Join(parts, "/"), "-test.timeout="+timeout, "-test.v")
	cmd.Env = append(os.Environ(), mark+"="+t.Name(), "GOCOVERDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// recvs waits for a message from the next rank, which does the same.
func recvs(_ context.Context, c *Comm) error {
	_, err := Recv(c, make([]int, 1), (c.Rank()+1)%c.Size(), 7)
	return err
}

// Ranks of RunThreads that wait for each other are ended, in a test whose time-out is far away.
// They are told which rank waits for which, and where.
func TestRunThreadsDeadlock(t *testing.T) {
	for name, tc := range map[string]struct {
		run  func(ctx context.Context, c *Comm) error
		want []string
	}{
		"receives": {recvs, []string{"no rank can go on", "rank 0 waits for rank 1", "Recv from rank 1, tag 7, room for 8 B, world, at job_threads_deadlock_test.go:"}},
		"barrier without one": {func(ctx context.Context, c *Comm) error {
			if c.Rank() == 1 {
				return recvs(ctx, c)
			}
			return Barrier(c)
		}, []string{"no rank can go on", "Barrier", "at job_threads_deadlock_test.go:"}},
		"one has finished": {func(ctx context.Context, c *Comm) error {
			if c.Rank() == 1 {
				return nil
			}
			return recvs(ctx, c)
		}, []string{"rank 1", "Finalize", "world, at job_threads_deadlock_test.go:"}},
		"behind a wait group": {func(ctx context.Context, c *Comm) (err error) {
			var wg sync.WaitGroup
			wg.Go(func() { err = recvs(ctx, c) })
			wg.Wait()
			return err
		}, []string{"no rank can go on", "world, at job_threads_deadlock_test.go:"}},
	} {
		t.Run(name, func(t *testing.T) {
			deadlockAlone(t, "10m", func() {
				err := RunThreads(2, tc.run)
				if err == nil || !strings.Contains(err.Error(), "RunThreads: error: deadlock") {
					t.Fatalf("the job ended with %v", err)
				}
				for _, want := range tc.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("it is not said that %q: %v", want, err)
					}
				}
			})
		})
	}
}

// One rank that receives from itself waits for ever too.
func TestRunThreadsDeadlockOfOne(t *testing.T) {
	deadlockAlone(t, "10m", func() {
		if err := RunThreads(1, recvs); err == nil || !strings.Contains(err.Error(), "deadlock") {
			t.Errorf("the job ended with %v", err)
		}
	})
}

// What only seems to be a deadlock is none: a timer, a goroutine or a context lets the ranks go on,
// long after they would have been ended.
func TestRunThreadsNoDeadlock(t *testing.T) {
	const while = 20 // rounds
	lets := func(go_ func(let func())) func(context.Context, *Comm) error {
		return func(ctx context.Context, c *Comm) error {
			if c.Rank() == 0 {
				var wg sync.WaitGroup
				defer wg.Wait()
				wg.Add(1)
				go_(func() {
					defer wg.Done()
					if err := Send(c, []int{1}, 1, 7); err != nil {
						t.Error(err)
					}
				})
				return nil
			}
			_, err := Recv(c, make([]int, 1), 0, 7)
			return err
		}
	}
	for name, run := range map[string]func(context.Context, *Comm) error{
		"a timer": lets(func(let func()) { time.AfterFunc(while*threadsPause, let) }),
		"a sleeping goroutine": lets(func(let func()) {
			go func() {
				time.Sleep(while * threadsPause)
				let()
			}()
		}),
		"a context": func(ctx context.Context, c *Comm) error {
			short, cancel := context.WithTimeout(ctx, while*threadsPause)
			defer cancel()
			if err := recvs(ctx, c.WithContext(short)); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("the receive ended with %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			deadlockAlone(t, "10m", func() {
				if err := RunThreads(2, run); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
