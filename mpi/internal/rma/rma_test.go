package rma

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestBlocks: however runs are gathered into blocks and these cut into requests, the same bytes
// come in the same order.
func TestBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grain := rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "grain")
		var bs []Block
		var want []int // offsets of the bytes, in order
		for at, i := 0, 0; i < rapid.IntRange(0, 30).Draw(t, "runs"); i++ {
			at += grain * rapid.IntRange(0, 2).Draw(t, "gap")
			n := grain * rapid.IntRange(0, 3).Draw(t, "run")
			bs = Append(bs, at, n)
			for k := range n {
				want = append(want, at+k)
			}
			at += n
		}
		if Size(bs) != len(want) {
			t.Fatalf("%v has %d bytes, want %d", bs, Size(bs), len(want))
		}
		blocks, size := rapid.IntRange(1, 4).Draw(t, "blocks"), rapid.IntRange(grain, 40).Draw(t, "size")
		var got []int
		for rest := bs; len(rest) > 0; {
			var head []Block
			head, rest = Cut(rest, blocks, size, grain)
			if n := Size(head); n == 0 || n > size || n%grain != 0 || len(head) > blocks {
				t.Fatalf("Cut(%d blocks, %d bytes) gave %v", blocks, size, head)
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
		if lo, hi := Bounds(bs); len(want) > 0 && (lo != want[0] || hi != want[len(want)-1]+1) {
			t.Fatalf("bounds %d, %d of %v", lo, hi, want)
		}
	})
}

// TestRegion: any part of a region is packed, and unpacked, as the same part of the whole.
func TestRegion(t *testing.T) {
	mem := make([]byte, 200)
	for i := range mem {
		mem[i] = byte(i)
	}
	r := Region{Mem: mem, Blocks: []Block{{5, 3, 7, 4}, Contiguous(60, 10), {150, 2, -4, 5}}}
	r.Size = Size(r.Blocks)
	whole := make([]byte, r.Size)
	r.Pack(whole, 0)
	for off := range r.Size + 1 {
		for n := range r.Size - off + 1 {
			part := make([]byte, n)
			if r.Pack(part, off); !bytes.Equal(part, whole[off:off+n]) {
				t.Fatalf("bytes %d to %d are %v, want %v", off, off+n, part, whole[off:off+n])
			}
			other := Region{Mem: make([]byte, 200), Blocks: r.Blocks, Size: r.Size}
			other.Unpack(off, part)
			back := make([]byte, n)
			if other.Pack(back, off); !bytes.Equal(back, part) {
				t.Fatalf("unpacked %v, packed again %v", part, back)
			}
		}
	}
}

// TestRequest: what is written is read, and Bounds can be calculated of whatever is read.
func TestRequest(t *testing.T) {
	r := Request{Kind: Accumulate, Op: OpSum, Elem: 11, Grain: 8, Tag: MaxTag, Blocks: []Block{{16, 8, 24, 3}, Contiguous(400, 16)}}
	data := make([]byte, 40)
	b := append(AppendRequest(nil, &r), data...)
	var got Request
	rest, ok := ConsumeRequest(b, &got)
	if !ok || len(rest) != 40 || !reflect.DeepEqual(got, r) {
		t.Fatalf("read %+v, %d bytes, %v", got, len(rest), ok)
	}
	for i := range b {
		if _, ok := ConsumeRequest(b[:i], &got); ok {
			t.Errorf("%d bytes of it are a request", i)
		}
	}
	if a := (Answer{HolderDied, 3, 4, 5}); true {
		if got, ok := ConsumeAnswer(AppendAnswer(nil, a)); !ok || got != a {
			t.Errorf("read %+v, %v", got, ok)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(AppendRequest(nil, &Request{Kind: Get, Grain: 1, Blocks: []Block{{0, 8, 16, 9}}}))
	f.Add(AppendRequest(nil, &Request{Kind: Put, Grain: 1, Blocks: []Block{{1 << 55, 1, -1 << 55, 2}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Request
		if _, ok := ConsumeRequest(b, &r); !ok {
			return
		}
		if lo, hi := Bounds(r.Blocks); r.Kind.IsAccess() && (hi <= lo || hi > 4*limit || lo < -4*limit) {
			t.Fatalf("bounds %d and %d of %+v", lo, hi, r.Blocks)
		}
		ConsumeAnswer(b)
	})
}

// TestLocks: a random use of a lock by ranks, some of which die. At no time do two hold it that
// must not, and no rank waits for a lock that is free.
func TestLocks(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	const ranks = 5
	for range 300 {
		var l Locks
		held, waits, dead := map[int]bool{}, map[int]bool{}, map[int]bool{} // held: whether exclusively
		order := []int{}
		grant := func(ws []Waiter) {
			for _, w := range ws {
				if len(order) == 0 || order[0] != w.Rank {
					t.Fatalf("seed %d: %d got it before %v", seed, w.Rank, order)
				}
				order = order[1:]
				delete(waits, w.Rank)
				held[w.Rank] = w.Exclusive
			}
		}
		for range 60 {
			switch r := rng.IntN(ranks); {
			case dead[r] || waits[r]:
			case rng.IntN(20) == 0:
				_, holds := held[r]
				dead[r] = true
				delete(held, r)
				refused, granted := l.Drop(r)
				if !holds && len(refused) > 0 {
					t.Fatalf("seed %d: %v refused though %d held nothing", seed, refused, r)
				}
				for range refused {
					delete(waits, order[0])
					order = order[1:]
				}
				grant(granted)
			default:
				if _, ok := held[r]; ok {
					delete(held, r)
					granted, ok := l.Release(r)
					if !ok {
						t.Fatalf("seed %d: %d does not hold it", seed, r)
					}
					grant(granted)
				} else {
					waits[r] = true
					order = append(order, r)
					grant(l.Acquire(Waiter{Rank: r, Exclusive: rng.IntN(2) == 0}))
				}
			}
			for r, exclusive := range held {
				if exclusive && len(held) > 1 || !l.IsHeldBy(r) {
					t.Fatalf("seed %d: held by %v", seed, held)
				}
			}
			if len(order) > 0 && len(held) == 0 {
				t.Fatalf("seed %d: free, and %v wait", seed, order)
			}
		}
	}
	if _, ok := new(Locks).Release(1); ok {
		t.Error("a lock was released that nobody holds")
	}
}

// TestEpochs: which call may follow which. Each line is a way to get there, a call, and what it
// says.
func TestEpochs(t *testing.T) {
	fence := func(e *Epochs) { e.Fence(false) }
	used := func(e *Epochs) { e.Fence(false); _ = e.Access(1) }
	lock := func(e *Epochs) { e.Lock(1, false) }
	all := func(e *Epochs) { e.Lock(-1, false) }
	start := func(e *Epochs) { _ = e.Start([]int{1, 2}) }
	post := func(e *Epochs) { _ = e.Post() }
	none := func(*Epochs) {}
	access := func(rank int) func(*Epochs) error { return func(e *Epochs) error { return e.Access(rank) } }
	flush := func(rank int) func(*Epochs) error { return func(e *Epochs) error { return e.CanFlush(rank) } }
	for i, c := range []struct {
		by   func(*Epochs)
		call func(*Epochs) error
		want error
	}{
		{none, access(1), ErrNoEpoch}, {fence, access(1), nil}, {lock, access(1), nil}, {lock, access(2), ErrNoEpoch}, {all, access(9), nil},
		{start, access(2), nil}, {start, access(3), ErrNoEpoch}, {post, access(1), ErrNoEpoch},
		{used, (*Epochs).CanFence, nil}, {lock, (*Epochs).CanFence, ErrInLock}, {start, (*Epochs).CanFence, ErrInStart}, {post, (*Epochs).CanFence, ErrInPost},
		{used, (*Epochs).CanStart, ErrInFence}, {fence, (*Epochs).CanStart, nil}, {start, (*Epochs).CanStart, ErrInStart}, {all, (*Epochs).CanStart, ErrInLock},
		{none, (*Epochs).CanComplete, ErrNotStarted}, {start, (*Epochs).CanComplete, nil},
		{post, (*Epochs).CanPost, ErrInPost}, {used, (*Epochs).CanPost, ErrInFence}, {none, (*Epochs).CanWait, ErrNotPosted}, {post, (*Epochs).CanWait, nil},
		{lock, func(e *Epochs) error { return e.CanLock(1) }, ErrLockedTwice}, {lock, func(e *Epochs) error { return e.CanLock(2) }, nil},
		{lock, func(e *Epochs) error { return e.CanLock(-1) }, ErrInLock}, {all, func(e *Epochs) error { return e.CanLock(1) }, ErrInLock},
		{used, func(e *Epochs) error { return e.CanLock(1) }, ErrInFence}, {start, func(e *Epochs) error { return e.CanLock(1) }, ErrInStart},
		{none, func(e *Epochs) error { return e.CanUnlock(1) }, ErrNotLocked}, {lock, func(e *Epochs) error { return e.CanUnlock(-1) }, ErrNotLockedAll},
		{fence, flush(1), ErrNotPassive}, {lock, flush(1), nil}, {lock, flush(2), ErrNotPassive}, {lock, flush(-1), nil}, {all, flush(2), nil},
		{used, (*Epochs).CanFree, ErrInFence}, {fence, (*Epochs).CanFree, nil}, {lock, (*Epochs).CanFree, ErrInLock}, {start, (*Epochs).CanFree, ErrInStart}, {post, (*Epochs).CanFree, ErrInPost},
	} {
		var e Epochs
		c.by(&e)
		if err := c.call(&e); err != c.want {
			t.Errorf("line %d: %v, want %v", i, err, c.want)
		}
	}
	var e Epochs
	lock(&e)
	e.Unlock(1)
	all(&e)
	e.Unlock(-1)
	start(&e)
	e.Complete()
	post(&e)
	e.Wait()
	if err := e.CanFree(); err != nil {
		t.Errorf("all is closed, and: %v", err)
	}
}
