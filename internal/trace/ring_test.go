package trace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is zeroed memory for a ring of the smallest size, aligned as words are.
func memory() []byte { return make([]byte, Size(MinBuffer)) }

func openRing(t testing.TB, rank, ranks int) (*Ring, []byte) {
	t.Helper()
	mem := memory()
	r, err := Open(mem, rank, ranks)
	if err != nil {
		t.Fatal(err)
	}
	return r, mem
}

// fileOf puts memory into a file, as a launcher has it.
func fileOf(t testing.TB, mem []byte) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "ring"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(mem); err != nil {
		t.Fatal(err)
	}
	return f
}

// decodeMemory reads memory as the launcher does.
func decodeMemory(t testing.TB, mem []byte) *Recording {
	t.Helper()
	s := NewSource([]*os.File{fileOf(t, mem)})
	defer s.Close()
	b, err := io.ReadAll(s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const slotsOfSmallest = MinBuffer / eventSize

// TestRoundTrip: what is noted is read, with all that it says.
func TestRoundTrip(t *testing.T) {
	ring, mem := openRing(t, 3, 8)
	want := []Event{
		{Kind: Call, Track: 5, Name: ring.Name("Send"), Time: 1000, Span: 1 << 40, Peer: 7, Bytes: MaxBytes},
		{Kind: Call, Track: 63, Name: ring.Name("Barrier"), Time: 1 << 60, Peer: NoPeer},
		{Kind: Posted, Track: ByRendezvous | Whole, Name: ring.Name("world"), Time: 5, Seq: 1<<32 - 1, Tag: -1 << 31, Peer: 0, Bytes: 12},
		{Kind: Arrived, Track: Expected, Time: 6, Seq: 1, Tag: 1<<31 - 1, Peer: 3},
		{Kind: Turn, Time: 7, Span: 9, Peer: NoPeer},
		{Kind: Region, Name: ring.Name("phase \xff"), Time: 8, Span: 1, Peer: NoPeer},
	}
	for i := range want {
		if n := ring.Note(&want[i]); n != uint64(i) {
			t.Errorf("event %d has number %d", i, n)
		}
	}
	r := decodeMemory(t, mem)
	if r.Rank != 3 || r.Ranks != 8 || r.Start <= 0 || r.Overwritten+r.Torn+r.Missed != 0 || len(r.Open) != 0 {
		t.Errorf("recording %+v", r)
	}
	if len(r.Events) != len(want) {
		t.Fatalf("%d events, want %d", len(r.Events), len(want))
	}
	for i, e := range r.Events {
		if e != want[i] {
			t.Errorf("event %d is %+v, want %+v", i, e, want[i])
		}
	}
	for _, x := range []struct {
		id   uint16
		want string
	}{{want[0].Name, "Send"}, {want[5].Name, "phase ?"}, {0, ""}, {otherName, "(other)"}, {9999, ""}} {
		if got := r.Name(x.id); got != x.want {
			t.Errorf("name %d is %q, want %q", x.id, got, x.want)
		}
	}
}

// TestRoundTheRing: the ring keeps the last events, in order, and says how many it has not kept.
func TestRoundTheRing(t *testing.T) {
	for _, n := range []int{slotsOfSmallest - 1, slotsOfSmallest, slotsOfSmallest + 1, 3*slotsOfSmallest + 17} {
		ring, mem := openRing(t, 0, 1)
		for i := range n {
			ring.Note(&Event{Kind: Turn, Time: int64(i + 1), Peer: NoPeer})
		}
		r := decodeMemory(t, mem)
		kept := min(n, slotsOfSmallest)
		if len(r.Events) != kept || r.Overwritten != uint64(n-kept) || r.Torn != 0 {
			t.Fatalf("%d events: %d kept, %d overwritten, %d torn", n, len(r.Events), r.Overwritten, r.Torn)
		}
		for i, e := range r.Events {
			if e.Time != int64(n-kept+i+1) {
				t.Fatalf("of %d events number %d is of %d", n, i, e.Time)
			}
		}
	}
}

// TestTorn: an event that was not written to its end is left out and counted, whatever was in its
// place before.
func TestTorn(t *testing.T) {
	for _, before := range []int{0, slotsOfSmallest} {
		for torn := range 4 { // words written: of 1, 2, 3 and then 0
			ring, mem := openRing(t, 0, 1)
			for i := range before + 10 {
				ring.Note(&Event{Kind: Turn, Time: int64(i + 1), Peer: NoPeer})
			}
			ring.next.Add(1) // reserved
			s := slotAt(ring.events, 10)
			for w := 1; w <= torn; w++ {
				s[w] = 77
			}
			ring.Note(&Event{Kind: Turn, Time: 99999, Peer: NoPeer})
			r := decodeMemory(t, mem)
			last := r.Events[len(r.Events)-1]
			if r.Torn != 1 || last.Time != 99999 {
				t.Errorf("%d events before, %d words: %d torn, the last is %+v", before, torn, r.Torn, last)
			}
		}
	}
}

// TestManyWriters: what many goroutines note at once is all there, as long as there is room, and
// whole.
func TestManyWriters(t *testing.T) {
	ring, mem := openRing(t, 0, 1)
	const writers, each = 8, slotsOfSmallest / 8
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			name := ring.Name(string(rune('a' + w)))
			for i := range each {
				ring.Note(&Event{Kind: Region, Name: name, Time: int64(i + 1), Span: int64(w), Seq: 0, Peer: NoPeer})
			}
		})
	}
	wg.Wait()
	r := decodeMemory(t, mem)
	next := make([]int64, writers)
	for _, e := range r.Events {
		if next[e.Span]++; e.Time != next[e.Span] || r.Name(e.Name) != string(rune('a'+e.Span)) {
			t.Fatalf("event %+v, named %q, is number %d of its writer", e, r.Name(e.Name), next[e.Span])
		}
	}
	if len(r.Events) != writers*each || r.Torn != 0 {
		t.Errorf("%d events, %d torn", len(r.Events), r.Torn)
	}
}

// TestOpenCalls: a call that has not ended is known, one that has is noted; calls at once have
// slots of their own.
func TestOpenCalls(t *testing.T) {
	ring, mem := openRing(t, 1, 4)
	a := ring.Begin(ring.Name("Recv"), 2, 8)
	b := ring.Begin(ring.Name("Send"), 3, 16)
	ring.End(a, ring.Name("Recv"), 2, 4)
	c := ring.Begin(ring.Name("Barrier"), NoPeer, 0)
	r := decodeMemory(t, mem)
	if len(r.Open) != 2 || r.Name(r.Open[0].Name) != "Barrier" || r.Open[0].Peer != NoPeer || r.Name(r.Open[1].Name) != "Send" || r.Open[1].Peer != 3 {
		t.Errorf("open are %+v", r.Open)
	}
	if len(r.Events) != 1 || r.Events[0].Bytes != 4 || r.Events[0].Track != 0 {
		t.Errorf("ended are %+v", r.Events)
	}
	ring.End(b, ring.Name("Send"), 3, 16)
	ring.End(c, ring.Name("Barrier"), NoPeer, 0)
	if r := decodeMemory(t, mem); len(r.Open) != 0 || len(r.Events) != 3 || r.Events[1].Track != 1 || r.Events[2].Track != 0 {
		t.Errorf("open are %+v, ended %+v", r.Open, r.Events)
	}
	var calls []OpenCall
	for range Slots + 2 {
		calls = append(calls, ring.Begin(ring.Name("Wait"), NoPeer, 0))
	}
	for _, c := range calls {
		ring.End(c, ring.Name("Wait"), NoPeer, 0)
	}
	if r := decodeMemory(t, mem); r.Missed != 2 || len(r.Events) != 3+Slots {
		t.Errorf("%d missed, %d events", r.Missed, len(r.Events))
	}
}

// TestNames: there is a limit, and what is beyond it is named so; a long one is cut.
func TestNames(t *testing.T) {
	ring, mem := openRing(t, 0, 1)
	long := ring.Name(string(bytes.Repeat([]byte("x"), 5000)))
	for i := range 2 * MaxNames {
		ring.Name(string(rune(0x4e00 + i)))
	}
	if id := ring.Name("one more"); id != otherName {
		t.Errorf("name %d", id)
	}
	r := decodeMemory(t, mem)
	if len(r.names) != MaxNames || len(r.Name(long)) != 1024 || r.Name(MaxNames-1) == "" {
		t.Errorf("%d names, one of %d bytes", len(r.names), len(r.Name(long)))
	}
}

// TestAmend: an event may be changed as long as it is recent.
func TestAmend(t *testing.T) {
	ring, mem := openRing(t, 0, 1)
	e := Event{Kind: Turn, Time: 1, Span: 1, Peer: NoPeer}
	i := ring.Note(&e)
	e.Span = 5
	if !ring.Amend(i, &e) || decodeMemory(t, mem).Events[0].Span != 5 {
		t.Error("it is not changed")
	}
	for range slotsOfSmallest {
		ring.Note(&e)
	}
	if ring.Amend(i, &e) {
		t.Error("an event is changed that is not there")
	}
}

// TestNoRecording: memory that no rank has opened gives nothing, and what is none is an error.
func TestNoRecording(t *testing.T) {
	s := NewSource([]*os.File{fileOf(t, memory()), fileOf(t, memory())})
	defer s.Close()
	if b, err := io.ReadAll(s); err != nil || len(b) != 0 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	for _, b := range [][]byte{bytes.Repeat([]byte("x"), 100), []byte("x")} {
		if _, err := Decode(bytes.NewReader(b)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%q: %v", b, err)
		}
	}
	if _, err := Open(make([]byte, 5000), 0, 1); err == nil {
		t.Error("memory of a wrong size is taken")
	}
	if _, err := Decode(bytes.NewReader(nil)); !errors.Is(err, io.EOF) {
		t.Errorf("nothing is %v", err)
	}
}

// FuzzDecode: whatever a rank has left, nothing panics, and what is made of it is JSON.
func FuzzDecode(f *testing.F) {
	ring, mem := openRing(f, 1, 3)
	ring.Note(&Event{Kind: Posted, Time: 5, Seq: 1, Peer: 2, Bytes: 4})
	ring.Begin(ring.Name("Recv"), 0, 3)
	f.Add(mem[:headerSize], mem[headerSize:headerSize+64], mem[eventsAt:eventsAt+64])
	f.Fuzz(func(t *testing.T, header, names, events []byte) {
		mem := memory()
		copy(mem[:headerSize], header)
		copy(mem[headerSize:], names)
		copy(mem[eventsAt:], events)
		if len(header) < headerSize {
			copy(mem, memOf(ring))
		}
		s := NewSource([]*os.File{fileOf(t, mem)})
		defer s.Close()
		b, err := io.ReadAll(s)
		if err != nil || len(b) == 0 {
			return
		}
		if r, err := Decode(bytes.NewReader(b)); err == nil {
			convertAll(t, Job{}, r)
		}
	})
}

func memOf(r *Ring) []byte { return r.mem[:headerSize] }

func BenchmarkNote(b *testing.B) {
	ring, _ := openRing(b, 0, 2)
	for b.Loop() {
		ring.Note(&Event{Kind: Posted, Time: ring.Now(), Seq: 1, Peer: 1, Bytes: 8})
	}
}

func BenchmarkCall(b *testing.B) {
	ring, _ := openRing(b, 0, 2)
	for b.Loop() {
		id := ring.Name("Send")
		c := ring.Begin(id, 1, 8)
		ring.End(c, id, 1, 8)
	}
}

func BenchmarkClock(b *testing.B) {
	ring, _ := openRing(b, 0, 2)
	for b.Loop() {
		ring.Now()
	}
}
