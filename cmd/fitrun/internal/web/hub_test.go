//go:build linux

package web

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// running is a hub that looks at f, in a bubble.
type running struct {
	*hub
	stop func() // ends the job
	wg   sync.WaitGroup
}

func startHub(f Source) *running {
	ctx, cancel := context.WithCancel(context.Background())
	h := &running{hub: newHub()}
	h.wg.Go(func() { h.run(ctx, f) })
	h.stop = func() {
		cancel()
		h.wg.Wait()
	}
	return h
}

func (f *fake) timesAsked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// TestAskedOnlyWhileWatched: "Ranks are asked for their counters only while a browser looks, once a
// second for all browsers together."
func TestAskedOnlyWhileWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(4, 4)
		h := startHub(f)
		defer h.stop()
		wantAsked := func(why string, low, high int) {
			t.Helper()
			synctest.Wait()
			if n := f.timesAsked(); n < low || n > high {
				t.Errorf("%s the ranks have been asked %d times, want %d to %d", why, n, low, high)
			}
			f.change(func(f *fake) { f.asked = 0 })
		}
		time.Sleep(time.Hour)
		wantAsked("while nobody looked", 0, 0)
		for range 10 {
			h.join(maxStreams)
		}
		wantAsked("when ten have come", 1, 1)
		time.Sleep(100 * time.Second)
		wantAsked("in 100 seconds, with ten who look,", 99, 101)
		for range 10 {
			h.leave()
		}
		time.Sleep(2 * time.Second) // the pause that has begun
		f.change(func(f *fake) { f.asked = 0 })
		time.Sleep(time.Hour)
		wantAsked("when all had gone", 0, 0)
	})
}

// "Once a second, or so much longer that fitrun is busy for a twentieth of a core at most."
func TestPace(t *testing.T) {
	for _, test := range []struct {
		ranks, lines int
		want         time.Duration
	}{{0, 0, time.Second}, {4, 16, time.Second}, {256, 1024, time.Second}, {256, 65536, 6809600 * time.Microsecond}, {4096, 16384, 5734400 * time.Microsecond}} {
		if got := pace(test.ranks, test.lines); got != test.want {
			t.Errorf("%d ranks of %d lines are asked every %v, want %v", test.ranks, test.lines, got, test.want)
		}
	}
	f := newFake(256, 16)
	f.stencil(16, 1)
	if p := draw(inputOf(f), nil); p.pace != time.Second {
		t.Errorf("256 ranks with four neighbours each are asked every %v", p.pace)
	}
}

// silent is a job whose ranks never answer.
type silent struct{ *fake }

func (s silent) Ask(ctx context.Context, question string) []*telemetry.Report {
	s.fake.Ask(ctx, question)
	<-ctx.Done()
	return nil
}

// Ranks that do not answer hold up nothing: the picture is as new without them, and the end comes
// at once.
func TestSilentRanks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2, 2)
		h := startHub(silent{f})
		h.join(maxStreams)
		time.Sleep(10500 * time.Millisecond)
		_, cur, _, _ := h.next(nil)
		if age := time.Since(f.start).Milliseconds() - cur.job.Elapsed; age > 2000 || f.timesAsked() < 5 {
			t.Errorf("the picture is %d ms old, the ranks were asked %d times", age, f.timesAsked())
		}
		now := time.Now()
		h.leave()
		h.stop()
		if took := time.Since(now); took > 0 {
			t.Errorf("the end took %v", took)
		}
	})
}

// TestFirstPictureAtOnce: a browser that comes is shown what is known at once, also when the ranks
// do not answer, and when no browser has looked for an hour.
func TestFirstPictureAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2, 2)
		h := startHub(f)
		defer h.stop()
		for range 2 {
			h.join(maxStreams)
			synctest.Wait()
			data, cur, last, _ := h.next(nil)
			if len(data) == 0 || cur == nil || last || len(cur.ranks) != 2 || time.Since(f.start).Milliseconds() != cur.job.Elapsed {
				t.Errorf("%d bytes, %+v; want a picture of now", len(data), cur)
			}
			h.leave()
			time.Sleep(time.Hour)
		}
		h.join(maxStreams)
		time.Sleep(300 * time.Millisecond) // the ranks are left alone
		h.leave()
		h.join(maxStreams)
		synctest.Wait()
		if _, cur, _, _ := h.next(nil); cur == nil || time.Since(f.start).Milliseconds() != cur.job.Elapsed {
			t.Errorf("%+v; want a picture of now while the ranks are left alone", cur)
		}
		h.leave()
	})
}

// A browser that is slow is sent the newest picture when it is ready, not those between; those that
// keep up share one encoding.
func TestSlowReaderSkips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2, 2)
		sent := uint64(0)
		f.onAsk = func(f *fake) {
			sent += 10
			f.answer(0, time.Duration(sent)*time.Second, 0, stats(0, sent), peer(1, sent, 0))
		}
		h := startHub(f)
		defer h.stop()
		h.join(maxStreams)
		defer h.leave()
		synctest.Wait()
		var slow, fast screen
		data, slowHas, _, _ := h.next(nil)
		slow.take(t, data)
		data, fastHas, _, changed := h.next(nil)
		fast.take(t, data)
		for range 9 {
			<-changed
			data, fastHas, _, changed = h.next(fastHas)
			again, _, _, _ := h.next(fastHas)
			if len(again) > 0 {
				t.Errorf("the same picture twice: %q", again)
			}
			fast.take(t, data)
		}
		data, cur, _, _ := h.next(slowHas)
		slow.take(t, data)
		slow.want(t, cur)
		fast.want(t, cur)
		if got := slow.cells[1].bytes; got != sent || sent != 100 {
			t.Errorf("%d bytes after ten questions, the ranks say %d", got, sent)
		}
		one, _, _, _ := h.next(nil)
		two, _, _, _ := h.next(nil)
		if &one[0] != &two[0] {
			t.Error("two browsers that know the same are each sent an encoding of their own")
		}
	})
}

// TestLastPicture: when the job is over there is a last picture, of all ranks as they ended. It is
// for browsers that look, and for those that come then.
func TestLastPicture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2, 2)
		h := startHub(f)
		h.join(maxStreams)
		synctest.Wait()
		_, has, _, changed := h.next(nil)
		f.change(func(f *fake) {
			f.end = time.Now()
			for r := range f.ranks {
				f.ranks[r].State.Phase = launch.Over
			}
		})
		h.stop()
		<-changed
		for _, from := range []*picture{has, nil} {
			data, cur, last, _ := h.next(from)
			var s screen
			if from != nil {
				first := changes(nil, from)
				s.take(t, first.appendEvent(nil))
			}
			s.take(t, data)
			if !last || !s.last || cur.job.Phase != jobOver || s.ranks[1].State != stateExited {
				t.Errorf("last %t, %t, %+v", last, s.last, cur.job)
			}
		}
		h.leave()
		h.join(maxStreams)
		if _, cur, last, _ := h.next(nil); cur == nil || !last {
			t.Error("who comes after the last picture is shown none")
		}
	})
}

func TestTooManyReaders(t *testing.T) {
	h := newHub()
	for i, want := range []bool{true, true, false} {
		if h.join(2) != want {
			t.Errorf("browser %d of two: let in %t", i+1, !want)
		}
	}
	h.leave()
	if !h.join(2) {
		t.Error("nobody is let in when one has left")
	}
}
