package coll

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

var seedFlag = flag.Uint64("coll.seed", 0, "replay the run with this seed")

// sim executes the schedules of all ranks in one random interleaving. It holds an engine's worst
// habits: sends complete late or only when matched, matched messages arrive in any order, receive
// buffers hold garbage until they complete. It reports deadlock, lengths that differ, messages left
// over, and memory that changes while the engine owns it.
type sim struct {
	rng   *rand.Rand
	ranks []*simRank
	pairs map[[3]int]*simPair // by sender, receiver and stream
	live  []*simMatch         // matched, not delivered
	self  bool                // ranks may send to themselves
	err   error
}

type simPair struct{ sends, recvs []*simStep }

type simMatch struct{ send, recv *simStep }

type simRank struct {
	s      *sim
	rank   int
	stream int // of the steps that are added
	steps  []*simStep
	// ready steps and started local or eager steps, by index
	ready, running []int
}

type simKind uint8

const (
	simSend simKind = iota
	simRecv
	simDo
)

type simStep struct {
	kind   simKind
	r      *simRank
	id     int
	peer   int
	stream int
	data   Buf     // Send, Recv
	ptr    *[]byte // SendFrom, RecvInto
	f      func() error
	after  []Step // in order, each once
	next   []int  // steps that wait for this one, in order
	wait   int
	shot   []byte // what data held when the step started
	sync   bool   // a send that completes when delivered
	done   bool
}

func newSim(seed uint64, size int) *sim {
	s := &sim{rng: rand.New(rand.NewPCG(seed, 1)), pairs: map[[3]int]*simPair{}}
	for r := range size {
		s.ranks = append(s.ranks, &simRank{s: s, rank: r})
	}
	return s
}

func (r *simRank) add(st *simStep, after []Step) Step {
	st.r, st.id, st.stream, st.after = r, len(r.steps), r.stream, slices.Clone(after)
	slices.Sort(st.after)
	st.after = slices.Compact(st.after)
	for _, a := range st.after {
		if a < 0 || int(a) >= st.id {
			panic(fmt.Sprintf("rank %d step %d waits for step %d", r.rank, st.id, a))
		}
		r.steps[a].next = append(r.steps[a].next, st.id)
	}
	if st.kind != simDo && (st.peer < 0 || st.peer >= len(r.s.ranks) || st.peer == r.rank && !r.s.self) {
		panic(fmt.Sprintf("rank %d step %d: peer %d", r.rank, st.id, st.peer))
	}
	r.steps = append(r.steps, st)
	return Step(st.id)
}

func (r *simRank) Send(peer int, data Buf, after ...Step) Step {
	return r.add(&simStep{kind: simSend, peer: peer, data: data}, after)
}

func (r *simRank) SendFrom(peer int, data *[]byte, after ...Step) Step {
	return r.add(&simStep{kind: simSend, peer: peer, ptr: data}, after)
}

func (r *simRank) Recv(peer int, buf Buf, after ...Step) Step {
	return r.add(&simStep{kind: simRecv, peer: peer, data: buf}, after)
}

func (r *simRank) RecvInto(peer int, data *[]byte, after ...Step) Step {
	return r.add(&simStep{kind: simRecv, peer: peer, ptr: data}, after)
}

func (r *simRank) Do(f func() error, after ...Step) Step {
	return r.add(&simStep{kind: simDo, f: f}, after)
}

func (r *simRank) Copy(dst, src []byte, after ...Step) Step {
	return r.Do(func() error { copy(dst, src); return nil }, after...)
}

func (r *simRank) Combine(x Combination, after ...Step) Step { return r.Do(x.Do, after...) }

func (r *simRank) Stream(i int) {
	if i < 0 || i >= reduceStreams {
		panic(fmt.Sprintf("rank %d: there is no stream %d", r.rank, i))
	}
	r.stream = i
}

// Scratch lends memory full of garbage.
func (r *simRank) Scratch(n int) []byte { return randomBytes(r.s.rng, n) }

// checkOrder checks the rule of the package about messages: of two steps with one peer and
// direction, the second waits for the first or for all that the first waits for.
func (r *simRank) checkOrder() error {
	words := (len(r.steps) + 63) / 64
	anc := make([][]uint64, len(r.steps)) // ancestors of each step, as bits
	last := map[[3]int]int{}              // by kind, peer and stream; the rule is transitive, so neighbours suffice
	for i, st := range r.steps {
		anc[i] = make([]uint64, words)
		for _, a := range st.after {
			anc[i][a/64] |= 1 << (a % 64)
			for w, x := range anc[a] {
				anc[i][w] |= x
			}
		}
		if st.kind == simDo {
			continue
		}
		key := [3]int{int(st.kind), st.peer, st.stream}
		p, ok := last[key]
		last[key] = i
		if !ok || anc[i][p/64]&(1<<(p%64)) != 0 {
			continue
		}
		for w, x := range anc[p] {
			if x&^anc[i][w] != 0 {
				return fmt.Errorf("rank %d: steps %d and %d with peer %d may start in any order", r.rank, p, i, st.peer)
			}
		}
	}
	return nil
}

// run executes all schedules from the start; they may be run again.
func (s *sim) run() error {
	for _, r := range s.ranks {
		r.ready, r.running = r.ready[:0], r.running[:0]
		for _, st := range r.steps {
			st.wait, st.done = len(st.after), false
			if st.wait == 0 {
				r.ready = append(r.ready, st.id)
			}
		}
	}
	for s.err == nil && s.turn() {
	}
	if s.err != nil {
		return s.err
	}
	for _, r := range s.ranks {
		for _, st := range r.steps {
			if !st.done {
				return fmt.Errorf("deadlock: rank %d step %d (kind %d, peer %d) is not complete", r.rank, st.id, st.kind, st.peer)
			}
		}
	}
	return nil
}

// turn lets one random thing happen, and says whether there was one.
func (s *sim) turn() bool {
	n := len(s.ranks)
	at := s.rng.IntN(n + 1)
	for i := range n + 1 {
		k := (at + i) % (n + 1)
		if k == n {
			if len(s.live) > 0 {
				j := s.rng.IntN(len(s.live))
				m := s.live[j]
				s.live = slices.Delete(s.live, j, j+1)
				s.deliver(m)
				return true
			}
			continue
		}
		r := s.ranks[k]
		if len(r.ready) > 0 && (len(r.running) == 0 || s.rng.IntN(2) == 0) {
			st := r.steps[r.ready[0]]
			r.ready = r.ready[1:]
			r.start(st)
			return true
		}
		if len(r.running) > 0 {
			j := s.rng.IntN(len(r.running))
			st := r.steps[r.running[j]]
			r.running = slices.Delete(r.running, j, j+1)
			s.finish(st)
			return true
		}
	}
	return false
}

func (r *simRank) start(st *simStep) {
	s := r.s
	switch st.kind {
	case simDo:
		r.running = append(r.running, st.id)
		return
	case simSend:
		if st.ptr != nil {
			st.data = Memory(*st.ptr)
		}
		st.shot = st.data.bytes()
		if st.sync = s.rng.IntN(2) == 0; !st.sync {
			r.running = append(r.running, st.id)
		}
		p := s.pair(r.rank, st.peer, st.stream)
		p.sends = append(p.sends, st)
	case simRecv:
		if st.ptr == nil {
			st.shot = randomBytes(s.rng, st.data.Len())
			st.data.Unpack(0, st.shot)
		}
		p := s.pair(st.peer, r.rank, st.stream)
		p.recvs = append(p.recvs, st)
	}
	s.match(st)
}

func (s *sim) pair(from, to, stream int) *simPair {
	p := s.pairs[[3]int{from, to, stream}]
	if p == nil {
		p = &simPair{}
		s.pairs[[3]int{from, to, stream}] = p
	}
	return p
}

func (s *sim) match(st *simStep) {
	from, to := st.r.rank, st.peer
	if st.kind == simRecv {
		from, to = to, from
	}
	p := s.pair(from, to, st.stream)
	if len(p.sends) > 0 && len(p.recvs) > 0 {
		s.live = append(s.live, &simMatch{p.sends[0], p.recvs[0]})
		p.sends, p.recvs = p.sends[1:], p.recvs[1:]
	}
}

func (s *sim) deliver(m *simMatch) {
	if m.recv.ptr != nil {
		*m.recv.ptr = slices.Clone(m.send.shot)
	} else {
		if m.recv.data.Len() != len(m.send.shot) {
			s.fail("rank %d step %d receives %d bytes from rank %d, wants %d",
				m.recv.r.rank, m.recv.id, len(m.send.shot), m.recv.peer, m.recv.data.Len())
			return
		}
		if !bytes.Equal(m.recv.data.bytes(), m.recv.shot) {
			s.fail("rank %d step %d: the receive buffer was written to", m.recv.r.rank, m.recv.id)
		}
		m.recv.data.Unpack(0, m.send.shot)
	}
	if m.send.sync {
		s.finish(m.send)
	}
	s.finish(m.recv)
}

// finish completes a step; what was waiting for it becomes ready, in the order of creation.
func (s *sim) finish(st *simStep) {
	switch st.kind {
	case simDo:
		if err := st.f(); err != nil {
			s.fail("rank %d step %d: %v", st.r.rank, st.id, err)
		}
	case simSend:
		if !bytes.Equal(st.data.bytes(), st.shot) {
			s.fail("rank %d step %d: the data changed while it was sent to rank %d", st.r.rank, st.id, st.peer)
		}
	}
	st.done = true
	for _, n := range st.next {
		if next := st.r.steps[n]; next.wait > 1 {
			next.wait--
		} else {
			next.wait = 0
			st.r.ready = append(st.r.ready, n)
		}
	}
}

func (s *sim) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// simulate builds the schedule of every rank by build, runs them all twice, and calls check after
// each run. reset, if not nil, brings the operands back before each run: a schedule must not depend
// on what they held while it was built.
func simulate(t *testing.T, seed uint64, size int, build func(rank int, g Graph) []Step, reset func(), check func() error) {
	t.Helper()
	newSim(seed, size).simulate(t, seed, build, reset, check)
}

func (s *sim) simulate(t *testing.T, seed uint64, build func(rank int, g Graph) []Step, reset func(), check func() error) {
	t.Helper()
	for _, r := range s.ranks {
		r.Do(r.wantComplete, build(r.rank, testLayout.place(r, r.rank, len(s.ranks)))...)
		if err := r.checkOrder(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for range 2 {
		if reset != nil {
			reset()
		}
		err := s.run()
		if err == nil {
			err = s.leftOver()
		}
		if err == nil {
			err = check()
		}
		if err != nil {
			t.Fatalf("replay with -coll.seed=%d: %v", seed, err)
		}
	}
}

// wantComplete is a rank's last step: the steps that a collective returned are complete only if all
// of the rank's are.
func (r *simRank) wantComplete() error {
	for _, st := range r.steps[:len(r.steps)-1] {
		if !st.done {
			return fmt.Errorf("step %d (kind %d, peer %d) is not complete when the result says so", st.id, st.kind, st.peer)
		}
	}
	return nil
}

func (s *sim) leftOver() error {
	for k, p := range s.pairs {
		if len(p.sends)+len(p.recvs) > 0 {
			return fmt.Errorf("messages from rank %d to %d are left over", k[0], k[1])
		}
	}
	return nil
}
