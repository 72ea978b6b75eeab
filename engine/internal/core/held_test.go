package core

import (
	"errors"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// heldNet is two ranks that are not connected. Rank 0 has sent 1 as much as it may by the least
// window, and holds three messages of 100 bytes and tags 1 to 3.
func heldNet(t *testing.T, cfg Config) (f *fakeNet, held []*MSO) {
	t.Helper()
	f = newNet(t, 2, cfg)
	c := f.cores[0]
	for ; c.Plan(1, 100) == PlanShort; c.SendShort(&Message{Peer: 1, Buf: make([]byte, 100)}) {
		if c.Plan(1, 100) == PlanHeld {
			t.Fatal("a message is to be held that may follow unasked")
		}
	}
	for tag := range 3 {
		if c.Plan(1, 100) != PlanHeld {
			t.Fatal("a message is not to be held")
		}
		m := &MSO{Kind: KindSend, Peer: 1, Tag: Tag(tag + 1), Buf: pattern(100, tag+1)}
		c.Hold(m)
		held = append(held, m)
		f.wantFound()
	}
	if c.Plan(1, c.cfg.ShortMax+1) == PlanHeld || c.Plan(0, 100) == PlanHeld {
		t.Error("a long message, or one to ourselves, is to be held")
	}
	return f, held
}

// receive receives all messages, and checks that the last of them, which have the tags lasts, are
// whole.
func (f *fakeNet) receive(lasts ...Tag) {
	f.t.Helper()
	f.run()
	for range (MinWindow) / (100 + wire.EagerCost) {
		f.post(1, &MSO{Kind: KindRecv, Peer: 0, Tag: 0, Buf: make([]byte, 100)})
	}
	for _, tag := range lasts {
		m := &MSO{Kind: KindRecv, Peer: 0, Tag: tag, Buf: make([]byte, 100)}
		f.post(1, m)
		f.run()
		if !m.IsDone() || m.Err != nil || string(m.Buf) != string(pattern(100, int(tag))) {
			f.t.Fatalf("message %d: %v, %v", tag, m.State(), m.Err)
		}
	}
	f.wantRest("all is received")
}

func TestHeldFollowUnasked(t *testing.T) {
	f, held := heldNet(t, Config{})
	f.connect(0, 1)
	c := f.cores[0]
	for _, m := range held {
		if !m.IsDone() || m.Err != nil {
			t.Errorf("message %d: %v, %v", m.Tag, m.State(), m.Err)
		}
	}
	if n := c.sent(Rendezvous); n != 0 || c.Plan(1, 100) == PlanHeld {
		t.Errorf("%d are announced; more are held: %v", n, c.Plan(1, 100) == PlanHeld)
	}
	f.receive(1, 2, 3)
}

// TestHeldAreParked: messages held for a peer that turns out to grant only the least window are
// announced to it. As many of their callers go on as may be parked.
func TestHeldAreParked(t *testing.T) {
	f, held := heldNet(t, Config{Window: MinWindow, Parked: 2})
	f.connect(0, 1)
	for i, m := range held {
		if m.IsDone() != (i < 2) {
			t.Errorf("message %d: %v, %v", m.Tag, m.State(), m.Err)
		}
	}
	if n := f.cores[0].sent(Rendezvous); n != 3 {
		t.Errorf("%d are announced, want 3", n)
	}
	f.receive(1, 2, 3)
	if !held[2].IsDone() {
		t.Error("the last caller waits on")
	}
}

func TestHeldEnd(t *testing.T) {
	why := errors.New("why")
	ends := map[string]func(f *fakeNet, held []*MSO){
		"failed":  func(f *fakeNet, _ []*MSO) { f.cores[0].FailPeer(1, why, false, nil) },
		"stopped": func(f *fakeNet, _ []*MSO) { f.cores[0].Stop() },
		"revoked": func(f *fakeNet, _ []*MSO) { f.cores[0].Shut(0, ^ContextID(0), why, f.sinks(0)) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			f, held := heldNet(t, Config{})
			end(f, held)
			for _, m := range held {
				if !m.IsDone() || !errors.Is(m.Err, why) && !errors.Is(m.Err, ErrStopped) {
					t.Errorf("message %d: %v, %v", m.Tag, m.State(), m.Err)
				}
			}
			if f.cores[0].peers[1].held.head != nil || name != "revoked" && f.cores[0].Plan(1, 100) == PlanHeld {
				t.Error("something is held after that")
			}
		})
	}
}

// TestHeldAbandoned: a sender that leaves gets its error and its memory, its message is as if it
// had never been, and others are as before.
func TestHeldAbandoned(t *testing.T) {
	f, held := heldNet(t, Config{})
	why := errors.New("why")
	f.cores[0].Abandon(held[1], why, f.sinks(0))
	if !held[1].IsDone() || held[1].Err != why {
		t.Errorf("%v, %v", held[1].State(), held[1].Err)
	}
	clear(held[1].Buf)
	if held[0].IsDone() || held[2].IsDone() || f.cores[0].Detached() > 0 {
		t.Error("others are done, or the message is to be waited for")
	}
	f.wantFound()
	f.connect(0, 1)
	f.receive(1, 3)
}
