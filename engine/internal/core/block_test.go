package core

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// allocated is how many bytes f allocates.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// TestPartsHelloMemory: the longest hello makes the receiver allocate two bits for each partition
// that it names, whether it fits or not, and a round no more until something comes; what comes is
// paid for by its sender, message by message.
func TestPartsHelloMemory(t *testing.T) {
	const most = MaxPartitions/4 + 8<<10 // some for what else a message costs
	for _, tc := range []struct {
		name          string
		total, theirs int
		object        bool
	}{
		{"of nothing", 0, 0, false}, {"of bytes", MaxPartitions, MaxPartitions, false},
		{"too short", 2 * MaxPartitions, MaxPartitions, false}, {"of objects", MaxPartitions, MaxPartitions, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPartPair(t, 1, 1, 0, 0, 0)
			p.blind = true
			p.r.Total, p.r.Object = tc.total, tc.object
			if !tc.object {
				p.r.Buf = make([]byte, tc.total)
			}
			var hello [helloLen]byte
			putHello(hello[:], 0, MaxPartitions, tc.theirs)
			p.cores[1].InitParts(p.r)
			p.start(1)
			p.post(0, &MSO{Kind: KindSend, Peer: 1, Tag: p.s.Tag, Ctx: p.s.Hello, Object: tc.object, Buf: hello[:]})
			if n := allocated(p.run); n > most {
				t.Errorf("the hello made the receiver allocate %d bytes, want at most %d", n, most)
			} else {
				t.Logf("%d bytes", n)
			}
			if !p.r.IsKnown() || p.r.MSO.IsDone() {
				t.Fatal("the round has not begun")
			}
			if n := allocated(func() { p.cutSide(0, 1) }); n > most {
				t.Errorf("the end of the peer made the receiver allocate %d bytes", n)
			}
			if !p.r.MSO.IsDone() || p.r.MSO.Err == nil {
				t.Errorf("after the end of the peer: %v, %v", p.r.MSO.State(), p.r.MSO.Err)
			}
		})
	}
}

// TestPartsMemory: a block serves one partition after another, at both ends.
func TestPartsMemory(t *testing.T) {
	p := newPartPair(t, 1000, 10, 1, 7, 0)
	p.blind = true
	p.cores[1].InitParts(p.r)
	p.cores[0].InitParts(p.s)
	p.run()
	for round := range 3 {
		p.fill(round)
		p.start(0)
		p.start(1)
		n := allocated(func() {
			for i := range 1000 {
				p.ready(i)
				p.run()
			}
		})
		if !p.s.MSO.IsDone() || !p.r.MSO.IsDone() {
			t.Fatal("the round is not done")
		}
		p.wantMessage("round")
		blocks := 0
		for b := p.s.idle; b != nil; b = b.next {
			blocks++
		}
		for b := p.r.idle; b != nil; b = b.next {
			blocks++
		}
		if blocks != 2 {
			t.Errorf("round %d: %d blocks for one partition at a time (%d bytes)", round, blocks, n)
		}
	}
}

// TestPartsPackedInTurn: of many partitions with a layout that have all been asked for, a chunk's
// worth is packed at a time.
func TestPartsPackedInTurn(t *testing.T) {
	const parts, most = 500, 128 + 128 + 8*outChunk // a chunk, and what it is exceeded by; headers
	p := newPartPair(t, parts, 1, 120, 7, 0)
	p.cores[1].InitParts(p.r)
	p.cores[0].InitParts(p.s)
	p.start(0)
	p.start(1)
	for i := range parts {
		p.ready(i)
	}
	for p.round() > 0 { // requests and answers are bytes too: look at what is packed
		if q := p.cores[0].peers[1]; q.packing > 128+120 || q.packing < 0 {
			t.Fatalf("%d bytes are being packed, with chunks of 128", q.packing)
		}
		if n := p.cores[0].jobs.Len(); n > 3 {
			t.Fatalf("%d partitions of 120 bytes are being packed, with chunks of 128", n)
		}
	}
	p.wantMessage("all at once")
	if n := p.cores[0].Stats().BufferHighWater; n > most {
		t.Errorf("%d bytes of the library send buffer for %d", n, p.s.Total)
	}
	if q := p.cores[0].peers[1]; q.packing != 0 {
		t.Errorf("%d bytes are still being packed", q.packing)
	}
}

// TestPartsOtherLength: a partition that is not as long as the hello says fails the round, and
// writes nowhere else.
func TestPartsOtherLength(t *testing.T) {
	for _, n := range []int{0, 3, 7, 9, 90} {
		for _, gap := range []int{0, 3} {
			t.Run(fmt.Sprint(n, gap), func(t *testing.T) {
				p := newPartPair(t, 4, 2, 4, 0, gap) // partitions of 8 bytes
				p.cores[1].InitParts(p.r)
				p.cores[0].InitParts(p.s)
				p.start(1)
				p.run()
				p.post(0, &MSO{Kind: KindSend, Peer: 1, Tag: p.s.Base + 1, Ctx: p.s.Data, Buf: make([]byte, n)})
				p.run()
				if ok, err := p.r.Arrived(0); !ok && err != nil {
					t.Fatalf("the one before it: %v", err)
				}
				want := slices.Repeat([]byte{fillByte}, p.r.Total)
				clear(want[8 : 8+min(n, 8)])
				if got := message(p.r); !slices.Equal(got, want) {
					t.Errorf("%d bytes for 8: the message is %q", n, got)
				}
				p.start(0)
				for _, i := range []int{0, 2, 3} {
					p.ready(i)
				}
				p.run()
				if p.r.MSO.Err == nil || !p.r.MSO.IsDone() {
					t.Errorf("the round: %v, %v", p.r.MSO.State(), p.r.MSO.Err)
				}
				if _, err := p.r.Arrived(0); err == nil {
					t.Error("a partition of a failed round is there")
				}
			})
		}
	}
}

// TestPartsTwice: if a peer sends a partition twice in a round, the second is the next round's. If
// it sends a tag beyond those of its partitions, no receive takes that message.
func TestPartsTwice(t *testing.T) {
	p := newPartPair(t, 2, 1, 4, 0, 3)
	p.cores[1].InitParts(p.r)
	p.cores[0].InitParts(p.s)
	send := func(tag Tag, b string) {
		p.post(0, &MSO{Kind: KindSend, Peer: 1, Tag: tag, Ctx: p.s.Data, Buf: []byte(b)})
		p.run()
	}
	send(p.s.Base+2, "beyond")
	send(p.s.Base-1, "before")
	send(p.s.Base, "a-0.") // before the round
	p.start(1)
	send(p.s.Base, "b-0.")
	send(p.s.Base+1, "a-1.")
	for i, want := range []string{"a-0.a-1.", "b-0.b-1."} {
		if i == 1 {
			p.start(1)
			send(p.s.Base+1, "b-1.")
		}
		if !p.r.MSO.IsDone() || p.r.MSO.Err != nil || string(message(p.r)) != want {
			t.Fatalf("round %d: %v, %v, %q", i, p.r.MSO.State(), p.r.MSO.Err, message(p.r))
		}
	}
	if n := p.cores[1].events.len(); n != 2 {
		t.Errorf("%d messages are left, want the two that are no partitions", n)
	}
}

// TestPartsCopying: while a job copies a partition that came before its round, the next round's
// does not get in its way.
func TestPartsCopying(t *testing.T) {
	p := newPartPair(t, 2, 1, 2*copyHeld, 0, 7)
	p.fakeNet = newNet(t, 2, Config{EagerMax: 4 * copyHeld})
	p.connectAll()
	p.cores[1].InitParts(p.r)
	p.cores[0].InitParts(p.s)
	p.start(0)
	p.ready(0)
	p.run()
	p.start(1)
	if !p.cores[1].HasJobs() {
		t.Fatal("no job copies what came before the round")
	}
	next := pattern(2*copyHeld, 77)
	p.post(0, &MSO{Kind: KindSend, Peer: 1, Tag: p.s.Base, Ctx: p.s.Data, Buf: next})
	p.drainDirty(0)
	p.write(0, 1, 1<<20)
	if _, err := p.deliver(0, 1, 1<<20, 1); err != nil {
		t.Fatal(err)
	}
	p.ready(1)
	p.run()
	if !p.r.MSO.IsDone() || p.r.MSO.Err != nil {
		t.Fatalf("the round: %v, %v", p.r.MSO.State(), p.r.MSO.Err)
	}
	p.wantMessage("the first round")
	p.start(1)
	p.run()
	if got := message(p.r)[:len(next)]; string(got) != string(next) {
		t.Error("the second round has not got its partition")
	}
}

// TestRecvList puts receives in and takes them out in any order, and looks every tag up.
func TestRecvList(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var l recvList
	var in []*Parts
	tags := make(map[ContextID]Tag) // next free
	for range 2000 {
		if len(in) > 0 && rng.IntN(5) < 2 {
			i := rng.IntN(len(in))
			l.remove(in[i])
			in = slices.Delete(in, i, i+1)
		} else {
			p := &Parts{Data: ContextID(rng.IntN(4)), blocks: 1 + rng.IntN(5)}
			p.first = tags[p.Data] + Tag(rng.IntN(2))
			tags[p.Data] = p.first + Tag(p.blocks)
			l.add(p)
			in = append(in, p)
		}
		if len(l) != len(in) {
			t.Fatalf("%d are in, want %d", len(l), len(in))
		}
		ctx, tag := ContextID(rng.IntN(4)), Tag(rng.IntN(int(tags[0])+3)-1)
		var want *Parts
		for _, p := range in {
			if p.Data == ctx && p.first <= tag && tag < p.first+Tag(p.blocks) {
				want = p
			}
		}
		if got := l.find(ctx, tag); got != want {
			t.Fatalf("tag %d of context %d: %+v, want %+v", tag, ctx, got, want)
		}
	}
}

// TestRecvListOverlaps: a peer that gives tags to two messages gets one of them, and both can be
// taken out.
func TestRecvListOverlaps(t *testing.T) {
	a, b, c := &Parts{first: 5, blocks: 4}, &Parts{first: 5, blocks: 2}, &Parts{first: 6, blocks: 1}
	for _, order := range [][]*Parts{{a, b, c}, {c, b, a}, {b, a, c}} {
		var l recvList
		for _, p := range order {
			l.add(p)
		}
		if l.find(0, 6) != c || l.find(0, 5) == nil || l.find(0, 4) != nil {
			t.Error("the last that begins before the tag is not found")
		}
		for _, p := range []*Parts{a, c, b} {
			l.remove(p)
			if slices.Contains(l, p) {
				t.Error("taken out, and still in")
			}
		}
	}
}

func TestBlockStates(t *testing.T) {
	s := newBlockStates(40)
	for k := range 40 {
		s.set(k, blockState(k%4))
	}
	for k := range 40 {
		if got := s.get(k); got != blockState(k%4) {
			t.Errorf("%d is %d", k, got)
		}
	}
	s.set(17, blockAwaited)
	s.set(16, blockFailed)
	if s.get(17) != blockAwaited || s.get(16) != blockFailed || s.get(18) != blockState(2) {
		t.Error("a neighbour has changed")
	}
	if s.clear(); s.get(39) != blockAwaited {
		t.Error("not cleared")
	}
}

// FuzzParts runs rounds of partitioned messages as a script says: how both ends are cut and laid
// out, in which order partitions are ready, when the receiver starts and how the bytes come.
func FuzzParts(f *testing.F) {
	for _, s := range []string{"", "\x03\x02\x08\x00\x00aXbYcZdefgh", "\x04\x06\x05\x03\x07 !\"#$%&'()*+,-./0123456789", strings.Repeat("\x05\x03\x60\x02\x40~}|{zyxw", 4)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		next := func(n int) int {
			if len(script) == 0 {
				return 0
			}
			b := script[0]
			script = script[1:]
			return int(b) % n
		}
		p := newPartPair(t, 1+next(9), 1+next(9), next(100), next(80), next(80))
		p.cores[1].InitParts(p.r)
		p.cores[0].InitParts(p.s)
		for round := range 1 + next(3) {
			p.fill(round)
			p.fuzzRound(next)
		}
		p.wantRest("after all rounds")
	})
}

// fuzzRound is a round, in the order that next chooses.
func (p *partPair) fuzzRound(next func(int) int) {
	p.start(0)
	left := make([]int, p.s.Count)
	for i := range left {
		left[i] = i
	}
	started := false
	for len(left) > 0 || !started {
		switch k := next(4); {
		case len(left) > 0 && k < 2:
			i := next(len(left))
			p.ready(left[i])
			left = slices.Delete(left, i, i+1)
		case !started && k == 2 || len(left) == 0:
			started = true
			p.start(1)
		default:
			for range next(5) {
				p.little()
			}
		}
		if started {
			p.wantArrivedIsThere()
		}
	}
	p.run()
	if !p.s.MSO.IsDone() || !p.r.MSO.IsDone() || p.s.MSO.Err != nil || p.r.MSO.Err != nil {
		p.t.Fatalf("the round: %v %v, %v %v", p.s.MSO.State(), p.s.MSO.Err, p.r.MSO.State(), p.r.MSO.Err)
	}
	p.wantMessage("the round")
}

// wantArrivedIsThere looks at the data of the partitions that are said to have arrived.
func (p *partPair) wantArrivedIsThere() {
	in, out := message(p.r), message(p.s)
	for j := range p.r.Count {
		n := p.r.Total / p.r.Count
		ok, err := p.r.Arrived(j)
		if err != nil {
			p.t.Fatalf("partition %d: %v", j, err)
		}
		if ok && string(in[j*n:(j+1)*n]) != string(out[j*n:(j+1)*n]) {
			p.t.Fatalf("partition %d is said to be there", j)
		}
	}
}

// TestPartsFrames: what is sent is a message for each partition, and no more.
func TestPartsFrames(t *testing.T) {
	p := newPartPair(t, 3, 3, 1, 2, 2)
	frames := 0
	p.onHeader = func(_, _ int, h *wire.Header) {
		if h.Kind == wire.KindEager || h.Kind == wire.KindRTS {
			frames++
		}
	}
	p.cores[1].InitParts(p.r)
	p.cores[0].InitParts(p.s)
	p.run()
	if p.partsRound(false); frames != 1+3 {
		t.Errorf("%d messages for a hello and three partitions", frames)
	}
}

// BenchmarkParts is a round of many short partitions, without the network: what both cores do for
// each.
func BenchmarkParts(b *testing.B) {
	const parts = 1024
	p := newPartPair(b, parts, 1, 8, 0, 0)
	p.cores[1].InitParts(p.r)
	p.cores[0].InitParts(p.s)
	p.run()
	b.ReportAllocs()
	for b.Loop() {
		p.start(0)
		p.start(1)
		for i := range parts {
			p.ready(i)
			if i%64 == 63 {
				p.round()
			}
		}
		p.run()
		if !p.r.MSO.IsDone() {
			b.Fatal("not done")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/parts, "ns/partition")
}
