package mpi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/callsite"
	"github.com/fitmpi/fitmpi/mpi/internal/agree"
)

// What ranks of an agreement are in for. They must all mean the same.
const (
	forAgree  uint8 = 1
	forShrink uint8 = 2
)

// Agree returns the bitwise AND of the flags that all living ranks of c give, whatever fails before
// and meanwhile. Every rank that gets an answer at all gets the same value, or the same class of
// error, those that fail afterwards included. The flags of ranks that have failed may be in it or
// not. It works on communicators that are revoked, and over both groups of an intercommunicator.
//
// A rank says that it knows of a failure by AckFailed before the call. If not all ranks have said
// so of a failed rank, the error is of class [ErrProcFailed] at every rank. The value is agreed on
// none the less. So a rank that gets no error knows that all know of the same failures.
//
// It returns when all ranks that live have called it, after some two times the time of an
// Allreduce. Calls of Agree, Iagree, Shrink and Ishrink on c are matched in their order, which must
// be the same at all ranks: where some agree and others shrink, the error is of class [ErrNotSame]
// for all. The assumption is that a rank which is held to have failed is dead, or soon ended by the
// launcher, as under fitrun. Collective (fault tolerance as proposed to the MPI Forum,
// MPIX_Comm_agree).
func (c *Comm) Agree(flag int) (agreed int, err error) {
	defer c.begin("Agree").endAt(&err)
	_, err = c.agreeOn("Agree", &flag).wait()
	return flag, err
}

// Iagree starts an Agree and returns. flag holds what the caller gives, which is taken at once, and
// gets the agreed value when the request is completed; until then it is the library's. It goes on
// while the caller computes. Collective (fault tolerance as proposed to the MPI Forum,
// MPIX_Comm_iagree).
func (c *Comm) Iagree(flag *int) *Request {
	return c.begin("Iagree").started(c.agreeOn("Iagree", flag))
}

func (c *Comm) agreeOn(op string, flag *int) *Request {
	if err := c.requireFT(op); err != nil {
		return failedRequest(c, err)
	}
	if flag == nil {
		return failedRequest(c, opErrorf(ErrArg, op, "the flag is nil: give a variable that holds what this rank gives and gets what is agreed"))
	}
	return c.accord(op, agree.Value{Flag: uint64(*flag), Kinds: forAgree}, func(v *agree.Value) *Error {
		*flag = int(v.Flag)
		if !v.Failed.Within(v.Known) {
			return c.unknownFailures(op, v)
		}
		return nil
	})
}

// tolerant says why c cannot even agree. That it is revoked is no reason.
func (c *Comm) requireFT(op string) *Error {
	if err := c.present(op); err != nil {
		return err
	}
	if n := c.everyone().Size(); n > agree.MaxMembers {
		return opErrorf(ErrComm, op, "%s has %d ranks: agreements are for at most %d", c, n, agree.MaxMembers)
	}
	return nil
}

// accord starts an agreement to which the calling rank gives v; deliver gets what is agreed, in the
// thread that waits.
func (c *Comm) accord(op string, v agree.Value, deliver func(v *agree.Value) *Error) *Request {
	for _, p := range c.acknowledged() {
		v.Known.Add(c.everyone().rankOf(p))
	}
	m, called := new(accord), c.comm.count(op)
	callsite.Note(m.mso.Origin[:])
	c.job.accords.begin(c, m, v)
	r := newRequest(c, op)
	r.m = &m.mso
	r.held = true
	r.more().finish = func(*Request) (Status, *Error) {
		called.end(&m.mso)
		switch {
		case m.mso.Err != nil:
			return emptyStatus(), c.engineError(op, m.mso.Err, -1, 0, 0)
		case m.outcome.Kinds&(m.outcome.Kinds-1) != 0:
			return emptyStatus(), opErrorf(ErrNotSame, op, "some ranks agree while others shrink: the calls on a communicator must be in the same order at all ranks")
		}
		return emptyStatus(), deliver(&m.outcome)
	}
	return r
}

// unknownFailures is the error of an agreement in spite of failures that not all ranks know of.
func (c *Comm) unknownFailures(op string, v *agree.Value) *Error {
	unknown := v.Failed.Clone()
	for _, r := range v.Known.Members() {
		unknown.Remove(r)
	}
	var worlds []engine.PeerID
	for _, r := range unknown.Members() {
		worlds = append(worlds, c.everyone().group[r])
	}
	slices.Sort(worlds)
	return opErrorf(ErrProcFailed, op, "%s failed, and not all ranks have acknowledged that: call AckFailed at all", c.job.namesOf(worlds)).with(c.rankOf(worlds[0]))
}

// namesOf names some peers for people.
func (j *job) namesOf(ps []engine.PeerID) string {
	if !j.isMixed(ps) {
		return worldRanks(ps)
	}
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = j.describePeer(p)
	}
	return strings.Join(names, ", ")
}

// worldRanks names some ranks of the world.
func worldRanks(rs []engine.PeerID) string {
	text, many := "", ""
	const most = 8
	for i, r := range rs[:min(len(rs), most)] {
		if i > 0 {
			text, many = text+",", "s"
		}
		text += fmt.Sprintf(" %d", r)
	}
	if more := len(rs) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "world rank" + many + text
}

// Shrink makes a communicator of the ranks of c that live, in their order. All ranks agree on which
// these are, whatever fails before and meanwhile, in the time of one Agree. It works on
// communicators that are revoked. The new one is as any other, with c's error handler and nothing
// else of c: no attributes, topology or hints. A rank that fails too late for this agreement is
// still in the new one: its operations say so, and it can be shrunk in turn.
//
// Of an intercommunicator it makes an intercommunicator; nil if no rank is left of one of the
// groups. It returns when all ranks that live have called it, or Ishrink; see [Comm.Agree] for what
// it is matched with. Collective (fault tolerance as proposed to the MPI Forum, MPIX_Comm_shrink).
func (c *Comm) Shrink() (*Comm, error) {
	told := c.begin("Shrink")
	r := c.shrink("Shrink")
	_, err := r.Request.wait()
	return told.made(r.comm, err)
}

// Ishrink starts a Shrink and returns. Comm gives the new communicator after Wait. It goes on while
// the caller computes. Collective (fault tolerance as proposed to the MPI Forum,
// MPIX_Comm_ishrink).
func (c *Comm) Ishrink() *Creation { return c.begin("Ishrink").creates(c.shrink("Ishrink")) }

func (c *Comm) shrink(op string) *Creation {
	if err := c.requireFT(op); err != nil {
		return &Creation{Request: failedRequest(c, err)}
	}
	r := &Creation{}
	r.Request = c.accord(op, agree.Value{Kinds: forShrink, Token: uint64(c.job.leadContext())}, func(v *agree.Value) *Error {
		if v.Failed.Has(c.everyone().rank) {
			return opErrorf(ErrProcFailed, op, "the others hold this rank to have failed: it cannot go on")
		}
		r.comm = c.without(v.Failed, engine.ContextID(v.Token))
		return nil
	})
	return r
}

// without makes a communicator of c's ranks that are not in failed, by their ranks in everyone; nil
// if a group of an intercommunicator has none.
func (c *Comm) without(failed agree.Set, id engine.ContextID) *Comm {
	all := c.everyone()
	living := func(from []engine.PeerID) (left []engine.PeerID, self int) {
		self = -1
		for _, p := range from {
			if !failed.Has(all.rankOf(p)) {
				if p == c.group[c.rank] {
					self = len(left)
				}
				left = append(left, p)
			}
		}
		return left, self
	}
	group, rank := living(c.group)
	name := c.Name() + "+shrunk"
	if !c.IsInter() {
		return c.derive(name, rank, group, id)
	}
	remote, _ := living(c.peers)
	if len(remote) == 0 {
		return nil
	}
	return c.deriveInter(name, rank, group, remote, c.low, id)
}

// What engines tell each other beside messages, by what the context is for. The goroutine that
// makes progress calls these functions, so they must not wait.

// onSignal takes a signal of another rank.
func (j *job) onSignal(from engine.PeerID, ctx engine.ContextID, payload []byte) {
	if j.mute.Load() {
		return
	}
	switch ctx & purposes {
	case 0:
		j.hear(from, ctx, payload)
	case agreePurpose:
		j.accords.receive(j.engine, from, ctx, payload)
	}
}

// onPeerGone learns that a rank has failed, or has left.
func (j *job) onPeerGone(peer engine.PeerID, err *engine.PeerError) {
	if j.mute.Load() {
		return
	}
	j.answers(peer)
	j.spreadFailure(peer, err)
	j.reportLost(peer, err)
	if err.Left && j.finalized.Load() {
		return // all ranks go: nothing is left to agree on
	}
	if !j.isForeign(peer) && j.faults.awaitsWord(err) {
		return // watch hears it
	}
	j.accords.memberFailed(j.engine, peer)
}
