package hang

import (
	"cmp"
	"slices"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Difference is what keeps a message and a receive apart.
type Difference string

// The differences.
const (
	Tag          Difference = "tag"
	Source       Difference = "source"
	Communicator Difference = "communicator"
)

// Mismatch is a blocked receive or probe and a message that differs from what it wants in one
// thing.
type Mismatch struct {
	Rank    int // that receives
	Receive telemetry.Operation
	Comm    string // of the receive
	Differ  Difference
	// Of the message.
	Source, Tag, Bytes int
	MessageComm        string
	Count              int  // how many such messages there are
	Arrived            bool // else it is a send that has not been matched
	// Send is the operation that sends it, nil if that is over.
	Send *telemetry.Operation `json:",omitempty"`
	// Confused is what the program may have taken a rank for, "" if nothing says so.
	Confused string `json:",omitempty"`
}

// Unreceived is a blocked send without even a nearly matching receive.
type Unreceived struct {
	Rank int // that sends
	Send telemetry.Operation
	Comm string
}

// envelope is a message that may be received by a rank.
type envelope struct {
	source, tag, bytes int
	comm               uint64
	arrived            bool
	count              int
	send               *telemetry.Operation
}

const (
	// mostMessages is how many different messages are compared with the receives of a rank.
	mostMessages = 256
	// mostOfRank is how many mismatches of a rank are kept, and one more from each further source:
	// a rank that waits for hundreds of receives beside a hundred messages with other tags has tens
	// of thousands.
	mostOfRank = 64
)

// mismatches compares what ranks wait to receive with what there is for them. Ranks that are not
// still are left out: what they wait for may have come since, and what lies beside it is what they
// receive next.
func mismatches(j *Job, g *graph) []Mismatch {
	sends := sendsTo(j)
	var ms []Mismatch
	for r := range j.Ranks {
		p := j.Ranks[r].pending()
		if p == nil || !j.isStill(r) {
			continue
		}
		wanted := blockedOn(p, telemetry.Receive, telemetry.Probe)
		if len(wanted) == 0 {
			continue
		}
		ms = append(ms, g.mismatchesOf(r, wanted, messagesFor(p, sends[r]))...)
	}
	return ms
}

// mismatchesOf compares what one rank wants with what there is for it.
func (g *graph) mismatchesOf(r int, wanted []*telemetry.Operation, there []envelope) (ms []Mismatch) {
	from := make(map[int]bool)
	for _, m := range there {
		for _, op := range wanted {
			if len(ms) >= mostOfRank && from[m.source] {
				break
			}
			if n, ok := g.compare(r, op, m); ok {
				ms = append(ms, n)
				from[m.source] = true
			}
		}
	}
	return ms
}

// blockedOn are the operations of some kinds that calls of a rank wait for.
func blockedOn(p *telemetry.Pending, kinds ...telemetry.Kind) []*telemetry.Operation {
	var at []int
	for i := range p.Calls {
		for _, w := range p.Calls[i].Waits {
			if w >= 0 && w < len(p.Operations) && slices.Contains(kinds, p.Operations[w].Kind) {
				at = append(at, w)
			}
		}
	}
	slices.Sort(at)
	var ops []*telemetry.Operation
	for _, w := range slices.Compact(at) {
		ops = append(ops, &p.Operations[w])
	}
	return ops
}

// sent is a send of a rank.
type sent struct {
	by int
	op *telemetry.Operation
}

// sendsTo are the sends of ranks that are still which are not complete, by their destination.
func sendsTo(j *Job) [][]sent {
	to := make([][]sent, len(j.Ranks))
	for r := range j.Ranks {
		p := j.Ranks[r].pending()
		if p == nil || !j.isStill(r) {
			continue
		}
		for i := range p.Operations {
			if op := &p.Operations[i]; op.Kind == telemetry.Send && op.Peer >= 0 && op.Peer < len(to) {
				to[op.Peer] = append(to[op.Peer], sent{r, op})
			}
		}
	}
	return to
}

// messagesFor are what has arrived at a rank, and what others want to send it. A send whose
// announcement has arrived is one with it; equal ones are counted.
func messagesFor(p *telemetry.Pending, sends []sent) []envelope {
	var es []envelope
	add := func(e envelope) {
		for i := range es {
			same := es[i]
			same.count, same.send = e.count, e.send
			if same == e {
				es[i].count++
				return
			}
		}
		if len(es) < mostMessages {
			es = append(es, e)
		}
	}
	sends = slices.Clone(sends)
	for i := range p.Messages {
		m := &p.Messages[i]
		if m.Internal {
			continue
		}
		e := envelope{source: m.Source, tag: m.Tag, bytes: m.Bytes, comm: m.Comm, arrived: true, count: 1}
		if m.Announced {
			k := slices.IndexFunc(sends, func(s sent) bool { return s.by == m.Source && s.op.Tag == m.Tag && s.op.Comm == m.Comm })
			if k >= 0 {
				e.send = sends[k].op
				sends = slices.Delete(sends, k, k+1)
			}
		}
		add(e)
	}
	for _, s := range sends {
		add(envelope{source: s.by, tag: s.op.Tag, bytes: s.op.Bytes, comm: s.op.Comm, count: 1, send: s.op})
	}
	return es
}

// compare makes a Mismatch of a receive of rank r and a message if they differ in one thing; or in
// two, where the program has named the source by its number in the wrong communicator.
func (g *graph) compare(r int, op *telemetry.Operation, m envelope) (Mismatch, bool) {
	var differ []Difference
	if op.Tag >= 0 && op.Tag != m.tag {
		differ = append(differ, Tag)
	}
	if op.Peer >= 0 && op.Peer != m.source {
		differ = append(differ, Source)
	}
	if op.Comm != m.comm {
		differ = append(differ, Communicator)
	}
	n := Mismatch{
		Rank: r, Receive: *op, Comm: g.commName(r, op.Comm), MessageComm: g.messageComm(r, m),
		Source: m.source, Tag: m.tag, Bytes: m.bytes, Count: m.count, Arrived: m.arrived, Send: m.send,
	}
	switch {
	case len(differ) == 1 && differ[0] == Source:
		n.Confused = g.confusion(r, op, m.source)
	case len(differ) == 1:
	case slices.Equal(differ, []Difference{Source, Communicator}) && g.number(r, op.Comm, op.Peer) == g.number(m.source, m.comm, m.source):
		n.Confused = g.confusedComms(g.number(r, op.Comm, op.Peer), n.Comm, op.Peer, n.MessageComm, m.source)
		differ = differ[1:]
	default:
		return Mismatch{}, false
	}
	n.Differ = differ[0]
	return n, true
}

// confusedComms says which ranks of the world have the same number in two communicators.
func (g *graph) confusedComms(number int, a string, worldA int, b string, worldB int) string {
	one := func(comm string, world int) string {
		return sprintf("rank %d of %s is %s", number, comm, g.job.inWorld(world))
	}
	switch number {
	case worldA:
		return one(b, worldB)
	case worldB:
		return one(a, worldA)
	default:
		return one(a, worldA) + ", and " + one(b, worldB)
	}
}

// messageComm is the name of a message's communicator, as its receiver calls it if that has one.
func (g *graph) messageComm(r int, m envelope) string {
	if g.comms[r][m.comm] == nil {
		r = m.source
	}
	return g.commName(r, m.comm)
}

// number is the rank in a communicator of a rank of the world, by what rank r says; -1 if it is not
// in it.
func (g *graph) number(r int, comm uint64, world int) int {
	if r < 0 || r >= len(g.comms) {
		return -1
	}
	c := g.comms[r][comm]
	ranks := addressed(c)
	if c != nil && c.Remote != nil && world == r {
		ranks = c.Ranks // its own number is that in the local group
	}
	if ranks != nil {
		return slices.Index(ranks, world)
	}
	if job, rank := g.job.of(world); job == g.job.Ranks[r].Job {
		return rank
	}
	return -1
}

// confusion says whether the program may have named the source of a receive by its number in
// another communicator.
func (g *graph) confusion(r int, op *telemetry.Operation, source int) string {
	wanted := g.number(r, op.Comm, op.Peer)
	if wanted == source && wanted != op.Peer {
		return sprintf("rank %d of %s is %s, and the message is from %s", wanted, g.commName(r, op.Comm), g.job.inWorld(op.Peer), g.job.inWorld(source))
	}
	p := g.job.Ranks[r].pending()
	for i := range p.Comms {
		c := &p.Comms[i]
		if ranks := addressed(c); wanted >= 0 && wanted < len(ranks) && ranks[wanted] == source {
			return sprintf("the message is from rank %d of %s, which is %s", wanted, commName(c, c.Context), g.job.inWorld(source))
		}
	}
	return ""
}

// commName is what a rank calls a communicator.
func (g *graph) commName(r int, comm uint64) string {
	if r < 0 || r >= len(g.comms) {
		return commName(nil, comm)
	}
	return commName(g.comms[r][comm], comm)
}

// unreceived are the blocked sends that no receive of the destination nearly matches.
func unreceived(j *Job, ms []Mismatch) []Unreceived {
	if !j.Settled {
		return nil
	}
	type pair struct{ from, to int }
	covered := make(map[pair]bool)
	for i := range ms {
		covered[pair{ms[i].Source, ms[i].Rank}] = true
	}
	var us []Unreceived
	for r := range j.Ranks {
		p := j.Ranks[r].pending()
		if p == nil {
			continue
		}
		for _, op := range blockedOn(p, telemetry.Send) {
			if !covered[pair{r, op.Peer}] {
				us = append(us, Unreceived{r, *op, commName(commsOf(p)[op.Comm], op.Comm)})
			}
		}
	}
	slices.SortStableFunc(us, func(a, b Unreceived) int { return cmp.Compare(a.Rank, b.Rank) })
	return us
}
