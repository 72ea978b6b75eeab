package rma

// CutValues is Cut of values whose parts may lie apart: it takes as many whole values of grain
// bytes off the front of bs as make blocks blocks and size bytes at most.
//
// Preconditions:
//   - bs has a multiple of grain bytes; size >= grain; the parts of one value are at most blocks
//     blocks.
func CutValues(bs []Block, blocks, size, grain int) (head, rest []Block) {
	size = min(size, Size(bs))
	for {
		size -= size % grain
		if head, rest = split(bs, size); len(head) <= blocks || size <= grain {
			return head, rest
		}
		size = max(Size(head[:blocks]),
			// a part that is cut may need a block more than the whole it is cut from
			grain)
	}
}

// split divides bs behind n bytes.
func split(bs []Block, n int) (head, rest []Block) {
	for i, b := range bs {
		if n == 0 {
			return head, bs[i:]
		}
		if b.Size() <= n {
			head, n = append(head, b), n-b.Size()
			continue
		}
		whole, part := n/b.Len, n%b.Len
		if whole > 0 {
			head = append(head, Block{b.Off, b.Len, b.Stride, whole})
		}
		next, left := b.Off+whole*b.Stride, b.Count-whole
		if part > 0 {
			head = append(head, Contiguous(next, part))
			rest = append(rest, Contiguous(next+part, b.Len-part))
			next, left = next+b.Stride, left-1
		}
		if left > 0 {
			rest = append(rest, Block{next, b.Len, b.Stride, left})
		}
		return head, append(rest, bs[i+1:]...)
	}
	return head, nil
}
