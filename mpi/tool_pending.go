package mpi

import (
	"cmp"
	"encoding/json"
	"runtime"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/callsite"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// What a report lists at most, so that it fits into an answer.
const (
	mostCalls      = 64
	mostOperations = 200
	mostMessages   = 100
	mostGoroutines = 50
	mostPartners   = 64   // of one collective
	mostRanks      = 4096 // of all communicators together
)

// pending is what this rank has begun and not finished, and the goroutines of its process.
func (j *job) pending() *telemetry.Pending {
	// What a timer starts after this is either seen below, or has moved something, which the next
	// round of questions shows.
	timer, _ := sys.IsTimerSet()
	p := j.begun()
	rs, whole := callsite.Routines()
	addGoroutines(p, rs, whole)
	j.addTimer(p, timer)
	return p
}

// begun is what this rank has begun and not finished.
func (j *job) begun() *telemetry.Pending {
	from := j.engine.Pending(mostCalls, mostOperations, mostMessages)
	p := &telemetry.Pending{
		AllCalls: unlisted(from.AllBlocked, len(from.Blocked)), AllOperations: unlisted(from.AllOperations, len(from.Operations)),
		AllMessages: unlisted(from.AllMessages, len(from.Messages)),
	}
	for i := range from.Operations {
		p.Operations = append(p.Operations, j.operationOf(&from.Operations[i]))
		j.accords.describe(j, &from.Operations[i], &p.Operations[i])
	}
	for _, b := range from.Blocked {
		s := callsite.Of(b.PCs)
		p.Calls = append(p.Calls, telemetry.Call{
			Op: s.Op, At: s.At, Func: s.Func, Since: b.Since, Need: b.Need, Waits: b.Ops, More: b.More, Besides: b.Besides, Bounded: b.Bounded,
		})
		for _, i := range b.Ops {
			if o := &p.Operations[i]; o.Op == "" { // the call's own
				o.Op, o.At, o.Func = s.Op, s.At, s.Func
			}
		}
	}
	for _, m := range from.Messages {
		p.Messages = append(p.Messages, j.messageOf(m))
	}
	j.addComms(p)
	return p
}

// addTimer adds what else may let a rank go on, and whether a timer is set, to p, which has the
// goroutines.
func (j *job) addTimer(p *telemetry.Pending, timer bool) {
	if n := j.diskUses.Load(); n > 0 { // goroutines of ours are not listed, but these complete what the user waits for
		p.Goroutines = append(p.Goroutines, telemetry.Goroutine{State: "input or output", Func: "a file", May: true, By: telemetry.ByItself})
	}
	isBusy := slices.ContainsFunc(p.Goroutines, func(g telemetry.Goroutine) bool { return g.By == telemetry.ByItself })
	p.Timer = timer && !isBusy // else it may be one of the runtime's
}

// addGoroutines adds those goroutines of the process that are the user's and do not wait in a call:
// the ones that may go on first. whole says that rs are all there are.
func addGoroutines(p *telemetry.Pending, rs []callsite.Routine, whole bool) {
	for _, r := range rs {
		if r.Blocked || r.Test { // what lets a test go on is the end of another, whose goroutines are listed
			continue
		}
		if r.Signal {
			p.Signal = true
			continue
		}
		by := wakerOf(r.State)
		p.Goroutines = append(p.Goroutines, telemetry.Goroutine{State: r.State, At: r.At, Func: r.Func, May: by != telemetry.ByGoroutine, By: by})
	}
	slices.SortStableFunc(p.Goroutines, func(a, b telemetry.Goroutine) int { return cmp.Compare(likely[b.By], likely[a.By]) })
	all := len(p.Goroutines)
	if !whole {
		all = max(all, runtime.NumGoroutine())
	}
	p.Goroutines = p.Goroutines[:min(len(p.Goroutines), mostGoroutines)]
	p.AllGoroutines = unlisted(all, len(p.Goroutines))
}

var likely = map[telemetry.Waker]int{telemetry.ByItself: 3, telemetry.ByOutside: 2, telemetry.ByChannel: 1}

// wakerOf is what lets a goroutine go on that is in a state, which may have an addition in
// parentheses.
func wakerOf(state string) telemetry.Waker {
	switch {
	case strings.HasSuffix(state, "(nil chan)") || strings.HasSuffix(state, "(no cases)"):
		return telemetry.ByGoroutine // not even by that
	case strings.HasPrefix(state, "chan receive") || strings.HasPrefix(state, "select"):
		return telemetry.ByChannel
	case strings.HasPrefix(state, "sync.Cond."):
		return telemetry.ByChannel // the standard library's own goroutines signal some: a reader from HTTP/2 waits so for the network
	case strings.HasPrefix(state, "IO wait"):
		return telemetry.ByOutside
	case strings.HasPrefix(state, "chan send") || strings.HasPrefix(state, "sync.") || strings.HasPrefix(state, "semacquire") ||
		strings.HasPrefix(state, "coroutine"):
		return telemetry.ByGoroutine
	default:
		return telemetry.ByItself
	}
}

// unlisted is all, or 0 if all are listed.
func unlisted(all, listed int) int {
	if all == listed {
		return 0
	}
	return all
}

var kinds = map[engine.Kind]telemetry.Kind{
	engine.KindSend: telemetry.Send, engine.KindRecv: telemetry.Receive, engine.KindProbe: telemetry.Probe,
	engine.KindMprobe: telemetry.Probe, engine.KindSched: telemetry.Collective, engine.KindParts: telemetry.Parts,
	engine.KindGeneral: telemetry.General,
}

func (j *job) operationOf(o *engine.Operation) telemetry.Operation {
	s := callsite.OfNote(o.Origin)
	t := telemetry.Operation{
		Op: s.Op, At: s.At, Func: s.Func, Kind: kinds[o.Kind], State: o.State.String(), Comm: uint64(o.Ctx),
		Peer: j.numberOf(o.Peer), Tag: int(o.Tag), Bytes: o.Bytes, Detached: o.Detached, Synchronous: o.Synced,
		From: j.partners(o.From), To: j.partners(o.To), Later: o.Later,
		Sends: o.Kind == engine.KindParts && o.Send, Left: o.Left, NotReady: o.NotReady,
	}
	if o.Kind == engine.KindSched {
		t.Tag %= persistentTag
	}
	if o.Flush {
		t.Kind = telemetry.Flush
	}
	return t
}

// partners are the numbers of some peers, each once, in their order.
func (j *job) partners(ids []engine.PeerID) []int {
	var rs []int
	for _, id := range ids {
		rs = append(rs, j.numberOf(id))
	}
	slices.Sort(rs)
	rs = slices.Compact(rs)
	return rs[:min(len(rs), mostPartners)]
}

func (j *job) messageOf(m engine.Unreceived) telemetry.Message {
	return telemetry.Message{
		Source: j.numberOf(m.Source), Tag: int(m.Tag), Comm: uint64(m.Ctx), Bytes: m.Bytes, Announced: m.Announced, Synchronous: m.Synced,
		Internal: m.Ctx&(purposes|collectiveBit) != 0,
	}
}

// addComms adds the communicators of what p lists, and makes what p lists name them: a communicator
// has contexts of its own for collectives and for partitioned messages.
func (j *job) addComms(p *telemetry.Pending) {
	known := make(map[engine.ContextID]bool)
	room := mostRanks
	of := func(ctx *uint64) {
		p2p, e, ok := j.comms.entry(engine.ContextID(*ctx))
		c := e.c.Value()
		if !ok || c == nil {
			return
		}
		*ctx = uint64(p2p)
		if known[p2p] {
			return
		}
		known[p2p] = true
		t := telemetry.Comm{Context: uint64(p2p), Collectives: uint64(e.coll), Name: *c.name.Load(), Rank: e.rank, Size: len(e.group)}
		t.Ranks, room = j.ranksOf(e.group, j.engine.Size(), room)
		if !slices.Equal(e.group, e.peers) {
			if t.Remote, room = j.ranksOf(e.peers, -1, room); t.Remote == nil {
				t.Ranks = nil // alone it would be taken for those whose messages come
			}
		}
		p.Comms = append(p.Comms, t)
	}
	for i := range p.Operations {
		if k := p.Operations[i].Kind; k != telemetry.General && k != telemetry.Flush {
			of(&p.Operations[i].Comm)
		}
	}
	for i := range p.Messages {
		of(&p.Messages[i].Comm)
	}
	slices.SortFunc(p.Comms, func(a, b telemetry.Comm) int { return cmp.Compare(a.Context, b.Context) })
}

// ranksOf are the numbers of peers, nil if they are the world of size ranks, or if there is no room
// for them; left is the room then.
func (j *job) ranksOf(peers []engine.PeerID, size, room int) (ranks []int, left int) {
	whole := len(peers) == size
	for r, id := range peers {
		whole = whole && int(id) == r
	}
	if whole || len(peers) > room {
		return nil, room
	}
	for _, id := range peers {
		ranks = append(ranks, j.numberOf(id))
	}
	return ranks, room - len(peers)
}

// encode is the answer r as JSON. If it does not fit it leaves out more and more of it.
func encode(r *telemetry.Report) ([]byte, error) {
	for {
		data, err := json.Marshal(r)
		if err != nil || len(data) <= boot.MaxAnswer || !shrink(r) {
			return data, err
		}
	}
}

// shrink leaves out half of each list of r, the last half; it reports false if there is nothing to
// leave out.
func shrink(r *telemetry.Report) bool {
	left := 0
	if c := r.Counters; c != nil {
		left += len(c.Peers) + len(c.Sites)
		c.Peers, c.Sites = c.Peers[:len(c.Peers)/2], c.Sites[:len(c.Sites)/2]
	}
	p := r.Pending
	if p == nil {
		return left > 0
	}
	left += len(p.Calls) + len(p.Operations) + len(p.Messages) + len(p.Goroutines) + len(p.Comms)
	halve(&p.Calls, &p.AllCalls)
	halve(&p.Operations, &p.AllOperations)
	halve(&p.Messages, &p.AllMessages)
	halve(&p.Goroutines, &p.AllGoroutines)
	for i := range p.Calls {
		c := &p.Calls[i]
		all, listed := c.Need == len(c.Waits) && c.More == 0, len(c.Waits)
		c.Waits = slices.DeleteFunc(c.Waits, func(w int) bool { return w >= len(p.Operations) })
		if c.Need = min(c.Need, len(c.Waits)); all {
			c.Besides += listed - len(c.Waits)
		} else {
			c.More += listed - len(c.Waits)
		}
	}
	used := make(map[uint64]bool)
	for i := range p.Operations {
		used[p.Operations[i].Comm] = true
	}
	for _, m := range p.Messages {
		used[m.Comm] = true
	}
	p.Comms = slices.DeleteFunc(p.Comms, func(c telemetry.Comm) bool { return !used[c.Context] })
	return left > 0
}

// halve leaves out the last half of a list, and counts all if that was not done before.
func halve[T any](list *[]T, all *int) {
	if n := len(*list); n > 0 {
		*all = max(*all, n)
		*list = (*list)[:n/2]
	}
}
