package coll

import "slices"

// Alltoall sends block r of in to rank r, which has it as block rank of out; a block is
// in.Len()/size bytes (MPI 4.1, 6.8). In place: in and out may be the same.
//
//   - Bruck (see [Allgather]): round k moves, packed in one message, all blocks whose distance has
//     bit k. lg p rounds, (m/2) p lg p bytes for blocks of m, and copies.
//   - Pairwise: in each round a rank sends to one that is so far on and receives from the one that
//     is as far behind. p-1 rounds, m(p-1) bytes, a few messages under way at a time.
//   - Linear: the same messages, many at a time.
//
// In place the latter two swap long blocks piece by piece.
func Alltoall(g Graph, alg Algorithm, rank, size int, in, out Buf, after ...Step) []Step {
	m := in.Len() / size
	if m == 0 {
		return after
	}
	if !KindAlltoall.Has(alg) {
		alg = ChooseAlltoall(size, m)
	}
	if alg == Bruck {
		return alltoallBruck(g, rank, size, in, out, m, after) // which copies in
	}
	counts, displs := even(size, m)
	x := exchange{in, out, counts, displs, counts, displs}
	switch alg {
	case Pairwise:
		return x.run(g, rank, size, pairwiseWindow, after)
	case Linear:
		return x.run(g, rank, size, linearWindow, after)
	default:
		panic(KindAlltoall.unreachable(alg))
	}
}

// Alltoallv sends the sendCounts[r] bytes at sendDispls[r] of in to rank r, and receives
// recvCounts[r] bytes from it at recvDispls[r] of out (MPI 4.1, 6.8). Linear; empty blocks are not
// sent, so that a sparse pattern costs what it moves. In place: in and out may be the same; what is
// sent is copied then, unless long blocks can be swapped as by [Alltoall].
func Alltoallv(g Graph, rank, size int, in Buf, sendCounts, sendDispls []int,
	out Buf, recvCounts, recvDispls []int, after ...Step) []Step {
	x := exchange{in, out, sendCounts, sendDispls, recvCounts, recvDispls}
	return x.run(g, rank, size, linearWindow, after)
}

// exchange is a personal message from every rank to every rank. Rounds 0 to size-2 are of one
// distance each, and a rank sends that far on and receives from that far behind. All ranks take
// rounds in one order, in which those of opposite distances, by which two ranks exchange their
// blocks, follow each other. Long blocks go in pieces, in two streams by turns, as both ends of a
// block know its length.
type exchange struct {
	in, out                Buf
	sendCounts, sendDispls []int
	recvCounts, recvDispls []int
}

// Sizes that shape an exchange. Pieces of a mebibyte take as long as whole blocks.
var (
	exchangePiece = 1 << 20 // of a block, one message
	exchangeApart = 1 << 20 // up to so many bytes are copied before an exchange in place
)

// exchangeStreams is how many pieces of a block are under way at once.
const exchangeStreams = 2

// distance is how far round i sends: 1, size-1, 2, size-2 and so on.
func distance(i, size int) int {
	if i%2 == 0 {
		return i/2 + 1
	}
	return size - i/2 - 1
}

// run exchanges, at most window rounds at a time: a round starts when the one window before it is
// complete. The earliest round that is not complete anywhere is under way at all ranks, so this
// cannot deadlock; nor can it beside ranks that swap, if window is 2 at least.
func (x *exchange) run(g Graph, rank, size, window int, after []Step) []Step {
	if x.in.is(x.out) {
		if x.swaps() {
			return x.swap(g, rank, size, after)
		}
		x.in, after = Apart(g, x.in, after...)
	}
	copied := moveBuf(g, x.received(rank), x.sent(rank), after)
	if size-1 <= window {
		done := append(make([]Step, 0, 2*size), copied...) // all that short blocks need
		for i := range size - 1 {
			done = x.round(g, done, rank, size, i, after)
		}
		return join(g, done)
	}
	slots := make([][]Step, window)
	for i := range slots {
		slots[i] = after
	}
	for i := range size - 1 {
		slot := &slots[i%window]
		if next := x.round(g, nil, rank, size, i, *slot); len(next) > 0 {
			*slot = next
		}
	}
	done := copied
	for _, s := range slots {
		done = with(done, s...)
	}
	return join(g, done)
}

// round appends to done the steps after which round i is complete; none if nothing moves.
func (x *exchange) round(g Graph, done []Step, rank, size, i int, after []Step) []Step {
	s := distance(i, size)
	to, from := mod(rank+s, size), mod(rank-s, size)
	done = inPieces(g, done, x.sent(to), after, func(b Buf, after []Step) Step { return g.Send(to, b, after...) })
	return inPieces(g, done, x.received(from), after, func(b Buf, after []Step) Step { return g.Recv(from, b, after...) })
}

func (x *exchange) sent(to int) Buf       { return x.in.block(x.sendCounts, x.sendDispls, to) }
func (x *exchange) received(from int) Buf { return x.out.block(x.recvCounts, x.recvDispls, from) }

// inPieces appends to done the steps after which all pieces of b have moved; none if b is empty.
func inPieces(g Graph, done []Step, b Buf, after []Step, move func(piece Buf, after []Step) Step) []Step {
	n := b.Len()
	switch {
	case n == 0:
		return done
	case n <= exchangePiece:
		return append(done, move(b, after))
	}
	var streams [exchangeStreams][]Step
	for k, lo, hi := 0, 0, 0; lo < n; k, lo = k+1, hi {
		hi = pieceEnd(lo, n)
		stream := &streams[k%exchangeStreams]
		if *stream == nil {
			*stream = after
		}
		g.Stream(k % exchangeStreams)
		*stream = []Step{move(b.Part(lo, hi), *stream)}
	}
	g.Stream(0)
	return append(done, slices.Concat(streams[:]...)...)
}

// pieceEnd is the end of the piece that begins at lo, in a block of n bytes. The first of several
// pieces is shorter by a notch for each other one, within limits. So a receiver that expects a
// block of another length than the one that comes finds a piece of another length, where whole
// pieces would match.
func pieceEnd(lo, n int) int {
	hi := lo + exchangePiece
	if lo == 0 {
		hi -= notches((n-1)/exchangePiece, notchBytes, exchangePiece)
	}
	return min(hi, n)
}

// swaps says whether an exchange in place swaps blocks: each lies where the one that comes from the
// rank it goes to belongs, and all together are too long for a copy.
func (x *exchange) swaps() bool {
	n := 0
	for r, k := range x.sendCounts {
		if k != x.recvCounts[r] || x.sendDispls[r] != x.recvDispls[r] {
			return false
		}
		n += k
	}
	return n > exchangeApart
}

// swap exchanges in place, with the two ranks of opposite rounds at a time. It needs memory for a
// piece of what it sends to each.
func (x *exchange) swap(g Graph, rank, size int, after []Step) []Step {
	longest := 0
	for r, n := range x.sendCounts {
		if r != rank {
			longest = max(longest, n)
		}
	}
	var rooms [2][]byte
	for i := range min(2, size-1) {
		rooms[i] = scratch(g, min(longest, exchangePiece))
	}
	for i := 0; i < size-1; i += 2 {
		next := x.swapWith(g, mod(rank+distance(i, size), size), rooms[0], after)
		if i+1 < size-1 {
			next = with(next, x.swapWith(g, mod(rank-distance(i, size), size), rooms[1], after)...)
		}
		after = join(g, next)
	}
	return after
}

// swapWith swaps a block with one rank, a piece at a time, which leaves from room.
func (x *exchange) swapWith(g Graph, peer int, room []byte, after []Step) []Step {
	b := x.received(peer)
	for k, lo, hi := 0, 0, 0; lo < b.Len(); k, lo = k+1, hi {
		hi = pieceEnd(lo, b.Len())
		piece := b.Part(lo, hi)
		leaves := Memory(room[:piece.Len()])
		copied := moveBuf(g, leaves, piece, after)
		g.Stream(k % exchangeStreams)
		after = []Step{g.Send(peer, leaves, copied...), g.Recv(peer, piece, copied...)}
		g.Stream(0)
	}
	return after
}

func alltoallBruck(g Graph, rank, size int, in, out Buf, m int, after []Step) []Step {
	work := scratch(g, size*m) // block i is for the rank i further on, later from the rank i behind
	at := func(b []byte, i int) []byte { return b[i*m : (i+1)*m : (i+1)*m] }
	ready := []Step{g.Do(func() error {
		for i := range size {
			in.Pack(at(work, i), mod(rank+i, size)*m)
		}
		return nil
	}, after...)}
	for dist := 1; dist < size; dist *= 2 {
		var moved []int
		for i := dist; i < size; i++ {
			if i&dist != 0 {
				moved = append(moved, i)
			}
		}
		leave, come := scratch(g, len(moved)*m), scratch(g, len(moved)*m)
		pack := g.Do(func() error {
			for k, i := range moved {
				copy(at(leave, k), at(work, i))
			}
			return nil
		}, ready...)
		send := g.Send(mod(rank+dist, size), Memory(leave), pack)
		recv := g.Recv(mod(rank-dist, size), Memory(come), ready...)
		ready = []Step{g.Do(func() error {
			for k, i := range moved {
				copy(at(work, i), at(come, k))
			}
			return nil
		}, send, recv)}
	}
	return []Step{g.Do(func() error {
		for i := range size {
			out.Unpack(mod(rank-i, size)*m, at(work, i))
		}
		return nil
	}, ready...)}
}
