package rma

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestCutValues: values whose parts lie apart are cut between values only, and their bytes come in
// the same order, however few blocks a request has.
func TestCutValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, gap, second := rapid.IntRange(1, 8).Draw(t, "first"), rapid.IntRange(0, 6).Draw(t, "gap"), rapid.IntRange(1, 4).Draw(t, "second")
		grain := first + second
		var bs []Block
		var want []int // offsets of the bytes, in order
		at := 0
		run := func(n int) {
			bs = Append(bs, at, n)
			for k := range n {
				want = append(want, at+k)
			}
			at += n
		}
		for range rapid.IntRange(0, 30).Draw(t, "values") {
			run(first)
			at += gap
			run(second)
			at += rapid.IntRange(0, 2).Draw(t, "behind")
		}
		blocks, size := rapid.IntRange(3, 6).Draw(t, "blocks"), rapid.IntRange(grain, 60).Draw(t, "size")
		var got []int
		for rest := bs; len(rest) > 0; {
			var head []Block
			head, rest = CutValues(rest, blocks, size, grain)
			if n := Size(head); n == 0 || n > size || n%grain != 0 || len(head) > blocks {
				t.Fatalf("CutValues(%d blocks, %d bytes, %d) gave %v", blocks, size, grain, head)
			}
			r := Region{Blocks: head, Size: Size(head)}
			r.Each(func(at, from, n int) {
				for k := range n {
					got = append(got, at+k)
				}
			})
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("bytes %v, want %v", got, want)
		}
	})
}

// A request about values in parts has whole ones, though their runs are shorter.
func TestRequestOfParts(t *testing.T) {
	r := Request{Kind: Accumulate, Op: OpMaxLoc, Elem: 3 | Index32 | Parts, Grain: 6, Blocks: []Block{Contiguous(0, 2), {4, 6, 8, 1}, Contiguous(12, 4)}}
	var got Request
	if _, ok := ConsumeRequest(append(AppendRequest(nil, &r), make([]byte, 12)...), &got); !ok {
		t.Error("two values in parts are no request")
	}
	r.Elem &^= Parts
	if _, ok := ConsumeRequest(append(AppendRequest(nil, &r), make([]byte, 12)...), &got); ok {
		t.Error("values in one piece have runs that are shorter")
	}
	r.Elem |= Parts
	r.Blocks = r.Blocks[:2]
	if _, ok := ConsumeRequest(append(AppendRequest(nil, &r), make([]byte, 8)...), &got); ok {
		t.Error("a value and a third are a request")
	}
}
