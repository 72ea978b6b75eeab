//go:build linux && !fitmpi_portable

package mpi

import (
	"context"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// garbage is what becomes garbage with what it holds.
type garbage struct {
	holds *garbage
	_     [64]byte // large enough to be allocated alone
}

// chain makes garbage that holds garbage, and so on, n of them, each with a finalizer that calls
// ended.
func chain(n int, ended func()) {
	var last *garbage
	for range n {
		last = &garbage{holds: last}
		runtime.SetFinalizer(last, func(*garbage) { ended() })
	}
}

var pooled sync.Pool

// pool puts what has a cleanup that calls ended into a pool.
func pool(ended func()) {
	g := new(garbage)
	runtime.AddCleanup(g, func(int) { ended() }, 0)
	pooled.Put(g)
}

// One call has all functions started, also those of what becomes garbage when others have run, or
// when a pool forgets it.
func TestCollectGarbage(t *testing.T) {
	const links = 4
	var all sync.WaitGroup
	all.Add(links + 1)
	chain(links, all.Done)
	pool(all.Done)
	collectGarbage()
	endc := make(chan struct{})
	go func() { // ends with the functions
		all.Wait()
		close(endc)
	}()
	select {
	case <-endc:
	case <-time.After(30 * time.Second): // the runtime collects garbage every two minutes
		t.Error("functions of garbage were not called")
		for range links + 1 {
			collectGarbage()
		}
		<-endc
	}
}

// A function that does not return, and a finalizer that sets itself again, do not keep it.
func TestCollectGarbageEnds(t *testing.T) {
	beganc, goc, endc := make(chan struct{}), make(chan struct{}), make(chan struct{})
	runtime.AddCleanup(new(garbage), func(int) { close(beganc); <-goc; close(endc) }, 0)
	collectGarbage()
	<-beganc
	// What other tests have left may have functions started meanwhile, but not without end.
	isStill := false
	for try := 0; !isStill && try < 100; try++ {
		before := functionsOf()
		collectGarbage()
		isStill = functionsOf() == before
	}
	if !isStill {
		t.Error("nothing was started or has returned, but the number is another")
	}
	close(goc)
	<-endc
	const most = 2 * mostCollections
	n, donec := 0, make(chan struct{})
	var again func(*garbage)
	again = func(g *garbage) {
		if n++; n < most {
			runtime.SetFinalizer(g, again)
		} else {
			close(donec)
		}
	}
	runtime.SetFinalizer(new(garbage), again)
	before := functionsOf()
	if collectGarbage(); functionsOf() == before {
		t.Error("finalizers have run, but the number is the same")
	}
	for isOver := false; !isOver; {
		select {
		case <-donec:
			isOver = true
		default:
			runtime.GC()
		}
	}
}

// A rank that is asked says whether something was started since it was asked for what is pending.
func TestAskCollect(t *testing.T) {
	err := RunThreads(1, func(_ context.Context, w *Comm) error {
		collectGarbage() // of other tests
		before := w.job.report(telemetry.AskPending)
		after := w.job.report(telemetry.AskCollect)
		if after.Functions != before.Functions || after.Pulse.Activity != before.Pulse.Activity || after.Pending != nil {
			t.Errorf("nothing is to be started, but it is %d before and %d after; %+v, %+v", before.Functions, after.Functions, before.Pulse, after.Pulse)
		}
		pool(func() {})
		if after = w.job.report(telemetry.AskCollect); after.Functions == before.Functions {
			t.Errorf("a function was started, but it is %d before and after", after.Functions)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A rank says that its process waits for a signal, as long as it does.
func TestPendingSignal(t *testing.T) {
	err := RunThreads(1, func(_ context.Context, w *Comm) error {
		await := func(want bool) {
			for end := time.Now().Add(30 * time.Second); w.job.report(telemetry.AskPending).Pending.Signal != want; runtime.Gosched() {
				if time.Now().After(end) {
					t.Errorf("the rank does not say that waiting for a signal is %v", want)
					return
				}
			}
		}
		await(false)
		_, stop := signal.NotifyContext(context.Background(), syscall.SIGUSR1)
		await(true)
		stop()
		await(false)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
