package agree

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// sameMessage compares what messages mean.
func sameMessage(a, b *Message) bool {
	return a.Kind == b.Kind && a.Number == b.Number && a.Ballot == b.Ballot && a.Value.Flag == b.Value.Flag && a.Value.Kinds == b.Value.Kinds &&
		a.Value.Token == b.Value.Token && a.Value.Failed.Equal(b.Value.Failed) && a.Value.Known.Equal(b.Value.Known)
}

// TestMessage: what is read is what was written.
func TestMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 500).Draw(t, "n")
		m := Message{Kind: Kind(rapid.IntRange(1, 4).Draw(t, "kind")), Number: rapid.Uint64().Draw(t, "number")}
		if m.Kind == Propose || m.Kind == Ack {
			m.Ballot = rapid.IntRange(0, n-1).Draw(t, "ballot")
		}
		if m.Kind != Ack {
			m.Value = Value{Flag: rapid.Uint64().Draw(t, "flag"), Kinds: rapid.Byte().Draw(t, "kinds"), Token: rapid.Uint64().Draw(t, "token")}
			m.Value.Failed, _ = members(t, n, "failed")
			m.Value.Known, _ = members(t, n, "known")
		}
		b := m.Append(nil)
		got, ok := Consume(b, n)
		if !ok || !sameMessage(&got, &m) {
			t.Fatalf("%+v becomes %+v, %v", m, got, ok)
		}
		for i := range b {
			if _, ok := Consume(b[:i], n); ok {
				t.Fatalf("the first %d of %d bytes are a message", i, len(b))
			}
		}
		if _, ok := Consume(append(b, 0), n); ok {
			t.Fatal("a message with a byte behind it is one")
		}
	})
}

// TestMessageFormat: these bytes are what docs/PROTOCOL.md says.
func TestMessageFormat(t *testing.T) {
	for want, m := range map[string]Message{
		"01" + "ac02" + "0700000000000000" + "01" + "0000000000000000" + "00" + "00": {Kind: Gather, Number: 300, Value: Value{Flag: 7, Kinds: 1}},
		"02" + "00" + "03" + "ffffffffffffffff" + "02" + "0200000001000000" + "0401c601" + "0201": {Kind: Propose, Ballot: 3,
			Value: Value{Flag: ^uint64(0), Kinds: 2, Token: 1<<32 | 2, Failed: Set{1 << 1, 0, 0, 1 << 8}, Known: Set{1 << 1}}},
		"03" + "05" + "8001": {Kind: Ack, Number: 5, Ballot: 128},
		"04" + "05" + "0000000000000000" + "01" + "0000000000000000" + "05ff1f" + "00": {Kind: Commit, Number: 5, Value: Value{Kinds: 1, Failed: Set{1<<13 - 1}}},
	} {
		if got := hex.EncodeToString(m.Append(nil)); got != want {
			t.Errorf("%+v is %s, want %s", m, got, want)
		}
	}
}

// TestMessageLength: whatever fails of the largest group, a message fits into a signal.
func TestMessageLength(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, part := range []float64{0, 0.001, 0.01, 0.1, 0.2, 0.5, 0.9, 1} {
		m := Message{Kind: Propose, Number: 1<<64 - 1, Ballot: MaxMembers - 1, Value: Value{Flag: 1}}
		for r := range MaxMembers {
			if rng.Float64() < part {
				m.Value.Failed.Add(r)
				m.Value.Known.Add(r)
			}
		}
		b := m.Append(nil)
		if got, ok := Consume(b, MaxMembers); len(b) > MaxMessage || !ok || !sameMessage(&got, &m) {
			t.Errorf("where %v of all have failed a message has %d bytes and is read %v", part, len(b), ok)
		}
	}
}

// FuzzConsume: any bytes are refused or are a message that is written and read again alike, of
// members of the group only.
func FuzzConsume(f *testing.F) {
	for _, m := range []Message{
		{Kind: Gather, Number: 300, Value: Value{Flag: 7, Kinds: 1, Failed: Set{5}}}, {Kind: Ack, Number: 5, Ballot: 128},
		{Kind: Propose, Ballot: 3, Value: Value{Failed: Set{0, 1<<13 - 1}, Known: Set{1 << 63}}},
	} {
		f.Add(m.Append(nil), 200)
	}
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 1 || n > MaxMembers {
			return
		}
		m, ok := Consume(b, n)
		if !ok {
			return
		}
		for _, s := range []Set{m.Value.Failed, m.Value.Known} {
			for _, r := range s.Members() {
				if r >= n {
					t.Fatalf("member %d of %d", r, n)
				}
			}
		}
		again := m.Append(nil)
		if len(again) > len(b) {
			t.Fatalf("%d bytes become %d", len(b), len(again))
		}
		if m2, ok := Consume(again, n); !ok || !sameMessage(&m, &m2) || !bytes.Equal(m2.Append(nil), again) {
			t.Fatalf("%+v is read back as %+v, %v", m, m2, ok)
		}
		x := New(0, 2+n%60) // no message harms a machine
		x.Start(Value{Flag: 1})
		for from := range min(n, 9) {
			x.Receive(from, &m)
		}
		x.Fail(1)
		x.Take()
	})
}
