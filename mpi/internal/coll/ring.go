package coll

// ringAllgather lets every rank v have every block: in round s it sends block v-s to v+1 and
// receives block v-s-1 from v-1. A block that held(v, b) says v needs not to receive (its own, an
// empty one) is not sent to it. Ranks are numbered round the ring; peer gives the rank of a number.
// Blocks that this rank holds are complete after after.
func ringAllgather(g Graph, v, size int, peer func(int) int, held func(v, b int) bool, part func(b int) Buf, after []Step) []Step {
	next, prev := mod(v+1, size), mod(v-1, size)
	in := line{base: after}
	var sent []Step
	for s := range size - 1 {
		if b := mod(v-s, size); !held(next, b) {
			sent = append(sent, g.Send(peer(next), part(b), in.all()...))
		}
		if b := mod(v-s-1, size); !held(v, b) {
			in.add(g.Recv(peer(prev), part(b), in.next()...))
		}
	}
	return join(g, with(in.all(), sent...))
}

// ringReduceScatter combines block b of all ranks into acc(b) of rank b: in round s rank v sends
// block v-s-1 to v+1 and combines block v-s-2 from v-1 with its own. acc(b) and in(b) may be the
// same; acc of other blocks is scratch. Operands arrive in two buffers by turns, so that one is
// received while the other is combined. ready: acc(rank) is complete; sent: so are the sends.
func ringReduceScatter(g Graph, rank, size int, red Reducer, in, acc func(b int) []byte, after []Step) (ready, sent []Step) {
	next, prev := mod(rank+1, size), mod(rank-1, size)
	longest := 0
	for b := range size {
		longest = max(longest, len(in(b)))
	}
	spare := [2][]byte{scratch(g, longest), scratch(g, longest)}
	ready = after
	combined := [2][]Step{after, after} // the last step that used each buffer
	turn := 0
	for s := range size - 1 {
		if b := mod(rank-s-1, size); len(in(b)) > 0 {
			data := acc(b)
			if s == 0 {
				data = in(b)
			}
			sent = append(sent, g.Send(next, Memory(data), ready...))
		}
		b := mod(rank-s-2, size)
		if len(in(b)) == 0 {
			continue
		}
		// Combining waits for the one before, so each receive waits for all but the last of those
		// before it.
		op := spare[turn][:len(in(b))]
		recv := g.Recv(prev, Memory(op), combined[turn]...)
		ready = []Step{g.Combine(Combination{red.Combine, acc(b), in(b), op}, with(ready, recv)...)}
		combined[turn] = ready
		turn = 1 - turn
	}
	return ready, sent
}
