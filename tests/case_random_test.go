package tests

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

const envSeed = "FITMPI_TESTS_SEED"

var seedFlag = flag.Uint64("seed", seedOfEnv(), "of the random programs; 0 takes another one each time")

func seedOfEnv() uint64 {
	n, _ := strconv.ParseUint(os.Getenv(envSeed), 10, 64)
	return n
}

var randomCases = []testCase{
	{name: "random/programs", section: "3, 6",
		sentence: "Point-to-point and collective operations of any mix give what a sequential execution of the program gives.",
		run:      randomPrograms},
}

// A random program is a list of steps that every rank derives from the seed. Who sends what to whom is the same for all;
// in which order a rank starts and waits for its part is its own, from a generator of its own.

// message is one line of a step.
type message struct {
	from, to, tag, n, id int
	sync                 bool
}

type program struct {
	t      *T
	seed   uint64
	shared *rand.Rand // same at every rank
	own    *rand.Rand
	comms  []*mpi.Comm
	open   []open // collectives in progress
}

// open is a collective in progress and what to do when it is complete.
type open struct {
	r      *mpi.Request
	verify func()
}

func randomPrograms(t *T, c *mpi.Comm) {
	seed := []uint64{*seedFlag}
	if seed[0] == 0 {
		seed[0] = uint64(time.Now().UnixNano())
	}
	t.must(mpi.Bcast(c, seed, 0))
	d, err := c.Dup()
	t.must(err)
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("replay with -case=random -seed=%d", seed[0])
			panic(r)
		}
	}()
	p := &program{
		t: t, seed: seed[0], comms: []*mpi.Comm{c, d},
		shared: rand.New(rand.NewPCG(seed[0], 1)), own: rand.New(rand.NewPCG(seed[0], uint64(100+c.Rank()))),
	}
	for step := range 12 {
		x := p.comms[p.shared.IntN(2)]
		if p.shared.IntN(2) == 0 {
			p.messages(x, step)
		} else {
			p.collective(x)
		}
		p.complete(p.shared.IntN(4))
	}
	p.complete(0)
	t.must(d.Free())
}

// messages: everybody sends some messages and receives those for it, by name or by wildcards.
func (p *program) messages(c *mpi.Comm, step int) {
	size, me := c.Size(), c.Rank()
	var all []message
	for id := range p.shared.IntN(6 * size) {
		all = append(all, message{
			from: p.shared.IntN(size), to: p.shared.IntN(size), tag: step*4 + p.shared.IntN(3),
			n: lengths[p.shared.IntN(len(lengths))], id: id, sync: p.shared.IntN(4) == 0,
		})
	}
	wild := p.own.IntN(3) == 0
	var sends, recvs []func()
	var rs []*mpi.Request
	var verify []func()
	expected := map[int][]message{} // by sender, in order
	for _, m := range all {
		if m.from == me {
			sends = append(sends, func() {
				send := mpi.Isend[int64]
				if m.sync {
					send = mpi.Issend[int64]
				}
				rs = append(rs, send(c, ramp(m.n, m.id), m.to, m.tag))
			})
		}
		if m.to == me {
			expected[m.from] = append(expected[m.from], m)
			recvs = append(recvs, func() {
				in := make([]int64, m.n)
				rs = append(rs, mpi.Irecv(c, in, m.from, m.tag))
				verify = append(verify, func() { wantSlice(p.t, fmt.Sprintf("%+v", m), in, ramp(m.n, m.id)) })
			})
		}
	}
	if wild {
		for _, f := range sends {
			f()
		}
		p.takeWild(c, len(recvs), expected)
	} else {
		p.interleave(sends, recvs)
	}
	p.own.Shuffle(len(rs), func(i, j int) { rs[i], rs[j] = rs[j], rs[i] })
	for len(rs) > 0 {
		i, _, err := mpi.WaitAny(rs...)
		p.t.must(err, "step", step, "seed", p.seed)
		rs = append(rs[:i], rs[i+1:]...)
	}
	for _, f := range verify {
		f()
	}
	p.t.must(mpi.Barrier(c)) // wildcards of the next step must not meet messages of this one
}

// takeWild receives n messages from anyone; those of a sender must come in its order.
func (p *program) takeWild(c *mpi.Comm, n int, expected map[int][]message) {
	for range n {
		got, st, err := mpi.RecvNew[int64](c, mpi.AnySource, mpi.AnyTag)
		p.t.must(err, "seed", p.seed)
		queue := expected[st.Source]
		if len(queue) == 0 {
			p.t.Fatalf("a message too many of rank %d: %+v", st.Source, st)
		}
		m := queue[0]
		expected[st.Source] = queue[1:]
		want(p.t, "tag", st.Tag, m.tag)
		wantSlice(p.t, fmt.Sprintf("%+v", m), got, ramp(m.n, m.id))
	}
}

// interleave calls both lists, each in its order.
func (p *program) interleave(a, b []func()) {
	for len(a)+len(b) > 0 {
		if p.own.IntN(len(a)+len(b)) < len(a) {
			a[0]()
			a = a[1:]
		} else {
			b[0]()
			b = b[1:]
		}
	}
}

// collective starts one and leaves it open.
func (p *program) collective(c *mpi.Comm) {
	n, root, size, me := lengths[p.shared.IntN(len(lengths))]/2, p.shared.IntN(c.Size()), c.Size(), c.Rank()
	out := make([]int64, n*size)
	check := func(what string, at func(i int) int64) func() {
		return func() {
			for i, v := range out {
				if w := at(i); v != w {
					p.t.Errorf("%s of %d, root %d, seed %d: element %d is %x, want %x", what, n, root, p.seed, i, v, w)
					return
				}
			}
		}
	}
	switch p.shared.IntN(6) {
	case 0:
		p.start(mpi.Iallreduce(c, ramp(n, me), out[:n], mpi.Max), func() { wantSlice(p.t, "Iallreduce", out[:n], ramp(n, size-1)) })
	case 1:
		p.start(mpi.Iallgather(c, ramp(n, me), out), check("Iallgather", func(i int) int64 { return int64(i/n)<<32 | int64(i%n) }))
	case 2:
		in := make([]int64, n*size)
		for i := range in {
			in[i] = int64(me)<<40 | int64(i)
		}
		p.start(mpi.Ialltoall(c, in, out), check("Ialltoall", func(i int) int64 { return int64(i/n)<<40 | int64(me*n+i%n) }))
	case 3:
		if me == root {
			copy(out, ramp(n, 77))
		}
		p.start(mpi.Ibcast(c, out[:n], root), func() { wantSlice(p.t, "Ibcast", out[:n], ramp(n, 77)) })
	case 4:
		p.start(mpi.Iscan(c, ramp(n, me), out[:n], mpi.Max), func() { wantSlice(p.t, "Iscan", out[:n], ramp(n, me)) })
	case 5:
		s := make([]string, 1)
		p.start(mpi.Iallreduce(c, []string{fmt.Sprint(me)}, s, mpi.Sum), func() {
			want(p.t, "Iallreduce of strings", s[0], eachRank(size, func(r int) string { return fmt.Sprint(r) }))
		})
	}
}

func (p *program) start(r *mpi.Request, verify func()) { p.open = append(p.open, open{r, verify}) }

// complete waits for open collectives, in an order of this rank's own, until only keep are left.
func (p *program) complete(keep int) {
	for len(p.open) > keep {
		i := p.own.IntN(len(p.open))
		o := p.open[i]
		p.open = append(p.open[:i], p.open[i+1:]...)
		_, err := o.r.Wait()
		p.t.must(err, "seed", p.seed)
		o.verify()
	}
}
