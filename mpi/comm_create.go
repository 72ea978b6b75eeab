package mpi

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
)

// derive makes a communicator that inherits c's error handler and context.Context.
func (c *Comm) derive(name string, rank int, peers []engine.PeerID, id engine.ContextID) *Comm {
	n := newComm(c.job, c.scope, name, rank, peers, id)
	n.errh.Store(c.errh.Load())
	n.ctx = c.ctx
	c.job.abroad.note(n.comm)
	return n
}

// everyone is the communicator of all ranks that take part in collective operations on c:
// c itself, or both groups of an intercommunicator. Operations on it fail as those on c.
func (c *Comm) everyone() *Comm {
	if !c.IsInter() {
		return c
	}
	return &Comm{comm: c.both.comm, ctx: c.ctx, unobserved: c.unobserved}
}

// gatherEntries tells all ranks of c, of both groups in an intercommunicator, what each says.
func gatherEntries[T any](c *Comm, op string, mine T) ([]T, error) {
	a := c.everyone()
	all := make([]T, a.Size())
	if err := done(iallgather(a, op, []T{mine}, all)); err != nil {
		return nil, err
	}
	return all, nil
}

// splitEntry is what each rank tells the others in a Split.
type splitEntry struct {
	Color, Key int64
	Context    uint64
}

// Split makes one communicator for each color. Its ranks are those that gave that color, in the
// order of key, and of their rank in c for equal keys. A rank whose color is Undefined gets nil;
// any other negative color is an error of class ErrArg.
//
// Of an intercommunicator it makes intercommunicators: each has the ranks of a color in either
// group. A rank gets nil if no rank of the other group gave its color. Collective, in both groups
// of an intercommunicator (MPI 4.1, section 7.4.2).
func (c *Comm) Split(color, key int) (newcomm *Comm, err error) {
	defer c.begin("Split").endMade(&newcomm, &err)
	const op = "Split"
	if err := c.usable(op); err != nil {
		return nil, c.fail(err)
	}
	if color < 0 && color != Undefined {
		return nil, c.fail(opErrorf(ErrArg, op, "color %d: need 0 or more, or Undefined", color))
	}
	return c.split(op, fmt.Sprintf("%s/%d", c.Name(), color), color, key)
}

// split is Split of checked arguments into communicators that get the name.
func (c *Comm) split(op, name string, color, key int) (*Comm, error) {
	all, err := gatherEntries(c, op, splitEntry{int64(color), int64(key), uint64(c.job.leadContext())})
	if err != nil || color == Undefined {
		return nil, err
	}
	if c.IsInter() {
		return c.splitInter(name, all, int64(color)), nil
	}
	members := membersOf(all, int64(color))
	id := engine.ContextID(all[members[0]].Context)
	return c.derive(name, slices.Index(members, c.rank), pick(c.group, members), id), nil
}

// membersOf returns the ranks of a color in their new order.
func membersOf(all []splitEntry, color int64) []int {
	var members []int
	for r, e := range all {
		if e.Color == color {
			members = append(members, r)
		}
	}
	slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(all[a].Key, all[b].Key) })
	return members
}

// pick returns the peers with the given ranks.
func pick(peers []engine.PeerID, ranks []int) []engine.PeerID {
	picked := make([]engine.PeerID, len(ranks))
	for i, r := range ranks {
		picked[i] = peers[r]
	}
	return picked
}

// World is the communicator of all ranks of the job that c belongs to: what Main gave (MPI 4.1,
// section 7.2.4, MPI_COMM_WORLD). In a program that has sessions only, and calls neither Init nor
// Main, its operations fail (ErrComm), and so do those of Self.
func (c *Comm) World() *Comm { return c.job.world }

// Self is the communicator of the calling rank alone (MPI 4.1, section 7.2.4, MPI_COMM_SELF).
func (c *Comm) Self() *Comm { return c.job.self }

// createEntry is what each rank tells the others in a Create.
type createEntry struct {
	Group   uint64 // names the group that it gives
	Rank    int64  // its own rank in that group, or Undefined
	Context uint64
}

// Create makes a communicator of the ranks in g, in the order of g; ranks that are not in g get
// nil. All members of g give the same group; ranks that are in different groups may give those, and
// each of the groups gets a communicator. g may be GroupEmpty, and must be a subset of c's group
// (ErrGroup).
//
// Of an intercommunicator it makes an intercommunicator. The one group has the ranks of c's local
// group that are in g, which all ranks of a group give alike. The other has the ranks that the
// other group of c names. It is nil if either is empty. Collective, in both groups of an
// intercommunicator (MPI 4.1, section 7.4.2, MPI_Comm_create).
func (c *Comm) Create(g *Group) (newcomm *Comm, err error) {
	defer c.begin("Create").endMade(&newcomm, &err)
	const op = "Create"
	if err := c.checkSubset(op, g); err != nil {
		return nil, c.fail(err)
	}
	sum, rank := c.job.sumOf(g.members), g.Rank()
	all, err := gatherEntries(c, op, createEntry{sum, int64(rank), uint64(c.job.leadContext())})
	if err != nil {
		return nil, err
	}
	concerned := g // the ranks that must have given the same group
	if c.IsInter() {
		concerned = c.Group()
	}
	if concerned.Rank() != Undefined {
		if err := c.checkSame(op, concerned, all, sum); err != nil {
			return nil, c.fail(err)
		}
	}
	if rank == Undefined {
		return nil, nil
	}
	name := c.Name() + "/group"
	if c.IsInter() {
		entries := make([]splitEntry, len(all))
		for i, e := range all {
			entries[i] = splitEntry{Color: e.Rank, Key: e.Rank, Context: e.Context}
			if e.Rank != Undefined {
				entries[i].Color = 0
			}
		}
		return c.splitInter(name, entries, 0), nil
	}
	id := engine.ContextID(all[c.rankOf(g.members[0])].Context)
	return c.derive(name, rank, g.members, id), nil
}

// checkSubset says why g cannot be made a communicator of ranks of c.
func (c *Comm) checkSubset(op string, g *Group) *Error {
	if err := c.usable(op); err != nil {
		return err
	}
	if err := g.usable(op); err != nil {
		return err
	}
	if g.job != nil && g.job != c.job {
		return opErrorf(ErrGroup, op, "%s belongs to another rank of this process: a group is of use to the rank that made it", g)
	}
	if g.scope != nil {
		if err := g.scope.mixes(ErrGroup, op, c.scope); err != nil {
			return err
		}
	}
	for r, p := range g.members {
		if c.localRanks().of(p) < 0 {
			return opErrorf(ErrGroup, op, "rank %d of the group, world rank %d, is not in %s: need a subset of its group", r, p, c)
		}
	}
	return nil
}

// checkSame says which member of g has given another group than the calling rank.
func (c *Comm) checkSame(op string, g *Group, all []createEntry, sum uint64) *Error {
	among := c.everyone()
	for _, p := range g.members {
		if all[among.rankOf(p)].Group != sum {
			return opErrorf(ErrGroup, op, "rank %d has given another group: all members of a group must give the same, in the same order", c.localRanks().of(p))
		}
	}
	return nil
}

// sumOf names a list of peers, so that two ranks can see whether theirs are the same.
func (j *job) sumOf(peers []engine.PeerID) uint64 {
	h := fnv.New64a()
	mixed := j.isMixed(peers)
	for _, p := range peers {
		if mixed {
			q := j.processOf(p)
			h.Write(binary.LittleEndian.AppendUint32([]byte(q.job), uint32(q.rank)))
			continue
		}
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(p)))
	}
	return h.Sum64()
}

// CreateGroup makes a communicator of the ranks in g, in the order of g. Only these call it, while
// other ranks of c do what they like. A rank that is not in g, or for which g is empty, gets nil at
// once. Several creations in c may be under way at once, in different goroutines, if they have
// different tags, 0 to TagUB. Those tags have nothing to do with the tags of messages. Creations
// with one tag are started in the same order at all ranks that they have in common.
//
// g must be a subset of c's group (ErrGroup), and c no intercommunicator (ErrComm).
// Collective over g (MPI 4.1, section 7.4.2, MPI_Comm_create_group).
func (c *Comm) CreateGroup(g *Group, tag int) (newcomm *Comm, err error) {
	defer c.begin("CreateGroup").endMade(&newcomm, &err)
	const op = "CreateGroup"
	if err := c.checkSubset(op, g); err != nil {
		return nil, c.fail(err)
	}
	if c.IsInter() {
		return nil, c.fail(opErrorf(ErrComm, op, "%s is an intercommunicator: need one of one group", c))
	}
	if err := checkTag(op, tag, false); err != nil {
		return nil, c.fail(err)
	}
	if g.Rank() == Undefined {
		return nil, nil
	}
	n := c.derive(c.Name()+"/group", g.Rank(), g.members, c.p2p|groupPurpose)
	n.collSeq.Store(uint32(tag))
	n.settles = true
	return n.settle(op, c.job.leadContext())
}

// settle gives n, which has a context for this one agreement, one of its own: that which
// its rank 0 leads. The messages of the agreement have the number that n's next collective
// would have.
func (n *Comm) settle(op string, lead engine.ContextID) (*Comm, error) {
	said := []uint64{uint64(lead), n.job.sumOf(n.group)}
	if err := done(ibcast(n, op, said, 0)); err != nil {
		return nil, err
	}
	if said[1] != n.job.sumOf(n.group) {
		return nil, n.fail(opErrorf(ErrGroup, op, "rank 0 of the group has given another group: all members must give the same, in the same order"))
	}
	n.setContext(engine.ContextID(said[0]))
	n.collSeq.Store(0)
	n.settles = false
	return n, nil
}

// CommCreateFromGroup makes a communicator of the ranks in g without a parent, in the session that
// g comes from, if it comes from one. Only these ranks call it, all with the same text. text keeps
// creations apart that are under way at once, and becomes the name. info gives the hints and may be
// nil. errh is the error handler, which gets the errors of the creation too. nil stands for
// ErrorsReturn under Main and in RunThreads, else for ErrorsAreFatal. The calling rank must be in g
// (ErrGroup). Collective over g (MPI 4.1, section 7.4.2, MPI_Comm_create_from_group).
func CommCreateFromGroup(g *Group, text string, info *Info, errh Errhandler) (*Comm, error) {
	return g.begin("CommCreateFromGroup").made(createFromGroup("CommCreateFromGroup", g, text, info, errh))
}

func createFromGroup(op string, g *Group, text string, info *Info, errh Errhandler) (*Comm, error) {
	if err := g.usable(op); err != nil {
		return nil, err
	}
	if g.job == nil {
		return nil, opErrorf(ErrGroup, op, "the calling rank is not in GroupEmpty")
	}
	if errh == nil {
		errh = firstHandler[*Comm](g.job)
	}
	n := newComm(g.job, g.scope, text, g.Rank(), slices.Clip(g.members), textContext(text))
	n.SetErrhandler(errh)
	n.hints.set(info)
	g.job.abroad.note(n.comm)
	if err := n.usable(op); err != nil {
		return nil, n.fail(err)
	}
	if g.Rank() == Undefined {
		return nil, n.fail(opErrorf(ErrGroup, op, "the calling rank is not in %s", g))
	}
	return n.settle(op, g.job.leadContext())
}

// textContext is the context for agreements about what the text names.
func textContext(text string) engine.ContextID {
	sum := sha256.Sum256([]byte(text))
	return textPurpose | engine.ContextID(binary.LittleEndian.Uint64(sum[:]))&^(purposes|collectiveBit)
}
