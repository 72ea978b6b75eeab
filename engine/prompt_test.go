package engine

import (
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// TestPromptCallers: callers that wait promptly stop waking the worker; one that
// does not is found by it, and its next posts wake the worker again.
func TestPromptCallers(t *testing.T) {
	e := job(t, 1, Assist, func(c *Config) { c.KeepP = true })[0]
	now := sys.Nanotime()
	for i := range promptEnough {
		e.postedAt.Store(now)
		if e.isFresh() {
			t.Errorf("expected after %d prompt waits", i)
		}
		e.noteWait(now + 1)
	}
	e.postedAt.Store(sys.Nanotime())
	if !e.isPrompt() || !e.isFresh() {
		t.Error("a caller that always waits promptly is not expected to")
	}
	e.postedAt.Store(sys.Nanotime() - int64(2*e.promptly))
	if e.isFresh() {
		t.Error("a caller is expected that has not come")
	}
	if e.isPrompt() {
		t.Error("and so is the next")
	}
	e.prompt.Store(promptEnough)
	e.postedAt.Store(now)
	e.noteWait(now + int64(e.promptly) + 1)
	if e.isPrompt() {
		t.Error("a caller that came late is expected promptly")
	}
}

// TestPromptCallerComputes: the message of a caller that waited promptly before and
// now computes moves all the same.
func TestPromptCallerComputes(t *testing.T) {
	es := job(t, 2, Assist, func(c *Config) { c.KeepP = true })
	both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
	withProcs(4, func() {
		for range 20 {
			es[0].prompt.Store(promptEnough)
			es[1].prompt.Store(promptEnough)
			in, _ := listen(es[1], 100_000, 0, 5)
			out := &MSO{Kind: KindSend, Peer: 1, Tag: 5, Buf: pattern(100_000, 1)}
			es[0].Post(out)
			if compute(mostWork, func() bool { return in.IsDone() && out.IsDone() }) == mostWork {
				t.Fatal("nothing moved while the user computed")
			}
		}
	})
}

// TestDoze: ranks without a core of their own wait in the poller; a post of another
// goroutine gets them out of it.
func TestDoze(t *testing.T) {
	es := job(t, 2, Assist, func(c *Config) { c.Spin, c.Doze, c.KeepP = 0, time.Second, true })
	withProcs(6, func() {
		both(t, es, func() { exchangeTwo(t, es[0], 1) }, func() { exchangeTwo(t, es[1], 0) })
		for range 20 {
			first, _ := listen(es[0], 8, 1, 1)
			waited := make(chan struct{})
			go func() {
				es[0].Wait(first) // dozes, holding the right
				close(waited)
			}()
			eventually(t, "the caller does not doze", es[0].dozing.Load)
			second := &MSO{Kind: KindSend, Peer: 1, Tag: 2, Buf: pattern(8, 1)}
			es[0].Post(second)
			in, _ := listen(es[1], 8, 0, 2)
			waitDone(t, "posted beside a caller that dozes", es[1], in)
			if err := send(es[1], pattern(8, 1), 0, 1); err != nil {
				t.Fatal(err)
			}
			<-waited
		}
	})
}
