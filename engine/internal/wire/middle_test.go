package wire

import (
	"bytes"
	"slices"
	"testing"
)

// middle is an attacker between two ranks that does with their bytes what a script says.
type middle struct {
	t    testing.TB
	ends [2]*Handshake // the dialer, the acceptor
	said [2][]byte     // what each has said
	got  [2][]byte     // what each has been given, as far as it took that for the handshake
	held [2][]byte     // for each, not given yet
}

// listen takes what both have to say.
func (m *middle) listen() {
	for i, h := range m.ends {
		out := h.Output()
		if len(out) > 2*maxMessageLen {
			m.t.Fatalf("end %d says %d bytes at once", i, len(out))
		}
		m.said[i] = append(m.said[i], out...)
		m.held[1-i] = append(m.held[1-i], out...)
	}
}

// give lets an end have the first n bytes that are held for it.
func (m *middle) give(i, n int) {
	n = min(n, len(m.held[i]))
	took, r := m.ends[i].Input(m.held[i][:n])
	if took < 0 || took > n || (r != RejectNone) != (m.ends[i].State() == StateFailed) {
		m.t.Fatalf("end %d took %d of %d bytes: %v, %v", i, took, n, r, m.ends[i])
	}
	m.got[i] = append(m.got[i], m.held[i][:took]...)
	m.held[i] = slices.Clone(m.held[i][n:]) // an end that fails, or is done, hears no more
	if m.ends[i].State() == StateProven {
		m.ends[i].Decide(VerdictAccept)
	}
	m.listen()
}

// obey does one step of a script: op says what, to which end and where, arg how.
func (m *middle) obey(op, arg byte) {
	i := int(op & 1)
	h := m.held[i]
	at := 0
	if len(h) > 0 {
		at = int(arg) % len(h)
	}
	switch op >> 1 % 8 {
	case 0:
		m.give(i, len(h))
	case 1:
		m.give(i, 1+at)
	case 2: // changes a bit
		if len(h) > 0 {
			h[at] ^= 1 << (op >> 4 % 8)
		}
	case 3: // leaves a byte out
		if len(h) > 0 {
			m.held[i] = slices.Delete(h, at, at+1)
		}
	case 4: // puts a byte in
		m.held[i] = slices.Insert(h, at, arg)
	case 5: // says to it what it has said itself
		m.held[i] = append(h, m.said[i]...)
	case 6: // says again what the other has said
		m.held[i] = append(h, m.said[1-i][:min(len(m.said[1-i]), int(arg))]...)
	case 7: // keeps the rest to itself
		m.held[i] = h[:at]
	}
}

// check: an end that believes in the other has heard it and has been heard by it, without a change.
func (m *middle) check() {
	d, a := m.ends[0], m.ends[1]
	if s := a.State(); s == StateEstablished || s == StateRefused {
		if !bytes.Equal(m.got[1], m.said[0][:len(m.got[1])]) || len(m.got[1]) != helloLen+finalLen {
			m.t.Fatalf("the acceptor believes what the dialer has not said:\n%x\n%x", m.got[1], m.said[0])
		}
		if !bytes.HasPrefix(m.got[0], m.said[1][:challengeLen]) {
			m.t.Fatal("the acceptor believes a dialer that has not heard its challenge")
		}
		if a.Peer() != d.self.Rank || a.PeerWindow() != d.self.Window || a.PeerSession() != d.self.session(0) || a.PeerBeat() != d.self.Beat {
			m.t.Fatalf("the acceptor believes of the dialer: %v, window %d, %+v, beat %d", a, a.PeerWindow(), a.PeerSession(), a.PeerBeat())
		}
	}
	switch d.State() {
	case StateAwaitVerdict:
		if !bytes.HasPrefix(m.said[1], m.got[0][:challengeLen]) || !bytes.HasPrefix(m.got[1], m.said[0][:helloLen]) {
			m.t.Fatal("the dialer believes a challenge that is not the answer to its hello")
		}
	case StateEstablished, StateRefused:
		if !bytes.Equal(m.got[0], m.said[1]) || !bytes.Equal(m.got[1], m.said[0]) {
			m.t.Fatalf("the dialer is through, and something was changed:\n%x\n%x\n%x\n%x", m.got[0], m.said[1], m.got[1], m.said[0])
		}
		if a.State() != d.State() {
			m.t.Fatalf("the dialer is %v, the acceptor %v", d.State(), a.State())
		}
		if d.PeerWindow() != a.self.Window || d.PeerSession() != a.self.session(3) || d.PeerBeat() != a.self.Beat {
			m.t.Fatalf("the dialer believes of the acceptor: window %d, %+v, beat %d", d.PeerWindow(), d.PeerSession(), d.PeerBeat())
		}
	}
}

// newMiddle sits between the dialer of identities and its acceptor.
func newMiddle(t testing.TB) *middle {
	di, ai := identities()
	di.Session = func(uint32) Session { return Session{Resume: true, Received: 1 << 33, Connection: 7} }
	ai.Session = func(uint32) Session { return Session{Resume: true, Received: 12345, Connection: 6} }
	di.Beat, ai.Beat = 1000, 500
	m := &middle{t: t, ends: [2]*Handshake{NewDialer(di, ai.Rank, nonceOf(1)), NewAcceptor(ai, nonceOf(2))}}
	m.listen()
	return m
}

// fair gives both what is held for them until nothing is.
func (m *middle) fair() {
	for len(m.held[0])+len(m.held[1]) > 0 {
		m.give(1, len(m.held[1]))
		m.give(0, len(m.held[0]))
	}
}

func TestFairMiddle(t *testing.T) {
	m := newMiddle(t)
	m.fair()
	m.check()
	for i, h := range m.ends {
		if h.State() != StateEstablished {
			t.Errorf("end %d: %v", i, h)
		}
	}
}

// FuzzHandshake: whatever one in the middle does with the bytes of two ranks, neither panics, and
// an end that holds the other for genuine has heard what that said, and has been heard, without the
// change of a bit.
func FuzzHandshake(f *testing.F) {
	const dialer, acceptor = 0, 1
	give := func(to byte) byte { return to }
	f.Add([]byte{})
	f.Add([]byte{give(acceptor), 0, give(dialer), 0, give(acceptor), 0, give(dialer), 0})
	for op := range byte(8) { // each trick upon each message
		f.Add([]byte{op<<1 | acceptor, 40, give(acceptor), 0, give(dialer), 0})
		f.Add([]byte{give(acceptor), 0, op<<1 | dialer, 30, give(dialer), 0, give(acceptor), 0})
		f.Add([]byte{give(acceptor), 0, give(dialer), 0, op<<1 | acceptor, 20, give(acceptor), 0, give(dialer), 0})
		f.Add([]byte{give(acceptor), 0, give(dialer), 0, give(acceptor), 0, op<<1 | dialer, 7, give(dialer), 0})
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		m := newMiddle(t)
		for ; len(script) >= 2; script = script[2:] {
			m.obey(script[0], script[1])
			m.check()
		}
		m.fair()
		m.check()
	})
}
