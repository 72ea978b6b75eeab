//go:build linux

package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/trace"
)

// answering answers the looks of c as a host would whose clock shows so much more, on the way for
// back of them.
func answering(c *Client, ahead int64, answer func(number int) bool) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() { // ends by stop
		defer close(done)
		for last := 0; ; {
			select {
			case <-quit:
				return
			case <-time.After(time.Millisecond):
			}
			c.looks.mu.Lock()
			number := c.looks.number
			c.looks.mu.Unlock()
			if number > last && answer(number) {
				last = number
				c.take(pack(kindClock, 1, clock{number, sys.Monotonic() + ahead}))
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// A clock is looked at through whatever lies between; what is found is right within what is said,
// before the job and after it.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ahead = int64(3 * time.Hour)
		c := NewFleet([]Target{{Host: 1, Name: "b"}}, Config{Silence: time.Second}).Client(1)
		defer answering(c, ahead, func(int) bool { return true })()
		first := c.Look(t.Context(), 5)
		c.take(pack(kindDone, 1, nil))
		last := c.Look(t.Context(), 5)
		k, ok := trace.Fit("b", first, last)
		if len(first) != 5 || len(last) != 5 || !ok || !k.DriftKnown {
			t.Fatalf("%d and %d looks, %v", len(first), len(last), &k)
		}
		if d := int64(k.Offset) - ahead; max(d, -d) > int64(k.Uncertainty) || k.Uncertainty > time.Minute {
			t.Errorf("%v", &k)
		}
	})
}

// A host that does not answer, answers late, or is lost does not hold up the job; one that answers
// what was not asked is of no use.
func TestLookInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewFleet([]Target{{Host: 1, Name: "b"}}, Config{Silence: time.Second}).Client(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		stop := answering(c, 0, func(number int) bool { return number < 3 })
		if got := c.Look(ctx, 10); len(got) != 2 {
			t.Errorf("%d looks", len(got))
		}
		stop()
		if err := c.take(pack(kindClock, 1, clock{1, 5})); err != nil {
			t.Errorf("an answer that is late: %v", err)
		}
		for a, want := range map[clock]string{
			{4, 5}:  "an answer to look 4 at its clock, of 3",
			{0, 5}:  "an answer to look 0 at its clock, of 3",
			{3, -1}: "an answer to look 3 at its clock, of 3",
		} {
			if err := c.take(pack(kindClock, 1, a)); err == nil || err.Error() != want {
				t.Errorf("%+v: %v, want %s", a, err, want)
			}
		}
		c.take(pack(kindLost, 1, text{"gone"}))
		if got := c.Look(t.Context(), 10); len(got) != 0 {
			t.Errorf("%d looks at a host that is lost", len(got))
		}
	})
}
