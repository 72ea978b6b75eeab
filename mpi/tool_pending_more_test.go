package mpi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// However much is pending, the answer fits; what is left out is counted, and what callers wait for
// is not left out.
func TestPendingFits(t *testing.T) {
	const many = 700
	var late *Comm
	err := RunThreads(2, func(_ context.Context, w *Comm) error {
		if w.Rank() == 1 {
			for tag := range many {
				Isend(w, make([]byte, 1), 0, TagUB-tag)
			}
			return Barrier(w)
		}
		var wg sync.WaitGroup
		var rs []*Request
		for tag := range many {
			rs = append(rs, Irecv(w, make([]byte, 1), 1, tag))
		}
		for tag := range 100 {
			wg.Go(func() {
				receiveInAFunctionWhoseNameIsSoLongThatAReportOfManyCallsOfItDoesNotFitIntoOneAnswerToTheLauncherWhichIsBounded(w, many+tag)
			})
		}
		err := Barrier(w)
		var r *telemetry.Report
		for end := time.Now().Add(30 * time.Second); ; runtime.Gosched() {
			r = w.job.report(telemetry.AskPending)
			if r.Pulse.Blocked == 100 && r.Pending.AllMessages >= many || time.Now().After(end) {
				break
			}
		}
		b, jerr := encode(r)
		if p := r.Pending; jerr != nil || len(b) > boot.MaxAnswer || p.AllCalls != 100 || len(p.Calls) == 0 || p.AllOperations != many+100 ||
			len(p.Operations) < len(p.Calls) || p.AllMessages < many || len(p.Messages) == 0 || len(p.Comms) != 1 {
			t.Errorf("the answer has %d bytes (%v): %d of %d calls, %d of %d operations, %d of %d messages, %d communicators", len(b), jerr,
				len(p.Calls), p.AllCalls, len(p.Operations), p.AllOperations, len(p.Messages), p.AllMessages, len(p.Comms))
		}
		if whole, jerr := json.Marshal(r); jerr != nil || len(whole) != len(b) {
			t.Errorf("what was sent has %d bytes, what is left %d, %v", len(b), len(whole), jerr)
		}
		for _, c := range r.Pending.Calls {
			if c.Op != "Recv" || !slices.Equal(c.Waits, c.Waits[:c.Need]) || r.Pending.Operations[c.Waits[0]].Tag < many {
				t.Errorf("wrong: %+v", c)
			}
		}
		for range 12 { // until next to nothing is left, nothing is listed that is not there
			shrink(r)
			checkPending(t, r.Pending)
		}
		if p := r.Pending; len(p.Calls)+len(p.Operations)+len(p.Messages) > 0 || p.AllCalls != 100 || p.AllOperations != many+100 {
			t.Errorf("after all was left out: %+v", p)
		}
		late = w
		for _, r := range rs {
			r.Cancel()
		}
		w.job.end(errors.New("the test is over"))
		wg.Wait()
		return err
	})
	if late == nil {
		t.Fatal(err)
	}
}

// A question while messages of all sorts fly gets an answer that makes sense, and disturbs nothing.
func TestPendingWhileMessagesFly(t *testing.T) {
	for _, policy := range []string{"assist", "worker", "caller"} {
		t.Run(policy, func(t *testing.T) {
			t.Setenv("FITMPI_PROGRESS", policy)
			var asked atomic.Int32
			err := RunThreads(3, func(ctx context.Context, w *Comm) error {
				over := make(chan struct{})
				var wg sync.WaitGroup
				wg.Go(func() {
					for {
						select {
						case <-over:
							return
						default:
							checkPending(t, w.job.report(telemetry.AskPending).Pending)
							asked.Add(1)
						}
					}
				})
				err := traffic(ctx, w)
				close(over)
				wg.Wait()
				return err
			})
			if err != nil || asked.Load() < 3 {
				t.Errorf("asked %d times: %v", asked.Load(), err)
			}
		})
	}
}

// checkPending checks what must be true of every report.
func checkPending(t *testing.T, p *telemetry.Pending) {
	for _, c := range p.Calls {
		if c.Need < 0 || c.Need > len(c.Waits) || c.Op == "" {
			t.Errorf("impossible: %+v", c)
		}
		for _, i := range c.Waits {
			if i < 0 || i >= len(p.Operations) {
				t.Errorf("there is no operation %d of %+v", i, c)
			}
		}
	}
	for _, o := range p.Operations {
		if o.Kind == "" || o.State == "done" || o.State == "idle" {
			t.Errorf("impossible: %+v", o)
		}
	}
}

// traffic is messages of many kinds and sizes between three ranks, and communicators that come and
// go.
func traffic(ctx context.Context, w *Comm) error {
	next, last := (w.Rank()+1)%3, (w.Rank()+2)%3
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := range 15 {
		for _, n := range []int{0, 8, 5000, 70_000, 600_000} {
			out, in := make([]byte, n), make([]byte, n)
			r := Irecv(w, in, last, i)
			s := Isend(w.WithContext(ctx), out, next, i)
			if _, err := WaitAll(r, s); err != nil {
				return err
			}
			if _, err := Sendrecv(w, out, next, i, in, last, i); err != nil {
				return err
			}
			q := Irecv(w, in, AnySource, AnyTag)
			if err := Send(w, out, next, i); err != nil {
				return err
			}
			if _, _, err := WaitAny(q); err != nil {
				return err
			}
			if err := Bcast(w, in, i%3); err != nil {
				return err
			}
		}
		d, err := w.Dup(nil)
		if err != nil {
			return err
		}
		d.SetName(fmt.Sprint("round ", i))
		if _, err := Iallreduce(d, []int64{1}, make([]int64, 1), Sum).Wait(); err != nil {
			return err
		}
		if err := d.Free(); err != nil {
			return err
		}
	}
	return nil
}

// Nothing refers to a job that is over, with its engine and its world: programs may run threads
// again and again.
func TestJobIsForgotten(t *testing.T) {
	var jobs [2]weak.Pointer[job]
	err := RunThreads(len(jobs), func(_ context.Context, w *Comm) error {
		jobs[w.Rank()] = weak.Make(w.job)
		return Barrier(w)
	})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); jobs[0].Value() != nil || jobs[1].Value() != nil; runtime.GC() {
		if time.Now().After(end) {
			t.Fatal("something holds on to a job that is over")
		}
	}
}

// A communicator that no goroutine can use any more leaves the list of those that live, freed or
// not.
func TestCommListForgets(t *testing.T) {
	err := RunThreads(2, func(_ context.Context, w *Comm) error {
		const n = 50
		live := func() int {
			w.job.comms.mu.Lock()
			defer w.job.comms.mu.Unlock()
			return len(w.job.comms.live)
		}
		for i := range n {
			d, err := w.Dup(nil)
			if err == nil && i%2 == 0 {
				err = d.Free()
			}
			if err != nil {
				return err
			}
		}
		for end := time.Now().Add(30 * time.Second); live() > 10; runtime.GC() {
			if time.Now().After(end) {
				return fmt.Errorf("%d communicators are listed, of %d that nobody knows any more", live(), n)
			}
		}
		if _, e, ok := w.job.comms.entry(w.p2p); !ok || e.c.Value() != w.comm {
			return errors.New("the world is forgotten")
		}
		if p2p, e, ok := w.job.comms.entry(w.p2p | partitionedPurpose | collectiveBit); !ok || p2p != w.p2p || e.c.Value() != w.comm {
			return errors.New("a context of partitioned messages over the world is not known as the world's")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The goroutines are those of the user's that wait for no messages, with what may wake them.
func TestPendingGoroutines(t *testing.T) {
	err := RunThreads(2, func(_ context.Context, w *Comm) error {
		if w.Rank() == 1 {
			_, err := Recv(w, make([]byte, 1), 0, 0)
			return err
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		mu.Lock()
		ch := make(chan int)
		wg.Go(func() { mu.Lock(); defer mu.Unlock() })
		wg.Go(func() { <-ch })
		wants := map[string]telemetry.Waker{"sync.Mutex.Lock": telemetry.ByGoroutine, "chan receive": telemetry.ByChannel, "running": telemetry.ByItself}
		for end := time.Now().Add(30 * time.Second); len(wants) > 0 && time.Now().Before(end); runtime.Gosched() {
			for _, g := range w.job.report(telemetry.AskPending).Pending.Goroutines {
				if strings.Contains(g.Func, "TestPendingGoroutines") && wants[g.State] == g.By && g.May == (g.By != telemetry.ByGoroutine) {
					delete(wants, g.State)
				}
				if strings.HasSuffix(g.Func, "TestPendingGoroutines.func1") && (g.By == telemetry.ByChannel || g.State == "syscall") {
					t.Errorf("that waits for a message: %+v", g)
				}
			}
		}
		if len(wants) > 0 {
			t.Errorf("not listed: %v", wants)
		}
		mu.Unlock()
		ch <- 1
		wg.Wait()
		return Send(w, []byte{1}, 1, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func receiveInAFunctionWhoseNameIsSoLongThatAReportOfManyCallsOfItDoesNotFitIntoOneAnswerToTheLauncherWhichIsBounded(w *Comm, tag int) {
	Recv(w, make([]byte, 1), 1, tag)
}
