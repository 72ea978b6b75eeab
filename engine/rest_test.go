//go:build linux && !fitmpi_portable

package engine

import (
	"testing"
	"time"
)

// restingJob is a job of ranks whose workers rest, over the way under test.
func restingJob(t *testing.T, n int) []*Engine {
	return job(t, n, Assist, func(c *Config) { c.KeepP, c.Moderation = true, time.Millisecond })
}

// eachWay runs f over each way.
func eachWay(t *testing.T, f func(t *testing.T)) {
	defer func() { wayUnderTest = TCP }()
	for _, wayUnderTest = range []Way{TCP, Thread, Shared} {
		t.Run(wayUnderTest.String(), f)
	}
}

// A message of any length moves while both users compute, though the workers rest.
func TestRestingWorkersMoveMessages(t *testing.T) {
	eachWay(t, func(t *testing.T) {
		es := restingJob(t, 2)
		both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
		withProcs(4, func() {
			for round, n := range []int{8, 100_000, 3 << 20} {
				moveWhileComputing(t, es, n, round)
			}
		})
	})
}

// What is short has left when its post returns: the caller has written it. One that has the habit
// of waiting at once has not.
func TestCallersWriteWhereWorkersRest(t *testing.T) {
	es := restingJob(t, 2)
	e, posts := es[0], 0
	leaves := func(habit bool) bool { // something unsent
		e.habit.Set(habit)
		if !e.Send(&Message{Peer: 1, Tag: 77, Buf: pattern(8, 1)}, Computes) {
			t.Fatal("it was not sent at once")
		}
		posts++
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.core.Pending(1) > 0
	}
	eventually(t, "a caller that waits at once writes each message", func() bool {
		both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) }) // the worker sleeps for a while only
		return leaves(true)
	})
	eventually(t, "a caller that computes does not write its messages", func() bool {
		for range 20 { // in a row: a turn of the worker, which would write one, may come between
			if leaves(false) {
				return false
			}
		}
		return true
	})
	for range posts {
		in, _ := listen(es[1], 8, 0, 77)
		waitDone(t, "sent", es[1], in)
	}
}

// The worker does not rest while another rank may wait for this one, or a caller sleeps here.
func TestWorkerRestsWhereNoneWaits(t *testing.T) {
	es := restingJob(t, 2)
	e := es[0]
	if !e.isToRest() {
		t.Error("a worker that nothing waits for does not rest")
	}
	m, _ := listen(e, 8, 1, 1)
	if !e.isToRest() {
		t.Error("a worker does not rest for a receive")
	}
	waited := make(chan struct{})
	go func() {
		e.Wait(m)
		close(waited)
	}()
	eventually(t, "the worker rests while a caller sleeps", func() bool { return e.right.State().Sleepers() == 1 && !e.isToRest() })
	if err := send(es[1], pattern(8, 1), 0, 1); err != nil {
		t.Fatal(err)
	}
	<-waited
	s := &Service{Ctx: 99}
	e.Serve(s)
	if e.isToRest() {
		t.Error("the worker rests though there is a service")
	}
	e.EndService(s)
	if !e.isToRest() {
		t.Error("the worker does not rest when the service is over")
	}
}

// A rest is short where a network brings a long message, and no longer than its parameter.
func TestLongestRest(t *testing.T) {
	es := restingJob(t, 2)
	e := es[0]
	if d := e.longestRest(); d != time.Millisecond {
		t.Errorf("a rest takes up to %v", d)
	}
	e.drv.abroad.Add(1)
	defer e.drv.abroad.Add(-1)
	m, _ := listen(e, 8, 1, 1)
	if d := e.longestRest(); d != time.Millisecond {
		t.Errorf("for a short message a rest takes up to %v", d)
	}
	long, _ := listen(e, 3<<20, 1, 2)
	if d := e.longestRest(); d != time.Millisecond/betweenHosts {
		t.Errorf("for a long message between hosts a rest takes up to %v", d)
	}
	for _, m := range []*MSO{m, long} {
		e.Cancel(m)
		waitDone(t, "cancelled", e, m)
	}
}
