package mpi

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/engine"
)

// TestRevokeSignal: what is said of a revocation is read again, whatever the group; what no rank
// says is refused.
func TestRevokeSignal(t *testing.T) {
	const size = 1 << 13
	dice := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		r := &revocation{by: engine.PeerID(dice.IntN(size))}
		step := 1 + dice.IntN(3)
		for p := dice.IntN(40); p < size && len(r.group) < 3000; p += 1 + dice.IntN(step) {
			r.group = append(r.group, engine.PeerID(p))
		}
		b := revokeSays(r)
		by, group, ok := readRevoke(b[1:], size)
		if len(b) > engine.MaxSignal || b[0] != saysRevoked || !ok || by != r.by {
			t.Fatalf("%d bytes for %d ranks: by %d, %v", len(b), len(r.group), by, ok)
		}
		if group != nil && !slices.Equal(group, r.group) {
			t.Fatalf("the group %v is read as %v", r.group, group)
		}
		if group == nil && len(r.group) < 1000 {
			t.Fatalf("%d ranks find no room", len(r.group))
		}
	}
	for _, b := range [][]byte{{200, 100}, {1, 5}, {1, 5, 0}, {1, 5, 200, 200, 200}, {1, 3, 2, 1, 1}, {9}, {1, 7, 2}} {
		if _, _, ok := readRevoke(b, 8); ok {
			t.Errorf("% x is taken", b)
		}
	}
	if by, group, ok := readRevoke(nil, 8); !ok || by != engine.AnyPeer || group != nil { // of ranks of several jobs
		t.Errorf("nothing is read as %v by %d, %v", group, by, ok)
	}
	if _, group, ok := readRevoke([]byte{7, 0, 8}, 8); !ok || len(group) != 8 {
		t.Error("the world is not read")
	}
}

func FuzzReadRevoke(f *testing.F) {
	f.Add([]byte{7, 0, 8}, uint16(8))
	f.Add(bytes.Repeat([]byte{1}, 30), uint16(100))
	f.Fuzz(func(t *testing.T, b []byte, size uint16) {
		by, group, ok := readRevoke(b, int(size))
		if !ok {
			return
		}
		if int(by) >= int(size) || len(group) > int(size) || !slices.IsSorted(group) || len(group) > 0 && int(group[len(group)-1]) >= int(size) {
			t.Errorf("by %d, group %v of %d ranks", by, group, size)
		}
	})
}

// spreadWorld is ranks that tell each other of a revocation, in any order, while some die.
type spreadWorld struct {
	t       *testing.T
	dice    *rand.Rand
	group   []engine.PeerID
	ranks   map[engine.PeerID]*faults
	dead    map[engine.PeerID]bool
	flying  []flight
	said    map[engine.PeerID]int
	unheard []flight // deaths that a rank has yet to learn of: from has died, to learns it
}

type flight struct{ from, to engine.PeerID }

// hear lets a rank hear of the revocation.
func (w *spreadWorld) hear(p engine.PeerID) {
	f := w.ranks[p]
	if f.revoked == nil {
		f.revoked = map[engine.ContextID]*revocation{2: {group: w.group, told: map[engine.PeerID]bool{}}}
	}
	w.say(p, f.tellLocked(2, f.revoked[2], p, nil))
}

func (w *spreadWorld) say(from engine.PeerID, out []outSignal) {
	w.said[from] += len(out)
	for _, l := range out {
		w.flying = append(w.flying, flight{from, l.to})
	}
}

// die: some of what it has said is lost with it, and the others learn of its death one by one.
func (w *spreadWorld) die(p engine.PeerID) {
	w.dead[p] = true
	w.flying = slices.DeleteFunc(w.flying, func(f flight) bool { return f.to == p || f.from == p && w.dice.IntN(2) == 0 })
	for _, q := range w.group {
		if q != p && !w.dead[q] {
			w.unheard = append(w.unheard, flight{p, q})
		}
	}
}

// step delivers one thing, whichever comes first. It reports whether there was one.
func (w *spreadWorld) step() bool {
	n := len(w.flying) + len(w.unheard)
	if n == 0 {
		return false
	}
	if i := w.dice.IntN(n); i < len(w.flying) {
		f := w.flying[i]
		w.flying = slices.Delete(w.flying, i, i+1)
		if !w.dead[f.to] && !slices.Contains(w.ranks[f.to].gone, f.from) {
			w.hear(f.to)
		}
	} else {
		f := w.unheard[i-len(w.flying)]
		w.unheard = slices.Delete(w.unheard, i-len(w.flying), i-len(w.flying)+1)
		if r := w.ranks[f.to]; !w.dead[f.to] {
			r.gone = append(r.gone, f.from)
			if r.revoked != nil {
				w.hear(f.to)
			}
		}
	}
	return true
}

// TestSpread: if a rank that lives to the end has heard, all that live hear, whichever ranks die,
// and whenever. Without deaths none of n ranks says more than log2 n things.
func TestSpread(t *testing.T) {
	for seed := range uint64(3000) {
		dice := rand.New(rand.NewPCG(seed, 7))
		n := 1 + dice.IntN(20)
		w := &spreadWorld{t: t, dice: dice, ranks: map[engine.PeerID]*faults{}, dead: map[engine.PeerID]bool{}, said: map[engine.PeerID]int{}}
		for i := range n {
			p := engine.PeerID(3 * i)
			w.group = append(w.group, p)
			w.ranks[p] = &faults{}
		}
		deaths := 0
		if seed%3 > 0 {
			deaths = dice.IntN(n)
		}
		w.hear(w.group[dice.IntN(n)])
		for w.step() {
			if deaths > 0 && dice.IntN(4) == 0 {
				if p := w.group[dice.IntN(n)]; !w.dead[p] {
					w.die(p)
					deaths--
				}
			}
		}
		if why := w.fault(seed%3 == 0); why != "" {
			t.Fatalf("seed %d, %d ranks: %s", seed, n, why)
		}
	}
}

// fault says what is wrong at the end.
func (w *spreadWorld) fault(whole bool) string {
	heard, living := 0, 0
	for _, p := range w.group {
		if w.dead[p] {
			continue
		}
		if living++; w.ranks[p].revoked != nil {
			heard++
		}
		if most := bits.Len(uint(len(w.group) - 1)); whole && w.said[p] > most {
			return fmt.Sprintf("rank %d has said %d things, more than %d", p, w.said[p], most)
		}
	}
	if heard != 0 && heard != living || whole && heard == 0 {
		return fmt.Sprintf("%d of %d that live have heard", heard, living)
	}
	return ""
}
