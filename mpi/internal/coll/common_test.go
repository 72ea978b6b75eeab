package coll

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// testSizes are the numbers of ranks that every algorithm is tested with.
var testSizes = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17}

// testLengths are the lengths, in elements or bytes, that every algorithm is tested with.
var testLengths = []int{0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 127}

// sizes are testSizes, or some of them where every layout of hosts is tested.
func sizes() []int {
	if testLayout != nil {
		return []int{3, 4, 6, 8, 9, 17}
	}
	return testSizes
}

// lengths are testLengths, or some of them where every layout of hosts is tested.
func lengths() []int {
	if testLayout != nil {
		return []int{0, 1, 9, 32, 127}
	}
	return testLengths
}

// seeds calls f with a few fresh seeds, or with the one to replay.
func seeds(t *testing.T, n int, f func(seed uint64)) {
	t.Helper()
	if *seedFlag != 0 {
		f(*seedFlag)
		return
	}
	for range n {
		f(rand.Uint64()>>1 + 1)
	}
}

// smallSegments makes pipelines have many segments for the time of a test.
func smallSegments(t *testing.T) {
	old, notch, reduce, share := segmentBytes, notchBytes, reduceSegmentBytes, reduceShareBytes
	segmentBytes, notchBytes, reduceSegmentBytes, reduceShareBytes = 48, 8, 100, 8
	t.Cleanup(func() {
		segmentBytes, notchBytes, reduceSegmentBytes, reduceShareBytes = old, notch, reduce, share
	})
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n, n+7)
	for whole := b[:n+7]; len(whole) >= 8; whole = whole[8:] {
		binary.LittleEndian.PutUint64(whole, rng.Uint64())
	}
	return b
}

// wantBytes compares one result of one rank.
func wantBytes(rank int, got, want []byte) error {
	if !bytes.Equal(got, want) {
		return fmt.Errorf("rank %d got %x, want %x", rank, clip(got), clip(want))
	}
	return nil
}

func clip(b []byte) []byte { return b[:min(len(b), 64)] }

// layout gives random counts, some zero, and displacements with gaps in random order.
func layout(rng *rand.Rand, size int) (counts, displs []int, total int) {
	counts, displs = make([]int, size), make([]int, size)
	for _, r := range rng.Perm(size) {
		if rng.IntN(3) > 0 {
			counts[r] = rng.IntN(40)
		}
		total += rng.IntN(4)
		displs[r] = total
		total += counts[r]
	}
	return counts, displs, total
}

// affine composes maps x -> ax+b over integers modulo 2^32, one per 8 bytes: associative, not
// commutative.
func affine(acc, in []byte) error {
	if len(acc) != len(in) || len(acc)%8 != 0 || len(acc) == 0 {
		return fmt.Errorf("combine %d bytes with %d", len(acc), len(in))
	}
	for i := 0; i < len(acc); i += 8 {
		a1, b1 := binary.LittleEndian.Uint32(acc[i:]), binary.LittleEndian.Uint32(acc[i+4:])
		a2, b2 := binary.LittleEndian.Uint32(in[i:]), binary.LittleEndian.Uint32(in[i+4:])
		binary.LittleEndian.PutUint32(acc[i:], a1*a2)
		binary.LittleEndian.PutUint32(acc[i+4:], a1*b2+b1)
	}
	return nil
}

// sum adds integers of 8 bytes.
func sum(acc, in []byte) error {
	for i := 0; i < len(acc); i += 8 {
		binary.LittleEndian.PutUint64(acc[i:], binary.LittleEndian.Uint64(acc[i:])+binary.LittleEndian.Uint64(in[i:]))
	}
	return nil
}

// shape is neither associative nor commutative: its result tells how the operands were grouped.
func shape(acc, in []byte) error {
	for i := 0; i < len(acc); i += 8 {
		x, y := binary.LittleEndian.Uint64(acc[i:]), binary.LittleEndian.Uint64(in[i:])
		x = (x^0x9E3779B97F4A7C15)*0xBF58476D1CE4E5B9 + (y>>7 ^ y*0x94D049BB133111EB)
		binary.LittleEndian.PutUint64(acc[i:], x)
	}
	return nil
}

// vectors gives each rank a vector of n elements of 8 bytes, odd so that no product degenerates.
func vectors(rng *rand.Rand, size, n int) [][]byte {
	all := make([][]byte, size)
	for r := range all {
		all[r] = randomBytes(rng, 8*n)
		for i := 0; i < len(all[r]); i += 8 {
			all[r][i] |= 1
		}
	}
	return all
}

// naive combines vectors one after the other.
func naive(t *testing.T, op func(acc, in []byte) error, in [][]byte) []byte {
	t.Helper()
	acc := bytes.Clone(in[0])
	for _, v := range in[1:] {
		if len(v) == 0 {
			continue
		}
		if err := op(acc, v); err != nil {
			t.Fatal(err)
		}
	}
	return acc
}

// algorithms lists what to test of a collective: Auto, all it has, and one that it does not have.
func algorithms(k Kind) []Algorithm { return append(k.Algorithms(), Auto, Dissemination) }
