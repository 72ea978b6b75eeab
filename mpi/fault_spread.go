package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
)

// How all ranks learn what one of them knows. It may know that a communicator is revoked. In a job
// that goes on without its dead, though its launcher does not say which ranks they are, it may also
// know that a rank has failed. (Where the launcher says so, ranks keep to themselves what they only
// infer from connections. Otherwise a rank that others hold to be dead, and have hung up on, would
// tell the rest that those others had failed.)
//
// A rank that hears such a thing for the first time tells it on. It tells the ranks that are 1, 2,
// 4, 8 ... places behind it in the list of those concerned that live, as far as it knows. So of n
// ranks none says more than log2 n things, and all know after as many steps. A rank that dies in
// the middle is in no other rank's way. Its successor in the list gets the news from its
// predecessor, once that knows of the death.

// faults is what a rank knows of what is broken.
type faults struct {
	hasFT   bool // immutable after start: the job goes on without ranks that die
	gossips bool // immutable after start: ranks tell each other which ranks have failed
	worded  bool // immutable after start: the launcher says so of every rank that has, and ends one that was lost although it lives

	count   atomic.Uint32                      // of revoked; read by anyone
	mu      sync.Mutex                         // never held in a call of the engine, which may run the handlers of this rank and of others
	revoked map[engine.ContextID]*revocation   // guarded by mu; by family. Nothing leaves it: messages of a revoked communicator may come any time
	strange map[engine.PeerID]int              // guarded by mu: how many in revoked this rank has not had, by the rank that told; at most maxStrange
	unknown map[engine.ContextID]engine.PeerID // guarded by mu: those, and the rank that told
	gone    []engine.PeerID                    // guarded by mu: failed or left

	words  map[engine.PeerID]bool  // guarded by mu: ranks of which the launcher has said that they failed
	missed map[engine.PeerID]error // guarded by mu: ranks that were lost, and why, of which the launcher was not told
	parted bool                    // guarded by mu: this rank is through with the last meeting of all
}

// maxStrange is of how many communicators that this rank does not have, because it has freed them,
// or has not made them yet, another may say that they are revoked; those that it makes later do not
// count. Each is kept for the life of the job, with its list of ranks.
const maxStrange = 4096

// revocation is a communicator that was revoked.
type revocation struct {
	by    engine.PeerID
	group []engine.PeerID        // its ranks, in the same order at each of them; nil: not known yet
	mixed bool                   // some of them are ranks of other jobs
	told  map[engine.PeerID]bool // by this rank
}

// What a signal about the context of messages of a communicator says; its first byte.
const (
	saysRevoked = 1 // the communicator is revoked: by which rank, and its ranks
	saysFailed  = 2 // a rank has failed: which, and why. It has nothing to do with the context, which is 0
	saysNothing = 3 // see job.ask
	saysIdle    = 4 // the sender is idle, and wants an answer: see job_idle.go
	saysIdled   = 5 // the answer
	saysAwake   = 6 // it takes part again
	saysForeign = 7 // a rank of another job has failed: which, and why; see job_abroad_end.go
)

// maxCause bounds the text of a cause that is told on, in bytes.
const maxCause = 1 << 10

// has reports whether the communicators of the family are revoked.
func (f *faults) has(family engine.ContextID) bool { return f.find(family) != nil }

func (f *faults) find(family engine.ContextID) *revocation {
	if f.count.Load() == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.revoked[family]
}

// revoke revokes what has the family of contexts, if that is new, and tells the others. group may
// be nil: not known.
func (j *job) revoke(family engine.ContextID, by engine.PeerID, group []engine.PeerID) {
	f := &j.faults
	f.mu.Lock()
	r := f.revoked[family]
	fresh := r == nil
	if fresh {
		r = &revocation{by: by, told: make(map[engine.PeerID]bool)}
		if f.revoked == nil {
			f.revoked = make(map[engine.ContextID]*revocation)
		}
		f.revoked[family] = r
		f.count.Add(1)
	}
	if r.group == nil && group != nil {
		r.mixed = j.isMixed(group)
		r.group = j.ordered(group)
	}
	out := f.tellLocked(family, r, j.me(), nil)
	f.mu.Unlock()
	if fresh {
		j.engine.Revoke(family, &revokedError{j.describePeer(r.by)})
	}
	j.say(out)
}

// ordered is a group in an order on which all its ranks agree.
func (j *job) ordered(group []engine.PeerID) []engine.PeerID {
	return slices.SortedFunc(slices.Values(group), func(p, q engine.PeerID) int { return j.processOf(p).compare(j.processOf(q)) })
}

// me is the calling rank's number in the world.
func (j *job) me() engine.PeerID { return engine.PeerID(j.engine.Rank()) }

// outSignal is a signal to be sent when no mutex is held.
type outSignal struct {
	to      engine.PeerID
	ctx     engine.ContextID
	payload []byte
}

func (j *job) say(out []outSignal) {
	for _, l := range out {
		_ = j.engine.Signal(l.to, l.ctx, l.payload) // to a rank that is gone, of which we hear
	}
}

// tellLocked appends what is to be told of r to those successors that live and were not told.
func (f *faults) tellLocked(family engine.ContextID, r *revocation, me engine.PeerID, out []outSignal) []outSignal {
	var payload []byte
	for _, p := range successors(r.group, me, f.gone) {
		if r.told[p] {
			continue
		}
		if payload == nil {
			payload = revokeSays(r)
		}
		r.told[p] = true
		out = append(out, outSignal{p, family, payload})
	}
	return out
}

// successors are the ranks that are 1, 2, 4 ... places behind me among the group, without those
// that are gone.
func successors(group []engine.PeerID, me engine.PeerID, gone []engine.PeerID) (to []engine.PeerID) {
	living := group
	if len(gone) > 0 {
		living = slices.DeleteFunc(slices.Clone(group), func(p engine.PeerID) bool { return slices.Contains(gone, p) })
	}
	i := slices.Index(living, me)
	if i < 0 {
		return nil
	}
	for d := 1; d < len(living); d *= 2 {
		to = append(to, living[(i+d)%len(living)])
	}
	return to
}

// revokeSays is the signal: which rank has revoked, and runs of consecutive ranks, each as its
// first and its length. Where these are too many for a signal the ranks are left out. Then a rank
// that hears it tells no other rank until it has the communicator. Where some are ranks of other
// jobs, for which these numbers mean nothing, all is left out.
func revokeSays(r *revocation) []byte {
	if r.mixed {
		return []byte{saysRevoked}
	}
	b := binary.AppendUvarint([]byte{saysRevoked}, uint64(r.by))
	short := len(b)
	for i := 0; i < len(r.group); {
		n := 1
		for i+n < len(r.group) && r.group[i+n] == r.group[i]+engine.PeerID(n) {
			n++
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.group[i])), uint64(n))
		i += n
	}
	if len(b) > engine.MaxSignal {
		return b[:short]
	}
	return b
}

// readRevoke is the inverse of revokeSays, of what follows its first byte, among so many ranks. by
// is AnyPeer if that is left out.
func readRevoke(b []byte, size int) (by engine.PeerID, group []engine.PeerID, ok bool) {
	if len(b) == 0 {
		return engine.AnyPeer, nil, true
	}
	next := func() int {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > uint64(size) {
			b, ok = nil, false
			return 0
		}
		b = b[n:]
		return int(v)
	}
	ok = true
	by = engine.PeerID(next())
	for last := 0; ok && len(b) > 0; {
		first, n := next(), next()
		if first < last || n < 1 || first+n > size {
			return 0, nil, false
		}
		for k := range n {
			group = append(group, engine.PeerID(first+k))
		}
		last = first + n
	}
	return by, group, ok && int(by) < size
}

var errTooManyRevoked = fmt.Errorf("it has revoked more than %d communicators that this rank does not have: its memory is corrupt, or the job revokes communicators that others have freed, over and over", maxStrange)

// countStrange counts one more communicator, if it is news, of which from says that it is revoked,
// and that this rank does not have. It reports false if there are too many.
func (f *faults) countStrange(from engine.PeerID, family engine.ContextID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.revoked[family] != nil {
		return true
	}
	if f.strange[from] == maxStrange {
		return false
	}
	if f.strange == nil {
		f.strange, f.unknown = make(map[engine.PeerID]int), make(map[engine.ContextID]engine.PeerID)
	}
	f.strange[from]++
	f.unknown[family] = from
	return true
}

// acquaint learns that this rank has a communicator now.
func (f *faults) acquaint(family engine.ContextID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if from, ok := f.unknown[family]; ok {
		f.strange[from]--
		delete(f.unknown, family)
	}
}

var errBadSignal = errors.New("it has sent a signal that no rank sends: the ranks are of different versions, or its memory is corrupt")

// hear takes a signal about communicators or failures.
func (j *job) hear(from engine.PeerID, ctx engine.ContextID, payload []byte) {
	size := j.engine.Size()
	if j.isForeign(from) && len(payload) > 1 {
		j.engine.FailPeer(from, errBadSignal) // it has told numbers of ranks, which mean nothing here
		return
	}
	switch {
	case len(payload) > 0 && payload[0] == saysRevoked:
		by, told, ok := readRevoke(payload[1:], size)
		if !ok {
			break
		}
		own := j.ownGroup(ctx)
		if own == nil && !j.faults.countStrange(from, ctx&contextFamily) {
			j.engine.FailPeer(from, errTooManyRevoked)
			return
		}
		if told == nil {
			told = own
		}
		if by == engine.AnyPeer {
			by = from
		}
		j.revoke(ctx&contextFamily, by, told)
		return
	case len(payload) > 0 && payload[0] == saysForeign && j.hearForeign(payload[1:]):
		return
	case len(payload) == 1 && payload[0] == saysNothing, j.hearIdle(from, payload):
		return
	case len(payload) > 0 && payload[0] == saysFailed:
		if rank, n := binary.Uvarint(payload[1:]); n > 0 && rank < uint64(size) {
			j.engine.FailPeer(engine.PeerID(rank), errors.New(string(payload[1+n:])))
			return
		}
	}
	j.engine.FailPeer(from, errBadSignal)
}

// ownGroup is the group of the communicator of ctx if this rank has it, else nil.
func (j *job) ownGroup(ctx engine.ContextID) []engine.PeerID {
	if _, e, ok := j.comms.entry(ctx | bothPurpose); ok {
		return e.group
	}
	_, e, _ := j.comms.entry(ctx)
	return e.group
}

// adopt tells on, now that this rank has the communicator, that it was revoked before.
func (j *job) adopt(c *comm) {
	if c.p2p&purposes != 0 {
		return // it is a part of the communicator, or an agreement of some of its ranks
	}
	if r := j.faults.find(c.family()); r != nil {
		group := c.group
		if c.both != nil {
			group = c.both.group
		}
		j.faults.acquaint(c.family())
		j.revoke(c.family(), r.by, group)
	}
}

// lose learns that a rank has failed, or left.
func (j *job) spreadFailure(peer engine.PeerID, err *engine.PeerError) {
	f := &j.faults
	f.mu.Lock()
	f.gone = append(f.gone, peer)
	var out []outSignal
	for family, r := range f.revoked {
		if slices.Contains(r.group, peer) {
			out = f.tellLocked(family, r, j.me(), out)
		}
	}
	if f.gossips && !err.Left && !j.isForeign(peer) {
		out = append(out, f.failedSaysLocked(j.engine.Size(), j.me(), peer, err.Cause)...)
	}
	if j.isForeign(peer) && !err.Left {
		out = append(out, j.foreignSaysLocked(peer, err)...)
	}
	f.mu.Unlock()
	j.say(out)
	if !err.Left {
		j.shutCollectives(peer, err)
	}
}

// failedSaysLocked are the signals by which the ranks that live learn that a rank of the world has
// failed.
func (f *faults) failedSaysLocked(size int, me, failed engine.PeerID, cause error) (out []outSignal) {
	world := make([]engine.PeerID, size)
	for r := range world {
		world[r] = engine.PeerID(r)
	}
	b := binary.AppendUvarint([]byte{saysFailed}, uint64(failed))
	b = append(b, toldCause(cause)...)
	for _, p := range successors(world, me, f.gone) {
		out = append(out, outSignal{p, 0, b})
	}
	return out
}

// toldCause is a cause as it is told on.
func toldCause(cause error) string {
	text := "no cause is known"
	if cause != nil {
		text = cause.Error()
	}
	return text[:min(len(text), maxCause)]
}

// shutCollectives ends the contexts of the collectives of all communicators that peer belongs to:
// none of them can be completed any more, nor begun, so what comes of them is dropped. The
// agreements of CreateGroup have contexts that other groups use again.
func (j *job) shutCollectives(peer engine.PeerID, err *engine.PeerError) {
	for _, ctx := range j.comms.collectivesOf(peer) {
		switch ctx & purposes {
		case 0, innerPurpose, bothPurpose:
			if ctx&contextFamily != contextID(0, contextFinalize) {
				j.engine.Shut(ctx, err)
			}
		}
	}
}
