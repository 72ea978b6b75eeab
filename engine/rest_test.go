//go:build linux && !fitmpi_portable

package engine

import (
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
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

// A worker that rests takes a core only where one is idle. It is scheduled as any other while
// another rank may wait for this one, or a caller sleeps here.
func TestRestingWorkerIsModest(t *testing.T) {
	es := restingJob(t, 2)
	e := es[0]
	workersBegun(t, es)
	e.seat.mu.Lock()
	is := e.seat.tid != 0
	e.seat.mu.Unlock()
	if !is {
		t.Skip("the kernel does not say for how long a thread waits for a core, or refuses SCHED_BATCH")
	}
	tid := strconv.Itoa(int(e.stats.worker.tid.Load()))
	const normal, batch = "0", "3" // as in /proc
	becomes := func(when, policy string) {
		t.Helper()
		eventually(t, when+", the worker's policy is not "+policy, func() bool { return threadStat(t, tid, 41) == policy })
	}
	becomes("nothing waits", batch)
	m, _ := listen(e, 8, 1, 1)
	waited := make(chan struct{})
	go func() {
		e.Wait(m)
		close(waited)
	}()
	becomes("a caller sleeps", normal)
	if err := send(es[1], pattern(8, 1), 0, 1); err != nil {
		t.Fatal(err)
	}
	<-waited
	becomes("it has woken", batch)
	s := &Service{Ctx: 99}
	e.Serve(s)
	becomes("there is a service", normal)
	e.EndService(s)
	becomes("the service is over", batch)
	c := NewSchedule(1, 0, []PeerID{0, 1})
	c.Recv(1, make([]byte, 4))
	e.StartSchedule(c, Computes)
	becomes("a collective runs", normal)
	e.Abandon(&c.MSO, ErrRevoked)
	waitDone(t, "abandoned", e, &c.MSO)
	becomes("the collective is over", batch)
}

// The worker runs where Config.WorkerCPUs says, if it may have to share its core.
func TestWorkerRoams(t *testing.T) {
	all := sys.AllowedCPUs()
	for moderation, want := range map[time.Duration][]int{0: all, time.Millisecond: all[:1]} {
		es := job(t, 1, Assist, func(c *Config) { c.Moderation, c.WorkerCPUs = moderation, all[:1] })
		workersBegun(t, es)
		if cpus, err := sys.ThreadCPUs(int(es[0].stats.worker.tid.Load())); err != nil || !slices.Equal(cpus, want) {
			t.Errorf("Moderation %v: the worker runs on %v, want %v (%v)", moderation, cpus, want, err)
		}
	}
}

// No nap is longer than Config.Moderation while the worker is to rest.
func TestNapsAreModerate(t *testing.T) {
	e := restingJob(t, 1)[0]
	if d := e.napFor(lastPark); d != time.Millisecond {
		t.Errorf("a nap takes up to %v", d)
	}
}

// A worker that had a core in time hears the next arrival. One that had not looks after a while.
// Where a network brings a long message it looks soon, whether it had a core or not.
func TestRests(t *testing.T) {
	es := restingJob(t, 2)
	e := es[0]
	m, _ := listen(e, 8, 1, 1)
	long, _ := listen(e, 3<<20, 1, 2)
	deaf := func(when string, late, intime time.Duration) {
		t.Helper()
		if a, b := e.deafFor(true), e.deafFor(false); a != late || b != intime {
			t.Errorf("%s: deaf for %v where it was late, want %v; else for %v, want %v", when, a, late, b, intime)
		}
	}
	deaf("on one host", time.Millisecond, 0)
	e.drv.abroad.Add(1)
	defer e.drv.abroad.Add(-1)
	deaf("long messages between hosts", time.Millisecond/betweenHosts, time.Millisecond/betweenHosts)
	e.Cancel(long)
	waitDone(t, "cancelled", e, long)
	deaf("short messages between hosts", time.Millisecond, 0)
	e.Cancel(m)
	waitDone(t, "cancelled", e, m)
}

// A worker was late if its thread waited for a core, or if that cannot be known.
func TestWorkerWasLate(t *testing.T) {
	var s seat
	if !s.wasLate() {
		t.Error("a worker that knows nothing was in time")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var err error
	if s.delay, err = sys.NewThreadDelay(); err != nil {
		t.Skip(err)
	}
	defer s.delay.Close()
	eventually(t, "a thread that runs is late", func() bool {
		s.wasLate()
		return !s.wasLate()
	})
	s.waited -= 2 * lateAfter
	if !s.wasLate() {
		t.Error("a thread that has waited was in time")
	}
}
