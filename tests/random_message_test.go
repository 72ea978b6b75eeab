package tests

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// Point-to-point communication of random programs.

// sendForm is a way to send.
type sendForm[T any] struct {
	name   string
	most   int // elements; 0 means any number
	blocks bool
	init   bool                                               // start makes a persistent request, to be freed
	start  func(c *mpi.Comm, b []T, to, tag int) *mpi.Request // of a form that does not
	call   func(c *mpi.Comm, b []T, to, tag int) error        // of one that does
}

// attachedBytes hold every buffered message that a program has at a time.
const (
	attachedBytes = 4 << 20
	bufferedMost  = 500
)

func sendForms[T any]() []sendForm[T] {
	return []sendForm[T]{
		{name: "Send", blocks: true, call: mpi.Send[T]},
		{name: "Ssend", blocks: true, call: mpi.Ssend[T]},
		{name: "Bsend", most: bufferedMost, blocks: true, call: mpi.Bsend[T]},
		{name: "Isend", start: mpi.Isend[T]},
		{name: "Issend", start: mpi.Issend[T]},
		{name: "Ibsend", most: bufferedMost, start: mpi.Ibsend[T]},
		{name: "SendInit", init: true, start: started(mpi.SendInit[T])},
		{name: "SsendInit", init: true, start: started(mpi.SsendInit[T])},
	}
}

// started starts what a persistent request does.
func started[T any](init func(c *mpi.Comm, b []T, peer, tag int) *mpi.Request) func(*mpi.Comm, []T, int, int) *mpi.Request {
	return func(c *mpi.Comm, b []T, peer, tag int) *mpi.Request {
		r := init(c, b, peer, tag)
		r.Start() // an error shows when a caller waits
		return r
	}
}

// free frees a persistent request.
func (x *strand) free(r *mpi.Request, persistent bool) {
	if persistent {
		x.must(r.Free())
	}
}

// recvForm is a way to receive n elements.
type recvForm[T any] struct {
	name   string
	blocks bool
	makes  bool // the buffer, which therefore has no layout
	init   bool
	start  func(c *mpi.Comm, e *randomElem[T], n, from, tag int) (r *mpi.Request, data func() []T)
	call   func(c *mpi.Comm, e *randomElem[T], n, from, tag int) (data []T, st mpi.Status, err error)
}

func recvForms[T any]() []recvForm[T] {
	// probed receives what a probe has found.
	probed := func(c *mpi.Comm, e *randomElem[T], n int, st mpi.Status) ([]T, mpi.Status, error) {
		b := e.blank(n)
		got, err := mpi.Recv(c, b, st.Source, st.Tag)
		if err == nil && (got.Source != st.Source || got.Tag != st.Tag) {
			err = fmt.Errorf("a probe found %+v, and what was received is %+v", st, got)
		}
		return b, got, err
	}
	return []recvForm[T]{
		{name: "Recv", blocks: true, call: func(c *mpi.Comm, e *randomElem[T], n, from, tag int) ([]T, mpi.Status, error) {
			b := e.blank(n)
			st, err := mpi.Recv(c, b, from, tag)
			return b, st, err
		}},
		{name: "RecvNew", blocks: true, makes: true, call: func(c *mpi.Comm, _ *randomElem[T], _, from, tag int) ([]T, mpi.Status, error) {
			return mpi.RecvNew[T](c, from, tag)
		}},
		{name: "Probe, Recv", blocks: true, call: func(c *mpi.Comm, e *randomElem[T], n, from, tag int) ([]T, mpi.Status, error) {
			st, err := mpi.Probe(c, from, tag)
			if err != nil {
				return nil, st, err
			}
			return probed(c, e, n, st)
		}},
		{name: "Iprobe, Recv", blocks: true, call: func(c *mpi.Comm, e *randomElem[T], n, from, tag int) ([]T, mpi.Status, error) {
			for {
				if st, found, err := mpi.Iprobe(c, from, tag); err != nil {
					return nil, st, err
				} else if found {
					return probed(c, e, n, st)
				}
				runtime.Gosched()
			}
		}},
		{name: "Mprobe, MrecvNew", blocks: true, makes: true, call: func(c *mpi.Comm, _ *randomElem[T], _, from, tag int) ([]T, mpi.Status, error) {
			msg, st, err := mpi.Mprobe(c, from, tag)
			if err != nil {
				return nil, st, err
			}
			return mpi.MrecvNew[T](msg)
		}},
		{name: "Improbe, Imrecv", blocks: true, call: func(c *mpi.Comm, e *randomElem[T], n, from, tag int) ([]T, mpi.Status, error) {
			for {
				if msg, st, err := mpi.Improbe(c, from, tag); err != nil {
					return nil, st, err
				} else if msg != nil {
					b := e.blank(n)
					st, err := mpi.Imrecv(msg, b).Wait()
					return b, st, err
				}
				runtime.Gosched()
			}
		}},
		{name: "Irecv", start: func(c *mpi.Comm, e *randomElem[T], n, from, tag int) (*mpi.Request, func() []T) {
			b := e.blank(n)
			return mpi.Irecv(c, b, from, tag), func() []T { return b }
		}},
		{name: "IrecvNew", makes: true, start: func(c *mpi.Comm, _ *randomElem[T], _, from, tag int) (*mpi.Request, func() []T) {
			r := mpi.IrecvNew[T](c, from, tag)
			return r.Request, r.Data
		}},
		{name: "RecvInit", init: true, start: func(c *mpi.Comm, e *randomElem[T], n, from, tag int) (*mpi.Request, func() []T) {
			b := e.blank(n)
			return started(mpi.RecvInit[T])(c, b, from, tag), func() []T { return b }
		}},
	}
}

// letter is one message, whatever its elements are.
type letter struct {
	from, to, tag, n int
	what             string
	send             func(x *strand)
	// recv receives it; source and tag are what the receive asks for.
	recv func(x *strand, source, tag int)
}

// letterMaker draws the forms and the elements of a message; blocking says that forms that block
// may be drawn.
type letterMaker func(d *dice, l *letter, blocking bool)

var letterMakers = []letterMaker{
	letterOf(&randomInts), letterOf(&randomBytes), letterOf(&randomPairs), letterOf(&randomStrings), letterOf(&randomRecords),
}

func letterOf[T any](e *randomElem[T]) letterMaker { return letterMakerOf(e, false) }

// letterMakerOf makes messages of one element type, of buffers that may have layouts, or of whole
// buffers.
func letterMakerOf[T any](e *randomElem[T], laid bool) letterMaker {
	return func(d *dice, l *letter, blocking bool) {
		rs := recvForms[T]()
		if laid {
			rs = slices.DeleteFunc(rs, func(f recvForm[T]) bool { return f.makes })
		}
		s, r := drawForm(d, sendForms[T](), blocking && l.from != l.to), drawForm(d, rs, blocking)
		l.n = d.length(e.most)
		if s.most > 0 {
			l.n = min(l.n, s.most)
		}
		code := codeOf(d.number(), l.from)
		out, in := drawLaying(d, laid), drawLaying(d, laid)
		in.more = in.laid && d.chance(3)
		l.what = fmt.Sprintf("%s%s of %d %s, %d to %d, tag %d, %s%s", out, s.name, l.n, e.name, l.from, l.to, l.tag, in, r.name)
		l.send = func(x *strand) {
			t, b := lay(x, e, out, e.vector(l.n, code))
			before := slices.Clone(b)
			if s.blocks {
				x.must(s.call(x.c.WithTypes(t, nil), b, l.to, l.tag))
				return
			}
			r := s.start(x.c.WithTypes(t, nil), b, l.to, l.tag)
			x.leave(r, func(mpi.Status) {
				compare(x, e, "what was sent", b, before)
				x.free(r, s.init)
			})
		}
		l.recv = func(x *strand, source, tag int) {
			t, want := lay(x, e, in, e.vector(l.n, code))
			c := x.c.WithTypes(nil, t)
			verify := func(got []T, st mpi.Status) {
				if st.Source != l.from || st.Tag != l.tag || st.Count != l.n {
					x.failf("%s: the status is %+v", l.what, st)
				}
				compare(x, e, l.what, got, want)
			}
			if r.blocks {
				got, st, err := r.call(c, e, len(want), source, tag)
				x.must(err)
				verify(got, st)
				return
			}
			req, data := r.start(c, e, len(want), source, tag)
			x.leave(req, func(st mpi.Status) {
				verify(data(), st)
				x.free(req, r.init)
			})
		}
	}
}

// callForm is what drawForm needs to know.
type callForm interface{ isBlocking() bool }

func (f sendForm[T]) isBlocking() bool { return f.blocks }
func (f recvForm[T]) isBlocking() bool { return f.blocks }

func drawForm[F callForm](d *dice, forms []F, blocking bool) F {
	for {
		if f := forms[d.IntN(len(forms))]; blocking || !f.isBlocking() {
			return f
		}
	}
}

// letterOps are steps of messages between any ranks, each in forms of its own.
var letterOps = lettersOf(letterMakers)

// lettersOf are such steps of messages that makers make.
func lettersOf(makers []letterMaker) []randomOp {
	draw := func(blocking bool) func(d *dice) (string, func(*strand)) {
		return func(d *dice) (string, func(*strand)) {
			ls, what := drawLetters(d, makers, blocking, func() (int, int) { return d.rank(), d.rank() })
			return what, func(x *strand) {
				me := x.c.Rank()
				x.exchange(ls, blocking, func(l addressed) bool { return l.from == me }, func(l addressed) bool { return l.to == me })
			}
		}
	}
	return []randomOp{
		{name: "messages one after another", draw: draw(true)},
		{name: "messages at once", draw: draw(false)},
	}
}

// exchange sends and receives messages: all in their order, or what this rank sends and what it
// receives interleaved.
func (x *strand) exchange(ls []addressed, ordered bool, sends, receives func(addressed) bool) {
	var out, in []func()
	do := func(later *[]func(), f func()) {
		if ordered {
			f()
		} else {
			*later = append(*later, f)
		}
	}
	for _, l := range ls {
		if sends(l) {
			do(&out, func() { l.send(x) })
		}
		if receives(l) {
			do(&in, func() { l.recv(x, l.source, l.wanted) })
		}
	}
	x.interleave(out, in)
}

// patternOps are steps of messages that belong together.
var patternOps = []randomOp{
	{name: "messages of one tag to one rank", draw: drawFanIn},
	{name: "messages from anyone with any tag", draw: drawWild},
	{name: "ready sends", draw: drawReady},
	{name: "persistent rounds", draw: drawRounds},
}

// addressed is a letter and how its receive asks for it.
type addressed struct {
	letter
	source, wanted int // wildcards, where no other message fits
}

// drawLetters draws messages of tags of their own. A receive may leave out the source, as no other
// message has the tag. Or it may leave out the tag: messages from one rank to another match in the
// order in which they were sent, which is that of the receives, and those before it have receives
// of their own.
func drawLetters(d *dice, makers []letterMaker, blocking bool, between func() (from, to int)) (ls []addressed, what string) {
	pairs := make([][2]int, 1+d.IntN(2*d.size)) // few, so that often several messages go the same way
	for i := range pairs {
		pairs[i][0], pairs[i][1] = between()
	}
	for range 1 + d.IntN(6*d.size) {
		pair := pairs[d.IntN(len(pairs))]
		l := addressed{letter: letter{from: pair[0], to: pair[1], tag: d.newTag()}}
		makers[d.IntN(len(makers))](d, &l.letter, blocking)
		l.source, l.wanted = l.from, l.tag
		switch d.IntN(4) {
		case 0:
			l.source = mpi.AnySource
			l.what += " from anyone"
		case 1:
			l.wanted = mpi.AnyTag
			l.what += " with any tag"
		}
		ls = append(ls, l)
		what += "\n  " + l.what
	}
	return ls, what
}

// interleave calls both lists, each in its order.
func (x *strand) interleave(a, b []func()) {
	for len(a)+len(b) > 0 {
		if x.own.IntN(len(a)+len(b)) < len(a) {
			a[0]()
			a = a[1:]
		} else {
			b[0]()
			b = b[1:]
		}
	}
}

// drawFanIn: every rank sends some messages of one tag to one rank, which takes them as they come.
// Those of one sender come in the order in which it sent them.
func drawFanIn(d *dice) (string, func(*strand)) {
	counts, root, tag, id := make([]int, d.size), d.rank(), d.newTag(), d.number()
	for r := range counts {
		counts[r] = d.IntN(5)
	}
	return fmt.Sprintf("%v of tag %d to %d", counts, tag, root), func(x *strand) {
		for k := range counts[x.c.Rank()] {
			b := randomInts.vector(3+k, codeOf(id, x.c.Rank()))
			x.leave(mpi.Isend(x.c, b, root, tag), func(mpi.Status) {})
		}
		if x.c.Rank() == root {
			x.takeAll(counts, id, mpi.AnySource, tag)
		}
	}
}

// takeAll receives counts[r] messages of each rank r: the k-th has 3+k elements.
func (x *strand) takeAll(counts []int, id, source, tag int) {
	left, next := 0, make([]int, len(counts))
	for _, n := range counts {
		left += n
	}
	for range left {
		b, st, err := mpi.RecvNew[int64](x.c, source, tag)
		x.must(err)
		if next[st.Source] == counts[st.Source] {
			x.failf("a message too many from rank %d: %+v", st.Source, st)
		}
		compare(x, &randomInts, fmt.Sprintf("message %d from rank %d", next[st.Source], st.Source), b,
			randomInts.vector(3+next[st.Source], codeOf(id, st.Source)))
		next[st.Source]++
	}
}

// drawWild: every rank sends every rank some messages, which are received without saying whose or
// what tag. The barrier keeps those of later steps away.
func drawWild(d *dice) (string, func(*strand)) {
	counts, id, tag := make([][]int, d.size), d.number(), d.newTag() // by receiver, by sender
	for to := range counts {
		for range d.size {
			counts[to] = append(counts[to], d.IntN(3))
		}
	}
	return fmt.Sprint(counts), func(x *strand) {
		for to := range counts {
			for k := range counts[to][x.c.Rank()] {
				b := randomInts.vector(3+k, codeOf(id, x.c.Rank()))
				x.leave(mpi.Isend(x.c, b, to, tag), func(mpi.Status) {})
			}
		}
		x.takeAll(counts[x.c.Rank()], id, mpi.AnySource, mpi.AnyTag)
		x.must(mpi.Barrier(x.c))
	}
}

// drawReady: what is sent in ready mode has its receive posted.
func drawReady(d *dice) (string, func(*strand)) {
	n, shift, tag, id, form := d.length(randomInts.most), d.rank(), d.newTag(), d.number(), d.IntN(3)
	return fmt.Sprintf("%d elements to the rank %d further, form %d", n, shift, form), func(x *strand) {
		me, size := x.c.Rank(), x.c.Size()
		to, from := (me+shift)%size, (me+size-shift)%size
		in, out := randomInts.blank(n), randomInts.vector(n, codeOf(id, me))
		x.leave(mpi.Irecv(x.c, in, from, tag), func(mpi.Status) {
			compare(x, &randomInts, "what was received", in, randomInts.vector(n, codeOf(id, from)))
		})
		x.must(mpi.Barrier(x.c))
		switch form {
		case 0:
			x.must(mpi.Rsend(x.c, out, to, tag))
		case 1:
			x.leave(mpi.Irsend(x.c, out, to, tag), func(mpi.Status) {})
		default:
			r := started(mpi.RsendInit[int64])(x.c, out, to, tag)
			x.leave(r, func(mpi.Status) { x.free(r, true) })
		}
	}
}

// drawRounds: persistent requests of a ring are started again and again.
func drawRounds(d *dice) (string, func(*strand)) {
	n, shift, tag, id, rounds := d.length(randomInts.most), d.rank(), d.newTag(), d.number(), 1+d.IntN(4)
	return fmt.Sprintf("%d of %d elements to the rank %d further", rounds, n, shift), func(x *strand) {
		me, size := x.c.Rank(), x.c.Size()
		to, from := (me+shift)%size, (me+size-shift)%size
		in, out := randomInts.blank(n), randomInts.blank(n)
		rs := []*mpi.Request{mpi.RecvInit(x.c, in, from, tag), mpi.SendInit(x.c, out, to, tag)}
		for k := range rounds {
			copy(out, randomInts.vector(n, codeOf(id, me)+int64(k)))
			x.must(mpi.StartAll(rs...))
			_, err := mpi.WaitAll(rs...)
			x.must(err)
			compare(x, &randomInts, "what was received", in, randomInts.vector(n, codeOf(id, from)+int64(k)))
		}
		for _, r := range rs {
			x.must(r.Free())
		}
	}
}
