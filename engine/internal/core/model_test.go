package core

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
	"pgregory.net/rapid"
)

// model is matching as MPI 4.1, section 3.5, puts it, with lists and loops.
type model struct {
	posted     []*modelRecv // not matched, in order of posting
	unexpected []*modelSend // not matched, in order of arrival
}

type modelSend struct {
	from, to int
	ctx, tag int
	seed     int
	length   int
	m        *MSO // nil if copied
	buf      []byte
}

type modelRecv struct {
	at, from, ctx, tag int
	m                  *MSO
	got                *modelSend // nil: not matched
}

func (r *modelRecv) fits(s *modelSend) bool {
	return r.ctx == s.ctx && (r.from < 0 || r.from == s.from) && (r.tag < 0 || r.tag == s.tag)
}

// arrive matches a message that arrives.
func (o *model) arrive(s *modelSend) {
	for i, r := range o.posted {
		if r.fits(s) {
			r.got = s
			o.posted = slices.Delete(o.posted, i, i+1)
			return
		}
	}
	o.unexpected = append(o.unexpected, s)
}

// post matches a receive that is posted.
func (o *model) post(r *modelRecv) {
	if i := o.find(r); i >= 0 {
		r.got = o.unexpected[i]
		o.unexpected = slices.Delete(o.unexpected, i, i+1)
		return
	}
	o.posted = append(o.posted, r)
}

func (o *model) find(r *modelRecv) int { return slices.IndexFunc(o.unexpected, r.fits) }

// world is the cores and the models side by side.
type world struct {
	*fakeNet
	rt     *rapid.T
	models []*model
	sent   map[[2]int][]*modelSend // on the way, by route
	sends  []*modelSend
	recvs  []*modelRecv
}

func newWorld(rt *rapid.T) *world {
	n := rapid.IntRange(1, 3).Draw(rt, "ranks")
	w := &world{rt: rt, sent: make(map[[2]int][]*modelSend)}
	w.fakeNet = newNet(rt, n, Config{
		ShortMax: 30, EagerMax: rapid.SampledFrom([]int{30, 200, 20_000}).Draw(rt, "eager"),
		Window: MinWindow, Chunk: rapid.SampledFrom([]int{50, 1000}).Draw(rt, "chunk"),
		SendBuffer: rapid.SampledFrom([]int{1, 40_000, 1 << 20}).Draw(rt, "buffer"),
	})
	for range n {
		w.models = append(w.models, &model{})
	}
	w.onHeader = func(from, to int, h *wire.Header) {
		if h.Kind == wire.KindEager || h.Kind == wire.KindRTS {
			w.arrive(from, to)
		}
	}
	w.connectAll()
	return w
}

// arrive: the stream keeps the order of the sends, so this is the first of its route.
func (w *world) arrive(from, to int) {
	q := w.sent[[2]int{from, to}]
	w.sent[[2]int{from, to}] = q[1:]
	w.models[to].arrive(q[0])
}

func (w *world) rank(what string) int {
	return rapid.IntRange(0, len(w.cores)-1).Draw(w.rt, what)
}

func (w *world) doSend(rt *rapid.T) {
	s := &modelSend{
		from: w.rank("from"), to: w.rank("to"), ctx: rapid.IntRange(0, 1).Draw(rt, "ctx"), tag: rapid.IntRange(0, 2).Draw(rt, "tag"),
		seed: len(w.sends), length: rapid.SampledFrom([]int{0, 1, 30, 31, 200, 201, 15_000, 30_000}).Draw(rt, "len"),
	}
	w.sends = append(w.sends, s)
	s.buf = pattern(s.length, s.seed)
	m := &MSO{Kind: KindSend, Peer: PeerID(s.to), Tag: Tag(s.tag), Ctx: ContextID(s.ctx), Buf: s.buf}
	if rapid.Bool().Draw(rt, "sync") {
		m.Mode = Synchronous
	}
	packed := rapid.Bool().Draw(rt, "packed")
	if s.from == s.to {
		defer w.models[s.to].arrive(s)
	} else {
		w.sent[[2]int{s.from, s.to}] = append(w.sent[[2]int{s.from, s.to}], s)
	}
	c := w.cores[s.from]
	if m.Mode == Standard && rapid.Bool().Draw(rt, "copied") {
		if b, ok := c.Reserve(m.Peer, s.length); ok {
			copy(b, s.buf)
			if j, work := c.PostCopied(m, b); work {
				w.finish(c, &j)
			}
			return
		}
	}
	if s.m = m; packed {
		asView(m)
	}
	w.post(s.from, m)
}

func (w *world) doRecv(rt *rapid.T) {
	r := w.newRecv(rt)
	w.models[r.at].post(r)
	w.post(r.at, r.m)
}

func (w *world) newRecv(rt *rapid.T) *modelRecv {
	r := &modelRecv{
		at: w.rank("at"), from: rapid.IntRange(-1, len(w.cores)-1).Draw(rt, "from"),
		ctx: rapid.IntRange(0, 1).Draw(rt, "ctx"), tag: rapid.IntRange(-1, 2).Draw(rt, "tag"),
	}
	r.m = &MSO{Kind: KindRecv, Peer: PeerID(r.from), Tag: Tag(r.tag), Ctx: ContextID(r.ctx)}
	if n := rapid.SampledFrom([]int{-1, 0, 100, 30_000}).Draw(rt, "room"); n < 0 {
		r.m.Alloc = func(n int) []byte { return make([]byte, n) }
	} else {
		r.m.Buf = make([]byte, n)
		if rapid.Bool().Draw(rt, "placed") {
			asView(r.m)
		}
	}
	w.recvs = append(w.recvs, r)
	return r
}

// doProbe compares Iprobe, and takes the message by Improbe and a receive if asked to.
func (w *world) doProbe(rt *rapid.T) {
	r := w.newRecv(rt)
	o, c := w.models[r.at], w.cores[r.at]
	i := o.find(r)
	u := c.Iprobe(r.m.Ctx, r.m.Peer, r.m.Tag)
	if (u == nil) != (i < 0) {
		rt.Fatalf("Iprobe finds %v, the model %d", u != nil, i)
	}
	if i < 0 {
		w.recvs = w.recvs[:len(w.recvs)-1]
		return
	}
	if s := o.unexpected[i]; int(u.Peer) != s.from || int(u.Tag) != s.tag || u.Length != s.length {
		rt.Fatalf("Iprobe finds a message of %d bytes from %d, the model %+v", u.Length, u.Peer, s)
	}
	o.post(r)
	r.m.Message = c.Improbe(r.m.Ctx, r.m.Peer, r.m.Tag)
	w.post(r.at, r.m)
}

func (w *world) doCancel(rt *rapid.T) {
	if len(w.recvs) == 0 {
		rt.Skip("no receives")
	}
	r := w.recvs[rapid.IntRange(0, len(w.recvs)-1).Draw(rt, "which")]
	w.cancel(r)
}

func (w *world) cancel(r *modelRecv) {
	w.cores[r.at].Cancel(r.m)
	o := w.models[r.at]
	i := slices.Index(o.posted, r)
	if (i >= 0) != (r.m.Cancelled && r.got == nil && i >= 0) {
		w.rt.Fatalf("the model has the receive posted, Cancel left it %v", r.m.State())
	}
	if i >= 0 {
		o.posted = slices.Delete(o.posted, i, i+1)
	}
}

func (w *world) doMove(rt *rapid.T) {
	a, b := w.rank("from"), w.rank("to")
	if a == b {
		return
	}
	w.write(a, b, rapid.SampledFrom([]int{1, 31, 500, 1 << 20}).Draw(rt, "write"))
	if _, err := w.deliver(a, b, rapid.SampledFrom([]int{0, 32, 47, 1000, 1 << 20}).Draw(rt, "deliver"), 1<<20); err != nil {
		rt.Fatal(err)
	}
}

// check compares what is done with what the model says.
func (w *world) check() {
	for _, r := range w.recvs {
		if !r.m.IsDone() || r.m.Cancelled {
			continue
		}
		s := r.got
		if s == nil {
			w.rt.Fatalf("a receive is done that the model has not matched: %v", r.m.Err)
		}
		if int(r.m.Source) != s.from || int(r.m.GotTag) != s.tag || r.m.Length != s.length {
			w.rt.Fatalf("received %d bytes from %d with tag %d, the model matched %+v", r.m.Length, r.m.Source, r.m.GotTag, s)
		}
		b := bufOf(r.m)
		if k := min(s.length, len(b)); !bytes.Equal(b[:k], pattern(s.length, s.seed)[:k]) || (k < s.length) != (r.m.Err != nil) {
			w.rt.Fatalf("message %d: wrong bytes, or error %v", s.seed, r.m.Err)
		}
	}
}

// drain receives everything that is left, cancels what is posted, and looks that nothing remains.
func (w *world) drain() {
	for {
		w.run()
		before := len(w.recvs)
		for at, o := range w.models {
			for len(o.unexpected) > 0 {
				s := o.unexpected[0]
				r := &modelRecv{at: at, from: -1, ctx: s.ctx, tag: -1}
				r.m = &MSO{Kind: KindRecv, Peer: AnyPeer, Tag: AnyTag, Ctx: ContextID(s.ctx), Buf: make([]byte, s.length)}
				w.recvs = append(w.recvs, r)
				o.post(r)
				w.post(at, r.m)
			}
		}
		if len(w.recvs) == before {
			break
		}
	}
	for _, r := range w.recvs {
		w.cancel(r)
		if !r.m.IsDone() {
			w.rt.Fatalf("a receive is %v at the end", r.m.State())
		}
	}
	for _, s := range w.sends {
		if s.m != nil && (!s.m.IsDone() || s.m.Err != nil) {
			w.rt.Fatalf("send %d is %v at the end, error %v", s.seed, s.m.State(), s.m.Err)
		}
	}
	w.check()
	w.wantRest(fmt.Sprintf("after %d sends, %d receives", len(w.sends), len(w.recvs)))
}

// TestModel plays random calls and random deliveries against the model.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"send": w.doSend, "send2": w.doSend, "recv": w.doRecv, "recv2": w.doRecv,
			"move": w.doMove, "move2": w.doMove, "move3": w.doMove,
			"probe": w.doProbe, "cancel": w.doCancel,
			"jobs": func(*rapid.T) { w.jobs(w.rank("rank")) },
			"":     func(*rapid.T) { w.check(); w.checkTables() },
		})
		w.drain()
	})
}

func (w *world) checkTables() {
	for i, c := range w.cores {
		if err := c.posted.check(); err != nil {
			w.rt.Fatalf("rank %d, request queue: %v", i, err)
		}
		if err := c.events.check(); err != nil {
			w.rt.Fatalf("rank %d, event queue: %v", i, err)
		}
	}
}
