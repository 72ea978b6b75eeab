package coll

// Reductions of long vectors go by segments: each is a reduction of its own, and a few of them are
// under way at a time. So the memory for operands that arrive, and for what layouts are packed
// into, is that of those few, however long the vector is, and what one pass leaves in the cache is
// there for the next. All ranks cut alike, because they know the length: what form the buffers of
// others have they need not know. Ranks that disagree about the length must find out: so the first
// of several segments is shorter by a notch for each other one, within limits, where segments as
// long as each other would match.

// Sizes of segments, measured (docs/decisions/0030).
var (
	reduceSegmentBytes = 512 << 10 // a segment, as far as few ranks share it
	reduceShareBytes   = 64 << 10  // a rank's share of a segment, as far as many do
)

// reduceStreams is how many segments are under way at once: while one combines, others move.
const reduceStreams = 3

// segments says how size ranks cut a vector. Immutable.
type segments struct {
	n     int // how many there are
	elem  int // bytes
	notch int // elements of a rank's share of a segment
	size  int
}

// segmentsOf is how a vector of bytes is combined by size ranks. Each segment has at most so many
// bytes as elements allow; most is 0 for the measured choice.
func segmentsOf(most, bytes, elem, size int) segments {
	if most == 0 {
		most = max(reduceSegmentBytes, size*reduceShareBytes)
	}
	elem = max(elem, 1)
	s := segments{1, elem, max(notchBytes/(elem*size), 1), size}
	if bytes <= most {
		return s
	}
	if notch := s.notch * size * elem; 2*notch <= most {
		most -= notch // others have what the first one has not
	}
	s.n = (bytes + most - 1) / most
	return s
}

// begin is where segment k begins in a vector of so many bytes; the end of all if k is s.n.
func (s segments) begin(bytes, k int) int { return s.cut(bytes, k, s.notch*s.size) }

// beginShare is where the part of a rank's block begins that belongs to segment k.
func (s segments) beginShare(bytes, k int) int { return s.cut(bytes, k, s.notch) }

func (s segments) cut(bytes, k, notch int) int {
	if s.n == 1 || k == 0 {
		return cut(bytes, s.elem, s.n, k)
	}
	first := cut(bytes, s.elem, s.n, 1)
	first -= notches(s.n-1, notch, first/s.elem) * s.elem
	return first + cut(bytes-first, s.elem, s.n-1, k-1)
}

// spare is by how many bytes a segment of a vector may be longer than the first.
func (s segments) spare(bytes int) int {
	if s.n == 1 {
		return 0
	}
	return max(s.begin(bytes, 2)-2*s.begin(bytes, 1), 0)
}

// stream is a Graph of one segment after the other, which has temporary memory for one of them.
type stream struct {
	Graph
	lent  [][]byte // in the order in which a segment asks
	used  int      // by the segment that is being built
	spare int      // by so many bytes the next segment may be longer
	done  []Step   // the last segment is complete
}

// Scratch implements Scratcher. The segments of a stream ask for the same, or for less, or for
// little more, unless a part of an algorithm that is made of several goes another way because its
// segment is shorter.
func (l *stream) Scratch(n int) []byte {
	if l.used == len(l.lent) {
		l.lent = append(l.lent, nil)
	}
	b := &l.lent[l.used]
	if len(*b) < n {
		*b = scratch(l.Graph, n+l.spare)
	}
	l.used++
	return (*b)[:n]
}

// streamsOf lets run append the steps of each of n segments, of which the first is shorter than
// others by spare bytes at most, and the longest of the others come first. Their messages keep
// apart, and reduceStreams of them are under way at once; only one if serial, which is this rank's
// business alone.
func streamsOf(g Graph, n, spare int, serial bool, after []Step, run func(g Graph, segment int, after []Step) []Step) []Step {
	if n == 1 {
		return run(g, 0, after)
	}
	var streams [reduceStreams]stream
	for i := range streams {
		streams[i] = stream{Graph: g, done: after}
	}
	for k := range n {
		l := &streams[k%reduceStreams]
		g.Stream(k % reduceStreams)
		ready := l.done
		if serial && k > 0 {
			ready = streams[(k-1)%reduceStreams].done
		}
		if l.used, l.spare = 0, 0; k == 0 {
			l.spare = spare
		}
		l.done = join(g, run(l, k, ready))
	}
	g.Stream(0)
	var done []Step
	for i := range min(n, reduceStreams) {
		done = with(done, streams[i].done...)
	}
	return join(g, done)
}

// inSegments carries out a reduction of in by run, which takes memory. out is empty at a rank that
// has no result.
func inSegments(g Graph, size int, in, out Buf, red Reducer, after []Step, run func(g Graph, in, out []byte, after []Step) []Step) []Step {
	cut := segmentsOf(red.Segment, in.Len(), red.ElemSize, size)
	return streamsOf(g, cut.n, cut.spare(in.Len()), false, after, func(g Graph, k int, after []Step) []Step {
		from, to := in, out
		if cut.n > 1 {
			lo, hi := cut.begin(in.Len(), k), cut.begin(in.Len(), k+1)
			if from = in.Part(lo, hi); out.Len() > 0 {
				to = out.Part(lo, hi)
			}
		}
		return inMemory(g, from, to, after, run)
	})
}

// inMemory lets run work on memory: in and out themselves, or copies of what has layouts. What must
// be packed goes to where the result is to be, and run works in place.
func inMemory(g Graph, in, out Buf, after []Step, run func(g Graph, in, out []byte, after []Step) []Step) []Step {
	from, plain := in.Memory()
	to, lands := out.Memory()
	if !plain {
		if from = to; len(from) == 0 {
			from = scratch(g, in.Len())
		}
		after = moveBuf(g, Memory(from), in, after)
	}
	if lands {
		return run(g, from, to, after)
	}
	if to = from; plain {
		to = scratch(g, out.Len())
	}
	return moveBuf(g, out, Memory(to), run(g, from, to, after))
}
