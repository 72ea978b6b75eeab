package progress

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// drawn is a state of flags, place and counts that are drawn.
func drawn(d *rand.Rand) State {
	s := State(d.Uint64N(1 << 8))
	for range d.IntN(3) {
		s = s.Want()
	}
	for range d.IntN(3) {
		s = s.Park()
	}
	return s
}

// TestTransitionsKeepTheRest: no transition touches what it is not about, and a place and counts
// read as they were written.
func TestTransitionsKeepTheRest(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		s := drawn(d)
		for p := Awake; p <= Idle; p++ {
			if n := s.Sit(p); n.Place() != p || n&^place != s&^place {
				t.Fatalf("%x sits at %d: %x", s, p, n)
			}
		}
		switch {
		case s.Want().Wanted() != true, s.Want()&^wants != s&^wants, s.Park()&(oneSleeper-1) != s&(oneSleeper-1):
			t.Fatalf("%x: wants and sleepers are not counted apart", s)
		case s.Park().Sleepers() != s.Sleepers()+1, s.Park().Unpark() != s:
			t.Fatalf("%x has %d sleepers, and with one more %d", s, s.Sleepers(), s.Park().Sleepers())
		case s.Doze().Undoze().Dozes(), !s.Doze().Dozes(), !s.Leave().HasLeft(), s.Leave().Resume().HasLeft():
			t.Fatalf("%x", s)
		case s.Settle().Owed(), !s.Owe().Owed():
			t.Fatalf("%x", s)
		}
	}
}

// TestEveryOwedWorkIsKnown: after something was left to the worker, no goroutine that should do it
// sleeps on: it is awake or woken, or the holder of the right learns of it.
func TestEveryOwedWorkIsKnown(t *testing.T) {
	d := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		s := drawn(d)
		for _, output := range []bool{false, true} {
			n, x := s.Attend(output, true)
			switch woken := x&WakeWorker != 0; {
			case !n.Owed():
				t.Fatalf("%x: what is to be attended to is not owed", s)
			case woken && n.Place() != Awake:
				t.Fatalf("%x: the worker is woken and does not count as awake", s)
			case n.Place() == Napping && !(n.Held() && n.Missed()):
				t.Fatalf("%x: the worker naps on, and no holder learns of what is owed", s)
			case n.Place() == Idle, output && n.Place() == Holding:
				t.Fatalf("%x: the worker sleeps on", s)
			case output && n.Dozes(), n.Place() == Holding && x&Rearm == 0:
				t.Fatalf("%x: a goroutine sleeps on that does not hear it", s)
			}
		}
		if n, x := s.Summon(); !n.Owed() || n.Place() != Awake || n.Dozes() || s.Place() != Awake && x&WakeWorker == 0 {
			t.Fatalf("%x summoned: %x, %b", s, n, x)
		}
		if n, ok := s.Nap(false); ok && n.Owed() && !n.Wanted() && !n.Missed() || ok != (n.Place() == Napping) && s.Place() != Napping {
			t.Fatalf("%x naps: %x, %v", s, n, ok)
		}
	}
}

// TestUnwant: where the right is free when a wish for it is withdrawn, the worker is summoned.
func TestUnwant(t *testing.T) {
	s := State(0).Want().Sit(Holding)
	if n, x := s.Unwant(); n.Wanted() || !n.Owed() || n.Place() != Awake || x != WakeWorker {
		t.Errorf("free: %x, %b", n, x)
	}
	s, _ = s.Acquire()
	if n, x := s.Unwant(); n.Wanted() || n.Owed() || x != 0 {
		t.Errorf("held: %x, %b", n, x)
	}
}

// TestRight: one goroutine has it at a time, and nothing that is owed is lost: what one that finds
// it taken leaves, the holder passes on only when it has done it.
func TestRight(t *testing.T) {
	const rounds = 20_000
	var (
		r        Right
		wg       sync.WaitGroup
		left     [4]int // written by its goroutine
		inside   int    // written by the holder
		mu       sync.Mutex
		asked    int // guarded by mu
		answered int // guarded by mu
	)
	for i := range left {
		wg.Go(func() {
			for range rounds {
				mu.Lock()
				asked++
				mu.Unlock()
				if !r.Try(State.Take) {
					left[i]++
					continue
				}
				for done := false; !done; done = r.Try(State.Pass) {
					if inside++; inside != 1 {
						t.Error("two goroutines have the right")
					}
					mu.Lock()
					answered = asked
					mu.Unlock()
					inside--
				}
			}
		})
	}
	wg.Wait()
	if s := r.State(); s != 0 {
		t.Errorf("in the end it is %x", s)
	}
	if answered != asked {
		t.Errorf("%d of %d were answered; %v found the right taken", answered, asked, left)
	}
}

// TestReleaseTells: the holder learns that the worker naps though something is owed, and once.
func TestReleaseTells(t *testing.T) {
	var r Right
	for _, release := range []func() State{r.Release, r.ReleaseAll} {
		if !r.TryAcquire() || r.TryAcquire() {
			t.Fatal("a right that is free is taken once")
		}
		if r.Try(State.Take) {
			t.Fatal("a right that is held is taken over")
		}
		if !r.Nap(false) {
			t.Fatal("the worker does not nap while another has the right")
		}
		if s := release(); !s.Missed() || !s.Owed() {
			t.Errorf("released: %x", s)
		}
		if s := r.State(); s.Held() || s.Missed() {
			t.Errorf("after that: %x", s)
		}
	}
	if r.State().Owed() {
		t.Error("what was owed is not what the last holder looks after")
	}
}
