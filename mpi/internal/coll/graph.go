package coll

// Step is the index of a step in its schedule. Other steps name it as a dependency.
type Step int32

// Graph takes the steps of one rank's part of a collective. A step starts when every step of its
// after is complete; steps that become ready at the same time start in the order of their creation.
// after is copied.
type Graph interface {
	// Send sends data to rank peer of the communicator. data must not change until the step is
	// complete.
	Send(peer int, data Buf, after ...Step) Step

	// Recv receives exactly buf.Len() bytes from rank peer; another length is an error of the
	// schedule.
	Recv(peer int, buf Buf, after ...Step) Step

	// SendFrom is Send of *data as it is when the step starts.
	SendFrom(peer int, data *[]byte, after ...Step) Step

	// RecvInto sets *data to new memory, as long as the message that arrived.
	RecvInto(peer int, data *[]byte, after ...Step) Step

	// Stream says that messages of the steps which are added from now on are of stream i, at first
	// 0: they match with those of the same stream only. There are reduceStreams of them.
	Stream(i int)

	// Do runs f: local work. Two steps of local work of one schedule never run at once. An error
	// ends the schedule.
	Do(f func() error, after ...Step) Step

	// Copy copies src to dst, which are of one length: local work.
	Copy(dst, src []byte, after ...Step) Step

	// Combine does x: local work.
	Combine(x Combination, after ...Step) Step
}

// Combination is a step of a reduction: To is set to Left op Right. The three are of one length. To
// may be Left, and overlaps neither otherwise.
type Combination struct {
	Op              func(acc, in []byte) error // see [Reducer]
	To, Left, Right []byte
}

// Do carries x out.
func (x Combination) Do() error {
	if !same(x.To, x.Left) {
		copy(x.To, x.Left)
	}
	return x.Op(x.To, x.Right)
}

// Scratcher is a Graph that lends memory for the lifetime of its schedule. New memory for every
// call costs more than a large collective itself: 1 MiB took 150 us and more to allocate and clear,
// as long as an Allreduce of that size between two processes.
type Scratcher interface {
	// Scratch returns n bytes of any content.
	Scratch(n int) []byte
}

// scratch gives n bytes of any content that live as long as the schedule of g.
func scratch(g Graph, n int) []byte {
	if s, ok := g.(Scratcher); ok {
		return s.Scratch(n)
	}
	return make([]byte, n)
}
