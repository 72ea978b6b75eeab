//go:build linux && !fitmpi_portable

package engine

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// wayUnderTest is how the ranks of job reach each other. Tests that change it do not run in
// parallel; see surroundings.
var wayUnderTest = TCP

// tlsUnderTest says whether connections are encrypted.
var tlsUnderTest bool

// resumeUnderTest says whether streams outlive their connections.
var resumeUnderTest = ResumeOff

// surroundings are what job gives ranks.
type surroundings struct {
	way    Way
	tls    bool
	resume Resume
}

// besides has the surroundings of tests that wait for most of their time, and so run beside others
// when those are over that change the variables.
var besides sync.Map // of testing.TB to surroundings

// around returns the surroundings of a test.
func around(t testing.TB) surroundings {
	if s, ok := besides.Load(t); ok {
		return s.(surroundings)
	}
	return surroundings{wayUnderTest, tlsUnderTest, resumeUnderTest}
}

// beside lets t run beside others, in surroundings of its own.
func beside(t *testing.T, s surroundings) {
	besides.Store(t, s)
	t.Cleanup(func() { besides.Delete(t) })
	t.Parallel()
}

// policies runs f under each policy and each way between the ranks.
func policies(t *testing.T, f func(t *testing.T, p Policy)) {
	defer func() { wayUnderTest, tlsUnderTest, resumeUnderTest = TCP, false, ResumeOff }()
	f = shortlySome(f)
	for _, p := range []Policy{Worker, Assist, Caller} {
		wayUnderTest, tlsUnderTest = TCP, true
		t.Run(p.String()+"-tls", func(t *testing.T) { f(t, p) })
		tlsUnderTest, resumeUnderTest = false, ResumeOn
		if p == Assist {
			t.Run(p.String()+"-resume", func(t *testing.T) { f(t, p) })
		}
		resumeUnderTest = ResumeOff
		for _, w := range []Way{TCP, Thread, Shared} {
			wayUnderTest = w
			t.Run(p.String()+"-"+w.String(), func(t *testing.T) { f(t, p) })
		}
	}
}

// host is what a launcher gives the ranks of a host: here for ranks of one process,
// which share memory as processes do when the way is Shared.
type host struct {
	way     Way
	process *Process
	segment *shm.Segment
	bells   []*os.File
	engines []atomic.Pointer[Engine]
}

func newHost(t testing.TB, n int) *host {
	t.Helper()
	h := &host{way: around(t).way, engines: make([]atomic.Pointer[Engine], n)}
	switch {
	case h.way == Thread:
		h.process = NewProcess(n)
	case h.way == Shared && n > 1:
		f, err := shm.Create(n)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if h.segment, err = shm.Open(f); err != nil {
			t.Fatal(err)
		}
		for range n {
			b, err := sys.NewEventFD()
			if err != nil {
				t.Fatal(err)
			}
			h.bells = append(h.bells, b)
		}
		t.Cleanup(func() { // after the engines' own
			for _, b := range h.bells {
				b.Close()
			}
			if err := h.segment.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return h
}

func (h *host) configure(cfg *Config) {
	cfg.Process, cfg.Segment, cfg.Index = h.process, h.segment, cfg.Rank
	if h.segment == nil {
		return
	}
	me := cfg.Rank
	cfg.Bell = h.bells[me]
	cfg.Copy = CopyRing // the same on every machine; tests of fetching say so
	cfg.AskBell = func(i int) {
		if err := h.engines[me].Load().SetBell(i, h.bells[i]); err != nil {
			panic(err)
		}
	}
}

// TestCloseWithoutBells: the bells that would wake peers for a goodbye have not come
// when their ringers leave; yet all hear it, long before Close gives up.
func TestCloseWithoutBells(t *testing.T) {
	defer func() { wayUnderTest = TCP }()
	wayUnderTest = Shared
	es := job(t, 3, Assist, nil)
	exchangeAll(t, es)
	for _, e := range es {
		for _, l := range e.local.lanes {
			if l == nil {
				continue
			}
			l.asked.Store(true)
			if b := l.bell.Swap(nil); b != nil {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
	var wg sync.WaitGroup
	for r, e := range es {
		wg.Go(func() {
			start := time.Now()
			if err := e.Close(2 * failsafe); err != nil {
				t.Error(err)
			}
			if d := time.Since(start); d > failsafe {
				t.Errorf("rank %d: Close took %v", r, d)
			}
		})
	}
	wg.Wait()
}
