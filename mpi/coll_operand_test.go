package mpi

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// Any part of laid out blocks is packed, unpacked and, where it is one run, found in memory.
func TestLaidParts(t *testing.T) {
	u := TypeOf[uint8]()
	for name, x := range map[string]struct {
		t    *Datatype
		runs bool // some of its parts longer than a byte are memory
	}{
		"whole":                   {Contiguous(6, u), true},
		"one run of each value":   {Resized(Hindexed([]int{5}, []int{2}, u), 0, 9), true},
		"several runs":            {Vector(3, 2, 4, u), false},
		"values into one another": {Resized(Vector(3, 1, 4, u), 0, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			mem := make([]byte, 500)
			for i := range mem {
				mem[i] = byte(i)
			}
			bl := blocks{[]int{2, 0, 3, 1}, []int{30, 50, 0, 20}}
			c := &Comm{comm: &comm{job: &job{}}}
			l, err := layOver(c, "Test", x.t, mem, bl)
			if err != nil {
				t.Fatal(err)
			}
			var want []byte // block by block, value by value
			for b, n := range bl.counts {
				for v := range n {
					one := make([]byte, x.t.m.Size())
					x.t.m.Pack(one, mem, (bl.displs[b]+v)*l.extent, 1, 0)
					want = append(want, one...)
				}
			}
			if l.Len() != len(want) {
				t.Fatalf("%d bytes, want %d", l.Len(), len(want))
			}
			found := false
			for range 500 {
				lo := rng.IntN(len(want) + 1)
				hi := lo + rng.IntN(len(want)+1-lo)
				got := make([]byte, hi-lo)
				if l.Pack(got, lo); !bytes.Equal(got, want[lo:hi]) {
					t.Fatalf("bytes %d to %d are %v, want %v", lo, hi, got, want[lo:hi])
				}
				run, ok := l.Run(lo, hi)
				if found = found || ok && hi-lo > 1 && x.runs; ok && !bytes.Equal(run, want[lo:hi]) {
					t.Fatalf("the run of bytes %d to %d is %v, want %v", lo, hi, run, want[lo:hi])
				}
				copied := laidCopy(l)
				copied.Unpack(lo, got)
				if fmt.Sprint(copied.touched(got, lo)) != fmt.Sprint(got) {
					t.Fatalf("bytes %d to %d are not where they were put", lo, hi)
				}
			}
			if found != x.runs {
				t.Errorf("parts are found in memory: %v, want %v", found, x.runs)
			}
		})
	}
}

// laidCopy is l over memory of its own, which is zero.
func laidCopy(l *laid) *laid {
	n := *l
	n.o.mem = make([]byte, len(l.o.mem))
	return &n
}

// touched is what l has where src was put; everything else must be zero.
func (l *laid) touched(src []byte, off int) []byte {
	got := make([]byte, len(src))
	l.Pack(got, off)
	sum, all := 0, 0
	for _, v := range src {
		sum += int(v)
	}
	for _, v := range l.o.mem {
		all += int(v)
	}
	if sum != all {
		return nil
	}
	return got
}
