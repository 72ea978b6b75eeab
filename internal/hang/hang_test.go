package hang

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tm "github.com/fitmpi/fitmpi/internal/telemetry"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

// scenes are jobs, and the ranks of them that can never go on. What is said of each stands in
// testdata/NAME.txt.
var scenes = []struct {
	name  string
	make  func() *scene
	stuck []int
}{
	{"head-to-head", func() *scene {
		s := newScene(2)
		s.alone(0, recv(40, 1, 7))
		s.alone(1, recv(40, 0, 7))
		return s
	}, []int{0, 1}},
	{"signal", func() *scene {
		s := newScene(3)
		s.alone(0, recv(40, 1, 7))
		s.alone(1, recv(40, 0, 7))
		s.alone(2, recv(40, 0, 7))
		s.pending(0).Signal, s.pending(2).Signal = true, true
		return s
	}, upTo(3)},
	{"signal-to-another", func() *scene {
		s := newScene(4)
		s.alone(0, recv(40, 1, 7))
		s.alone(1, recv(40, 0, 7))
		s.alone(2, recv(40, 3, 7))
		s.alone(3, recv(40, 2, 7))
		s.pending(2).Signal = true
		return s
	}, upTo(2)},
	{"signal-to-one-of-some", func() *scene {
		s := newScene(3)
		s.alone(0, recv(40, 1, 7))
		s.alone(1, recv(40, 0, 7))
		s.goroutine(2, "running", 12, true)
		s.pending(1).Signal = true
		return s
	}, upTo(2)},
	{"large-sends", func() *scene {
		s := newScene(2)
		s.alone(0, send("Ssend", 10, 1, 3, 80))
		s.alone(1, send("Send", 20, 0, 3, 1<<20))
		return s
	}, []int{0, 1}},
	{"ring-of-256", func() *scene {
		s := newScene(256)
		for r := range 256 {
			s.alone(r, recv(40, (r+255)%256, 1))
		}
		return s
	}, upTo(256)},
	{"star-of-256", func() *scene {
		s := newScene(256)
		s.alone(0, recv(11, 1, 1))
		for r := 1; r < 256; r++ {
			s.alone(r, recv(22, 0, 2))
		}
		return s
	}, upTo(256)},
	{"wrong-tag", func() *scene {
		s := newScene(2)
		s.alone(0, recv(40, 1, 8))
		s.message(0, tm.Message{Source: 1, Tag: 7, Comm: world, Bytes: 48})
		s.message(0, tm.Message{Source: 1, Tag: 9, Comm: dup, Bytes: 8})
		s.message(0, tm.Message{Source: 1, Tag: 3, Comm: world, Internal: true})
		s.finalize(1, 0)
		return s
	}, []int{0, 1}},
	{"wrong-tag-announced", func() *scene {
		s := newScene(2)
		s.alone(0, recv(40, 1, 8))
		s.message(0, tm.Message{Source: 1, Tag: 7, Comm: world, Bytes: 1 << 20, Announced: true})
		s.alone(1, send("Send", 44, 0, 7, 1<<20))
		return s
	}, []int{0, 1}},
	{"wrong-source", func() *scene {
		s := newScene(4)
		s.inRow(1, 3)
		s.alone(1, on(recv(30, 3, 5), row)) // from rank 1 of row
		s.message(1, tm.Message{Source: 0, Tag: 5, Comm: world, Bytes: 8})
		s.alone(0, recv(50, 1, 6))
		s.message(0, tm.Message{Source: 2, Tag: 6, Comm: world, Bytes: 8})
		s.alone(2, recv(60, 0, 1))
		s.alone(3, recv(60, 0, 1))
		return s
	}, []int{0, 1, 2, 3}},
	{"rank-of-other-communicator", func() *scene {
		s := newScene(4)
		s.inRow(0, 3)
		s.alone(0, recv(30, 1, 5)) // meant is rank 1 of row
		s.message(0, tm.Message{Source: 3, Tag: 5, Comm: row, Bytes: 8})
		s.message(0, tm.Message{Source: 3, Tag: 5, Comm: world, Bytes: 16})
		for r := 1; r < 4; r++ {
			s.alone(r, coll("Barrier", 60, 2, 0))
		}
		return s
	}, []int{0, 1, 2, 3}},
	{"wrong-communicator", func() *scene {
		s := newScene(2)
		s.alone(0, on(recv(40, 1, 7), dup))
		s.message(0, tm.Message{Source: 1, Tag: 7, Comm: world, Bytes: 8})
		s.alone(1, recv(50, 0, 1))
		return s
	}, []int{0, 1}},
	{"bcast-reduce", func() *scene {
		s := newScene(3)
		s.alone(0, coll("Reduce", 12, 4, 1, 2))
		s.alone(1, coll("Bcast", 20, 4, 0))
		s.alone(2, coll("Bcast", 20, 4, 0))
		return s
	}, []int{0, 1, 2}},
	{"barrier-without-one", func() *scene {
		s := newScene(5)
		for _, r := range []int{0, 1, 3, 4} {
			s.alone(r, coll("Barrier", 30, 2, 2, (r+4)%5))
		}
		s.alone(2, recv(25, 0, 7))
		return s
	}, upTo(5)},
	{"barrier-and-finalize", func() *scene {
		s := newScene(3)
		s.alone(0, coll("Barrier", 30, 2, 1, 2))
		s.alone(1, coll("Ibarrier", 31, 2, 2))
		s.finalize(2, 0, 1)
		return s
	}, upTo(3)},
	{"same-barrier-no-deadlock", func() *scene {
		s := newScene(2)
		s.still(0, 1)
		s.alone(0, coll("Barrier", 30, 2, 1))
		s.alone(1, coll("Barrier", 30, 2, 0))
		return s
	}, upTo(2)},
	{"part-of-a-job-that-goes-on", func() *scene {
		s := newScene(4)
		s.still(0, 1)
		s.alone(0, recv(40, 1, 7))
		s.alone(1, recv(41, 0, 8))
		s.message(1, tm.Message{Source: 0, Tag: 9, Comm: world, Bytes: 8})
		s.alone(2, recv(50, 3, 1))
		s.alone(3, recv(50, 2, 1))
		return s
	}, upTo(2)},
	{"asked-one-after-the-other", func() *scene {
		s := newScene(4)
		s.still()
		s.alone(0, recv(40, 1, 7))
		s.alone(1, recv(40, 0, 7))
		s.message(1, tm.Message{Source: 0, Tag: 8, Comm: world, Bytes: 8})
		s.alone(2, send("Ssend", 50, 0, 1, 80))
		s.alone(3, coll("Barrier", 60, 2, 0))
		return s
	}, nil},
	{"all-in-one-collective", func() *scene {
		s := newScene(2)
		s.alone(0, coll("Bcast", 30, 2, 1))
		s.alone(1, coll("Bcast", 30, 2, 0))
		return s
	}, upTo(2)},
	{"waitall", func() *scene {
		s := newScene(3)
		var ops []int
		for _, from := range []int{1, 1, 2} {
			ops = append(ops, s.op(0, named(recv(14, from, 1), "Irecv")))
		}
		ops = append(ops, s.op(0, named(send("Isend", 15, 1, 2, 1<<20), "Isend")))
		s.call(0, "Waitall", line(16), 4, ops...)
		s.alone(1, recv(50, 0, 9))
		s.goroutine(2, "IO wait", 70, true)
		return s
	}, []int{0, 1}},
	{"waitany-knot", func() *scene {
		s := newScene(3)
		for r := range 3 {
			a := s.op(r, named(recv(14, (r+1)%3, 1), "Irecv"))
			b := s.op(r, named(recv(15, (r+2)%3, 1), "Irecv"))
			s.call(r, "Waitany", line(16), 1, a, b)
		}
		return s
	}, upTo(3)},
	{"waitany-one-may-come", func() *scene {
		s := newScene(3)
		for r := range 2 {
			a := s.op(r, named(recv(14, 1-r, 1), "Irecv"))
			b := s.op(r, named(recv(15, 2, 1), "Irecv"))
			s.call(r, "Waitany", line(16), 1, a, b)
		}
		s.goroutine(2, "running", 60, true)
		return s
	}, nil},
	{"any-source", func() *scene {
		s := newScene(3)
		for r := range 3 {
			s.alone(r, recv(30, -1, -1))
		}
		return s
	}, upTo(3)},
	{"any-source-of-an-intercommunicator", func() *scene {
		s := newScene(3)
		for r := range 2 {
			s.pending(r).Comms = append(s.pending(r).Comms, tm.Comm{Context: row, Name: "inter", Rank: r, Size: 2, Ranks: []int{0, 1}, Remote: []int{2}})
		}
		s.alone(0, on(recv(30, -1, 1), row))
		s.alone(1, recv(30, 0, 1))
		s.goroutine(2, "sleep", 12, true) // and then it may send to both
		return s
	}, nil},
	{"general-of-a-process", func() *scene {
		s := newScene(3)
		s.Ranks[1].Process = 0
		s.alone(0, tm.Operation{Op: "GrequestStart", Kind: tm.General, At: line(9), Peer: -1, Tag: -1}) // rank 1 completes it
		s.alone(1, recv(30, 2, 1))
		s.goroutine(2, "running", 12, true) // and then it sends to rank 1
		return s
	}, nil},
	{"probe", func() *scene {
		s := newScene(2)
		s.alone(0, tm.Operation{Op: "Probe", Kind: tm.Probe, At: line(9), Comm: world, Peer: 1, Tag: 5})
		s.finalize(1, 0)
		return s
	}, upTo(2)},
	{"agreement", func() *scene { // rank 2 waits for another, so the others wait for ever
		s := newScene(3)
		s.alone(0, tm.Operation{Op: "Agree", Kind: tm.Agreement, At: line(9), Comm: world, Peer: -1, Tag: -1, From: []int{1, 2}})
		s.call(1, "Wait", line(8), 1, s.op(1, tm.Operation{Op: "Ishrink", Kind: tm.Agreement, At: line(7), Comm: world, Peer: -1, Tag: -1, From: []int{0}}))
		s.alone(2, recv(30, 1, 1))
		return s
	}, upTo(3)},
	{"agreement-goes-on", func() *scene { // rank 2 may call it yet
		s := newScene(3)
		s.alone(0, tm.Operation{Op: "Agree", Kind: tm.Agreement, At: line(9), Comm: world, Peer: -1, Tag: -1, From: []int{1, 2}})
		s.alone(1, tm.Operation{Op: "Agree", Kind: tm.Agreement, At: line(9), Comm: world, Peer: -1, Tag: -1, From: []int{2}})
		s.goroutine(2, "running", 12, true)
		return s
	}, nil},
	{"gone", func() *scene {
		s := newScene(3)
		s.alone(0, recv(9, 2, 5))
		s.alone(1, recv(9, 0, 5))
		s.Ranks[2] = Rank{Phase: Gone, Host: "a", Process: 2}
		return s
	}, upTo(2)},
	{"to-itself", func() *scene {
		s := newScene(1)
		s.alone(0, send("Ssend", 10, 0, 3, 80))
		return s
	}, []int{0}},
	{"buffer", func() *scene { // rank 2 receives what lies in a buffer of rank 1, and rank 1 what lies in one of rank 0
		s := newScene(3)
		for r := range 2 {
			s.alone(r, tm.Operation{Op: "DetachJobBuffer", Kind: tm.Flush, At: line(9), Peer: -1, Tag: -1, To: []int{r + 1}})
			sent := named(on(send("", 0, r+1, 5, 80), world), "")
			sent.Detached, sent.At = true, ""
			s.op(r, sent)
			s.message(r+1, tm.Message{Source: r, Tag: 5, Comm: world, Bytes: 80, Announced: true})
		}
		s.alone(2, recv(30, 0, 5))
		return s
	}, upTo(3)},
	{"buffer-goes-on", func() *scene { // rank 1 will receive, as far as is known
		s := newScene(2)
		s.alone(0, tm.Operation{Op: "DetachJobBuffer", Kind: tm.Flush, At: line(9), Peer: -1, Tag: -1, To: []int{1}})
		s.goroutine(1, "running", 12, true)
		return s
	}, nil},
	{"buffer-moves", func() *scene { // the last message is being moved
		s := newScene(2)
		s.alone(0, tm.Operation{Op: "FlushJobBuffer", Kind: tm.Flush, At: line(9), Peer: -1, Tag: -1})
		s.alone(1, recv(30, 0, 5))
		return s
	}, nil},
	{"very-many", func() *scene { // more operations than are told
		s := newScene(3)
		for r := range 3 {
			c := s.call(r, "WaitAll", line(8), 1, s.op(r, recv(7, (r+1)%3, 1)))
			c.Besides = 999
		}
		return s
	}, upTo(3)},
	{"dead", func() *scene {
		s := newScene(3)
		s.alone(0, recv(9, 2, 5))
		s.alone(1, recv(9, 0, 5))
		s.Ranks[2] = Rank{Phase: Dead, Host: "a", Process: 2}
		return s
	}, upTo(2)},
	{"waitgroup", func() *scene {
		s := newScene(2)
		s.goroutine(0, "sync.WaitGroup.Wait", 44, false)
		for range 4 {
			s.alone(0, recv(40, 1, 7))
		}
		s.alone(1, recv(41, 0, 8))
		return s
	}, upTo(2)},
	{"mutex", func() *scene {
		s := newScene(2)
		s.goroutine(0, "sync.Mutex.Lock", 44, false)
		s.alone(1, recv(41, 0, 8))
		return s
	}, upTo(2)},
	{"threads", func() *scene { // a goroutine of rank 0 waits for one of rank 1, in the same process
		s := newScene(2)
		s.Ranks[1].Process = 0
		s.goroutine(0, "sync.WaitGroup.Wait", 44, false)
		s.alone(1, recv(41, 0, 8))
		return s
	}, upTo(2)},
	{"threads-one-computes", func() *scene {
		s := newScene(3)
		s.Ranks[1].Process = 0
		s.goroutine(0, "sync.WaitGroup.Wait", 44, false)
		s.goroutine(1, "running", 50, true)
		s.alone(2, recv(41, 0, 8))
		return s
	}, nil},
	{"part-of-the-job", func() *scene {
		s := newScene(4)
		s.alone(0, recv(40, 1, 7))
		s.alone(1, recv(40, 0, 7))
		s.alone(2, recv(40, 3, 7)).Bounded = true
		s.alone(3, recv(40, 2, 7))
		return s
	}, upTo(2)},
	{"several-circles", func() *scene {
		s := newScene(5)
		s.alone(0, recv(40, 1, 7))
		s.alone(1, recv(40, 0, 7))
		s.alone(2, recv(40, 3, 7))
		s.alone(3, recv(40, 2, 7))
		s.alone(4, recv(40, 3, 7))
		return s
	}, upTo(5)},
	{"running", func() *scene {
		s := newScene(6)
		s.Settled = false
		s.goroutine(0, "running", 12, true)
		s.alone(1, recv(40, 0, 7))
		s.goroutine(2, "sleep", 13, true)
		s.goroutine(3, "chan receive", 14, true)
		s.goroutine(3, "chan receive", 14, true)
		s.Ranks[4].Report = nil
		s.pending(5).Operations = append(s.pending(5).Operations, named(recv(15, 0, 3), "Irecv"), tm.Operation{
			Op: "Bsend", Kind: tm.Send, At: line(16), Comm: world, Peer: 0, Tag: 3, Bytes: 100, Detached: true,
		})
		s.goroutine(5, "running", 17, true)
		for i := range 6 {
			s.Ranks[i].Host = []string{"a", "b"}[i/3]
		}
		return s
	}, nil},
	{"not-in-init", func() *scene {
		s := newScene(4)
		s.Settled = false
		for r := range 4 {
			s.Ranks[r].Report = nil
		}
		s.Ranks[2].Phase, s.Ranks[3].Phase = Outside, Absent
		return s
	}, nil},
	{"general-and-partitioned", func() *scene {
		s := newScene(2)
		s.call(0, "Wait", line(8), 1, s.op(0, tm.Operation{Op: "StartGeneral", Kind: tm.General, At: line(5), Peer: -1, Tag: -1}))
		s.call(1, "Wait", line(9), 1, s.op(1, tm.Operation{Op: "PrecvInit", Kind: tm.Parts, At: line(6), Comm: world, Peer: 0, Tag: 4, Bytes: 800, Left: 3}))
		return s
	}, upTo(2)},
	{"partitions-not-ready", func() *scene {
		s := newScene(2)
		s.call(0, "Wait", line(8), 1, s.op(0, tm.Operation{Op: "PsendInit", Kind: tm.Parts, At: line(5), Comm: world, Peer: 1, Tag: 4, Bytes: 800, Left: 4, NotReady: 2, Sends: true}))
		s.call(1, "Wait", line(9), 1, s.op(1, tm.Operation{Op: "PrecvInit", Kind: tm.Parts, At: line(6), Comm: world, Peer: 0, Tag: 4, Bytes: 800, Left: 2}))
		return s
	}, upTo(2)},
}

// upTo is the ranks below n.
func upTo(n int) []int {
	ranks := make([]int, n)
	for r := range ranks {
		ranks[r] = r
	}
	return ranks
}

func TestExplain(t *testing.T) {
	seen := make(map[string]bool)
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			seen[sc.name+".txt"] = true
			e := Explain(&sc.make().Job)
			if !slices.Equal(e.Stuck, sc.stuck) {
				t.Errorf("stuck are %v, want %v", e.Stuck, sc.stuck)
			}
			golden(t, sc.name, e.Text()+"\n")
			if _, err := json.Marshal(e); err != nil {
				t.Error(err)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !seen[filepath.Base(f)] {
			t.Errorf("%s is of no scene", f)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What is not known counts as able to go on.
func TestUnknownMayGoOn(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(s *scene)
	}{
		{"no answer", func(s *scene) { s.Ranks[1].Report = nil }},
		{"an answer without what is pending", func(s *scene) { s.Ranks[1].Report.Pending = nil }},
		{"not all calls", func(s *scene) { s.pending(1).AllCalls = 2 }},
		{"nothing at all", func(s *scene) { s.Ranks[1].Report.Pending = new(tm.Pending) }},
		{"an operation that is not listed", func(s *scene) { s.pending(1).Calls[0].Waits[0] = 5 }},
		{"a call that waits for nothing known", func(s *scene) { s.pending(1).Calls[0].Waits = nil }},
		{"an operation of unknown kind", func(s *scene) { s.pending(1).Operations[0].Kind = "spawn" }},
		{"not in Init", func(s *scene) { s.Ranks[1].Phase = Outside }},
		{"a context", func(s *scene) { s.pending(1).Calls[0].Bounded = true }},
		{"a message that arrives", func(s *scene) { s.pending(1).Operations[0].State = "moving" }},
		{"operations that are not listed", func(s *scene) { s.pending(1).Calls[0].More = 1 }},
		{"another goroutine", func(s *scene) { s.goroutine(1, "select", 3, true) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(2)
			s.alone(0, recv(40, 1, 7))
			s.alone(1, recv(40, 0, 7))
			tc.change(s)
			if e := Explain(&s.Job); len(e.Stuck) > 0 || e.IsDeadlock() {
				t.Errorf("stuck are %v", e.Stuck)
			}
		})
	}
}

// A report of a large job is made in little time, and is short.
func TestLargeJob(t *testing.T) {
	const n = 1024
	s := newScene(n)
	for r := range n {
		var from []int
		for q := range n {
			if q != r {
				from = append(from, q)
			}
		}
		if r == n/2 {
			s.alone(r, recv(40, 0, 7))
		} else {
			s.alone(r, coll("Alltoall", 50, 9, from...))
		}
	}
	began := time.Now()
	e := Explain(&s.Job)
	if len(e.Stuck) != n {
		t.Errorf("%d ranks are stuck", len(e.Stuck))
	}
	text := e.Text()
	t.Logf("%v, %d bytes:\n%s", time.Since(began), len(text), text)
	if len(text) > 4096 {
		t.Errorf("%d bytes", len(text))
	}
}

// TestMismatchesAreBounded: many receives beside many messages with other tags are not all paired;
// that some sends nearly match is known of all of them.
func TestMismatchesAreBounded(t *testing.T) {
	s := newScene(12)
	var ops []int
	for tag := range 200 {
		ops = append(ops, s.op(0, recv(40, 1, tag)))
	}
	s.call(0, "WaitAll", line(41), len(ops), ops...)
	for tag := range 100 {
		s.message(0, tm.Message{Source: 1, Tag: 1000 + tag, Comm: world, Bytes: 8})
	}
	for r := 1; r < 12; r++ {
		s.alone(r, send("Ssend", 10, 0, 7, 8)) // nearly what is received from rank 1
	}
	e := Explain(&s.Job)
	if n := len(e.Mismatches); n < mostOfRank || n > mostOfRank+12 {
		t.Errorf("%d mismatches", n)
	}
	if len(e.Unreceived) > 0 {
		t.Errorf("sends that nearly match are called unreceived: %+v", e.Unreceived)
	}
}

// TestTextIsPrintable: whatever ranks call their communicators and functions, nothing of it reaches
// a terminal that moves its cursor, and no line becomes two.
func TestTextIsPrintable(t *testing.T) {
	const bad = "x\x1b]0;title\a\r\n\u009b2Jy"
	s := newScene(2)
	for r := range 2 {
		s.pending(r).Comms[0].Name = bad
		op := recv(40, 1-r, 7)
		op.At = bad
		s.alone(r, op).At = bad
		s.message(r, tm.Message{Source: 1 - r, Tag: 8, Comm: world, Bytes: 8})
		s.goroutine(r, bad, 12, false)
	}
	for l := range strings.SplitSeq(Explain(&s.Job).Text(), "\n") {
		if strings.ContainsFunc(l, unicode.IsControl) || l != "" && strings.HasPrefix(strings.TrimSpace(l), "2J") {
			t.Errorf("%q", l)
		}
	}
}
