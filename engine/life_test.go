//go:build linux && !fitmpi_portable

package engine

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// A rank that has promised signs of life shows them whatever its program did last and does now: it
// may have called nothing, may only have sent, may be stuck in a call. Here that is tried for
// sequences of calls, under each policy, by each way, and with each manner of waiting.

// deed is something that the program of rank 0 does, with what rank 1 does at the same time.
type deed struct {
	name        string
	does, meets func(t *testing.T, e *Engine) // meets: nil for nothing
}

const lifeTag = 5

var deeds = []deed{
	{name: "nothing", does: func(*testing.T, *Engine) {}},
	{"a short message, sent at once", func(t *testing.T, e *Engine) {
		if !e.Send(&Message{Peer: 1, Tag: lifeTag, Buf: []byte{1}}, Returns) {
			sendOne(t, e, 1, 1)
		}
	}, takeOne(1)},
	{"a short message, left", func(t *testing.T, e *Engine) {
		if !e.Send(&Message{Peer: 1, Tag: lifeTag, Buf: []byte{1}}, Computes) {
			sendOne(t, e, 1, 1)
		}
	}, takeOne(1)},
	{"a send", func(t *testing.T, e *Engine) { sendOne(t, e, 1, 8) }, takeOne(8)},
	{"a long send", func(t *testing.T, e *Engine) { sendOne(t, e, 1, 200<<10) }, takeOne(200 << 10)},
	{"a receive", func(t *testing.T, e *Engine) { recv(e, 8, 1, lifeTag) }, func(t *testing.T, e *Engine) { sendOne(t, e, 0, 8) }},
	{"a receive of what is there", func(t *testing.T, e *Engine) {
		r := &Message{Peer: 1, Tag: lifeTag, Buf: make([]byte, 8)}
		if !e.Recv(r, Waits) && !e.Recv(r, Computes) {
			recv(e, 8, 1, lifeTag)
		}
	}, func(t *testing.T, e *Engine) { sendOne(t, e, 0, 8) }},
	{name: "a receive that stays", does: func(t *testing.T, e *Engine) {
		e.Post(&MSO{Kind: KindRecv, Peer: 1, Tag: lifeTag + 1, Buf: make([]byte, 1)}, Computes)
	}},
	{name: "a send that stays", does: func(t *testing.T, e *Engine) {
		e.Post(&MSO{Kind: KindSend, Mode: Synchronous, Peer: 1, Tag: lifeTag + 2, Buf: make([]byte, 64<<10)}, Computes)
	}},
	{name: "a probe", does: func(_ *testing.T, e *Engine) { e.Iprobe(0, AnyPeer, AnyTag) }},
	{name: "a receive that is cancelled", does: func(_ *testing.T, e *Engine) {
		m := &MSO{Kind: KindRecv, Peer: 1, Tag: lifeTag + 3, Buf: make([]byte, 1)}
		e.Post(m, Computes)
		e.Cancel(m)
		e.Wait(m)
	}},
}

func sendOne(t *testing.T, e *Engine, to PeerID, n int) {
	if err := send(e, make([]byte, n), to, lifeTag); err != nil {
		t.Error(err)
	}
}

func takeOne(n int) func(*testing.T, *Engine) {
	return func(_ *testing.T, e *Engine) { recv(e, n, 0, lifeTag) }
}

// do does d in both ranks. Under caller, where messages move in calls only, rank 0 makes others
// until rank 1 has had what it waits for.
func (d deed) do(t *testing.T, es []*Engine) {
	met := make(chan struct{})
	go func() {
		defer close(met)
		if d.meets != nil {
			d.meets(t, es[1])
		}
	}()
	d.does(t, es[0])
	for es[0].Policy() == Caller && !isClosed(met) {
		es[0].Sync()
		time.Sleep(time.Microsecond)
	}
	<-met
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wantLife waits until rank 1 has seen three signs of life of rank 0, if rank 0 has promised it
// any.
func wantLife(t *testing.T, es []*Engine, after string) {
	t.Helper()
	shown := func() uint64 { return es[1].Stats().BeatsIn }
	switch {
	case wayUnderTest == Shared:
		shown = es[0].local.block.Beat.Load
		if shown() == 0 {
			t.Fatalf("after %s: nothing is promised", after)
		}
	case es[0].drv.heart.promise() == 0 || es[0].drv.open.Load() == 0 || es[1].Policy() == Caller: // a rank that is in no call hears nothing
		return
	}
	last := shown()
	for range 3 {
		eventually(t, "no sign of life after "+after, func() bool { return shown() != last })
		last = shown()
	}
}

// lives tries f under each policy, by each way on which life is shown, and with each manner in
// which callers and workers wait.
func lives(t *testing.T, f func(t *testing.T, start func() []*Engine)) {
	defer func() { wayUnderTest = TCP }()
	for _, w := range []Way{TCP, Shared} {
		for _, p := range []Policy{Worker, Assist, Caller} {
			for name, tune := range map[string]func(c *Config){
				"polls": func(c *Config) { c.KeepP, c.Spin = true, time.Millisecond },
				"yields": func(c *Config) {
					c.KeepP, c.Spin, c.Yield, c.Doze = true, 0, 100*time.Microsecond, time.Millisecond
				},
				"sleeps": func(c *Config) { c.Spin = 0 },
			} {
				wayUnderTest = w
				t.Run(fmt.Sprintf("%v-%v-%s", w, p, name), func(t *testing.T) {
					f(t, func() []*Engine {
						return job(t, 2, p, func(c *Config) {
							tune(c)
							c.Heartbeat, c.HeartbeatTimeout = time.Millisecond, failsafe
						})
					})
				})
			}
		}
	}
}

// TestLifeAfterEachCall: as the first that the program does, and as the last.
func TestLifeAfterEachCall(t *testing.T) {
	effort.Need(t, effort.Usual, "it makes many jobs")
	lives(t, func(t *testing.T, start func() []*Engine) {
		for _, d := range deeds {
			es := start()
			d.do(t, es)
			wantLife(t, es, d.name)
			killAll(es)
		}
	})
}

// TestLifeAfterSequences: after calls in any order.
func TestLifeAfterSequences(t *testing.T) {
	effort.Need(t, effort.Full, "it makes many jobs")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	lives(t, func(t *testing.T, start func() []*Engine) {
		es, after := start(), "the start"
		for range 2 {
			for _, i := range rng.Perm(len(deeds)) {
				deeds[i].do(t, es)
				after += ", " + deeds[i].name
				wantLife(t, es, after)
			}
		}
		killAll(es)
	})
}

// TestLifeOfTheStuck: processes of one host see that a rank lives though the goroutine that makes
// progress there is in a step of the program's that takes long, or does not return. They also see
// it before the rank knows its peers.
func TestLifeOfTheStuck(t *testing.T) {
	defer func() { wayUnderTest = TCP }()
	wayUnderTest = Shared
	for _, p := range []Policy{Worker, Assist, Caller} {
		t.Run(p.String(), func(t *testing.T) {
			es := job(t, 2, p, often(failsafe))
			deeds[1].do(t, es)
			stuck, freed := make(chan struct{}), make(chan struct{})
			s := NewSchedule(0, 0, nil)
			s.Do(func() error {
				close(stuck)
				<-freed
				return nil
			})
			var wg sync.WaitGroup
			wg.Go(func() {
				es[0].StartSchedule(s, Waits)
				es[0].Wait(&s.MSO)
			})
			<-stuck
			wantLife(t, es, "it got stuck")
			close(freed)
			wg.Wait()
		})
	}
}

// killAll ends ranks of which operations may be outstanding.
func killAll(es []*Engine) {
	for _, e := range es {
		e.Kill()
	}
}
