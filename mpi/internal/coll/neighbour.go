package coll

// Neighbours are the ranks that one rank receives from and sends to in neighbourhood collectives
// (MPI 4.1, 8.6). A rank may occur many times, this rank too. A negative rank stands for no rank:
// its block is not touched. Immutable.
type Neighbours struct {
	Sources, Destinations []int

	// Arrival lists the indices of Sources in the order in which they are served. Of the sources
	// that are one rank, the first gets what that rank sends to the first of its destinations that
	// is this rank, and so on. nil is the order of Sources.
	Arrival []int
}

// arrival gives the index of the source that is served as the k-th.
func (n Neighbours) arrival(k int) int {
	if n.Arrival == nil {
		return k
	}
	return n.Arrival[k]
}

// Neighbor sends send[i] to the i-th destination and receives recv[j] from the j-th source (MPI
// 4.1, 8.6): one message for each, all at once. Empty blocks are sent too: the two ends may differ
// about lengths by mistake, and then a message that comes is an error that names both, where one
// that does not come would be waited for.
func Neighbor(g Graph, n Neighbours, send, recv []Buf, after ...Step) []Step {
	return n.exchange(g,
		func(i int) Step { return g.Send(n.Destinations[i], send[i], after...) },
		func(j int) Step { return g.Recv(n.Sources[j], recv[j], after...) })
}

// NeighborObject is Neighbor of serialised values: *send[i] goes to the i-th destination, recv[j]
// is set to what comes from the j-th source.
func NeighborObject(g Graph, n Neighbours, send []*[]byte, recv [][]byte, after ...Step) []Step {
	return n.exchange(g,
		func(i int) Step { return g.SendFrom(n.Destinations[i], send[i], after...) },
		func(j int) Step { return g.RecvInto(n.Sources[j], &recv[j], after...) })
}

// exchange adds all sends, then all receives. A receive fails as soon as it starts, and ends the
// schedule, if what has come already is too long or too short. Other ranks would wait for ever for
// a send that had not started by then.
func (n Neighbours) exchange(g Graph, send, recv func(i int) Step) []Step {
	done := make([]Step, 0, len(n.Sources)+len(n.Destinations))
	for i, r := range n.Destinations {
		if r >= 0 {
			done = append(done, send(i))
		}
	}
	for k := range n.Sources {
		if j := n.arrival(k); n.Sources[j] >= 0 {
			done = append(done, recv(j))
		}
	}
	return join(g, done)
}
