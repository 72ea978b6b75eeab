package jobtls

import "testing"

// TestFrames: however a stream comes in pieces, it is known after each of them whether a record is
// whole.
func TestFrames(t *testing.T) {
	var stream []byte
	ends := map[int]bool{0: true}
	for _, n := range []int{1, 300, 0, 0, 16401, 2} {
		stream = append(stream, 0x17, 3, 3, byte(n>>8), byte(n))
		stream = append(stream, make([]byte, n)...)
		ends[len(stream)] = true
	}
	for _, piece := range []int{1, 2, 3, 5, 7, 306, 5000, len(stream)} {
		var f frames
		for at := 0; at < len(stream); {
			n := min(piece, len(stream)-at)
			f.take(stream[at : at+n])
			at += n
			if f.isPartial() == ends[at] {
				t.Errorf("pieces of %d: after %d bytes a part of a record: %v", piece, at, f.isPartial())
			}
		}
	}
}
