package mpi

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
)

// Ranks of other jobs. The engine numbers its peers: first the ranks of the job, by rank, then
// those of other jobs, in the order in which this rank was introduced to them. So the number of
// such a peer means something at this rank alone. What ranks tell each other of groups that may
// hold ranks of several jobs goes by processes, which are the same for all.

// identity names a rank of any job.
type identity struct {
	job  string // the bytes of its id
	rank int
}

func (p identity) compare(q identity) int {
	return cmp.Or(cmp.Compare(p.job, q.job), cmp.Compare(p.rank, q.rank))
}

// abroad is what a rank knows of ranks of other jobs.
type abroad struct {
	knows       atomic.Bool           // there are any; it stays so
	numbers     atomic.Pointer[[]int] // of names, see job.numberOf; replaced as a whole, with mu held
	introducing sync.Mutex            // held while the engine is told of some

	mu    sync.Mutex
	names []identity                 // guarded by mu; of the peers beyond those of the job, by number
	peers map[identity]engine.PeerID // guarded by mu; the inverse, of those with which this rank is connected
	comms []*comm                    // guarded by mu; of the user's, with ranks of other jobs
}

// isForeign reports whether a peer is a rank of another job.
func (j *job) isForeign(p engine.PeerID) bool { return int(p) >= j.engine.Size() }

// isMixed reports whether any of the peers is a rank of another job.
func (j *job) isMixed(peers []engine.PeerID) bool {
	return j.abroad.knows.Load() && slices.ContainsFunc(peers, j.isForeign)
}

// processOf names a peer.
func (j *job) processOf(p engine.PeerID) identity {
	if !j.isForeign(p) {
		return identity{j.id, int(p)}
	}
	j.abroad.mu.Lock()
	defer j.abroad.mu.Unlock()
	return j.abroad.names[int(p)-j.engine.Size()]
}

// peerOf is the peer with an identity; false if this rank was not introduced to it.
func (j *job) peerOf(p identity) (engine.PeerID, bool) {
	if p.job == j.id {
		return engine.PeerID(p.rank), p.rank >= 0 && p.rank < j.engine.Size()
	}
	j.abroad.mu.Lock()
	defer j.abroad.mu.Unlock()
	id, ok := j.abroad.peers[p]
	return id, ok
}

// peersOf is peerOf for each of some processes, which this rank all knows.
func (j *job) peersOf(op string, ps []identity) ([]engine.PeerID, *Error) {
	ids := make([]engine.PeerID, len(ps))
	for i, p := range ps {
		id, ok := j.peerOf(p)
		if !ok {
			return nil, opErrorf(ErrComm, op, "this rank has never met rank %d of the job %x", p.rank, p.job)
		}
		ids[i] = id
	}
	return ids, nil
}

// beyond is the number of a rank that the launcher does not know: one of another launcher.
const beyond = math.MaxInt32

// numberOf is the number by which the launcher knows a peer: see boot.Kin. It takes no lock.
func (j *job) numberOf(p engine.PeerID) int {
	switch numbers := j.abroad.numbers.Load(); {
	case p < 0:
		return int(p) // any peer
	case int(p) < j.size:
		return j.kin.First + int(p)
	case numbers != nil && int(p)-j.size < len(*numbers):
		return (*numbers)[int(p)-j.size]
	}
	return beyond
}

// numberIn is the number that a rank of another job has by its card.
func (j *job) numberIn(p identity, c *card) int {
	root, number := c.Root, c.Number
	if root == "" { // of the first job of a launcher
		root, number = hex.EncodeToString([]byte(p.job)), p.rank
	}
	if root != j.kin.Root || number < 0 {
		return beyond
	}
	return number
}

// describePeer names a peer for people.
func (j *job) describePeer(p engine.PeerID) string {
	if !j.isForeign(p) {
		return fmt.Sprintf("world rank %d", p)
	}
	q := j.processOf(p)
	return fmt.Sprintf("rank %d of the job %.4x", q.rank, q.job)
}

// run is processes of one job with consecutive ranks: groups are told by few of these.
type run struct {
	Job          []byte
	First, Count int
}

func (r run) equal(s run) bool {
	return string(r.Job) == string(s.Job) && r.First == s.First && r.Count == s.Count
}

// String is for people.
func (r run) String() string {
	if r.Count == 1 {
		return strconv.Itoa(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.First+r.Count-1)
}

// runsOf are the runs of a group, in its order.
func (j *job) runsOf(group []engine.PeerID) []run {
	var runs []run
	for _, id := range group {
		p := j.processOf(id)
		if n := len(runs) - 1; n >= 0 && string(runs[n].Job) == p.job && runs[n].First+runs[n].Count == p.rank {
			runs[n].Count++
			continue
		}
		runs = append(runs, run{[]byte(p.job), p.rank, 1})
	}
	return runs
}

// mostMembers bounds a group that another job tells of.
const mostMembers = 1 << 24

// processesOf is the inverse of runsOf. It checks what another rank has told.
func processesOf(runs []run) ([]identity, error) {
	var ps []identity
	seen := make(map[identity]bool)
	for _, r := range runs {
		if len(r.Job) != jobLen || r.First < 0 || r.Count < 1 || r.Count > mostMembers-len(ps) {
			return nil, fmt.Errorf("a group cannot have %d ranks from %d of the job %x", r.Count, r.First, r.Job)
		}
		for i := range r.Count {
			p := identity{string(r.Job), r.First + i}
			if seen[p] {
				return nil, fmt.Errorf("a group cannot have rank %d of the job %x twice", p.rank, r.Job)
			}
			seen[p] = true
			ps = append(ps, p)
		}
	}
	if len(ps) == 0 {
		return nil, errors.New("a group cannot be empty")
	}
	return ps, nil
}

// jobLen is the number of bytes in the id of a job.
const jobLen = 16

// isOneJob reports whether all processes of both groups are of one job.
func isOneJob(a, b []identity) bool {
	first := a[0].job
	other := func(p identity) bool { return p.job != first }
	return !slices.ContainsFunc(a, other) && !slices.ContainsFunc(b, other)
}

// randomContext is the name of a context that ranks of several jobs lead, whose counts of contexts
// do not know of each other: 59 random bits, and one that no name by count has set.
func randomContext() engine.ContextID {
	var b [8]byte
	rand.Read(b[:])
	id := engine.ContextID(binary.LittleEndian.Uint64(b[:]))
	return id&^(purposes|collectiveBit) | mixedContext
}
