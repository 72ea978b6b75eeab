//go:build linux && !fitmpi_portable

package mpi

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"testing"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/trace"
)

// newTestRecorder is that of rank 1 of 4, and what reads its recording.
func newTestRecorder(t *testing.T) (*recorder, func() *trace.Recording) {
	t.Helper()
	f, err := shm.CreateFile("fitmpi-trace", trace.Size(trace.MinBuffer))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r, err := newRecorder(boot.Info{Rank: 1, Size: 4, Trace: f})
	if err != nil {
		t.Fatal(err)
	}
	return r, func() *trace.Recording {
		t.Helper()
		again, err := os.Open("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
		if err != nil {
			t.Fatal(err)
		}
		s := trace.NewSource([]*os.File{again})
		defer s.Close()
		b, err := io.ReadAll(s)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := trace.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
}

// wantKinds checks the events of a recording by kind and flags.
func wantKinds(t *testing.T, r *trace.Recording, want ...trace.Event) {
	t.Helper()
	if len(r.Events) != len(want) {
		t.Fatalf("%d events, want %d: %+v", len(r.Events), len(want), r.Events)
	}
	for i, e := range r.Events {
		w := want[i]
		if e.Kind != w.Kind || e.Track != w.Track || e.Seq != w.Seq || e.Peer != w.Peer {
			t.Errorf("event %d is %+v, want %+v", i, e, w)
		}
	}
}

// A message is noted when it begins and when it is complete, in one event if that is at once.
func TestRecorderMessages(t *testing.T) {
	r, read := newTestRecorder(t)
	for _, m := range []engine.MessageEvent{
		{Kind: engine.EventSent, Protocol: engine.Short, Peer: 2, Number: 1, Bytes: 8},
		{Kind: engine.EventSendDone, Protocol: engine.Short, Peer: 2, Number: 1, Bytes: 8, Whole: true},
		{Kind: engine.EventSent, Protocol: engine.Rendezvous, Peer: 2, Number: 2},
		{Kind: engine.EventArrived, Protocol: engine.Eager, Peer: 3, Number: 1, Ctx: collectiveBit},
		{Kind: engine.EventMatched, Protocol: engine.Eager, Peer: 3, Number: 1, Ctx: collectiveBit, Whole: true},
		{Kind: engine.EventReceived, Protocol: engine.Eager, Peer: 3, Number: 1, Ctx: collectiveBit, Whole: true},
		{Kind: engine.EventArrived, Protocol: engine.Rendezvous, Unexpected: true, Peer: 3, Number: 2},
		{Kind: engine.EventSendDone, Protocol: engine.Rendezvous, Peer: 2, Number: 2, Whole: true}, // another came between
		{Kind: engine.EventWithdrawn, Protocol: engine.Rendezvous, Peer: 3, Number: 2},
		{Kind: engine.EventArrived, Protocol: engine.Eager, Peer: 0, Number: 1},
		{Kind: engine.EventReceived, Protocol: engine.Eager, Peer: 0, Number: 1, Err: errors.New("too long"), Whole: true},
	} {
		r.Message(m)
	}
	rec := read()
	wantKinds(t, rec,
		trace.Event{Kind: trace.Posted, Track: trace.Whole, Seq: 1, Peer: 2},
		trace.Event{Kind: trace.Posted, Track: trace.ByRendezvous, Seq: 2, Peer: 2},
		trace.Event{Kind: trace.Arrived, Track: trace.ByEager | trace.Expected | trace.OfCollective | trace.Whole, Seq: 1, Peer: 3},
		trace.Event{Kind: trace.Arrived, Track: trace.ByRendezvous, Seq: 2, Peer: 3},
		trace.Event{Kind: trace.Sent, Track: trace.ByRendezvous, Seq: 2, Peer: 2},
		trace.Event{Kind: trace.Received, Track: trace.ByRendezvous | trace.Failed, Seq: 2, Peer: 3},
		trace.Event{Kind: trace.Arrived, Track: trace.ByEager | trace.Expected, Seq: 1, Peer: 0},
		trace.Event{Kind: trace.Received, Track: trace.ByEager | trace.Failed, Seq: 1, Peer: 0})
	if name := rec.Name(rec.Events[0].Name); name != "world" {
		t.Errorf("the communicator is called %q", name)
	}
}

// Turns of the worker that follow each other closely are one; those of others are part of their
// calls.
func TestRecorderTurns(t *testing.T) {
	r, read := newTestRecorder(t)
	for _, e := range []engine.TurnEvent{
		{By: engine.ByWorker, Begin: 1000, End: 2000},
		{By: engine.ByCaller, Begin: 2000, End: 2500},
		{By: engine.ByVisitor, Begin: 2500, End: 2600},
		{By: engine.ByWorker, Begin: 2000 + turnGap - 1, End: 5000},
		{By: engine.ByWorker, Begin: 5000 + turnGap, End: 9000},
		{By: engine.ByWorker, Slept: true, Begin: 9000, End: 10000},
	} {
		r.Turn(e)
	}
	rec := read()
	none := trace.Event{Peer: trace.NoPeer}
	turn, slept := none, none
	turn.Kind, slept.Kind = trace.Turn, trace.Slept
	wantKinds(t, rec, turn, turn, slept)
	if a := rec.Events[0]; a.Time != 1000+r.base || a.Span != 4000 {
		t.Errorf("the first turns are %+v", a)
	}
}

// Noting allocates nothing: not a message, nor a call, nor a turn.
func TestRecorderAllocatesNothing(t *testing.T) {
	r, _ := newTestRecorder(t)
	k := &Call{Op: "Recv", Dest: Undefined, Source: AnySource, Root: Undefined}
	all := func() {
		r.begin(k)
		r.Message(engine.MessageEvent{Kind: engine.EventSent, Peer: 2, Number: 1})
		r.Message(engine.MessageEvent{Kind: engine.EventSendDone, Peer: 2, Number: 1})
		r.Turn(engine.TurnEvent{By: engine.ByWorker, Begin: 1, End: 2})
		r.end(k)
	}
	all() // the names
	if n := testing.AllocsPerRun(100, all); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A file that is no recording's, or none at all, is an error, or no recorder.
func TestNoRecorder(t *testing.T) {
	if r, err := newRecorder(boot.Info{Size: 1}); r != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
	f, err := shm.CreateFile("short", 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := newRecorder(boot.Info{Size: 1, Trace: f}); err == nil {
		t.Error("memory of another size is taken")
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := newRecorder(boot.Info{Size: 1, Trace: null}); err == nil {
		t.Error("a file that may change its length is taken")
	}
}
