package mpi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// diary is a tool that writes down what it hears, but for messages.
type diary struct {
	name string
	mu   *sync.Mutex
	to   *[]string
}

func (d diary) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*d.to = append(*d.to, strings.TrimSpace(d.name+" ")+fmt.Sprintf(format, args...))
}

func (d diary) Begin(k *mpi.Call) {
	text := "> " + k.Op
	if k.Dest != mpi.Undefined {
		text += fmt.Sprintf(" to %d tag %d %d elements %d bytes", k.Dest, k.SendTag, k.SendCount, k.SendBytes)
	}
	if k.Source != mpi.Undefined {
		text += fmt.Sprintf(" from %d tag %d %d elements %d bytes", k.Source, k.RecvTag, k.RecvCount, k.RecvBytes)
	}
	if k.Root != mpi.Undefined {
		text += fmt.Sprintf(" root %d sends %d receives %d bytes", k.Root, k.SendBytes, k.RecvBytes)
	}
	if len(k.Requests) > 0 {
		text += fmt.Sprintf(" of %d requests", len(k.Requests))
	}
	d.write("%s", text)
}

func (d diary) End(k *mpi.Call, err error) {
	text := "< " + k.Op
	if k.Status != (mpi.Status{}) {
		text += fmt.Sprintf(" from %d count %d", k.Status.Source, k.Status.Count)
	}
	if k.Request != nil {
		text += " request"
	}
	if k.Done {
		text += " done"
	}
	if k.Made != nil {
		text += " makes " + k.Made.Name()
	}
	if err != nil {
		text += " fails: " + mpi.ClassOf(err).String()
	}
	d.write("%s", text)
}

// written runs a program with diaries at rank 0, one for each name, and returns what they wrote.
func written(t *testing.T, n int, names []string, program func(ctx context.Context, world *mpi.Comm) error) []string {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	for _, name := range names {
		defer mpi.UseTool(func(r mpi.ToolRank) mpi.Tool {
			if r.Rank != 0 {
				return nil
			}
			return diary{name, &mu, &lines}
		})()
	}
	if err := mpi.RunThreads(n, program); err != nil {
		t.Fatal(err)
	}
	return lines
}

func wantLines(t *testing.T, got []string, want string) {
	t.Helper()
	w := strings.Split(strings.TrimSpace(want), "\n")
	for i := range w {
		w[i] = strings.TrimSpace(w[i])
	}
	if !slices.Equal(got, w) {
		t.Errorf("the tool heard\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(w, "\n"))
	}
}

// A tool hears of what the user calls, with arguments and results, and of nothing that the library
// calls for it.
func TestToolCalls(t *testing.T) {
	got := written(t, 2, []string{""}, func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		other := 1 - c.Rank()
		buf := make([]float64, 4)
		r := mpi.Irecv(c, buf, other, 3)
		if err := mpi.Send(c, buf[:2], other, 3); err != nil {
			return err
		}
		if _, err := r.Wait(); err != nil {
			return err
		}
		if err := mpi.Bcast(c, buf, 0); err != nil {
			return err
		}
		if err := mpi.Send(c, buf, 7, 3); !errors.Is(err, mpi.ErrRank) {
			return fmt.Errorf("to nobody: %v", err)
		}
		half, err := c.Split(c.Rank(), 0)
		if err != nil {
			return err
		}
		if _, ok, err := mpi.Iprobe(half, 0, mpi.AnyTag); ok || err != nil {
			return fmt.Errorf("found %v, %v", ok, err)
		}
		if _, err := mpi.WaitAll(mpi.Isend(half, []string{"objects"}, 0, 0), mpi.IrecvNew[string](half, mpi.AnySource, mpi.AnyTag).Request); err != nil {
			return err
		}
		return c.Pcontrol(0)
	})
	wantLines(t, got, `
		> Init
		< Init makes world
		> Irecv from 1 tag 3 4 elements 32 bytes
		< Irecv request
		> Send to 1 tag 3 2 elements 16 bytes
		< Send
		> Wait of 1 requests
		< Wait from 1 count 2
		> Bcast root 0 sends 32 receives 0 bytes
		< Bcast
		> Send to 7 tag 3 4 elements 32 bytes
		< Send fails: invalid rank
		> Split
		< Split makes world/0
		> Iprobe from 0 tag -2 0 elements 0 bytes
		< Iprobe from -1 count 0
		> Isend to 0 tag 0 1 elements -1 bytes
		< Isend request
		> IrecvNew from -1 tag -2 0 elements 0 bytes
		< IrecvNew request
		> WaitAll of 2 requests
		< WaitAll
		> Pcontrol
		< Pcontrol
		> Finalize
		< Finalize`)
}

// Several tools are told in order of registration of a beginning, and in the opposite order of an
// end.
func TestToolsNest(t *testing.T) {
	got := written(t, 1, []string{"a", "b"}, func(_ context.Context, c *mpi.Comm) error { return mpi.Barrier(c) })
	wantLines(t, got, `
		a> Init
		b> Init
		b< Init makes world
		a< Init makes world
		a> Barrier
		b> Barrier
		b< Barrier
		a< Barrier
		a> Finalize
		b> Finalize
		b< Finalize
		a< Finalize`)
}

// Calls through WithoutTools, and on what they return, are told to no tool; a tool that is removed
// hears of nothing.
func TestWithoutTools(t *testing.T) {
	got := written(t, 1, []string{""}, func(_ context.Context, c *mpi.Comm) error {
		quiet := c.WithoutTools()
		r := mpi.Irecv(quiet, make([]byte, 1), 0, 0)
		if err := mpi.Send(quiet, []byte{1}, 0, 0); err != nil {
			return err
		}
		if _, err := r.Wait(); err != nil {
			return err
		}
		d, err := quiet.Dup(nil)
		if err != nil {
			return err
		}
		return mpi.Barrier(d)
	})
	wantLines(t, got, "> Init\n< Init makes world\n> Barrier\n< Barrier\n> Finalize\n< Finalize")
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error { return mpi.Barrier(c) })
	if err != nil || len(got) != 6 {
		t.Errorf("after it was removed the tool has heard %v, %v", got, err)
	}
}

// barrierCounter is a tool that sums up over all ranks, while they finalize, how often each has
// called Barrier.
type barrierCounter struct {
	calls []int64
	sum   *int64
}

func (a *barrierCounter) Begin(k *mpi.Call) {
	switch k.Op {
	case "Barrier":
		a.calls[0]++
	case "Finalize":
		all := make([]int64, 1)
		if err := mpi.Reduce(k.Comm.WithoutTools(), a.calls, all, mpi.Sum, 0); err != nil {
			panic(err)
		}
		if k.Comm.Rank() == 0 {
			*a.sum = all[0]
		}
	}
}
func (a *barrierCounter) End(*mpi.Call, error) {}

// A tool may communicate, and in the beginning of Finalize it may do so for the last time.
func TestToolCommunicates(t *testing.T) {
	var sum int64
	defer mpi.UseTool(func(mpi.ToolRank) mpi.Tool { return &barrierCounter{calls: make([]int64, 1), sum: &sum} })()
	err := mpi.RunThreads(3, func(_ context.Context, c *mpi.Comm) error {
		for range 5 {
			if err := mpi.Barrier(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || sum != 15 {
		t.Errorf("the ranks have called Barrier %d times, %v; want 15", sum, err)
	}
}

// faulty panics in one of its methods.
type faulty struct{ in string }

func (f faulty) fail(in string) {
	if in == f.in {
		panic("a tool's own bug")
	}
}
func (f faulty) Begin(k *mpi.Call)           { f.fail("Begin of " + k.Op) }
func (f faulty) End(k *mpi.Call, _ error)    { f.fail("End of " + k.Op) }
func (f faulty) Message(mpi.MessageEvent)    { f.fail("Message") }
func (f faulty) Turn(mpi.TurnEvent)          { f.fail("Turn") }
func (f faulty) BeginRegion(n string)        { f.fail("BeginRegion of " + n) }
func (f faulty) EndRegion(n string)          { f.fail("EndRegion of " + n) }
func (f faulty) Control(level int, _ ...any) { f.fail("Control") }

// A panic of a tool ends the job, and says whose it is.
func TestToolPanics(t *testing.T) {
	for _, in := range []string{"Begin of Barrier", "End of Recv", "Message", "Turn", "BeginRegion of phase", "EndRegion of phase", "Control"} {
		t.Run(in, func(t *testing.T) {
			defer mpi.UseTool(func(r mpi.ToolRank) mpi.Tool {
				if r.Rank == 1 {
					return faulty{in}
				}
				return nil
			})()
			err := mpi.RunThreads(2, func(ctx context.Context, c *mpi.Comm) error {
				c.SetErrhandler(mpi.ErrorsReturn)
				ctx, end := mpi.Region(ctx, "phase")
				end()
				if err := c.Pcontrol(1); err != nil {
					return err
				}
				if _, err := mpi.Sendrecv(c, []int{1}, 1-c.Rank(), 0, make([]int, 1), 1-c.Rank(), 0); err != nil {
					return err
				}
				for { // until the panic has ended the job, if it came in this one's thread or another's
					if c.Rank() == 0 {
						if err := mpi.Send(c, []int{1}, 1, 0); err != nil {
							return err
						}
					} else if _, err := mpi.Recv(c, make([]int, 1), 0, 0); err != nil {
						return err
					}
					if err := mpi.Barrier(c); err != nil {
						return err
					}
					if ctx.Err() != nil {
						return ctx.Err()
					}
				}
			})
			wantText(t, err, nil, "rank 1: the tool mpi_test.faulty panicked in "+in+": a tool's own bug")
		})
	}
}

// control is a diary that hears of regions and controls too.
type control struct{ diary }

func (d control) BeginRegion(name string)        { d.write("begin %s", name) }
func (d control) EndRegion(name string)          { d.write("end %s", name) }
func (d control) Control(level int, args ...any) { d.write("control %d %v", level, args) }

// Regions label the goroutine, and with it those that it starts, and are told to tools, as is
// Pcontrol.
func TestRegion(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	defer mpi.UseTool(func(mpi.ToolRank) mpi.Tool { return control{diary{"", &mu, &lines}} })()
	err := mpi.RunThreads(1, func(ctx context.Context, c *mpi.Comm) error {
		outer, endOuter := mpi.Region(ctx, "outer")
		inner, endInner := mpi.Region(outer, "inner")
		if name, _ := pprof.Label(inner, "fitmpi_region"); name != "inner" {
			t.Errorf("the label of the inner region is %q", name)
		}
		if rank, _ := pprof.Label(inner, "fitmpi_rank"); rank != "0" {
			t.Errorf("the label of the rank is %q", rank)
		}
		wantLabel(t, "inner")
		if err := c.Pcontrol(2, "now"); err != nil {
			return err
		}
		endInner()
		wantLabel(t, "outer")
		endOuter()
		for end := time.Now().Add(time.Minute); strings.Contains(goroutines(), "fitmpi_region"); { // those of wantLabel end by themselves
			if time.Now().After(end) {
				t.Fatalf("after the region the label is still there:\n%s", goroutines())
			}
		}
		_, end := mpi.Region(context.Background(), "nobody's") // no rank: no tool
		end()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines, `
		> Init
		< Init makes world
		begin outer
		begin inner
		> Pcontrol
		control 2 [now]
		< Pcontrol
		end inner
		end outer
		> Finalize
		< Finalize`)
}

// wantLabel starts a goroutine and looks for the label that it inherits.
func wantLabel(t *testing.T, name string) {
	t.Helper()
	ready, over := make(chan struct{}), make(chan struct{})
	go func() {
		close(ready)
		<-over
	}()
	<-ready
	if all := goroutines(); strings.Count(all, `"fitmpi_region":"`+name+`"`) < 1 {
		t.Errorf("no goroutine has the label %s:\n%s", name, all)
	}
	close(over)
}

// goroutines is the profile of all goroutines, with their labels.
func goroutines() string {
	var b bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&b, 1)
	return b.String()
}

// Calls and regions are regions of an execution trace.
func TestExecutionTrace(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("somebody traces the tests")
	}
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	err := mpi.RunThreads(2, func(ctx context.Context, c *mpi.Comm) error {
		_, end := mpi.Region(ctx, "a phase of ours")
		defer end()
		if _, err := mpi.Sendrecv(c, []int{1}, 1-c.Rank(), 0, make([]int, 1), 1-c.Rank(), 0); err != nil {
			return err
		}
		return mpi.Barrier(c)
	})
	trace.Stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mpi.Init", "mpi.Sendrecv", "mpi.Barrier", "mpi.Finalize", "a phase of ours"} {
		if !bytes.Contains(b.Bytes(), []byte(want)) {
			t.Errorf("the trace has no region %q", want)
		}
	}
}

// idle is a tool that does nothing.
type idle struct{}

func (idle) Begin(*mpi.Call)          {}
func (idle) End(*mpi.Call, error)     {}
func (idle) Message(mpi.MessageEvent) {}
func (idle) Turn(mpi.TurnEvent)       {}

// To tell a tool allocates nothing.
func TestToolAllocatesNothing(t *testing.T) {
	effort.Need(t, effort.Usual, "it sends long messages thousands of times")
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for n, batches := range map[int]int{1: 40, 128 << 10: 10} {
		alone, with := math.Inf(1), math.Inf(1)
		for range 10 { // what else the process does may add to one of them
			alone = min(alone, leastAllocations(t, batches, 30, exchange(n)))
			remove := mpi.UseTool(func(mpi.ToolRank) mpi.Tool { return idle{} })
			with = min(with, leastAllocations(t, batches, 30, exchange(n)))
			remove()
			if with <= alone+0.2 {
				break
			}
		}
		if with > alone+0.2 {
			t.Errorf("%d elements: %.2f allocations a round, %.2f without a tool", n, with, alone)
		}
	}
}

// Without a tool a list of requests that is written where it is used is on the caller's stack.
func TestListsOfRequestsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	n := allocations(t, 1000, func(c *mpi.Comm) func() error {
		in, out, other := make([]float64, 1), make([]float64, 1), 1-c.Rank()
		r, s := mpi.RecvInit(c, in, other, 1), mpi.SendInit(c, out, other, 1)
		return func() error {
			if err := mpi.StartAll(r, s); err != nil {
				return err
			}
			if _, err := s.Wait(); err != nil {
				return err
			}
			_, err := r.Wait()
			return err
		}
	})
	if n >= 0.5 {
		t.Errorf("%.2f allocations a round, want 0", n)
	}
}

// exchange is a round of blocking and other calls.
func exchange(n int) func(c *mpi.Comm) func() error {
	return func(c *mpi.Comm) func() error {
		out, in := make([]float64, n), make([]float64, n)
		return func() error {
			other := 1 - c.Rank()
			if c.Rank() == 0 {
				if err := mpi.Send(c, out, other, 0); err != nil {
					return err
				}
			}
			if _, err := mpi.Recv(c, in, other, 0); err != nil {
				return err
			}
			if c.Rank() == 1 {
				if err := mpi.Send(c, out, other, 0); err != nil {
					return err
				}
			}
			r := mpi.Irecv(c, in, other, 0)
			if err := mpi.Send(c, out, other, 0); err != nil {
				return err
			}
			if _, err := r.Wait(); err != nil {
				return err
			}
			return mpi.Bcast(c, out, 0)
		}
	}
}
