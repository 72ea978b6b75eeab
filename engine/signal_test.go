//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// ear notes what one rank hears.
type ear struct {
	mu     sync.Mutex
	heard  map[PeerID][]uint64 // numbers of the signals, in order
	gone   map[PeerID]*PeerError
	late   bool // a signal came behind the end of its sender
	inside atomic.Int32
	wrong  atomic.Pointer[string]
}

func newEar() *ear { return &ear{heard: map[PeerID][]uint64{}, gone: map[PeerID]*PeerError{}} }

// enter notes calls that are not one at a time.
func (x *ear) enter() func() {
	if x.inside.Add(1) != 1 {
		x.wrong.Store(new("two calls at a time"))
	}
	return func() { x.inside.Add(-1) }
}

func (x *ear) signal(from PeerID, ctx ContextID, payload []byte) {
	defer x.enter()()
	x.mu.Lock()
	defer x.mu.Unlock()
	k := uint64(ctx)
	if !bytes.Equal(payload, signalOf(k)) {
		x.wrong.Store(new("a payload is wrong"))
	}
	x.heard[from] = append(x.heard[from], k)
	x.late = x.late || x.gone[from] != nil
}

func (x *ear) end(peer PeerID, err *PeerError) {
	defer x.enter()()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gone[peer] != nil {
		x.wrong.Store(new("the end of a peer is told twice"))
	}
	x.gone[peer] = err
}

func (x *ear) count(from PeerID) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.heard[from])
}

func (x *ear) endOf(peer PeerID) *PeerError {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.gone[peer]
}

// check looks for what must not have happened, and that the n signals from each of the ranks came
// in order.
func (x *ear) check(t *testing.T, rank, ranks, n int) {
	t.Helper()
	if w := x.wrong.Load(); w != nil {
		t.Errorf("rank %d: %s", rank, *w)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.late {
		t.Errorf("rank %d: a signal behind the end of its sender", rank)
	}
	for from := range ranks {
		for i, k := range x.heard[PeerID(from)] {
			if k != uint64(i) {
				t.Fatalf("rank %d: signal %d of rank %d comes in place of %d", rank, k, from, i)
			}
		}
		if len(x.heard[PeerID(from)]) != n {
			t.Errorf("rank %d: %d signals of rank %d, want %d", rank, len(x.heard[PeerID(from)]), from, n)
		}
	}
}

// signalOf is the payload of signal k: of all lengths, the longest one among them.
func signalOf(k uint64) []byte {
	n := int(k * 37 % (MaxSignal + 1))
	if k%100 == 7 {
		n = MaxSignal
	}
	return pattern(n, int(k))
}

// drive makes progress under the policy that makes it inside calls only, until done.
func drive(t *testing.T, e *Engine, done func() bool) {
	t.Helper()
	for stop := time.Now().Add(failsafe); !done(); {
		if time.Now().After(stop) {
			t.Error("nothing comes any more")
			return
		}
		e.progressForTest()
		time.Sleep(20 * time.Microsecond)
	}
}

// TestSignals: signals between all ranks, and of each to itself, arrive in order while no rank is
// inside a call (of ranks that make progress without one).
func TestSignals(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		const ranks, n = 3, 300
		ears := make([]*ear, ranks)
		es := job(t, ranks, p, func(c *Config) {
			ears[c.Rank] = newEar()
			c.OnSignal, c.OnPeerGone = ears[c.Rank].signal, ears[c.Rank].end
		})
		var wg sync.WaitGroup
		for _, e := range es {
			wg.Go(func() {
				for k := range uint64(n) {
					for to := range es {
						if err := e.Signal(PeerID(to), ContextID(k), signalOf(k)); err != nil {
							t.Error(err)
						}
					}
				}
				drive(t, e, func() bool { // until all have all: under caller others may wait for what is still in our stream
					for _, x := range ears {
						for from := range es {
							if x.count(PeerID(from)) < n {
								return false
							}
						}
					}
					return true
				})
			})
		}
		wg.Wait()
		for r := range es {
			ears[r].check(t, r, ranks, n)
			wantNoSignals(t, es[r])
		}
	})
}

// wantNoSignals checks that none keeps memory.
func wantNoSignals(t *testing.T, e *Engine) {
	t.Helper()
	drive(t, e, func() bool { return e.Stats().SlabsUsed == 0 })
}

// TestSignalsAnswer: a handler signals back and posts, and a caller that is blocked hears of it;
// signals and messages of one rank come in the order in which they were sent.
func TestSignalsAnswer(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		const n = 200
		es := make([]*Engine, 2)
		known := make([]atomic.Pointer[Engine], 2)
		var last atomic.Uint64
		reply := func(rank int) func(PeerID, ContextID, []byte) {
			return func(from PeerID, ctx ContextID, payload []byte) {
				last.Store(uint64(ctx))
				if rank == 0 && ctx == n {
					known[0].Load().Post(&MSO{Kind: KindSend, Peer: 0, Tag: 9, Buf: []byte{1}}, Computes) // what rank 0 waits for
				} else if err := known[rank].Load().Signal(from, ctx+1, payload); err != nil {
					t.Error(err)
				}
			}
		}
		copy(es, job(t, 2, p, func(c *Config) { c.OnSignal = reply(c.Rank) }))
		for r, e := range es {
			known[r].Store(e)
		}
		over := make(chan struct{})
		both(t, es, func() {
			if err := es[0].Signal(1, 1, []byte("x")); err != nil {
				t.Error(err)
			}
			m := &MSO{Kind: KindRecv, Peer: 0, Tag: 9, Buf: make([]byte, 1)}
			es[0].Post(m, Computes)
			waitDone(t, "the handler's message", es[0], m)
			close(over)
		}, func() {
			drive(t, es[1], func() bool {
				select {
				case <-over:
					return true
				default:
					return false
				}
			})
		})
		if last.Load() != n {
			t.Errorf("the last signal is %d, want %d", last.Load(), n)
		}
	})
}

// TestSignalGone: the end of a peer is reported once, behind its signals; signals to it return why.
func TestSignalGone(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		x := newEar()
		es := job(t, 2, p, func(c *Config) {
			if c.Rank == 0 {
				c.OnSignal, c.OnPeerGone = x.signal, x.end
			}
		})
		exchangeAll(t, es)
		const n = 50
		for k := range uint64(n) {
			if err := es[1].Signal(0, ContextID(k), signalOf(k)); err != nil {
				t.Fatal(err)
			}
		}
		both(t, es, func() {
			drive(t, es[0], func() bool { return x.count(1) == n })
		}, func() {
			drive(t, es[1], func() bool { return x.count(1) == n })
		})
		if err := es[1].Kill(); err != nil {
			t.Fatal(err)
		}
		drive(t, es[0], func() bool { return x.endOf(1) != nil })
		wantErr(t, "told", x.endOf(1), ErrPeerFailed)
		wantErr(t, "to the dead", es[0].Signal(1, 0, nil), ErrPeerFailed)
		wantErr(t, "of the dead", es[1].Signal(0, 0, nil), ErrStopped)
		if es[0].Signal(2, 0, nil) == nil || es[0].Signal(-1, 0, nil) == nil {
			t.Error("a signal to nobody")
		}
		wantErr(t, "too long", es[0].Signal(0, 0, make([]byte, MaxSignal+1)), ErrSignalTooLong)
		es[0].FailPeer(1, errors.New("again"))
		x.mu.Lock()
		delete(x.heard, 0)
		x.mu.Unlock()
		x.check(t, 0, 0, 0)
	})
}

// TestSignalLeft: a peer that has finalized is reported as one that left.
func TestSignalLeft(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		x := newEar()
		es := job(t, 2, p, func(c *Config) {
			if c.Rank == 0 {
				c.OnPeerGone = x.end
			}
		})
		exchangeAll(t, es)
		var over atomic.Bool
		both(t, es, func() {
			drive(t, es[0], func() bool { return x.endOf(1) != nil })
			if err := x.endOf(1); err == nil || !err.Left {
				t.Errorf("told %v, want that it left", err)
			}
			over.Store(true)
		}, func() {
			if err := es[1].Close(failsafe); err != nil {
				t.Error(err)
			}
		})
		if !over.Load() {
			t.Error("no end")
		}
	})
}

// TestSignalFlood: a rank that signals as fast as it can costs its peer no more than what one read
// brings.
func TestSignalFlood(t *testing.T) {
	policies(t, func(t *testing.T, p Policy) {
		const n = 4000
		var heard, most atomic.Int64
		var rank0 atomic.Pointer[Engine]
		es := job(t, 2, p, func(c *Config) {
			if c.Rank == 0 {
				c.OnSignal = func(PeerID, ContextID, []byte) {
					if heard.Add(1)%64 == 0 {
						most.Store(max(most.Load(), int64(rank0.Load().Stats().SlabsUsed)))
					}
				}
			}
		})
		rank0.Store(es[0])
		exchangeAll(t, es)
		payload := make([]byte, MaxSignal)
		both(t, es, func() {
			drive(t, es[0], func() bool { return heard.Load() == n })
		}, func() {
			for range n {
				if err := es[1].Signal(0, 0, payload); err != nil {
					t.Error(err)
				}
			}
			drive(t, es[1], func() bool { return heard.Load() == n })
		})
		if most.Load() > 1<<20 {
			t.Errorf("%d bytes of signals waited", most.Load())
		}
	})
}

// TestSignalAllocs: a signal costs no memory that is not there already.
func TestSignalAllocs(t *testing.T) {
	for _, w := range []Way{TCP, Thread} {
		t.Run(w.String(), func(t *testing.T) {
			defer func() { wayUnderTest = TCP }()
			wayUnderTest = w
			var heard atomic.Int64
			es := job(t, 2, Assist, func(c *Config) {
				silently(c)
				c.OnSignal = func(PeerID, ContextID, []byte) { heard.Add(1) }
			})
			exchangeAll(t, es)
			payload := make([]byte, 100)
			round := func() {
				was := heard.Load()
				for to := range es {
					if err := es[0].Signal(PeerID(to), 1, payload); err != nil {
						t.Error(err)
					}
				}
				for heard.Load() < was+2 {
					time.Sleep(time.Microsecond)
				}
			}
			for range 50 {
				round()
			}
			if a := testing.AllocsPerRun(50, round); a != 0 {
				t.Errorf("%v allocations for two signals", a)
			}
		})
	}
}

// TestSignalBroken: what is no right signal ends its sender.
func TestSignalBroken(t *testing.T) {
	es := job(t, 2, Assist, nil)
	e := es[0]
	var h [wire.HeaderLen]byte
	wire.PutHeader(h[:], &wire.Header{Kind: wire.KindSignal, Length: MaxSignal + 1})
	p := input{peer: 1}
	if _, err := p.parse(e, h[:]); err == nil {
		t.Error("a signal that is too long is taken")
	}
	binary.LittleEndian.PutUint64(h[16:], MaxSignal)
	if _, err := p.parse(e, h[:]); err != nil || !p.in {
		t.Errorf("a signal of the greatest length: error %v", err)
	}
}
