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
//   - TwoLevel: the ranks of each host meet at its leader, leaders meet by Dissemination.
func BarrierBy(g Graph, alg Algorithm, rank, size int, after ...Step) []Step {
	p := placesOf(g, size)
	if !KindBarrier.Has(alg) || alg == TwoLevel && p == nil {
		alg = ChooseBarrier(p)
	}
	if alg == TwoLevel {
		return barrierTwoLevel(g, p, rank, after)
	}
	return barrierDissemination(g, rank, size, after)
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
