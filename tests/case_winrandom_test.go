package tests

import (
	"math/rand/v2"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

func winRandom(t *T, c *mpi.Comm) {
	seed := []uint64{rand.Uint64()}
	t.must(mpi.Bcast(c, seed, 0))
	const rounds, cells = 12, 96
	size := c.Size()
	w, mem := window(t, c, cells)
	model := make([][]int64, size)
	for r := range model {
		model[r] = make([]int64, cells)
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(seed[0], uint64(round))) // the same at every rank
		p := newWinProgram(rng, size, cells)
		p.run(t, c, w, rng.IntN(3))
		p.apply(model)
		if !slices.Equal(mem, model[c.Rank()]) {
			t.Fatalf("seed %d, round %d: %v, want %v", seed[0], round, mem, model[c.Rank()])
		}
		for i := range p.ops {
			if o := &p.ops[i]; o.origin == c.Rank() && o.got != nil && !slices.Equal(o.got, o.want) {
				t.Fatalf("seed %d, round %d: got %v, want %v", seed[0], round, o.got, o.want)
			}
		}
		t.must(mpi.Barrier(c))
	}
	t.must(w.Free())
}

// winOp is an operation of a random program: on n cells of a target at a distance of stride.
type winOp struct {
	kind                          int // 0 put, 1 get, 2 sum, 3 fetch and sum
	origin, target, at, n, stride int
	value                         int64
	got, want                     []int64
}

type winProgram struct{ ops []winOp }

// newWinProgram draws operations of which no two conflict: the cells of a target are for puts of
// one operation each, for gets, or for sums.
func newWinProgram(rng *rand.Rand, size, cells int) *winProgram {
	p := &winProgram{}
	for target := range size {
		third := cells / 3
		for at := 0; at < third; {
			n, stride := 1+rng.IntN(6), 1+rng.IntN(3)
			if at+n*stride > third {
				break
			}
			p.ops = append(p.ops, winOp{kind: 0, origin: rng.IntN(size), target: target, at: at, n: n, stride: stride, value: rng.Int64N(1000)})
			at += n * stride
		}
		for range rng.IntN(6) {
			n, stride := 1+rng.IntN(5), 1+rng.IntN(3)
			p.ops = append(p.ops, winOp{kind: 1, origin: rng.IntN(size), target: target, at: third + rng.IntN(third-n*stride+1), n: n, stride: stride})
		}
		for range rng.IntN(8) {
			n, stride := 1+rng.IntN(5), 1+rng.IntN(3)
			p.ops = append(p.ops, winOp{kind: 2, origin: rng.IntN(size), target: target, at: 2*third + rng.IntN(third-n*stride+1), n: n, stride: stride, value: rng.Int64N(9)})
		}
	}
	rng.Shuffle(len(p.ops), func(i, j int) { p.ops[i], p.ops[j] = p.ops[j], p.ops[i] })
	rotate := rng.IntN(3) // which part of the cells is for which
	for i := range p.ops {
		p.ops[i].at = (p.ops[i].at + rotate*cells/3) % cells
	}
	return p
}

// run does what of p is the calling rank's, in one of three kinds of epochs.
func (p *winProgram) run(t *T, c *mpi.Comm, w *mpi.Win, how int) {
	all := c.Group()
	switch how {
	case 0:
		t.must(w.Fence(0))
	case 1:
		t.must(w.LockAll(0))
	default:
		t.must(w.Post(all, 0))
		t.must(w.Start(all, 0))
	}
	for i := range p.ops {
		o := &p.ops[i]
		if o.origin != c.Rank() {
			continue
		}
		v := w.WithTypes(nil, mpi.Vector(o.n, 1, o.stride, mpi.TypeOf[int64]()))
		values := make([]int64, o.n)
		for k := range values {
			values[k] = o.value + int64(k)
		}
		switch o.kind {
		case 0:
			t.must(mpi.Put(v, values, o.target, o.at))
		case 1:
			o.got = values
			t.must(mpi.Get(v, o.got, o.target, o.at))
		default:
			t.must(mpi.Accumulate(v, values, o.target, o.at, mpi.Sum))
		}
	}
	switch how {
	case 0:
		t.must(w.Fence(mpi.NoSucceed))
	case 1:
		t.must(w.UnlockAll())
		t.must(mpi.Barrier(c))
	default:
		t.must(w.Complete())
		t.must(w.Wait())
	}
}

// apply does the same to the model.
func (p *winProgram) apply(model [][]int64) {
	for i := range p.ops {
		o := &p.ops[i]
		m := model[o.target]
		for k := range o.n {
			cell := &m[o.at+k*o.stride]
			switch o.kind {
			case 0:
				*cell = o.value + int64(k)
			case 1:
				o.want = append(o.want, *cell)
			default:
				*cell += o.value + int64(k)
			}
		}
	}
}
