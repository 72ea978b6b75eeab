package mpi

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// called is what job has counted: how often, by name and operation.
func called(j *job) map[string]uint64 {
	n := map[string]uint64{}
	for _, c := range j.calls.read() {
		n[c.Comm+" "+c.Op] = c.Count
	}
	return n
}

// TestCollectivesCounted: every form of a collective is counted once for each time that it begins,
// under the name that its communicator has then.
func TestCollectivesCounted(t *testing.T) {
	err := RunThreads(2, func(_ context.Context, c *Comm) error {
		c.SetErrhandler(ErrorsReturn)
		if err := c.SetName("grid"); err != nil {
			return err
		}
		one, sum := []int64{1}, make([]int64, 1)
		for range 3 {
			if err := Allreduce(c, one, sum, Sum); err != nil {
				return err
			}
		}
		if _, err := Iallreduce(c, one, sum, Sum).Wait(); err != nil {
			return err
		}
		r := AllreduceInit(c, one, sum, Sum)
		for range 5 {
			if err := r.Start(); err != nil {
				return err
			}
			if _, err := r.Wait(); err != nil {
				return err
			}
		}
		if err := Bcast(c, one, 7); err == nil {
			return fmt.Errorf("a broadcast from a root that does not exist works")
		}
		d, err := c.Dup(nil)
		if err != nil {
			return err
		}
		if err := Barrier(d); err != nil {
			return err
		}
		if err := d.SetName("rows"); err != nil {
			return err
		}
		if err := Barrier(d); err != nil {
			return err
		}
		got := called(c.job)
		for name, want := range map[string]uint64{"grid Allreduce": 9, "grid Bcast": 0, "grid Dup": 1, "rows Barrier": 1} {
			if got[name] != want {
				return fmt.Errorf("%s is counted %d times, want %d: %v", name, got[name], want, got)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCollectiveWaits: the time that a caller waits for a collective counts for its communicator.
// All these times together are what the engine says of collectives.
func TestCollectiveWaits(t *testing.T) {
	first := make(chan *job, 1)
	err := RunThreads(2, func(_ context.Context, c *Comm) error {
		d, err := c.Dup(nil)
		if err == nil {
			err = d.SetName("rows")
		}
		if err != nil {
			return err
		}
		others := c.job.engine.Stats().Waits[engine.WaitCollective].Time - waitedFor(c.job, "")
		if c.Rank() == 0 {
			first <- c.job
		} else {
			untilWaiting(<-first)
		}
		if err := Barrier(d); err != nil {
			return err
		}
		once := waitedFor(c.job, "rows Barrier")
		if c.Rank() == 0 {
			first <- c.job
		} else {
			untilWaiting(<-first)
		}
		if _, err := Ibarrier(d).Wait(); err != nil {
			return err
		}
		twice := waitedFor(c.job, "rows Barrier")
		if c.Rank() == 0 && (once <= 0 || twice <= once) {
			return fmt.Errorf("after two waits on rows: %v, then %v", once, twice)
		}
		if all := c.job.engine.Stats().Waits[engine.WaitCollective].Time - waitedFor(c.job, ""); all != others {
			return fmt.Errorf("the engine knows of %v more waiting for collectives", all-others)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// untilWaiting returns when a caller of j waits.
func untilWaiting(j *job) {
	for n := 0; n == 0; runtime.Gosched() {
		n, _ = j.engine.Waiting()
	}
}

// waitedFor is for how long j has waited for a collective of a name, or for all if that is "".
func waitedFor(j *job, name string) (d time.Duration) {
	for _, n := range j.calls.read() {
		if name == "" || n.Comm+" "+n.Op == name {
			d += n.Waited
		}
	}
	return d
}

// TestManyNamesCounted: communicators without end do not make series without end.
func TestManyNamesCounted(t *testing.T) {
	err := RunThreads(1, func(_ context.Context, c *Comm) error {
		for i := range 3 * mostCounted {
			d, err := c.Dup(nil)
			if err != nil {
				return err
			}
			if err := d.SetName(fmt.Sprint("step ", i)); err != nil {
				return err
			}
			if err := Barrier(d); err != nil {
				return err
			}
		}
		names, others := map[string]bool{}, uint64(0)
		for _, n := range c.job.calls.read() {
			names[n.Comm] = true
			if n.Comm == otherComms {
				others += n.Count
			}
		}
		if len(names) != mostCounted+1 || !names["world"] || !names["step 0"] || names[fmt.Sprint("step ", mostCounted)] {
			return fmt.Errorf("%d names: %v", len(names), names)
		}
		if want := uint64(2*mostCounted + 1); others != want { // world is one of the first
			return fmt.Errorf("%d collectives on others, want %d", others, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLabelOf(t *testing.T) {
	for name, want := range map[string]string{
		"world":                       "world",
		"":                            "unnamed",
		"two\nlines\x00":              "two lines ",
		"a\xffb":                      "a\uFFFDb",
		`quotes " and \`:              `quotes " and \`,
		strings.Repeat("x", 50):       strings.Repeat("x", longestLabel),
		strings.Repeat("x", 47) + "ä": strings.Repeat("x", 47),
		strings.Repeat("\x80", 50):    strings.Repeat("\uFFFD", longestLabel/3),
	} {
		got := labelOf(name)
		if got != want || !utf8.ValidString(got) {
			t.Errorf("labelOf(%q) is %q, want %q", name, got, want)
		}
	}
}

func TestBlockingForm(t *testing.T) {
	for op, want := range map[string]string{
		"Barrier": "Barrier", "Ibarrier": "Barrier", "BarrierInit": "Barrier", "IreduceScatterBlock": "ReduceScatterBlock",
		"IneighborAlltoallw": "NeighborAlltoallw", "IntercommCreate": "IntercommCreate", "Idup": "Dup", "Split": "Split",
	} {
		if got := blockingForm(op); got != want {
			t.Errorf("%s is counted as %s, want %s", op, got, want)
		}
	}
}

// TestMostCalled: a report has room for those that are called most.
func TestMostCalled(t *testing.T) {
	var all []telemetry.Calls
	for i := range 3 * mostCollectives {
		all = append(all, telemetry.Calls{Comm: fmt.Sprint(i), Count: uint64(i % (2 * mostCollectives))})
	}
	got := mostCalled(slices.Clone(all))
	if len(got) != mostCollectives {
		t.Fatalf("%d are kept, want %d", len(got), mostCollectives)
	}
	for _, c := range got {
		if c.Count < mostCollectives {
			t.Errorf("one that was called %d times is kept", c.Count)
		}
	}
	if got := mostCalled(all[:5]); len(got) != 5 {
		t.Errorf("of 5, %d are kept", len(got))
	}
}

// TestDecades: merged buckets end at bounds of the runtime's, a factor of ten apart, and nothing is
// lost.
func TestDecades(t *testing.T) {
	h := &metrics.Float64Histogram{Buckets: []float64{0, 1e-9, 5e-9, 2e-8, 3e-7, 0.5, 2, 30}, Counts: []uint64{1, 2, 4, 8, 16, 32, 64}}
	d := decades(h)
	if want := []float64{1e-9, 2e-8, 3e-7, 0.5}; !slices.Equal(d.Bounds, want) {
		t.Errorf("bounds %v, want %v", d.Bounds, want)
	}
	if want := []uint64{1, 6, 8, 16, 96}; !slices.Equal(d.Counts, want) {
		t.Errorf("counts %v, want %v", d.Counts, want)
	}
	if d := readyTimes(); d == nil || len(d.Counts) != len(d.Bounds)+1 || len(d.Bounds) < 5 {
		t.Errorf("of this process: %+v", d)
	}
}

// BenchmarkReport is what a question costs the rank that answers it, without sending the answer.
func BenchmarkReport(b *testing.B) {
	for _, question := range []string{telemetry.AskPulse, telemetry.AskCounters} {
		for _, n := range []int{2, 64} {
			b.Run(fmt.Sprintf("%s-%d", question, n), func(b *testing.B) {
				err := RunThreads(n, func(_ context.Context, c *Comm) error {
					if err := Barrier(c); err != nil || c.Rank() > 0 {
						return err
					}
					size := 0
					for b.Loop() {
						data, err := json.Marshal(c.job.report(question))
						if err != nil {
							return err
						}
						size = len(data)
					}
					b.ReportMetric(float64(size), "B/answer")
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// BenchmarkCountCall is what counting costs a collective.
func BenchmarkCountCall(b *testing.B) {
	err := RunThreads(1, func(_ context.Context, c *Comm) error {
		m := new(engine.MSO)
		for b.Loop() {
			c.comm.count("Allreduce").end(m)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
