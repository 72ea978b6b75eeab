package tests

import "github.com/fitmpi/fitmpi/mpi"

// Collectives of random programs in all their forms, whatever communicator they are of.

// drawWay is how a collective runs: 0 says that it blocks, 1 that it does not; else it is
// persistent and runs once less.
func drawWay(d *dice) int { return d.IntN(4) }

// runForm runs a collective in a way that all ranks have drawn. What does not block is left open,
// and of what is persistent the last round.
func (x *strand) runForm(f form, way int) {
	switch f.set(0); way {
	case 0:
		x.must(f.block())
		f.check(f.name, 0)
	case 1:
		x.leave(f.start(), func(mpi.Status) { f.check("I"+f.name, 0) })
	default:
		r := f.init()
		for k := range way - 1 {
			if k > 0 {
				_, err := r.Wait()
				x.must(err)
				f.check("persistent "+f.name, k-1)
				f.set(k)
			}
			x.must(r.Start())
		}
		x.leave(r, func(mpi.Status) {
			f.check("persistent "+f.name, way-2)
			x.free(r, true)
		})
	}
}

// typedCalls are the forms of Alltoallw, or of its like.
type typedCalls[T any] struct {
	name  string
	block func(c *mpi.Comm, in []T, sendTypes []*mpi.Datatype, out []T, recvTypes []*mpi.Datatype) error
	start func(c *mpi.Comm, in []T, sendTypes []*mpi.Datatype, out []T, recvTypes []*mpi.Datatype) *mpi.Request
	init  func(c *mpi.Comm, in []T, sendTypes []*mpi.Datatype, out []T, recvTypes []*mpi.Datatype) *mpi.Request
}

func alltoallw[T any]() typedCalls[T] {
	return typedCalls[T]{"Alltoallw", mpi.Alltoallw[T, T], mpi.Ialltoallw[T, T], mpi.AlltoallwInit[T, T]}
}

func neighborAlltoallw[T any]() typedCalls[T] {
	return typedCalls[T]{"NeighborAlltoallw", mpi.NeighborAlltoallw[T, T], mpi.IneighborAlltoallw[T, T], mpi.NeighborAlltoallwInit[T, T]}
}

// pieces are the blocks of a buffer, and what they hold in a round; nil if it stays as it is.
type pieces[T any] struct {
	blockLayout
	piece func(i, round int) []T
}

// fill is a buffer of the blocks in a round.
func (p *pieces[T]) fill(e *randomElem[T], round int) []T {
	b := e.blank(p.len)
	for i, at := range p.displs {
		copy(b[at:], p.piece(i, round))
	}
	return b
}

// packedBlocks follow each other.
func packedBlocks(counts []int) blockLayout {
	l := blockLayout{counts: counts}
	for _, n := range counts {
		l.displs = append(l.displs, l.len)
		l.len += n
	}
	return l
}

// flatForm completes the form that bind makes of two buffers with what they hold.
func flatForm[T any](x *strand, e *randomElem[T], out, in pieces[T], bind func(from, into []T) form) form {
	from, into := e.blank(out.len), e.blank(in.len)
	f := bind(from, into)
	f.set = func(round int) {
		copy(from, out.fill(e, round))
		copy(into, e.blank(in.len))
	}
	f.check = func(what string, round int) {
		compare(x, e, what, into, in.fill(e, round))
		compare(x, e, "the input of "+what, from, out.fill(e, round))
	}
	return f
}

// typedForm is the exchange of blocks that each have a layout of their own, one after the other.
func typedForm[T any](x *strand, c *mpi.Comm, e *randomElem[T], g *mapper, calls typedCalls[T], out, in pieces[T]) form {
	sendTypes, sendMaps, n := layBlocks(x, g, out.counts)
	recvTypes, recvMaps, m := layBlocks(x, g, in.counts)
	fill := func(n int, maps []randomMap, p *pieces[T], round int) []T {
		b := e.blank(n)
		for i := range maps {
			put(b, &maps[i], g.size, p.piece(i, round))
		}
		return b
	}
	from, into := e.blank(n), e.blank(m)
	return form{calls.name,
		func() error { return calls.block(c, from, sendTypes, into, recvTypes) },
		func() *mpi.Request { return calls.start(c, from, sendTypes, into, recvTypes) },
		func() *mpi.Request { return calls.init(c, from, sendTypes, into, recvTypes) },
		func(round int) {
			copy(from, fill(n, sendMaps, &out, round))
			copy(into, e.blank(m))
		},
		func(what string, round int) { compare(x, e, what, into, fill(m, recvMaps, &in, round)) }}
}
