package core

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// xop is a step of a program of [scene]: something that a user does.
type xop struct {
	do     xdo
	peer   PeerID
	tag    Tag
	ctx    ContextID
	n      int // bytes to send, or room to receive
	sync   bool
	copied bool // sent from the library buffer
	layout bool
	alloc  bool // received into memory of unknown length
	of     int  // the step of the same program that it is about
}

type xdo uint8

const (
	xSend xdo = iota
	xRecv
	xIprobe  // compares what is there
	xMprobe  // a blocked matched probe
	xRecvMsg // receives what the probe of step `of` took, once it has
	xCancel
	xAbandon  // as a caller whose context has ended: with the progress right
	xTakeOver // as the caller of a blocking send that returns
	xWait     // until step `of` is done
)

// xprogram is what one goroutine of a rank does.
type xprogram struct {
	rank int
	ops  []xop
}

// scene is a small configuration: programs, and what may happen to the network between them.
type scene struct {
	name   string
	ranks  int
	progs  []xprogram
	window int  // eager credit; 0 = plenty
	split  bool // what the engine does without the mutex takes time: writes, jobs
	parts  bool // the network takes frames in parts: a header without its payload
	whole  bool // short messages come as whole records, as from a ring
	cuts   int  // connections that may be lost for good
	breaks int  // connections that may break and be made again: streams outlive them
	large  bool // it has several times the states of most others

	drop wire.Kind // frames of this kind are lost, to see that it is noticed; 0 = none
}

// xsend is a message, as the model knows it.
type xsend struct {
	from, to  int
	ctx       ContextID
	tag       Tag
	seed, n   int
	id        uint64 // in its frame
	whole     bool   // its payload is there, or comes by permission
	rts       bool
	matched   bool
	withdrawn bool
	lost      bool
	returned  bool // a receive that had it was given up
	at        int  // place in the order of arrival
}

// xentry is an operation that was posted.
type xentry struct {
	op   *xop
	rank int
	m    *MSO
	send *xsend // what it sends
	got  *xsend // what it matched, by the model
	live bool   // receive, probe: the model has it waiting
	over bool   // seen to be done, and its memory scribbled over
	gone bool   // its owner gave it up
}

// xmodel is matching as MPI 4.1, section 3.5, puts it, at one rank.
type xmodel struct {
	posted     []*xentry // in order of posting
	probes     []*xentry
	unexpected []*xsend // in order of arrival
	arrived    int      // messages, ever
}

// xthread is where a program is.
type xthread struct {
	pc   int
	job  *Job // that its last post brought
	done []*xentry
}

// xdriver is what the holder of a rank's progress right is in the middle of.
type xdriver struct {
	writing PeerID // while bufs is not nil
	bufs    [][]byte
	job     *Job
	want    [3]bool // peers that the core has named as having output
}

// xworld is one course of a scene.
type xworld struct {
	*fakeNet
	sc      *scene
	models  []*xmodel
	threads []xthread
	drivers []xdriver
	sent    map[[2]int][]*xsend // posted, header not arrived
	left    map[[2]int]int      // bytes of payload that the frame needs of which the header was written last
	cuts    int                 // that may still come
	broken  map[[2]int]bool     // by lower and higher rank: lost for good
	down    map[[2]int]bool     // the same: to be made again
	breaks  int                 // that may still come
	filling map[[2]int]*xsend   // whose eager payload is arriving
	entries []*xentry           // all that were posted
}

func newXworld(t failer, sc *scene) *xworld {
	cfg := Config{ShortMax: 8, EagerMax: 24, Chunk: 32}
	w := &xworld{sc: sc, fakeNet: newNet(t, sc.ranks, cfg), cuts: sc.cuts, sent: map[[2]int][]*xsend{}, left: map[[2]int]int{},
		broken: map[[2]int]bool{}, down: map[[2]int]bool{}, breaks: sc.breaks, filling: map[[2]int]*xsend{}}
	w.blind = true
	if sc.breaks > 0 {
		w.keep()
	}
	window := sc.window
	if window == 0 {
		window = MinWindow
	}
	for _, c := range w.cores {
		c.setWindow(window)
		for _, p := range c.peers {
			p.credit = window
		}
		w.models = append(w.models, &xmodel{})
	}
	w.threads, w.drivers = make([]xthread, len(sc.progs)), make([]xdriver, sc.ranks)
	w.onHeader = w.arrives
	return w
}

func (e *xentry) fits(s *xsend) bool {
	return e.op.ctx == s.ctx && (e.op.peer == AnyPeer || int(e.op.peer) == s.from) && (e.op.tag == AnyTag || e.op.tag == s.tag)
}

// arrives gets each header before the core does.
func (w *xworld) arrives(a, b int, h *wire.Header) {
	switch h.Kind {
	case wire.KindEager, wire.KindRTS:
		route := [2]int{a, b}
		s := w.sent[route][0]
		w.sent[route] = w.sent[route][1:]
		if int(h.Length) != s.n || Tag(h.Tag) != s.tag {
			w.t.Fatalf("%d->%d: a message of %d bytes with tag %d arrives, the next that was sent has %d and tag %d", a, b, h.Length, h.Tag, s.n, s.tag)
		}
		s.id, s.rts = h.ID, h.Kind == wire.KindRTS
		if s.whole = s.rts || s.n == 0; !s.whole {
			w.filling[route] = s
		}
		w.models[b].arrive(s)
	case wire.KindCancel:
		o := w.models[b]
		i := slices.IndexFunc(o.unexpected, func(s *xsend) bool {
			return s.from == a && s.id == h.ID && (!s.returned || w.cores[b].events.byID(key{s.ctx, PeerID(a), s.tag}, h.ID) != nil)
		})
		if i >= 0 {
			o.unexpected[i].withdrawn = true
			o.unexpected = slices.Delete(o.unexpected, i, i+1)
		}
	}
}

func (o *xmodel) arrive(s *xsend) {
	s.at = o.arrived
	o.arrived++
	o.match(s)
}

// comesBack gets the message of a receive that was given up: that is as if it had never been
// posted.
func (w *xworld) comesBack(s *xsend) {
	s.returned, s.matched = true, false
	if w.cores[s.to].PeerGone(PeerID(s.from)) != nil && !w.isWhole(s) {
		s.lost = true
		return
	}
	w.models[s.to].match(s)
}

// isWhole reports whether a message that was given back, and perhaps received again, is there as a
// whole, now that its sender is gone.
func (w *xworld) isWhole(s *xsend) (is bool) {
	w.cores[s.to].events.t[0].all(func(u *MSO) {
		is = is || u.State() == Queued && bytes.Equal(u.Buf, pattern(s.n, s.seed))
	})
	return is
}

// match gives s to the receive or probe that it fits first; else it waits among those that arrived
// before and after it.
func (o *xmodel) match(s *xsend) {
	if i := slices.IndexFunc(o.posted, func(e *xentry) bool { return e.fits(s) }); i >= 0 {
		e := o.posted[i]
		e.got, e.live, s.matched = s, false, true
		o.posted = slices.Delete(o.posted, i, i+1)
		return
	}
	if i := slices.IndexFunc(o.probes, func(e *xentry) bool { return e.fits(s) }); i >= 0 {
		e := o.probes[i]
		e.got, e.live = s, false
		o.probes = slices.Delete(o.probes, i, i+1)
		return
	}
	i, _ := slices.BinarySearchFunc(o.unexpected, s, func(a, b *xsend) int { return a.at - b.at })
	o.unexpected = slices.Insert(o.unexpected, i, s)
}

// take gives e the first message that fits, if there is one.
func (o *xmodel) take(e *xentry) bool {
	i := slices.IndexFunc(o.unexpected, e.fits)
	if i < 0 {
		return false
	}
	e.got = o.unexpected[i]
	o.unexpected = slices.Delete(o.unexpected, i, i+1)
	return true
}

// step lets program i do its next step.
func (w *xworld) step(i int) {
	th, pr := &w.threads[i], &w.sc.progs[i]
	op := &pr.ops[th.pc]
	th.pc++
	e := &xentry{op: op, rank: pr.rank}
	c := w.cores[pr.rank]
	switch op.do {
	case xSend:
		w.stepSend(th, e)
	case xRecv, xMprobe:
		w.stepRecv(th, e)
	case xRecvMsg:
		p := th.done[op.of]
		e.m = &MSO{Kind: KindRecv, Message: p.m.Message, Buf: make([]byte, op.n)}
		if e.got = p.got; p.m.Message == nil {
			e.m, e.over = nil, true // the probe has failed
			break
		}
		e.got.matched = true
		w.postBy(th, e)
	case xIprobe:
		w.iprobe(e)
	case xCancel:
		if x := th.done[op.of]; x.m != nil {
			c.Cancel(x.m)
		}
	case xAbandon:
		if x := th.done[op.of]; x.m != nil && !x.m.IsDone() {
			x.gone = true
			c.Abandon(x.m, errGivenUp, w.sinks(pr.rank))
		}
	case xTakeOver:
		w.takeOver(c, th.done[op.of])
	case xWait:
	}
	th.done = append(th.done, e)
	w.entries = append(w.entries, e)
}

var errGivenUp = errors.New("given up")

func (w *xworld) takeOver(c *Core, x *xentry) {
	if x.m == nil || x.m.IsDone() || len(x.m.Buf) == 0 {
		return
	}
	b, _ := c.Reserve(x.m.Peer, len(x.m.Buf))
	copy(b, x.m.Buf)
	if !c.TakeOver(x.m, b) {
		c.Unreserve(b)
	}
}

func (w *xworld) stepSend(th *xthread, e *xentry) {
	op, c := e.op, w.cores[e.rank]
	s := &xsend{from: e.rank, to: int(op.peer), ctx: op.ctx, tag: op.tag, seed: w.seedOf(th), n: op.n}
	e.send = s
	gone := c.PeerGone(op.peer) != nil
	self := op.peer == c.cfg.Self
	if !self && !gone {
		w.sent[[2]int{s.from, s.to}] = append(w.sent[[2]int{s.from, s.to}], s)
	}
	e.m = &MSO{Kind: KindSend, Peer: op.peer, Tag: op.tag, Ctx: op.ctx, Buf: pattern(op.n, s.seed)}
	if op.sync {
		e.m.Mode = Synchronous
	}
	if op.layout {
		asView(e.m)
	}
	if self {
		s.whole = true
		defer w.models[s.to].arrive(s)
	}
	if op.copied {
		b, ok := c.Reserve(op.peer, op.n)
		if !ok {
			w.t.Fatal("no room in the library buffer")
		}
		copy(b, e.m.Buf)
		if j, ok := c.PostCopied(e.m, b); ok {
			th.job = &j
		}
		e.m, e.over = nil, true
		return
	}
	w.postBy(th, e)
}

// seedOf numbers the messages so that the number does not depend on the schedule.
func (w *xworld) seedOf(th *xthread) int {
	for i := range w.threads {
		if th == &w.threads[i] {
			return 100*i + th.pc
		}
	}
	panic("no thread")
}

func (w *xworld) stepRecv(th *xthread, e *xentry) {
	op, c, o := e.op, w.cores[e.rank], w.models[e.rank]
	e.m = &MSO{Kind: KindRecv, Peer: op.peer, Tag: op.tag, Ctx: op.ctx}
	switch {
	case op.do == xMprobe:
		e.m.Kind = KindMprobe
	case op.alloc:
		e.m.Alloc = func(n int) []byte { return make([]byte, n) }
	default:
		e.m.Buf = make([]byte, op.n)
		if op.layout {
			asView(e.m)
		}
	}
	lost := c.lost(e.m) != nil
	switch {
	case o.take(e):
		e.got.matched = op.do == xRecv
	case lost:
	case op.do == xMprobe:
		e.live = true
		o.probes = append(o.probes, e)
	default:
		e.live = true
		o.posted = append(o.posted, e)
	}
	w.postBy(th, e)
}

func (w *xworld) postBy(th *xthread, e *xentry) {
	if j, ok := w.cores[e.rank].Post(e.m); ok {
		th.job = &j
	}
}

func (w *xworld) iprobe(e *xentry) {
	o := w.models[e.rank]
	i := slices.IndexFunc(o.unexpected, e.fits)
	u := w.cores[e.rank].Iprobe(e.op.ctx, e.op.peer, e.op.tag)
	if (u == nil) != (i < 0) {
		w.t.Fatalf("rank %d: Iprobe finds a message: %v, the model has it at %d", e.rank, u != nil, i)
	}
	if u != nil {
		if s := o.unexpected[i]; int(u.Peer) != s.from || u.Tag != s.tag || u.Length != s.n {
			w.t.Fatalf("rank %d: Iprobe finds %d bytes from %d with tag %d, the model %+v", e.rank, u.Length, u.Peer, u.Tag, *s)
		}
	}
}

// look compares all that has become done with the model, and scribbles over memory that is the
// owner's again.
func (w *xworld) look() {
	for _, e := range w.entries {
		if e.m == nil || e.over || !e.m.IsDone() {
			continue
		}
		e.over = true
		switch e.op.do {
		case xSend:
			w.sendIsDone(e)
		case xMprobe:
			w.probeIsDone(e)
		default:
			w.recvIsDone(e)
		}
	}
}

func (w *xworld) sendIsDone(e *xentry) {
	s, m := e.send, e.m
	fill(bufOf(m), 0xee)
	peerGone := w.cores[s.from].PeerGone(PeerID(s.to)) != nil
	switch {
	case m.Err != nil && !e.gone && !(peerGone && errors.Is(m.Err, ErrPeerFailed)):
		w.t.Fatalf("send %d failed: %v", s.seed, m.Err)
	case m.Cancelled && s.matched && !s.returned:
		w.t.Fatalf("send %d is cancelled, and was matched", s.seed)
	case m.Cancelled && s.from != s.to && !s.withdrawn && !peerGone:
		w.t.Fatalf("send %d is cancelled, but is not withdrawn", s.seed)
	case m.Cancelled && s.from == s.to:
		o := w.models[s.to]
		o.unexpected = slices.DeleteFunc(o.unexpected, func(x *xsend) bool { return x == s })
	case m.Err == nil && !m.Cancelled && m.Mode == Synchronous && !s.matched && !s.returned:
		w.t.Fatalf("synchronous send %d is complete, and not matched", s.seed)
	case m.Err == nil && !m.Cancelled && s.withdrawn:
		w.t.Fatalf("send %d is complete, and was withdrawn", s.seed)
	}
}

func (w *xworld) recvIsDone(e *xentry) {
	m, s := e.m, e.got
	o := w.models[e.rank]
	defer fill(bufOf(m), 0xdd)
	givenUp := e.gone && errors.Is(m.Err, errGivenUp)
	if m.Cancelled || givenUp || w.isFailure(e) {
		switch {
		case e.live:
			e.live = false
			o.posted = slices.DeleteFunc(o.posted, func(x *xentry) bool { return x == e })
		case m.Cancelled:
			w.t.Fatalf("rank %d: a receive is cancelled that had matched %+v", e.rank, s)
		case givenUp:
			w.comesBack(s)
		}
		return
	}
	if s == nil {
		w.t.Fatalf("rank %d: a receive is done that nothing matched: %v", e.rank, m.Err)
	}
	b := bufOf(m)
	if int(m.Source) != s.from || m.GotTag != s.tag || m.Length != s.n {
		w.t.Fatalf("rank %d received %d bytes from %d with tag %d, the model matched %+v", e.rank, m.Length, m.Source, m.GotTag, *s)
	}
	if k := min(s.n, len(b)); e.gone && k < s.n { // what is there of a message that does not fit is of no use
		if !errors.Is(m.Err, ErrTruncated) {
			w.t.Fatalf("rank %d: message %d: error %v, want a truncation", e.rank, s.seed, m.Err)
		}
	} else if !bytes.Equal(b[:k], pattern(s.n, s.seed)[:k]) || (k < s.n) != errors.Is(m.Err, ErrTruncated) || k == s.n && m.Err != nil {
		w.t.Fatalf("rank %d: message %d: received % x, error %v", e.rank, s.seed, b[:k], m.Err)
	}
}

// isFailure reports whether e rightly failed because a peer did.
func (w *xworld) isFailure(e *xentry) bool {
	why, ok := errors.AsType[*PeerError](e.m.Err)
	if !ok || w.cores[e.rank].PeerGone(why.Peer) == nil {
		return false
	}
	switch {
	case e.got != nil:
		return e.got.from == int(why.Peer)
	case e.op.peer != AnyPeer:
		return e.op.peer == why.Peer
	}
	return true
}

func (w *xworld) probeIsDone(e *xentry) {
	o := w.models[e.rank]
	switch {
	case e.m.Cancelled || e.gone || w.isFailure(e):
		e.live = false
		o.probes = slices.DeleteFunc(o.probes, func(x *xentry) bool { return x == e })
	case e.got == nil || e.m.Message == nil || int(e.m.Source) != e.got.from || e.m.Length != e.got.n:
		w.t.Fatalf("rank %d: a matched probe found %d bytes from %d, the model %+v", e.rank, e.m.Length, e.m.Source, e.got)
	}
}

// lose informs the model that rank b has lost rank a.
func (w *xworld) lose(a, b int) {
	o := w.models[b]
	o.unexpected = slices.DeleteFunc(o.unexpected, func(s *xsend) bool {
		s.lost = s.from == a && (s.rts || !s.whole) && !(s.returned && w.isWhole(s))
		return s.lost
	})
	delete(w.filling, [2]int{a, b})
}

// end is called when nothing is left that could happen: all that must be complete is, and nothing
// is kept.
func (w *xworld) end() {
	for i := range w.threads {
		if th := &w.threads[i]; th.pc < len(w.sc.progs[i].ops) {
			w.t.Fatalf("program %d of rank %d waits for ever in its step %d", i, w.sc.progs[i].rank, th.pc)
		}
	}
	for k, e := range w.entries {
		switch {
		case e.m == nil || e.over || e.live:
		case e.op.do == xSend && !e.send.matched && e.m.State() == Awaiting:
		default:
			w.t.Fatalf("operation %d (%v) is %v at the end, and nothing can happen any more", k, e, e.m.State())
		}
	}
	w.drain()
}

// drain receives the messages that no receive has taken, cancels what is posted, and checks that
// nothing remains.
func (w *xworld) drain() {
	for r, o := range w.models {
		for _, e := range slices.Concat(o.posted, o.probes) {
			w.cores[r].Cancel(e.m)
			if w.look(); !e.m.Cancelled {
				w.t.Fatalf("rank %d: a receive that waits cannot be cancelled", r)
			}
		}
		for len(o.unexpected) > 0 {
			s := o.unexpected[0]
			e := &xentry{op: &xop{do: xRecv, peer: PeerID(s.from), tag: s.tag, ctx: s.ctx, n: s.n}, rank: r}
			w.entries = append(w.entries, e)
			var th xthread
			w.stepRecv(&th, e)
			if th.job != nil {
				w.finish(w.cores[r], th.job)
			}
		}
	}
	w.run()
	w.look()
	for k, e := range w.entries {
		if e.m != nil && !e.over {
			w.t.Fatalf("operation %d (%v) is %v after all was received", k, e, e.m.State())
		}
	}
	w.wantRest("at the end")
}

func (e *xentry) String() string {
	return fmt.Sprintf("rank %d: %+v", e.rank, *e.op)
}
