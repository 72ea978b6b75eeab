package coll

// Barrier completes at no rank before every rank has started it (MPI 4.1, 6.3).
func Barrier(g Graph, rank, size int, after ...Step) []Step {
	return BarrierBy(g, Auto, rank, size, after...)
}

// BarrierBy is [Barrier] by an algorithm.
//
//   - Dissemination (Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization",
//     1988): in round k a rank signals the one 2^k further on and waits for the one 2^k behind. lg
//     p rounds, no data; each pair exchanges one message at most per direction.
//   - Linear: rank 0 hears every other one, then tells all. Two rounds, 2(p-1) messages, of which
//     a rank other than 0 has two.
//   - TwoLevel: the ranks of each host meet at its leader, leaders meet by Dissemination.
func BarrierBy(g Graph, alg Algorithm, rank, size int, after ...Step) []Step {
	p := placesOf(g, size)
	if !KindBarrier.Has(alg) || alg == TwoLevel && p == nil {
		alg = ChooseBarrier(size, p)
	}
	switch alg {
	case TwoLevel:
		return barrierTwoLevel(g, p, rank, after)
	case Linear:
		return barrierLinear(g, rank, size, after)
	default:
		return barrierDissemination(g, rank, size, after)
	}
}

func barrierLinear(g Graph, rank, size int, after []Step) []Step {
	if rank != 0 {
		return []Step{g.Recv(0, Buf{}, g.Send(0, Buf{}, after...))}
	}
	heard := make([]Step, 0, size-1)
	for r := 1; r < size; r++ {
		heard = append(heard, g.Recv(r, Buf{}, after...))
	}
	return tellAll(g, size, Buf{}, heard)
}

// tellAll sends buf from rank 0 to all others.
func tellAll(g Graph, size int, buf Buf, after []Step) []Step {
	told := make([]Step, 0, size-1)
	for r := 1; r < size; r++ {
		told = append(told, g.Send(r, buf, after...))
	}
	return told
}

func barrierDissemination(g Graph, rank, size int, after []Step) []Step {
	for dist := 1; dist < size; dist *= 2 {
		// The send is awaited with the receive so that a schedule holds two messages at a time.
		send := g.Send(mod(rank+dist, size), Buf{}, after...)
		recv := g.Recv(mod(rank-dist, size), Buf{}, after...)
		after = []Step{send, recv}
	}
	return after
}
