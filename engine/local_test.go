//go:build linux && !fitmpi_portable

package engine

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// within fails the test unless f returns.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(failsafe):
		t.Fatalf("%s did not return", what)
	}
}

// TestIdleRankAnswers: a rank whose user calls nothing, and for which nothing is outstanding, still
// lets its peer withdraw a message (MPI 4.1, section 3.8.4: a wait for what is marked for
// cancellation returns "irrespective of the activities of other processes"). Before that its user
// has waited by polling, so that its worker had nothing to listen for.
func TestIdleRankAnswers(t *testing.T) {
	effort.Need(t, effort.Full, "it waits for seconds")
	policies(t, func(t *testing.T, p Policy) {
		if p == Caller {
			t.Skip("messages move inside calls only")
		}
		for _, tune := range []func(c *Config){
			func(c *Config) { c.Spin = 20 * time.Millisecond },
			func(c *Config) { c.KeepP, c.Spin = true, 20*time.Millisecond },
			func(c *Config) { c.KeepP, c.Spin, c.Yield, c.Doze = true, 0, time.Millisecond, 20*time.Millisecond },
		} {
			es := job(t, 2, p, tune)
			for range 3 {
				exchangeAll(t, es)
				time.Sleep(2 * linger) // the workers sleep for good
				var wg sync.WaitGroup
				wg.Go(func() {
					time.Sleep(time.Millisecond) // rank 0 polls by now
					if err := send(es[1], nil, 0, 1); err != nil {
						t.Error(err)
					}
				})
				recv(es[0], 0, 1, 1)
				wg.Wait()
				m := &MSO{Kind: KindSend, Mode: Synchronous, Peer: 0, Tag: 9, Buf: make([]byte, 1<<20)}
				es[1].Post(m, Computes)
				es[1].Cancel(m)
				within(t, "the wait for a send that is withdrawn", func() { es[1].Wait(m) })
				if !m.Cancelled {
					t.Error("a send that nobody receives was not withdrawn")
				}
			}
			closeAll(t, es)
		}
	})
}

// TestVisitorBringsRoom: a thread whose ring to a peer is full, and whose caller and worker
// sleep, goes on when the peer has made room, and says so by a visit.
func TestVisitorBringsRoom(t *testing.T) {
	defer func() { wayUnderTest = TCP }()
	wayUnderTest = Thread
	es := job(t, 2, Assist, func(c *Config) { c.Spin = 0 })
	exchangeAll(t, es)
	es[1].takeRight() // no other goroutine reads
	const n = 3000    // records, more than a ring has cells
	var wg sync.WaitGroup
	wg.Go(func() {
		for range n {
			if err := send(es[0], nil, 1, 5); err != nil {
				t.Error(err)
			}
		}
		recv(es[0], 0, 1, 6)
	})
	for until := time.Now().Add(failsafe); time.Now().Before(until); time.Sleep(time.Millisecond) {
		es[0].mu.Lock()
		asleep := es[0].core.Stats().Posted > 0 && es[0].right.State().Place() != progress.Awake && es[0].local.block.Armed.Load() != 0
		es[0].mu.Unlock()
		if asleep {
			break
		}
	}
	for es[1].turn() {
	}
	es[1].releaseRight()
	within(t, "receiving what was sent into a full ring", func() {
		for range n {
			recv(es[1], 0, 0, 5)
		}
		if err := send(es[1], nil, 0, 6); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// TestFetchWhileRenewed: an offer whose payload is being moved is not taken for one that is gone.
func TestFetchWhileRenewed(t *testing.T) {
	const id = 1<<32 | 5
	o := &offers{words: new([shm.NumOffers]shm.Offer)}
	places := [2][]byte{pattern(100, 3), pattern(100, 3)}
	if !o.open(id, places[0]) {
		t.Fatal("no room for an offer")
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; !stop.Load(); i++ {
			o.renew(id, places[i%2])
		}
	})
	moved := 0
	for range 300_000 {
		w, err := beginFetch(o.words, id)
		if err == nil {
			if endFetch(w, id) {
				t.Error("it was moved while it was fetched")
			}
		} else if errors.Is(err, core.ErrMoving) {
			moved++
		} else {
			t.Errorf("fetching what is offered: %v", err)
			break
		}
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("%d fetches met a move", moved)
	o.withdraw(id, true)
	if _, err := beginFetch(o.words, id); !errors.Is(err, errNoOffer) {
		t.Errorf("fetching what is withdrawn: %v", err)
	}
}

// TestFetchWhileMoved: a sender that must have its memory back does not wait for a process that is
// fetching from it, and may have stopped. That process learns that it has read in vain, and fetches
// again from the other place. A thread is waited for.
func TestFetchWhileMoved(t *testing.T) {
	const id = 1<<32 | 5
	o := &offers{words: new([shm.NumOffers]shm.Offer)}
	o.open(id, pattern(100, 3))
	w, err := beginFetch(o.words, id)
	if err != nil {
		t.Fatal(err)
	}
	b := pattern(100, 3)
	o.move(id, b, false)
	if !endFetch(w, id) {
		t.Error("the payload was moved meanwhile, and nothing is said of it")
	}
	if w, err = beginFetch(o.words, id); err != nil || w.Addr.Load() != addressOf(b) {
		t.Errorf("fetched again: %v, not from its new place", err)
	}
	moved := make(chan struct{})
	go func() {
		o.move(id, pattern(100, 3), true)
		close(moved)
	}()
	select {
	case <-moved:
		t.Error("moved under a thread that copies")
	default:
	}
	if endFetch(w, id) {
		t.Error("moved under a thread that copies")
	}
	<-moved
	if w, err = beginFetch(o.words, id); err != nil {
		t.Fatal(err)
	}
	o.withdraw(id, false)
	if endFetch(w, id) {
		t.Error("what is withdrawn is to be fetched again")
	}
}
