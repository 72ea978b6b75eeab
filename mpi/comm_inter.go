package mpi

import (
	"encoding/json"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
)

// What the names of an intercommunicator's own communicators end in.
const (
	localGroup = " (local group)"
	bothGroups = " (both groups)"
)

// deriveInter makes an intercommunicator of a local group, in which the calling rank has
// the given rank, and a remote group. It inherits c's error handler and context.Context.
// low says that the local group is the first of the two; the other side says that it is not.
func (c *Comm) deriveInter(name string, rank int, group, remote []engine.PeerID, low bool, id engine.ContextID) *Comm {
	n := c.derive(name, rank, remote, id)
	n.group, n.places, n.low = group, nil, low
	first, second := n.sides()
	among := rank
	if !low {
		among += len(first)
	}
	n.inner = newComm(c.job, c.scope, name+localGroup, rank, group, 0)
	n.both = newComm(c.job, c.scope, name+bothGroups, among, slices.Concat(first, second), 0)
	// What fails inside fails for the intercommunicator, and its error handler decides.
	outer := &Comm{comm: n.comm}
	n.inner.SetErrhandler(func(_ *Comm, err *Error) error { return outer.fail(err) })
	n.both.SetErrhandler(func(_ *Comm, err *Error) error { return outer.fail(err) })
	n.setContext(id)
	c.job.abroad.note(n.comm)
	return n
}

// sides returns both groups of an intercommunicator in the order on which all ranks agree.
func (c *Comm) sides() (low, high []engine.PeerID) {
	if c.low {
		return c.group, c.peers
	}
	return c.peers, c.group
}

// IsInter reports whether c is an intercommunicator, whose messages go between the ranks
// of two groups: every rank argument and every source is a rank of the other group
// (MPI 4.1, section 7.6.1, MPI_Comm_test_inter).
func (c *Comm) IsInter() bool { return c.inner != nil }

// RemoteSize is the number of ranks in the other group of an intercommunicator; 0 if c is
// none (MPI 4.1, section 7.6.1).
func (c *Comm) RemoteSize() int {
	if !c.IsInter() {
		return 0
	}
	return len(c.peers)
}

// RemoteGroup is the other group of an intercommunicator; the empty group if c is none
// (MPI 4.1, section 7.6.1).
func (c *Comm) RemoteGroup() *Group {
	if !c.IsInter() {
		return GroupEmpty
	}
	return &Group{job: c.job, scope: c.scope, members: c.peers, ranks: c.ranks}
}

// offer is what the leaders of two groups tell each other to make an intercommunicator.
type offer struct {
	Context uint64 // that the leader leads
	Members []run  // its group
}

// plan is what a leader then tells its group.
type plan struct {
	Context uint64
	Low     bool  // its group is the first of the two
	Members []run // of the other group
	Meets   bool  // the groups are of several jobs, and meet
	Class   int   // ErrorClass of what went wrong; Success if nothing did
	Problem string
}

// talk tells the leader of the other group something, and returns what that tells.
type talk func(mine []byte) (theirs []byte, err error)

// IntercommCreate makes an intercommunicator of the ranks of c, the local group, and those of
// another communicator, whose ranks call it too. Each group has a leader, the rank localLeader of
// c. The leaders find each other in peer, where the other leader has the rank remoteLeader. Both
// give the same tag, by which they tell this creation from others that they make in peer at the
// same time. It does not interfere with messages and collectives of peer. peer, remoteLeader and
// tag matter at the leader only, and peer may be an intercommunicator.
//
// The groups must have no rank in common (ErrComm). What a leader finds wrong all ranks of
// its group get as an error. It waits for all ranks of c and for the other leader.
// Collective over both groups (MPI 4.1, section 7.6.2).
func (c *Comm) IntercommCreate(localLeader int, peer *Comm, remoteLeader, tag int) (newcomm *Comm, err error) {
	defer c.begin("IntercommCreate").endMade(&newcomm, &err)
	const op = "IntercommCreate"
	if err := c.checkLocal(op, localLeader); err != nil {
		return nil, c.fail(err)
	}
	return c.join(op, c.Name()+"+inter", localLeader, func() (talk, plan, *Error) { return c.meet(op, peer, remoteLeader, tag) })
}

// join makes an intercommunicator of c, the local group, and of what its leader plans. The leaders
// talk to each other by what meet gives.
func (c *Comm) join(op, name string, localLeader int, meet func() (talk, plan, *Error)) (*Comm, error) {
	agreed := make([]plan, 1)
	var tell talk
	if c.rank == localLeader {
		var err *Error
		if tell, agreed[0], err = meet(); err != nil {
			agreed[0] = plan{Class: int(err.Class), Problem: err.Cause.Error()}
		}
	}
	if err := done(ibcast(c, op, agreed, localLeader)); err != nil {
		return nil, err
	}
	p := agreed[0]
	if p.Class != int(Success) {
		return nil, c.fail(opErrorf(ErrorClass(p.Class), op, "%s", p.Problem))
	}
	members, bad := processesOf(p.Members)
	if bad != nil {
		return nil, c.fail(opError(ErrOther, op, bad))
	}
	if p.Meets {
		if err := c.introduce(op, localLeader, tell, p.Low, members); err != nil {
			return nil, c.fail(err)
		}
	}
	remote, err := c.job.peersOf(op, members)
	if err != nil {
		return nil, c.fail(err)
	}
	return c.deriveInter(name, c.rank, c.group, remote, p.Low, engine.ContextID(p.Context)), nil
}

func (c *Comm) checkLocal(op string, localLeader int) *Error {
	switch err := c.usable(op); {
	case err != nil:
		return err
	case c.IsInter():
		return opErrorf(ErrComm, op, "the local communicator %s is an intercommunicator: need one of one group", c)
	case localLeader < 0 || localLeader >= c.Size():
		return opErrorf(ErrRank, op, "local leader %d: need 0 to %d", localLeader, c.Size()-1)
	}
	return nil
}

// meet is the leader's talk with the other leader in a context of peer.
func (c *Comm) meet(op string, peer *Comm, remoteLeader, tag int) (talk, plan, *Error) {
	if err := c.checkMeeting(op, peer, remoteLeader, tag); err != nil {
		return nil, plan{}, err
	}
	room := newComm(peer.job, peer.scope, peer.Name(), peer.rank, peer.peers, peer.p2p|leaderPurpose)
	tell := c.talkIn(op, room, remoteLeader, tag)
	p, err := c.plan(op, tell)
	return tell, p, err
}

// talkIn is talk with the rank other of a room that both leaders know.
func (c *Comm) talkIn(op string, room *Comm, other, tag int) talk {
	room.SetErrhandler(ErrorsReturn)
	room.ctx = c.ctx
	return func(mine []byte) ([]byte, error) {
		in, out := irecvNew[[]byte](room, op, other, tag, engine.Waits), isend(room, op, modeStandard, [][]byte{mine}, other, tag)
		both := []*Request{in.Request, out}
		waitFor(2, both)
		if err := collectAll(make([]Status, len(both)), both); err != nil {
			return nil, err
		}
		return in.Data()[0], nil
	}
}

// plan agrees with the other leader what is to be made.
func (c *Comm) plan(op string, tell talk) (plan, *Error) {
	return c.planOf(op, tell, c.job.leadContext())
}

// planOf is plan with what this leader gives as the context.
func (c *Comm) planOf(op string, tell talk, lead engine.ContextID) (plan, *Error) {
	mine := offer{Context: uint64(lead), Members: c.job.runsOf(c.group)}
	theirs, err := tellAs(tell, mine)
	if err != nil {
		return plan{}, opError(classOr(err, ErrOther), op, err)
	}
	members, err := processesOf(theirs.Members)
	if err != nil {
		return plan{}, opErrorf(ErrComm, op, "the other leader tells of an impossible group: %w", err)
	}
	own := make([]identity, len(c.group))
	for r, id := range c.group {
		if own[r] = c.job.processOf(id); slices.Contains(members, own[r]) {
			return plan{}, opErrorf(ErrComm, op, "rank %d of %q is in the remote group too: the groups of an intercommunicator have no rank in common", r, c.Name())
		}
	}
	return plan{
		Context: min(mine.Context, theirs.Context), Low: mine.Context < theirs.Context, Members: theirs.Members, Meets: !isOneJob(own, members),
	}, nil
}

// tellAs is tell of a value, which goes as JSON.
func tellAs[T any](tell talk, mine T) (theirs T, err error) {
	b, err := json.Marshal(mine)
	if err == nil {
		b, err = tell(b)
	}
	if err == nil {
		err = json.Unmarshal(b, &theirs)
	}
	return theirs, err
}

func (c *Comm) checkMeeting(op string, peer *Comm, remoteLeader, tag int) *Error {
	if err := peer.usable(op); err != nil {
		return opErrorf(err.Class, op, "the peer communicator: %w", err.Cause)
	}
	if peer.job != c.job {
		return opErrorf(ErrComm, op, "the peer communicator %s belongs to another rank", peer)
	}
	if err := c.scope.mixes(ErrComm, op, peer.scope); err != nil {
		return err
	}
	if remoteLeader < 0 || remoteLeader >= len(peer.peers) {
		return opErrorf(ErrRank, op, "remote leader %d: need 0 to %d", remoteLeader, len(peer.peers)-1)
	}
	if int(peer.peers[remoteLeader]) == c.job.engine.Rank() {
		return opErrorf(ErrRank, op, "remote leader %d is the local leader itself", remoteLeader)
	}
	return checkTag(op, tag, false)
}

// IntercommCreateFromGroups makes an intercommunicator of two groups without parents. The ranks of
// both call it, each with its own group as local, the leader of it as localLeader, and the same
// text, which keeps creations apart that are under way at once. remote, the other group, and
// remoteLeader, its leader, matter at the leader only. info gives the hints and may be nil. errh is
// the error handler, which gets the errors of the creation too. nil stands for what it does in
// CommCreateFromGroup. What a leader finds wrong all ranks of its group get as an error. Collective
// over both groups (MPI 4.1, section 7.6.2, MPI_Intercomm_create_from_groups).
func IntercommCreateFromGroups(local *Group, localLeader int, remote *Group, remoteLeader int, text string, info *Info, errh Errhandler) (newcomm *Comm, err error) {
	const op = "IntercommCreateFromGroups"
	defer local.begin(op).endMade(&newcomm, &err)
	c, err := createFromGroup(op, local, text, nil, errh)
	if err != nil {
		return nil, err
	}
	if err := c.checkLocal(op, localLeader); err != nil {
		return nil, c.fail(err)
	}
	n, err := c.join(op, c.Name()+"+inter", localLeader, func() (talk, plan, *Error) { return c.meetGroup(op, remote, remoteLeader, text) })
	if err != nil {
		return nil, err
	}
	n.hints.set(info)
	return n, nil
}

// meetGroup is the leader's talk with the leader of the remote group in a context of text.
func (c *Comm) meetGroup(op string, remote *Group, remoteLeader int, text string) (talk, plan, *Error) {
	if err := c.Group().usableWith(op, remote); err != nil {
		return nil, plan{}, err
	}
	if err := remote.checkRank(op, remoteLeader); err != nil {
		return nil, plan{}, err
	}
	leaders := []engine.PeerID{c.group[c.rank], remote.members[remoteLeader]}
	if leaders[0] == leaders[1] {
		return nil, plan{}, opErrorf(ErrRank, op, "remote leader %d is the local leader itself", remoteLeader)
	}
	tell := c.talkIn(op, newComm(c.job, c.scope, text, 0, leaders, textContext(text)), 1, 0)
	p, err := c.plan(op, tell)
	if err != nil {
		return nil, plan{}, err
	}
	if said := c.job.runsOf(remote.members); !slices.EqualFunc(p.Members, said, run.equal) {
		return nil, plan{}, opErrorf(ErrGroup, op, "the remote leader says that its group is of the ranks %v, not %v", p.Members, said)
	}
	return tell, p, nil
}

// splitInter makes the intercommunicator of a color from what all ranks of both groups have
// given; nil if one of the groups has no such rank.
func (c *Comm) splitInter(name string, all []splitEntry, color int64) *Comm {
	low, high := c.sides()
	lows, highs := membersOf(all[:len(low)], color), membersOf(all[len(low):], color)
	if len(lows) == 0 || len(highs) == 0 {
		return nil
	}
	id := engine.ContextID(all[lows[0]].Context)
	mine, group, remote := lows, pick(low, lows), pick(high, highs)
	if !c.low {
		mine, group, remote = highs, remote, group
	}
	return c.deriveInter(name, slices.Index(mine, c.rank), group, remote, c.low, id)
}

// Merge makes a communicator of both groups of an intercommunicator. The ranks of the
// group that gives high come after the others; all ranks of a group give the same
// (ErrArg). If both groups give the same, one of them comes first, for all ranks the same.
// Collective over both groups (MPI 4.1, section 7.6.2, MPI_Intercomm_merge).
func (c *Comm) Merge(high bool) (newcomm *Comm, err error) {
	defer c.begin("Merge").endMade(&newcomm, &err)
	const op = "Merge"
	if err := c.usable(op); err != nil {
		return nil, c.fail(err)
	}
	if !c.IsInter() {
		return nil, c.fail(opErrorf(ErrComm, op, "%s is no intercommunicator", c))
	}
	mine := splitEntry{Context: uint64(c.job.leadContext())}
	if high {
		mine.Color = 1
	}
	all, err := gatherEntries(c, op, mine)
	if err != nil {
		return nil, err
	}
	first, second := c.sides()
	if err := sameColor(op, all[:len(first)], all[len(first):]); err != nil {
		return nil, c.fail(err)
	}
	if all[0].Color > all[len(first)].Color {
		first, second = second, first
	}
	members := slices.Concat(first, second)
	rank := slices.Index(members, engine.PeerID(c.job.engine.Rank()))
	return c.derive(c.Name()+"+merged", rank, members, engine.ContextID(all[0].Context)), nil
}

// sameColor checks that all ranks of a side have given the same.
func sameColor(op string, sides ...[]splitEntry) *Error {
	for _, side := range sides {
		for r, e := range side {
			if e.Color != side[0].Color {
				return opErrorf(ErrArg, op, "in one group rank 0 says high %v and rank %d says %v: need the same of all", side[0].Color != 0, r, e.Color != 0)
			}
		}
	}
	return nil
}
