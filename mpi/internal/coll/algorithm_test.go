package coll

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for a := range numAlgorithms {
		if got, err := ParseAlgorithm(a.String()); got != a || err != nil {
			t.Errorf("ParseAlgorithm(%q) = %v, %v", a, got, err)
		}
	}
	for k := range numKinds {
		if got, err := ParseKind(k.String()); got != k || err != nil {
			t.Errorf("ParseKind(%q) = %v, %v", k, got, err)
		}
	}
	if _, err := ParseAlgorithm("quantum"); err == nil || !strings.Contains(err.Error(), "rabenseifner") {
		t.Errorf("ParseAlgorithm of nonsense: %v", err)
	}
	if _, err := ParseKind("gossip"); err == nil {
		t.Error("ParseKind of nonsense succeeds")
	}
	if numAlgorithms.String() != "Algorithm(14)" || numKinds.String() != "Kind(11)" {
		t.Errorf("unnamed: %v, %v", numAlgorithms, numKinds)
	}
}

// A choice is one that its collective can carry out, whichever ranks share a host.
func TestChoose(t *testing.T) {
	for size := 1; size <= 70; size += 1 + size/20 {
		for _, p := range []*Places{nil, NewPlaces(blocks(3)(size)), NewPlaces(roundRobin(3)(size))} {
			for bytes := 1; bytes <= 32<<20; bytes = bytes*3/2 + 1 {
				for _, commutative := range []bool{false, true} {
					testChoose(t, size, bytes, commutative, p)
				}
			}
		}
	}
}

func testChoose(t *testing.T, size, bytes int, commutative bool, p *Places) {
	t.Helper()
	for k, a := range map[Kind]Algorithm{
		KindBarrier:       ChooseBarrier(size, p),
		KindBcast:         ChooseBcast(size, bytes, p),
		KindReduce:        ChooseReduce(size, bytes, commutative, p),
		KindAllreduce:     ChooseAllreduce(size, bytes, commutative, p),
		KindScan:          ChooseScan(size, bytes, commutative),
		KindExscan:        RecursiveDoubling,
		KindReduceScatter: ChooseReduceScatter(size, bytes, commutative),
		KindGather:        ChooseGather(size, bytes, p),
		KindScatter:       ChooseScatter(size, bytes, p),
		KindAllgather:     ChooseAllgather(size, bytes, p),
		KindAlltoall:      ChooseAlltoall(size, bytes),
	} {
		reduces := k == KindReduce || k == KindAllreduce
		switch {
		case !k.Has(a):
			t.Fatalf("%v of %d bytes at %d ranks: %v", k, bytes, size, a)
		case a == Ring && (k == KindAllreduce || k == KindReduceScatter) && !commutative:
			t.Fatalf("%v of %d bytes at %d ranks combines out of order", k, bytes, size)
		case a == TwoLevel && (p == nil || reduces && !p.canReduce(commutative)):
			t.Fatalf("%v of %d bytes at %d ranks on two levels", k, bytes, size)
		}
	}
	if a := ChooseAllgatherv(size, bytes, p); a != Bruck && a != Ring && (a != TwoLevel || p == nil) {
		t.Fatalf("allgatherv of %d bytes at %d ranks: %v", bytes, size, a)
	}
}

// Survivors stand for all ranks, each once, in order.
func TestShrink(t *testing.T) {
	for size := 1; size <= 40; size++ {
		for keep := none; keep < size; keep++ {
			s := newShrink(size, keep)
			if keep != none && s.virtual(keep) == none {
				t.Fatalf("size %d: rank %d does not survive", size, keep)
			}
			last := none
			for v := range s.pow {
				r := s.real(v)
				if s.virtual(r) != v || r <= last || r >= size {
					t.Fatalf("size %d keep %d: survivor %d is rank %d, which is survivor %d", size, keep, v, r, s.virtual(r))
				}
				last = r
			}
			for r := range size {
				if s.virtual(r) == none && (!s.paired(r) || s.virtual(r^1) == none) {
					t.Fatalf("size %d keep %d: nobody stands for rank %d", size, keep, r)
				}
			}
		}
	}
}

func TestCutsAndSegments(t *testing.T) {
	for elem := 1; elem < 20; elem += 3 {
		for parts := 1; parts < 12; parts++ {
			for count := range 40 {
				c := cuts(count*elem, elem, parts)
				if c[0] != 0 || c[parts] != count*elem {
					t.Fatalf("cuts(%d, %d, %d) = %v", count*elem, elem, parts, c)
				}
				for i := range parts {
					if n := c[i+1] - c[i]; n%elem != 0 || n/elem != count/parts && n/elem != count/parts+1 {
						t.Fatalf("cuts(%d, %d, %d) = %v", count*elem, elem, parts, c)
					}
				}
			}
		}
	}
	all := span{24, 24 + 5*segmentBytes/2/24*24}
	at := all.lo
	for at < all.hi {
		s := all.piece(at, 24)
		if s.len()%24 != 0 || s.len() == 0 || s.len() > segmentBytes+2*notchBytes {
			t.Fatalf("segment %v at %d", s, at)
		}
		at = s.hi
	}
	if at != all.hi {
		t.Fatalf("segments end at %d, not %d", at, all.hi)
	}
}

// Vectors of different lengths differ in their first piece or segment, or else in one that both
// have. So a rank that expects another length than it gets finds that out.
func TestNotches(t *testing.T) {
	const elem, size = 8, 3
	piecesOf := func(n int) (lens []int) {
		for all, lo := (span{elem, elem + n}), elem; lo < all.hi; lo += lens[len(lens)-1] {
			lens = append(lens, all.piece(lo, elem).len())
		}
		return lens
	}
	segmentsOf := func(n int) (lens []int) {
		cut := segmentsOf(0, n, elem, size)
		for k := range cut.n {
			lens = append(lens, cut.begin(n, k+1)-cut.begin(n, k))
		}
		return lens
	}
	for name, x := range map[string]struct {
		cut   func(n int) []int
		whole int
		most  int
	}{
		"pieces":   {piecesOf, segmentBytes, segmentBytes + segmentBytes/2},
		"segments": {segmentsOf, reduceSegmentBytes, reduceSegmentBytes},
	} {
		t.Run(name, func(t *testing.T) {
			var lens [][]int
			for parts := 1; parts <= 12; parts++ {
				for _, n := range []int{parts * x.whole / 2, parts*x.whole - elem, parts * x.whole, parts*x.whole + elem} {
					got, sum := x.cut(n), 0
					for _, l := range got {
						if sum += l; l <= 0 || l > x.most || l%elem != 0 {
							t.Errorf("%d bytes: %v", n, got)
						}
					}
					if sum != n {
						t.Errorf("%d bytes: %v make %d", n, got, sum)
					}
					lens = append(lens, got)
				}
			}
			for i, a := range lens {
				for _, b := range lens[:i] {
					if k := min(len(a), len(b)); slices.Equal(a[:k], b[:k]) && !slices.Equal(a, b) {
						t.Errorf("%v begins as %v does", a, b)
					}
				}
			}
		})
	}
}

// An error of the operation ends the schedule.
func TestCombineError(t *testing.T) {
	bad := errors.New("bad operand")
	for _, alg := range KindAllreduce.Algorithms() {
		s := newSim(1, 5)
		for _, r := range s.ranks {
			red := Reducer{ElemSize: 1, Commutative: true, Combine: func(_, _ []byte) error { return bad }}
			Allreduce(r, alg, r.rank, 5, Memory(make([]byte, 10)), Memory(make([]byte, 10)), red)
		}
		if err := s.run(); err == nil || !strings.Contains(err.Error(), bad.Error()) {
			t.Errorf("%v: %v", alg, err)
		}
	}
}

// The simulator finds what it is there to find.
func TestSimulator(t *testing.T) {
	for want, build := range map[string]func(r *simRank, other int){
		"deadlock": func(r *simRank, other int) { r.Send(other, Buf{}, r.Recv(other, Buf{})) },
		"wants 1": func(r *simRank, other int) {
			r.Send(other, Buf{})
			r.Recv(other, Memory(make([]byte, 1)))
		},
		"data changed": func(r *simRank, other int) {
			b := []byte{0}
			r.Send(other, Memory(b))
			r.Do(func() error { b[0]++; return nil })
			r.Recv(other, Memory(make([]byte, 1)))
		},
		"was written": func(r *simRank, other int) {
			b := make([]byte, 1)
			r.Recv(other, Memory(b))
			r.Do(func() error { b[0]++; return nil })
			r.Send(other, Memory([]byte{1}))
		},
		"any order": func(r *simRank, other int) {
			r.Send(other, Buf{}, r.Recv(other, Buf{}))
			r.Send(other, Buf{})
		},
	} {
		found := false
		for seed := range uint64(200) {
			s := newSim(seed, 2)
			var err error
			for i, r := range s.ranks {
				build(r, 1-i)
				err = cmpErr(err, r.checkOrder())
			}
			if err = cmpErr(err, s.run()); err != nil && strings.Contains(err.Error(), want) {
				found = true
			}
		}
		if !found {
			t.Errorf("no run reports %q", want)
		}
	}
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
