//go:build linux && !fitmpi_portable

package engine

import (
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// TestHabitOfComputing: the message of a caller that waited soon before and now computes moves all
// the same.
func TestHabitOfComputing(t *testing.T) {
	es := job(t, 2, Assist, func(c *Config) { c.KeepP = true })
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
	withProcs(4, func() {
		for range 20 {
			es[0].habit.Set(true)
			es[1].habit.Set(true)
			in, _ := listen(es[1], 100_000, 0, 5)
			out := &MSO{Kind: KindSend, Peer: 1, Tag: 5, Buf: pattern(100_000, 1)}
			es[0].Post(out, Computes)
			if compute(mostWork, func() bool { return in.IsDone() && out.IsDone() }) == mostWork {
				t.Fatal("nothing moved while the user computed")
			}
		}
	})
}

// TestDoze: ranks without a core of their own yield for a while, then wait in the poller;
// a post of another goroutine gets them out of it.
func TestDoze(t *testing.T) {
	defer func() { wayUnderTest = TCP }()
	for _, wayUnderTest = range []Way{TCP, Shared} {
		t.Run(wayUnderTest.String(), testDoze)
	}
}

func testDoze(t *testing.T) {
	es := job(t, 2, Assist, func(c *Config) { c.Spin, c.Yield, c.Doze, c.KeepP = 0, 50*time.Microsecond, time.Second, true })
	withProcs(6, func() {
		both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
		for range 20 {
			first, _ := listen(es[0], 8, 1, 1)
			waited := make(chan struct{})
			go func() {
				es[0].Wait(first) // dozes, holding the right
				close(waited)
			}()
			eventually(t, "the caller does not doze", func() bool { return es[0].right.State().Dozes() })
			second := &MSO{Kind: KindSend, Peer: 1, Tag: 2, Buf: pattern(8, 1)}
			es[0].Post(second, Computes)
			in, _ := listen(es[1], 8, 0, 2)
			waitDone(t, "posted beside a caller that dozes", es[1], in)
			if err := send(es[1], pattern(8, 1), 0, 1); err != nil {
				t.Fatal(err)
			}
			<-waited
		}
	})
}

// TestTurns: ranks that share cores hear each other while they yield, doze or are parked, each in
// another way.
func TestTurns(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		es := job(t, 4, p, func(c *Config) {
			c.Spin, c.Yield = 0, time.Duration(c.Rank)*50*time.Microsecond
			if c.KeepP = c.Rank%2 == 1; c.Rank == 3 {
				c.Doze = time.Millisecond
			}
		})
		for range effort.Share(50) {
			exchangeAll(t, es)
		}
		closeAll(t, es)
	})
}

// TestYieldEnds: a rank that waits for a message that does not come yields no more after a while,
// and hears it when it does.
func TestYieldEnds(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		if p == Worker || wayUnderTest == Thread {
			t.Skip("who waits does not take the right")
		}
		es := job(t, 2, p, func(c *Config) { c.Spin, c.Yield, c.KeepP = 0, time.Millisecond, true })
		exchangeAll(t, es)
		e := es[0]
		for range 3 {
			m, _ := listen(e, 8, 1, 1)
			waited := make(chan struct{})
			go func() {
				e.Wait(m)
				close(waited)
			}()
			free := 0 // looks at which a caller waited, and no goroutine had the right
			eventually(t, "the caller does not sleep", func() bool {
				if p == Caller {
					return e.right.State().Place() == progress.Idle
				}
				e.mu.Lock()
				defer e.mu.Unlock()
				if e.waits.n == 0 || e.right.State().Held() {
					free = 0
				}
				free++
				return free > 5
			})
			if err := send(es[1], pattern(8, 1), 0, 1); err != nil {
				t.Fatal(err)
			}
			<-waited
		}
	})
}

// TestThreadsDoNotYield: where all ranks are threads of one process Go's scheduler changes from one
// to the other.
func TestThreadsDoNotYield(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		e := job(t, 2, p, func(c *Config) { c.Spin, c.Yield = 0, time.Millisecond })[0]
		if yields := e.yieldFor > 0; yields != (wayUnderTest != Thread) {
			t.Errorf("over %v a rank yields for %v", wayUnderTest, e.yieldFor)
		}
	})
}
