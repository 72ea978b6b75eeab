package tests

import (
	"fmt"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

// exchangeForm is a send and a receive in one: of b, and into in, or into b where in is nil.
type exchangeForm[T any] struct {
	name    string
	replace bool // what is received replaces what is sent
	start   func(c *mpi.Comm, b []T, to, sendTag int, in []T, from, recvTag int) *mpi.Request
	call    func(c *mpi.Comm, b []T, to, sendTag int, in []T, from, recvTag int) (mpi.Status, error)
}

func exchanges[T any]() []exchangeForm[T] {
	return []exchangeForm[T]{
		{name: "Sendrecv", start: mpi.Isendrecv[T, T], call: mpi.Sendrecv[T, T]},
		{
			name: "SendrecvReplace", replace: true,
			start: func(c *mpi.Comm, b []T, to, sendTag int, _ []T, from, recvTag int) *mpi.Request {
				return mpi.IsendrecvReplace(c, b, to, sendTag, from, recvTag)
			},
			call: func(c *mpi.Comm, b []T, to, sendTag int, _ []T, from, recvTag int) (mpi.Status, error) {
				return mpi.SendrecvReplace(c, b, to, sendTag, from, recvTag)
			},
		},
	}
}

// exchangesOf makes operations of the table for one element type: rank r sends to r+shift and
// receives from r-shift, around the ring. Where that is drawn, the peers beyond its ends are
// ProcNull.
func exchangesOf[T any](e *randomElem[T]) (ops []randomOp) {
	for _, f := range exchanges[T]() {
		ops = append(ops, randomOp{name: f.name + " of " + e.name, draw: func(d *dice) (string, func(*strand)) {
			n, shift, tag, id := d.length(e.most), d.rank(), d.newTag(), d.number()
			ends, blocking := d.chance(3), d.chance(2)
			return fmt.Sprintf("%d to the rank %d further, ends %t, blocking %t", n, shift, ends, blocking), func(x *strand) {
				me, size := x.c.Rank(), x.c.Size()
				to, from := (me+shift)%size, (me+size-shift)%size
				if ends && me+shift >= size {
					to = mpi.ProcNull
				}
				if ends && me < shift {
					from = mpi.ProcNull
				}
				out := e.vector(n, codeOf(id, me))
				in, want := e.blank(n), e.blank(n)
				if f.replace {
					in, want = out, slices.Clone(out)
				}
				if from != mpi.ProcNull {
					want = e.vector(n, codeOf(id, from))
				}
				verify := func(st mpi.Status) {
					if st.Source != from {
						x.failf("the status is %+v, the source %d", st, from)
					}
					compare(x, e, "what was received", in, want)
				}
				if blocking {
					st, err := f.call(x.c, out, to, tag, in, from, tag)
					x.must(err)
					verify(st)
					return
				}
				x.leave(f.start(x.c, out, to, tag, in, from, tag), verify)
			}
		}})
	}
	return ops
}

// commOps make communicators, use and free them, in the midst of what goes on on the strand's own.
var commOps = []randomOp{
	{name: "Dup", draw: func(d *dice) (string, func(*strand)) {
		return "", func(x *strand) {
			own, err := x.c.Dup(nil)
			x.must(err)
			x.useComm(own, x.c.Rank(), x.c.Size())
		}
	}},
	{name: "Split", draw: func(d *dice) (string, func(*strand)) {
		colors, keys := make([]int, d.size), make([]int, d.size)
		for r := range colors {
			colors[r], keys[r] = d.IntN(3), d.IntN(3)
		}
		return fmt.Sprintf("colors %v, keys %v", colors, keys), func(x *strand) {
			me := x.c.Rank()
			own, err := x.c.Split(colors[me], keys[me])
			x.must(err)
			rank, size := 0, 0
			for r := range colors {
				if colors[r] != colors[me] {
					continue
				}
				size++
				if keys[r] < keys[me] || keys[r] == keys[me] && r < me {
					rank++
				}
			}
			x.useComm(own, rank, size)
		}
	}},
}

// useComm uses a new communicator, in which this rank should be rank of size, and frees it.
func (x *strand) useComm(c *mpi.Comm, rank, size int) {
	if c.Rank() != rank || c.Size() != size {
		x.failf("%v is rank %d of %d, want %d of %d", c, c.Rank(), c.Size(), rank, size)
	}
	got := make([]int64, size)
	x.must(mpi.Allgather(c, []int64{int64(rank)}, got))
	compare(x, &randomInts, "Allgather of ranks", got, randomInts.vector(size, 0))
	x.must(c.Free())
}
