package core

import (
	"fmt"
	"reflect"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// failer is what tests and random tests have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// fakeNet is some cores and a stream of bytes from each to each.
type fakeNet struct {
	t        failer
	cores    []*Core
	pipes    map[[2]int]*pipe
	blind    bool                               // wantFoundAt does nothing: it would be measured
	unseen   int                                // what has happened since wantFoundAt looked
	found    map[*MSO]bool                      // memory of wantFoundAt
	trace    func(format string, args ...any)   // may be nil
	onHeader func(from, to int, h *wire.Header) // called before the core sees it; may be nil
	keeps    bool                               // streams outlive their connections
}

// pipe is what one rank has written to another, and the reader's parser.
type pipe struct {
	buf  []byte
	sink Sink
	got  int
	in   bool // within a payload
	cut  bool
	pos  uint64 // of the stream that has arrived
}

func newNet(t failer, n int, cfg Config) *fakeNet {
	f := &fakeNet{t: t, pipes: make(map[[2]int]*pipe)}
	for i := range n {
		cfg.Self, cfg.Peers = PeerID(i), n
		f.cores = append(f.cores, New(cfg))
		for j := range n {
			f.pipes[[2]int{i, j}] = &pipe{}
		}
	}
	return f
}

func (f *fakeNet) log(format string, args ...any) {
	if f.trace != nil {
		f.trace(format, args...)
	}
}

// connect reports to both ends that they are connected.
func (f *fakeNet) connect(a, b int) {
	f.cores[a].PeerUp(PeerID(b), f.cores[b].cfg.Window)
	f.cores[b].PeerUp(PeerID(a), f.cores[a].cfg.Window)
}

func (f *fakeNet) connectAll() {
	for a := range f.cores {
		for b := range a {
			f.connect(b, a)
		}
	}
}

// post posts m, and does the long work that it may bring, as a caller of Post must.
func (f *fakeNet) post(rank int, m *MSO) {
	defer f.wantFoundAt(rank)
	c := f.cores[rank]
	if j, ok := c.Post(m); ok {
		f.finish(c, &j)
	}
}

func (f *fakeNet) finish(c *Core, j *Job) {
	j.Run()
	c.Finish(j)
}

// write moves at most n bytes from a's core into the pipe to b and returns how many.
func (f *fakeNet) write(a, b, n int) int {
	defer f.wantFoundAt(a)
	c, p := f.cores[a], f.pipes[[2]int{a, b}]
	bufs := c.Gather(PeerID(b), make([][]byte, 0, 16))
	if len(bufs) == 0 {
		return 0 // a driver makes no system call then
	}
	sum := 0
	for _, x := range bufs {
		x = x[:min(len(x), n-sum)]
		p.buf = append(p.buf, x...)
		sum += len(x)
	}
	c.Wrote(PeerID(b), sum)
	return sum
}

// deliver gives b at most n bytes of the pipe from a, and at most frames whole
// frames. It returns the number of bytes.
func (f *fakeNet) deliver(a, b, n, frames int) (int, error) {
	defer f.wantFoundAt(b)
	p, total := f.pipes[[2]int{a, b}], 0
	if f.keeps {
		defer func() { f.cores[b].Acknowledge(PeerID(a), p.pos, false) }()
	}
	for frames > 0 && total < n && !p.cut {
		if !p.in {
			var h wire.Header
			if n-total < wire.HeaderLen || wire.ConsumeHeader(p.buf, &h) <= 0 {
				break
			}
			p.buf = p.buf[wire.HeaderLen:]
			if h.Kind != wire.KindReceived && h.Kind != wire.KindHeartbeat {
				p.pos += wire.HeaderLen
			}
			total += wire.HeaderLen
			f.log("%d->%d %v", a, b, h)
			if err := f.header(a, b, p, &h); err != nil {
				return total, err
			}
			if !p.in {
				frames--
			}
			continue
		}
		k := f.payload(p, n-total)
		total += k
		if p.got == p.sink.Len() {
			s := p.sink
			p.in, p.sink, p.got = false, Sink{}, 0
			f.cores[b].OnPayload(PeerID(a), &s)
			frames--
		} else if k == 0 {
			break
		}
	}
	return total, nil
}

func (f *fakeNet) header(a, b int, p *pipe, h *wire.Header) (err error) {
	if h.Kind == wire.KindBye {
		f.cores[b].FailPeer(PeerID(a), nil, true, &p.sink)
		p.cut = true
		return nil
	}
	if f.onHeader != nil {
		f.onHeader(a, b, h)
	}
	s, err := f.cores[b].OnHeader(PeerID(a), h)
	if p.in = s.Len() > 0; p.in {
		p.sink, p.got = s, 0
	}
	return err
}

// payload moves at most n bytes of the pipe into its sink.
func (f *fakeNet) payload(p *pipe, n int) int {
	k := min(n, len(p.buf), p.sink.Len()-p.got)
	if fit := min(p.sink.Fit()-p.got, k); fit > 0 {
		p.sink.Put(p.got, p.buf[:fit])
	}
	p.buf, p.got, p.pos = p.buf[k:], p.got+k, p.pos+uint64(k)
	return k
}

// jobs runs the jobs of a rank and returns how many.
func (f *fakeNet) jobs(rank int) int {
	defer f.wantFoundAt(rank)
	n := 0
	for j, ok := f.cores[rank].NextJob(); ok; j, ok = f.cores[rank].NextJob() {
		f.finish(f.cores[rank], &j)
		n++
	}
	return n
}

// drainDirty empties the list of peers with output, as a driver does; it returns them.
func (f *fakeNet) drainDirty(rank int) (ids []PeerID) {
	for id, ok := f.cores[rank].NextDirty(); ok; id, ok = f.cores[rank].NextDirty() {
		ids = append(ids, id)
	}
	return ids
}

// run moves everything until nothing moves any more. Like a driver it looks only
// at peers that the core names.
func (f *fakeNet) run() {
	for range 10_000 {
		if f.round() == 0 {
			return
		}
	}
	f.t.Fatal("the network does not come to rest")
}

func (f *fakeNet) round() (moved int) {
	for a := range f.cores {
		moved += f.jobs(a)
		for _, b := range f.drainDirty(a) {
			moved += f.write(a, int(b), 1<<30)
		}
		for b := range f.cores {
			n, err := f.deliver(b, a, 1<<30, 1<<30)
			if err != nil {
				f.t.Fatalf("%d->%d: %v", b, a, err)
			}
			moved += n
			if p := f.pipes[[2]int{b, a}]; f.keeps && !p.cut {
				f.cores[a].Acknowledge(PeerID(b), p.pos, true)
				if f.cores[a].HasOutput() {
					moved++
				}
			}
		}
		if f.cores[a].HasJobs() { // writing may bring some
			moved++
		}
	}
	return moved
}

// sinks is what rank's driver would say about payloads being received.
func (f *fakeNet) sinks(rank int) func(PeerID) *Sink {
	return func(id PeerID) *Sink { return &f.pipes[[2]int{int(id), rank}].sink }
}

// cut ends the connection of a and b without a word.
func (f *fakeNet) cut(a, b int) {
	f.cutSide(a, b)
	f.cutSide(b, a)
}

// cutSide lets b find out that a is gone.
func (f *fakeNet) cutSide(a, b int) {
	p := f.pipes[[2]int{a, b}]
	f.cores[b].FailPeer(PeerID(a), errCut, false, &p.sink)
	p.cut, p.in, p.buf = true, false, nil
}

var errCut = fmt.Errorf("cable cut")

// wantRest checks that nothing is left of what went on.
func (f *fakeNet) wantRest(why string) {
	f.t.Helper()
	for i, c := range f.cores {
		s := c.Stats()
		if s.Active != 0 || s.Posted != 0 || s.EventQueue != 0 || s.BufferUsed != 0 || s.SlabsUsed != 0 || s.Detached != 0 || s.RendezvousSends != 0 || s.RendezvousReceives != 0 || s.Unsent != 0 || c.HasJobs() || c.IsBusy() || len(c.probes) != 0 {
			f.t.Fatalf("%s: rank %d keeps something: %+v", why, i, s)
		}
		for _, sl := range c.ids.slots {
			if sl.m != nil {
				f.t.Fatalf("%s: rank %d keeps id of a %v MSO", why, i, sl.m.State())
			}
		}
		if c.announced != 0 {
			f.t.Fatalf("%s: rank %d counts %d announced messages", why, i, c.announced)
		}
		for _, p := range c.peers {
			if p.parked != 0 {
				f.t.Fatalf("%s: rank %d counts %d sends that are parked at rank %d", why, i, p.parked, p.ID)
			}
			if p.gone == nil && p.ID != c.cfg.Self && p.used != 0 {
				f.t.Fatalf("%s: rank %d counts %d eager bytes of rank %d", why, i, p.used, p.ID)
			}
		}
	}
	f.wantCredit(why)
	f.wantBlank(why)
}

// wantBlank checks that nothing is left of what free MSOs were used for.
func (f *fakeNet) wantBlank(why string) {
	f.t.Helper()
	for i, c := range f.cores {
		n := 0
		for m := c.free; m != nil; m = m.next {
			n++
			for v, k := reflect.ValueOf(m).Elem(), 0; k < v.NumField(); k++ {
				if name := v.Type().Field(k).Name; name != "next" && !v.Field(k).IsZero() {
					f.t.Fatalf("%s: rank %d keeps %s = %v in a free MSO", why, i, name, v.Field(k))
				}
			}
		}
		if n != c.spare {
			f.t.Fatalf("%s: rank %d counts %d free MSOs, and has %d", why, i, c.spare, n)
		}
	}
}

// wantCredit checks that no credit was lost between two connected ranks when nothing is under way.
func (f *fakeNet) wantCredit(why string) {
	f.t.Helper()
	for i, c := range f.cores {
		for j, d := range f.cores {
			p, q := c.peers[j], d.peers[i]
			if i == j || p.gone != nil || q.gone != nil || len(f.pipes[[2]int{i, j}].buf)+len(f.pipes[[2]int{j, i}].buf) > 0 {
				continue
			}
			if p.credit+q.used+q.owed != d.cfg.Window {
				f.t.Fatalf("%s: rank %d may send %d to rank %d, which holds %d and owes %d of %d", why, i, p.credit, j, q.used, q.owed, d.cfg.Window)
			}
		}
	}
}

// view is a layout that is one piece of memory after all, so that tests can look at it.
type view struct{ b []byte }

func (v *view) Len() int                 { return len(v.b) }
func (v *view) Pack(dst []byte, off int) { must(copy(dst, v.b[off:off+len(dst)]) == len(dst)) }

func (v *view) Unpack(off int, src []byte) {
	must(copy(v.b[off:off+len(src)], src) == len(src))
}

func must(ok bool) {
	if !ok {
		panic("a part of a layout that it does not have")
	}
}

// asView makes the buffer of m a layout.
func asView(m *MSO) { m.Layout, m.Buf = &view{m.Buf}, nil }

// bufOf is the memory of m, as a layout or not.
func bufOf(m *MSO) []byte {
	if m.Layout != nil {
		return m.Layout.(*view).b
	}
	return m.Buf
}

func pattern(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + seed)
	}
	return b
}
