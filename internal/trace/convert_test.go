package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/trace/tracetest"
)

// convertAll makes a trace of recordings and reads it as a viewer does.
func convertAll(t testing.TB, job Job, all ...*Recording) (*tracetest.Trace, Summary) {
	t.Helper()
	var b bytes.Buffer
	sum, err := Convert(context.Background(), &b, job, slices.Values(copies(all)))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := tracetest.Parse(b.Bytes())
	if err != nil {
		t.Fatalf("%v in\n%.2000s", err, b.Bytes())
	}
	return tr, sum
}

// copies keeps recordings as they are: Convert may change those that it is given.
func copies(all []*Recording) (c []*Recording) {
	for _, r := range all {
		n := *r
		n.Events = slices.Clone(r.Events)
		c = append(c, &n)
	}
	return c
}

// recording is what rank of two has noted.
func recording(rank int, events ...Event) *Recording {
	for i := range events {
		if k := events[i].Kind; k < Posted || k > Received {
			events[i].Peer = NoPeer
		}
	}
	return &Recording{Rank: rank, Ranks: 2, Host: []string{"n1", "n2"}[rank], Start: 1000, Events: events, names: []string{"", "(other)", "Send", "Recv", "phase"}}
}

// TestOneMessage: a message is a slice at both ends, with the flow of its header between them.
func TestOneMessage(t *testing.T) {
	a := recording(0,
		Event{Kind: Call, Name: 2, Time: 2000, Span: 500, Bytes: 8},
		Event{Kind: Posted, Track: ByRendezvous, Time: 2100, Seq: 1, Tag: 7, Peer: 1, Bytes: 8},
		Event{Kind: Sent, Time: 2400, Seq: 1, Tag: 7, Peer: 1, Bytes: 8})
	b := recording(1,
		Event{Kind: Arrived, Track: ByRendezvous, Time: 2200, Seq: 1, Tag: 7, Peer: 0, Bytes: 8},
		Event{Kind: Received, Time: 2350, Seq: 1, Tag: 7, Peer: 0, Bytes: 8})
	tr, sum := convertAll(t, Job{}, a, b)
	flows, err := tr.Check(0)
	if err != nil {
		t.Fatal(err)
	}
	if len(flows) != 1 || sum.Flows != 1 || sum.Events != 5 || sum.Ranks != 2 {
		t.Fatalf("flows %+v, summary %+v", flows, sum)
	}
	f := flows[0]
	if f.From.Name != "to 1" || f.From.Begin != 1100 || f.From.End != 1400 || f.To.Name != "from 0" || f.To.Begin != 1200 || f.To.End != 1350 {
		t.Errorf("from %+v to %+v", f.From, f.To)
	}
	if a := f.From.Args; a["tag"] != 7.0 || a["bytes"] != 8.0 || a["protocol"] != "rendezvous" {
		t.Errorf("the sender says %v", a)
	}
	if names := tr.Processes(); names[1] != "rank 0 (n1)" || names[2] != "rank 1 (n2)" {
		t.Errorf("processes %v", names)
	}
	if calls := tr.Slices("call"); len(calls) != 1 || calls[0].Name != "Send" || calls[0].End-calls[0].Begin != 500 {
		t.Errorf("calls %+v", calls)
	}
}

// TestHalfAMessage: a flow is there only if both ends are; what had not ended goes on to the end,
// and says so.
func TestHalfAMessage(t *testing.T) {
	a := recording(0,
		Event{Kind: Posted, Time: 2000, Seq: 5, Peer: 1},
		Event{Kind: Posted, Track: Whole, Time: 2100, Seq: 6, Peer: 1},
		Event{Kind: Sent, Time: 2200, Seq: 4, Peer: 1}, // its beginning is not there any more
		Event{Kind: RegionBegun, Name: 4, Time: 2250, Seq: 1},
		Event{Kind: Turn, Time: 2300, Span: 100})
	a.Open = []Event{{Kind: Call, Name: 3, Time: 2310, Peer: 1}}
	b := recording(1, Event{Kind: Arrived, Time: 2500, Seq: 6, Peer: 0}, Event{Kind: Arrived, Time: 2501, Seq: 7, Peer: 0})
	tr, _ := convertAll(t, Job{}, a, b)
	flows, err := tr.Check(0)
	if err != nil || len(flows) != 1 || flows[0].Begin != 1100 {
		t.Fatalf("flows %+v, %v", flows, err)
	}
	for _, category := range []string{"send", "call", "region"} {
		s := tr.Slices(category)[0]
		if s.End != 1400 || s.Args["unfinished"] != true {
			t.Errorf("%s: %+v", category, s)
		}
	}
}

// TestLanes: slices that overlap are on tracks of their own, as many as there are; beyond that they
// lose their length, and regions within regions are on one.
func TestLanes(t *testing.T) {
	var many []Event
	for i := range trackRoom + 3 {
		many = append(many, Event{Kind: Posted, Time: int64(2000 + i), Seq: uint32(i), Peer: 1})
	}
	many = append(many,
		Event{Kind: Region, Name: 4, Time: 3000, Span: 100}, Event{Kind: Region, Name: 4, Time: 3000, Span: 50},
		Event{Kind: Region, Name: 4, Time: 3050, Span: 50}, Event{Kind: Region, Name: 4, Time: 3060, Span: 100})
	tr, _ := convertAll(t, Job{}, recording(0, many...))
	if _, err := tr.Check(0); err != nil {
		t.Fatal(err)
	}
	tracks := make(map[string]map[int]int)
	short := 0
	for _, s := range tr.Slices("") {
		if tracks[s.Cat] == nil {
			tracks[s.Cat] = make(map[int]int)
		}
		tracks[s.Cat][s.TID]++
		if s.Args["length"] != nil {
			short++
		}
	}
	if len(tracks["send"]) != trackRoom+1 || short != 3 || len(tracks["region"]) != 2 {
		t.Errorf("tracks %v, %d slices without their length", tracks, short)
	}
}

// TestLast: what was before the part that is wanted is not there.
func TestLast(t *testing.T) {
	a := recording(0, Event{Kind: Turn, Time: 2000, Span: 10}, Event{Kind: Turn, Time: 5000, Span: 10})
	b := recording(1, Event{Kind: Turn, Time: 3000, Span: 10}, Event{Kind: Turn, Time: 9000, Span: 10})
	tr, _ := convertAll(t, Job{Last: 5 * time.Microsecond}, a, b)
	if all := tr.Slices("worker"); len(all) != 2 || all[0].Begin != 4000 || all[1].Begin != 8000 {
		t.Errorf("%+v", all)
	}
}

// TestStopped: a conversion that is stopped, or has nothing, leaves a whole file; one that cannot
// write says so.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var b bytes.Buffer
	_, err := Convert(ctx, &b, Job{}, func(yield func(*Recording) bool) {
		for r := range 2 {
			if !yield(recording(r, Event{Kind: Turn, Time: 2000, Span: 1})) {
				return
			}
			if b.Len() > 0 || r == 1 {
				cancel() // in the first round, before anything is written
			}
		}
	})
	tr, perr := tracetest.Parse(b.Bytes())
	if err != nil || perr != nil || tr.OtherData["interrupted"] != true {
		t.Errorf("%v, %v: %s", err, perr, b.Bytes())
	}
	if tr, _ := convertAll(t, Job{}); len(tr.Events) != 0 {
		t.Errorf("a trace of nothing is %+v", tr)
	}
	r := recording(0, make([]Event, 10000)...)
	for i := range r.Events {
		r.Events[i] = Event{Kind: Turn, Time: int64(2000 + 10*i), Span: 1}
	}
	full := errors.New("no space left")
	if _, err := Convert(context.Background(), failing{full}, Job{}, slices.Values([]*Recording{r})); !errors.Is(err, full) {
		t.Errorf("a full disk is %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestClocks: with clocks that differ by seconds and run apart, what they show is put right within
// the uncertainty that is said, and so no message arrives before it was sent by more than that.
func TestClocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		offset := int64(rng.Float64()*20e9 - 10e9)
		drift := rng.Float64()*400e-6 - 200e-6
		there := func(t int64) int64 { return t + offset + int64(float64(t)*drift) }
		look := func(at int64) (all []Sample) {
			for range 8 {
				out, back := rng.Int64N(200e3), rng.Int64N(200e3)
				all = append(all, Sample{Asked: at, There: there(at + out), Answered: at + out + back})
				at += 1e6
			}
			return all
		}
		const start, end = int64(20e9), int64(100e9)
		c, ok := Fit("n2", look(start), look(end))
		if !ok || !c.DriftKnown {
			t.Fatal("the clock is not known")
		}
		slack := int64(c.Uncertainty) + 2
		if off := c.Drift - drift; max(off, -off) > c.DriftUnsure*1.01+1e-12 {
			t.Fatalf("drift %g is taken for %g, within %g", drift, c.Drift, c.DriftUnsure)
		}
		for at := start; at < end; at += 1e9 {
			if got := c.Local(there(at)); got < at-slack || got > at+slack {
				t.Fatalf("round %d, offset %d, drift %g: %d is taken for %d, which is wrong by more than %v", i, offset, drift, at, got, c.Uncertainty)
			}
		}
		a, b := recording(0), recording(1)
		a.Start, b.Start = start, there(start)
		for m := range 50 {
			at := start + int64(m)*1e9
			a.Events = append(a.Events, Event{Kind: Posted, Track: Whole, Time: at, Seq: uint32(m), Peer: 1})
			b.Events = append(b.Events, Event{Kind: Arrived, Track: Whole, Time: there(at + 1000), Seq: uint32(m), Peer: 0})
		}
		tr, _ := convertAll(t, Job{Clocks: map[string]Clock{"n2": c}}, a, b)
		if flows, err := tr.Check(slack); err != nil || len(flows) != 50 {
			t.Fatalf("%d flows, %v", len(flows), err)
		}
	}
	if _, ok := Fit("n2", nil, nil); ok {
		t.Error("a clock that nobody has looked at is known")
	}
	if c, ok := Fit("n2", []Sample{{0, 10, 100}}, nil); !ok || c.DriftKnown || c.Offset != 95 || c.Uncertainty != 5 || c.Local(1000) != 905 {
		t.Errorf("looked at once: %+v", c)
	}
	text := (&Clock{Host: "n2", Offset: -time.Second, Uncertainty: time.Millisecond, Drift: 2e-6, DriftUnsure: 5e-7, DriftKnown: true}).String()
	if want := "the clock of n2 is 1s behind this host's, within 1ms, and gains 2.000 ppm on it, within 0.500"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
}

// TestNumbers: the set of numbers is one, wherever they lie.
func TestNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var n numbers
		want := make(map[uint32]bool)
		base := rng.Uint32()
		for range 300 {
			v := base + rng.Uint32N(1000) - 500
			if rng.IntN(50) == 0 {
				v = rng.Uint32()
			}
			n.add(v)
			want[v] = true
		}
		for v := base - 600; v != base+600; v++ {
			if n.has(v) != want[v] {
				t.Fatalf("%d: %v, want %v", v, n.has(v), want[v])
			}
		}
		for v := range want {
			if !n.has(v) {
				t.Fatalf("%d is missing", v)
			}
		}
	}
}

// BenchmarkConvert makes a trace of a full ring of the usual size.
func BenchmarkConvert(b *testing.B) {
	const n = DefaultBuffer / eventSize
	r := recording(0)
	for i := range n / 4 {
		at := int64(2000 + 1000*i)
		r.Events = append(r.Events,
			Event{Kind: Call, Name: 2, Time: at, Span: 300, Peer: 1, Bytes: 8},
			Event{Kind: Posted, Track: Whole, Time: at + 100, Seq: uint32(i), Peer: 1, Bytes: 8},
			Event{Kind: Call, Name: 3, Time: at + 400, Span: 300, Peer: 1, Bytes: 8},
			Event{Kind: Arrived, Track: Whole, Time: at + 500, Seq: uint32(i), Peer: 1, Bytes: 8})
	}
	var written countingWriter
	for b.Loop() {
		written = 0
		if _, err := Convert(context.Background(), &written, Job{}, slices.Values([]*Recording{r})); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(written)/float64(n), "B/event")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
}

type countingWriter int

func (c *countingWriter) Write(p []byte) (int, error) {
	*c += countingWriter(len(p))
	return len(p), nil
}

var _ io.Writer = (*countingWriter)(nil)

// TestKinds: every kind has a name.
func TestKinds(t *testing.T) {
	for k := Call; k < kindEnd; k++ {
		if s := k.String(); s == "" || strings.HasPrefix(s, "Kind(") {
			t.Errorf("kind %d is %q", k, s)
		}
	}
	if s := fmt.Sprint(kindEnd); !strings.HasPrefix(s, "Kind(") {
		t.Errorf("no kind is %q", s)
	}
}
