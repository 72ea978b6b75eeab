//go:build linux && !fitmpi_portable

package engine

import (
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/engine/internal/progress"
)

// TestDelegated: what a visit makes a rank send is delivered by the thread that visits, however
// many ranks it goes through. A worker that happens to be awake may be first in some rounds; in all
// it never is.
func TestDelegated(t *testing.T) {
	defer func() { wayUnderTest = TCP }()
	wayUnderTest = Thread
	es := job(t, 8, Assist, func(c *Config) { c.Spin = 0 })
	for round := range 100 {
		if passOn(t, es, Tag(round)) {
			return
		}
	}
	t.Error("no message went through all ranks while it was sent")
}

// passOn sends a message from the first rank through all others, which sleep, and reports whether
// it was with the last when the call returned.
func passOn(t *testing.T, es []*Engine, tag Tag) bool {
	peers := make([]PeerID, len(es))
	for i := range peers {
		peers[i] = PeerID(i)
	}
	var wg sync.WaitGroup
	ss := make([]*Schedule, len(es))
	for i, e := range es[1:] {
		s := core.NewSchedule(3, tag, peers)
		got := s.Recv(i, nil)
		if i+2 < len(es) {
			s.Send(i+2, nil, got)
		}
		ss[i+1] = s
		wg.Go(func() {
			e.StartSchedule(s, Waits)
			e.Wait(&s.MSO)
		})
	}
	eventually(t, "some rank does not sleep", func() bool { return !anyAwake(es[1:]) })
	first := core.NewSchedule(3, tag, peers)
	first.Send(1, nil)
	es[0].StartSchedule(first, Waits)
	through := ss[len(ss)-1].MSO.IsDone()
	within(t, "the message", wg.Wait)
	return through
}

func anyAwake(es []*Engine) bool {
	for _, e := range es {
		if e.right.State().Held() || e.right.State().Place() == progress.Awake || e.local.block.Armed.Load() == 0 {
			return true
		}
	}
	return false
}

// TestDelegatedEnds: a series of delegated visits takes no more visits than its bound, and none
// once it is over.
func TestDelegatedEnds(t *testing.T) {
	x := new(delegated)
	if x.add(new(lane)) {
		t.Error("an errand that has not begun was given a visit")
	}
	x.open = true
	for i := range maxVisits {
		if !x.add(&lane{index: i}) {
			t.Fatalf("visit %d was refused", i)
		}
	}
	if x.add(new(lane)) {
		t.Errorf("more than %d visits were left to an errand", maxVisits)
	}
	for i := range maxVisits {
		if l := x.next(); l == nil || l.index != i {
			t.Fatalf("visit %d is to %+v", i, l)
		}
	}
	if x.next() != nil || x.add(new(lane)) {
		t.Error("an errand that is over was given a visit")
	}
}

// TestDelegatedIsLong: visits beyond those that one series may make are left to workers.
func TestDelegatedIsLong(t *testing.T) {
	defer func() { wayUnderTest = TCP }()
	wayUnderTest = Thread
	es := job(t, 2, Assist, func(c *Config) { c.Spin = 0 })
	exchangeAll(t, es)
	before := es[1].Stats().Visits
	l, x := es[0].laneTo(1), new(delegated)
	for range 2 * maxVisits {
		x.todo = append(x.todo, l)
	}
	x.run(l)
	if n := es[1].Stats().Visits - before; n > maxVisits {
		t.Errorf("%d visits by one errand, want %d at most", n, maxVisits)
	}
}
