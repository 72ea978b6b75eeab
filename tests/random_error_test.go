package tests

import (
	"errors"
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

// Errors in random programs: the model says of which class the answer is, and what goes on beside
// is not disturbed.

var errorOps = []randomOp{
	{name: "messages that do not fit", draw: severalOf([]func(d *dice) (string, func(x *strand)){
		truncated(&randomInts), truncated(&randomBytes), truncated(&randomPairs), truncated(&randomStrings), truncated(&randomRecords),
		mistyped(&randomInts, &randomStrings, true), mistyped(&randomRecords, &randomBytes, true),
		mistyped(&randomInts, &randomPairs, false),
	})},
	{name: "wrong peers and tags", draw: severalOf([]func(d *dice) (string, func(x *strand)){
		misaddressed(&randomInts), misaddressed(&randomPairs), misaddressed(&randomStrings),
	})},
	{name: "wrong calls", draw: severalOf([]func(d *dice) (string, func(x *strand)){wrongly})},
}

// wantClass fails the strand unless err is of a class.
func (x *strand) wantClass(what string, err error, class mpi.ErrorClass) {
	if !errors.Is(err, class) {
		x.failf("%s gives the error %v, want one of class %v", what, err, class)
	}
}

// shortForm is a way to receive into a buffer that is too short.
type shortForm[T any] struct {
	name string
	call func(c *mpi.Comm, b []T, from, tag int) (mpi.Status, error) // nil: it does not block
	init bool
}

func shortForms[T any]() []shortForm[T] {
	return []shortForm[T]{
		{name: "Irecv"},
		{name: "RecvInit", init: true},
		{name: "Recv", call: mpi.Recv[T]},
		{name: "Probe, Recv", call: func(c *mpi.Comm, b []T, from, tag int) (mpi.Status, error) {
			st, err := mpi.Probe(c, from, tag)
			if err != nil {
				return st, err
			}
			return mpi.Recv(c, b, st.Source, st.Tag)
		}},
		{name: "Mprobe, Mrecv", call: func(c *mpi.Comm, b []T, from, tag int) (mpi.Status, error) {
			msg, st, err := mpi.Mprobe(c, from, tag)
			if err != nil {
				return st, err
			}
			return mpi.Mrecv(msg, b)
		}},
	}
}

// truncated is a message that is longer than the buffer: an error that names both, and nothing is
// written behind the buffer.
func truncated[T any](e *randomElem[T]) func(d *dice) (string, func(x *strand)) {
	return func(d *dice) (string, func(x *strand)) {
		from, to, tag := d.rank(), d.rank(), d.newTag()
		s, forms := drawForm(d, sendForms[T](), from != to), shortForms[T]()
		f := forms[d.IntN(len(forms))]
		n := 1 + d.length(e.most-1)
		if s.most > 0 {
			n = min(n, s.most)
		}
		room, code := d.IntN(n), codeOf(d.number(), from)
		return fmt.Sprintf("%s of %d %s, %d to %d, tag %d, %s of %d", s.name, n, e.name, from, to, tag, f.name, room), func(x *strand) {
			if x.c.Rank() == from {
				post(x, e, s, n, code, to, tag)
			}
			if x.c.Rank() != to {
				return
			}
			b := e.blank(n)
			behind := func() { compare(x, e, "what is behind the buffer", b[room:], e.blank(n-room)) }
			if f.call != nil {
				_, err := f.call(x.c, b[:room:room], from, tag)
				x.wantClass(f.name, err, mpi.ErrTruncate)
				if t, ok := errors.AsType[*mpi.TruncateError](err); !ok || !t.Bytes && (t.Message != n || t.Buffer != room) {
					x.failf("%s of %d into %d gives %v", f.name, n, room, err)
				}
				behind()
				return
			}
			start := mpi.Irecv[T]
			if f.init {
				start = started(mpi.RecvInit[T])
			}
			r := start(x.c, b[:room:room], from, tag)
			x.leaveFailing(r, mpi.ErrTruncate, func(mpi.Status) {
				behind()
				x.free(r, f.init)
			})
		}
	}
}

// post sends elements in some form; the end of what does not block is left open.
func post[T any](x *strand, e *randomElem[T], s sendForm[T], n int, code int64, to, tag int) {
	b := e.vector(n, code)
	if s.blocks {
		x.must(s.call(x.c, b, to, tag))
		return
	}
	r := s.start(x.c, b, to, tag)
	x.leave(r, func(mpi.Status) { x.free(r, s.init) })
}

// mistyped is a message of elements of S that is received as some of R. Unless it always fails it
// does so if types are checked, which they are not in buffered messages.
func mistyped[S, R any](sent *randomElem[S], wanted *randomElem[R], always bool) func(d *dice) (string, func(x *strand)) {
	return func(d *dice) (string, func(x *strand)) {
		from, to, tag, code := d.rank(), d.rank(), d.newTag(), codeOf(d.number(), 0)
		s := drawForm(d, sendForms[S](), from != to)
		n := 1 + d.length(min(sent.most, wanted.most, bufferedMost)-1)
		blocking, class := d.chance(2), mpi.Success
		if always || isChecking() && s.most == 0 {
			class = mpi.ErrType
		}
		return fmt.Sprintf("%s of %d %s as %s, %d to %d, tag %d, blocking %t", s.name, n, sent.name, wanted.name, from, to, tag, blocking), func(x *strand) {
			if x.c.Rank() == from {
				post(x, sent, s, n, code, to, tag)
			}
			if x.c.Rank() != to {
				return
			}
			b := wanted.blank(n)
			if r := mpi.Irecv(x.c, b, from, tag); !blocking {
				x.leaveFailing(r, class, func(mpi.Status) {})
			} else if _, err := r.Wait(); class != mpi.Success {
				x.wantClass("the receive", err, class)
			} else {
				x.must(err)
			}
		}
	}
}

// misaddressed is a send or a receive with a rank or a tag that does not exist, which one rank
// calls.
func misaddressed[T any](e *randomElem[T]) func(d *dice) (string, func(x *strand)) {
	return func(d *dice) (string, func(x *strand)) {
		at, n, peer, tag, class := d.rank(), d.length(e.most/8), d.rank(), d.newTag(), mpi.ErrTag
		sends := d.chance(2)
		if d.chance(2) {
			class = mpi.ErrRank
			peer = []int{d.size, d.size + d.IntN(1000), -1000, mpi.Root, mpi.Undefined}[d.IntN(5)]
			if sends && d.chance(4) {
				peer = mpi.AnySource
			}
		} else {
			tag = []int{-1000, mpi.TagUB + 1, mpi.Undefined}[d.IntN(3)]
			if sends && d.chance(4) {
				tag = mpi.AnyTag
			}
		}
		s, r := drawForm(d, sendForms[T](), true), drawForm(d, recvForms[T](), true)
		what := fmt.Sprintf("%s of %d %s to rank %d, tag %d, at %d", s.name, n, e.name, peer, tag, at)
		if !sends {
			what = fmt.Sprintf("%s of %d %s from rank %d, tag %d, at %d", r.name, n, e.name, peer, tag, at)
		}
		return what, func(x *strand) {
			switch b := e.blank(n); {
			case x.c.Rank() != at:
			case sends && s.blocks:
				x.wantClass(s.name, s.call(x.c, b, peer, tag), class)
			case sends:
				x.leaveFailing(s.start(x.c, b, peer, tag), class, func(mpi.Status) {})
			case r.blocks:
				_, _, err := r.call(x.c, e, n, peer, tag)
				x.wantClass(r.name, err, class)
			default:
				q, _ := r.start(x.c, e, n, peer, tag)
				x.leaveFailing(q, class, func(mpi.Status) {})
			}
		}
	}
}
