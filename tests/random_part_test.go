package tests

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

// Partitioned messages of random programs. They are matched in the order in which both ends make
// them, so few tags do for many.

// partLetter is a partitioned message, round after round, whatever its elements are. Its ends make
// their requests.
type partLetter struct {
	from, to   int
	what       string
	send, recv func(x *strand) *partEnd
}

// partEnd is a request and what goes with it.
type partEnd struct {
	r      *mpi.Request
	parts  int
	spoil  func()                     // before a round
	fill   func(round, partition int) // at the sender: puts what is to be sent
	look   func(round, partition int) // at the receiver: at what has arrived
	verify func(round int, st mpi.Status)
}

const partTags = 3

// partMakers draw messages of an element type.
var partMakers = []func(d *dice) partLetter{
	partLetterOf(&randomInts), partLetterOf(&randomBytes), partLetterOf(&randomPairs), partLetterOf(&randomStrings), partLetterOf(&randomRecords),
}

func partLetterOf[T any](e *randomElem[T]) func(d *dice) partLetter {
	return func(d *dice) partLetter {
		from, to, tag, id := d.rank(), d.rank(), d.IntN(partTags), d.number()
		sends, recvs := 1+d.IntN(12), 1+d.IntN(12)
		common := sends // the least that both divide
		for common%recvs != 0 {
			common += sends
		}
		n := common * d.length(e.most/(2*common))
		elems := func(round, parts, i int) []T {
			per := n / parts
			return e.vector(per, codeOf(id, from)+int64(round)<<30+int64(i*per))
		}
		l := partLetter{from: from, to: to}
		l.what = fmt.Sprintf("%d %s, %d to %d, tag %d, in %d and %d partitions", n, e.name, from, to, tag, sends, recvs)
		l.send = func(x *strand) *partEnd {
			b := e.blank(n)
			return &partEnd{
				r: mpi.PsendInit(x.c, b, sends, to, tag), parts: sends,
				spoil:  func() { copy(b, e.blank(n)) },
				fill:   func(round, i int) { copy(b[i*(n/sends):], elems(round, sends, i)) },
				verify: func(int, mpi.Status) {},
			}
		}
		l.recv = func(x *strand) *partEnd {
			b := e.blank(n)
			check := func(round, parts, i int) {
				compare(x, e, fmt.Sprintf("round %d, partition %d of %s", round, i, l.what), b[i*(n/parts):(i+1)*(n/parts)], elems(round, parts, i))
			}
			return &partEnd{
				r: mpi.PrecvInit(x.c, b, recvs, from, tag), parts: recvs,
				spoil: func() { copy(b, e.blank(n)) },
				look:  func(round, i int) { check(round, recvs, i) },
				verify: func(round int, st mpi.Status) {
					if st.Source != from || st.Tag != tag || st.Count != n {
						x.failf("%s: the status is %+v", l.what, st)
					}
					check(round, 1, 0)
				},
			}
		}
		return l
	}
}

// partitionOps are rounds of several messages.
var partitionOps = []randomOp{{name: "partitioned messages", draw: func(d *dice) (string, func(*strand)) {
	var ls []partLetter
	rounds := 1 + d.IntN(4)
	var what strings.Builder
	fmt.Fprintf(&what, "%d rounds of", rounds)
	for range 1 + d.IntN(2*d.size) {
		ls = append(ls, partMakers[d.IntN(len(partMakers))](d))
		what.WriteString("\n  " + ls[len(ls)-1].what)
	}
	return what.String(), func(x *strand) {
		var sends, recvs []*partEnd
		var out, in []func()
		for _, l := range ls {
			if l.from == x.c.Rank() {
				out = append(out, func() { sends = append(sends, l.send(x)) })
			}
			if l.to == x.c.Rank() {
				in = append(in, func() { recvs = append(recvs, l.recv(x)) })
			}
		}
		x.interleave(out, in)
		for round := range rounds {
			x.partRound(sends, recvs, round, round == rounds-1)
		}
	}
}}}

// partRound starts all requests in some order, makes everything ready and looks at what arrives.
// The last round is left open.
func (x *strand) partRound(sends, recvs []*partEnd, round int, last bool) {
	all := slices.Concat(sends, recvs)
	x.own.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var rs []*mpi.Request
	for _, p := range all {
		p.spoil()
		rs = append(rs, p.r)
	}
	x.must(mpi.StartAll(rs...))
	var work []func()
	for _, p := range sends {
		work = append(work, x.readying(p, round)...)
	}
	for _, p := range recvs {
		if x.own.IntN(2) == 0 {
			work = append(work, x.looking(p, round))
		}
	}
	waits := !last && x.own.IntN(2) == 0 // beside those that make ready
	if waits {
		work = append(work, func() { x.finishRound(all, rs, round) })
	}
	x.t.together(work...)
	switch {
	case last:
		for _, p := range all {
			x.leave(p.r, func(st mpi.Status) {
				p.verify(round, st)
				x.free(p.r, true)
			})
		}
	case !waits:
		x.finishRound(all, rs, round)
	}
}

func (x *strand) finishRound(all []*partEnd, rs []*mpi.Request, round int) {
	sts, err := mpi.WaitAll(rs...)
	x.must(err)
	for i, p := range all {
		p.verify(round, sts[i])
	}
}

// readying is functions of some goroutines that make all partitions of p ready, each those of a
// part of a random order.
func (x *strand) readying(p *partEnd, round int) (work []func()) {
	for order := x.own.Perm(p.parts); len(order) > 0; {
		k := 1 + x.own.IntN(len(order))
		mine, way := order[:k], x.own.IntN(3)
		order = order[k:]
		work = append(work, func() {
			slices.Sort(mine[:k/2]) // so that some follow each other
			for len(mine) > 0 {
				k := 1
				for way > 0 && k < len(mine) && (way == 1 || mine[k] == mine[k-1]+1) {
					k++
				}
				for _, i := range mine[:k] {
					p.fill(round, i)
				}
				switch way {
				case 0:
					x.must(p.r.Pready(mine[0]))
				case 1:
					x.must(p.r.PreadyList(mine[:k]...))
				default:
					x.must(p.r.PreadyRange(mine[0], mine[k-1]))
				}
				mine = mine[k:]
			}
		})
	}
	return work
}

// looking waits until each partition has arrived, in some order, and looks at it.
func (x *strand) looking(p *partEnd, round int) func() {
	order := x.own.Perm(p.parts)
	return func() {
		for _, i := range order {
			for there := false; !there; runtime.Gosched() {
				var err error
				there, err = p.r.Parrived(i)
				if x.must(err); x.ctx.Err() != nil {
					x.failf("partition %d does not arrive", i)
				}
			}
			p.look(round, i)
		}
	}
}
