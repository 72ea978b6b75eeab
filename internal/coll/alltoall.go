package coll

// Alltoall sends block r of in to rank r, which has it as block rank of out; a block is in.Len()/size bytes (MPI 4.1, 6.8). In place:
// in and out may be the same.
//
//   - Bruck (see [Allgather]): round k moves, packed in one message, all blocks whose distance has bit k. lg p rounds, (m/2) p lg p
//     bytes for blocks of m, and copies.
//   - Pairwise: in round s a rank sends to the one s further on and receives from the one s behind. p-1 rounds, m(p-1) bytes, a few
//     messages under way at a time.
//   - Linear: the same messages, many at a time.
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
	in, after = apart(g, in, out, after)
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

// Alltoallv sends the sendCounts[r] bytes at sendDispls[r] of in to rank r, and receives recvCounts[r] bytes from it at recvDispls[r]
// of out (MPI 4.1, 6.8). Linear; empty blocks are not sent, so that a sparse pattern costs what it moves. In place: in and out may be
// the same.
func Alltoallv(g Graph, rank, size int, in Buf, sendCounts, sendDispls []int,
	out Buf, recvCounts, recvDispls []int, after ...Step) []Step {
	in, after = apart(g, in, out, after)
	x := exchange{in, out, sendCounts, sendDispls, recvCounts, recvDispls}
	return x.run(g, rank, size, linearWindow, after)
}

// apart gives an operand that is not changed by what arrives in out: in itself, or a copy if they are the same.
func apart(g Graph, in, out Buf, after []Step) (operand Buf, done []Step) {
	if !in.is(out) {
		return in, after
	}
	return Apart(g, in, after...)
}

// exchange is a personal message from every rank to every rank.
type exchange struct {
	in, out                Buf
	sendCounts, sendDispls []int
	recvCounts, recvDispls []int
}

// run takes rounds s = 1 to p-1, at most window of them at a time: round s starts when round s-window is complete. The earliest round
// that is not complete anywhere is under way at all ranks, so this cannot deadlock.
func (x exchange) run(g Graph, rank, size, window int, after []Step) []Step {
	copied := moveBuf(g, x.out.block(x.recvCounts, x.recvDispls, rank), x.in.block(x.sendCounts, x.sendDispls, rank), after)
	slots := make([][]Step, min(window, size))
	for i := range slots {
		slots[i] = after
	}
	for s := 1; s < size; s++ {
		to, from := mod(rank+s, size), mod(rank-s, size)
		ready := slots[s%len(slots)]
		var next []Step
		if x.sendCounts[to] > 0 {
			next = append(next, g.Send(to, x.in.block(x.sendCounts, x.sendDispls, to), ready...))
		}
		if x.recvCounts[from] > 0 {
			next = append(next, g.Recv(from, x.out.block(x.recvCounts, x.recvDispls, from), ready...))
		}
		if len(next) > 0 {
			slots[s%len(slots)] = next
		}
	}
	done := copied
	for _, s := range slots {
		done = with(done, s...)
	}
	return join(g, done)
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
