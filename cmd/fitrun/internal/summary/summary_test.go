//go:build linux

package summary

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	ms  = time.Millisecond
	sec = time.Second
)

// picture is ranks that have run for a time, to be changed by a test.
func picture(n int, ran time.Duration) []view.Rank {
	ranks := make([]view.Rank, n)
	for i := range ranks {
		c := &telemetry.Counters{Elapsed: ran, Last: true}
		c.Stats.BufferBudget = 16 << 20
		c.Process = telemetry.Process{PeakRSS: 20 << 20}
		ranks[i] = view.Rank{
			Rank: i, Host: "a", State: launch.State{Phase: launch.Over, PID: 100 + i}, Counters: c, Traffic: make(map[int]telemetry.Peer),
		}
	}
	return ranks
}

// sends notes messages from one rank to another.
func sends(ranks []view.Rank, from, to int, n, size uint64) {
	t := engine.Traffic{Messages: n, Bytes: n * size}
	way := &ranks[from].Counters.Stats.Ways[engine.Shared]
	way.Sent[0] = add(way.Sent[0], t)
	way = &ranks[to].Counters.Stats.Ways[engine.Shared]
	way.Received[0] = add(way.Received[0], t)
	class := 0
	for ; size > 1<<(2*class); class++ {
	}
	ranks[from].Counters.Stats.Sizes[class] += n
	p := ranks[from].Traffic[to]
	p.Rank, p.Sent = to, add(p.Sent, t)
	ranks[from].Traffic[to] = p
}

// waits notes that a rank waited for another, -1 for none that could be named, in a line of the
// program.
func waits(ranks []view.Rank, r, peer int, kind engine.WaitKind, op string, line int, d time.Duration) {
	c := ranks[r].Counters
	c.Stats.Waited += d
	c.Stats.Waits[kind].Count++
	c.Stats.Waits[kind].Time += d
	c.Sites = append(c.Sites, telemetry.Site{Op: op, At: fmt.Sprintf("/src/prog/main.go:%d", line), Kind: kind, Count: 1, Time: d, Peer: peer})
	if peer < 0 {
		return
	}
	p := ranks[r].Traffic[peer]
	p.Rank = peer
	if kind == engine.WaitSend {
		p.Waited.Sending += d
	} else {
		p.Waited.Receiving += d
	}
	ranks[r].Traffic[peer] = p
}

// pictures are jobs, and what is to be found in them.
var pictures = []struct {
	name  string
	ranks func() []view.Rank
	want  []Kind
}{
	{"balanced", func() []view.Rank {
		ranks := picture(4, 3*sec)
		for r := range ranks {
			sends(ranks, r, (r+1)%4, 1000, 10000)
			waits(ranks, r, (r+3)%4, engine.WaitReceive, "Recv", 20, time.Duration(100+r)*ms)
			ranks[r].Counters.Stats.Flights = engine.FlightStats{Count: 10, Flight: sec, Hidden: 900 * ms}
			ranks[r].Counters.Stats.BufferHighWater = 1 << 20
		}
		return ranks
	}, nil},
	{"late-sender", func() []view.Rank {
		ranks := picture(4, 10*sec)
		for _, r := range []int{0, 2, 3} {
			sends(ranks, 1, r, 10, 1<<20)
			waits(ranks, r, 1, engine.WaitReceive, "Recv", 40, 4*sec)
		}
		return ranks
	}, []Kind{LateSender}},
	{"late-receiver", func() []view.Rank {
		ranks := picture(5, 10*sec)
		sends(ranks, 0, 4, 12, 1<<20)
		waits(ranks, 0, 4, engine.WaitSend, "Ssend", 17, 3200*ms)
		ranks[0].Counters.Stats.BufferStalls = 3
		return ranks
	}, []Kind{LateReceiver}},
	// Ranks in a row wait for each other: the one at the end is to blame.
	{"chain", func() []view.Rank {
		ranks := picture(4, 10*sec)
		for r := range 3 {
			sends(ranks, r+1, r, 100, 8000)
			waits(ranks, r, r+1, engine.WaitReceive, "Sendrecv", 33, 5*sec)
		}
		return ranks
	}, []Kind{LateSender}},
	{"imbalance", func() []view.Rank {
		ranks := picture(4, 20*sec)
		for r := range ranks {
			d := 9 * sec
			if r == 3 {
				d = 400 * ms
			}
			waits(ranks, r, -1, engine.WaitCollective, "Allreduce", 51, d)
		}
		return ranks
	}, []Kind{Imbalance}},
	{"one-idle", func() []view.Rank {
		ranks := picture(5, 20*sec)
		for r := range ranks {
			d := time.Duration(r) * 10 * ms
			if r == 2 {
				d = 15 * sec
			}
			waits(ranks, r, -1, engine.WaitCollective, "Barrier", 52, d)
		}
		return ranks
	}, []Kind{Imbalance}},
	{"tiny-messages", func() []view.Rank {
		ranks := picture(2, 4*sec)
		sends(ranks, 0, 1, 2_100_000, 8)
		sends(ranks, 1, 0, 40_000, 5000)
		return ranks
	}, []Kind{TinyMessages}},
	{"ping-pong", func() []view.Rank {
		ranks := picture(2, 4*sec)
		for r := range ranks {
			sends(ranks, r, 1-r, 1000, 1<<16)
			waits(ranks, r, 1-r, engine.WaitReceive, "Recv", 9, 3900*ms)
		}
		return ranks
	}, []Kind{Waiting}},
	{"too-few-cores", func() []view.Rank {
		ranks := picture(4, 4*sec)
		for r := range ranks {
			ranks[r].Counters.Stats.Gaps.Counts[24] = 60
			ranks[r].Counters.Stats.Gaps.Counts[15] = 60000
		}
		return ranks
	}, []Kind{Oversubscribe}},
	{"full-buffer", func() []view.Rank {
		ranks := picture(3, 10*sec)
		waits(ranks, 1, -1, engine.WaitSend, "Waitall", 77, 4*sec)
		ranks[1].Counters.Stats.BufferStalls = 1200
		return ranks
	}, []Kind{FullBuffer}},
	{"unexpected", func() []view.Rank {
		ranks := picture(2, sec)
		sends(ranks, 0, 1, 100_000, 8000)
		ranks[1].Counters.Stats.Unexpected = 90_000
		return ranks
	}, []Kind{Unexpected}},
	{"three-of-four", func() []view.Rank {
		ranks := picture(4, 10*sec)
		sends(ranks, 2, 3, 900_000, 8)
		waits(ranks, 0, 2, engine.WaitReceive, "Wait", 12, 3*sec)
		waits(ranks, 1, 2, engine.WaitSend, "Send", 13, 7*sec)
		for r := range 3 {
			waits(ranks, r, -1, engine.WaitCollective, "Reduce", 14, 2900*ms)
		}
		return ranks
	}, []Kind{Imbalance, LateReceiver, LateSender}},
	{"short", func() []view.Rank {
		ranks := picture(2, 90*ms)
		waits(ranks, 0, 1, engine.WaitReceive, "Recv", 9, 80*ms)
		return ranks
	}, nil},
	{"broken", func() []view.Rank {
		ranks := picture(4, 2*sec)
		ranks[1].Counters.Last, ranks[1].State.Code = false, 137
		ranks[2].Counters.Last = false
		ranks[3].Counters = nil
		return ranks
	}, nil},
	{"silent", func() []view.Rank {
		ranks := picture(2, 2*sec)
		ranks[0].Counters, ranks[1].Counters = nil, nil
		return ranks
	}, nil},
	{"alone", func() []view.Rank { return picture(1, sec) }, nil},
	{"processes", func() []view.Rank {
		ranks := picture(4, sec)
		for r := range ranks {
			ranks[r].Host, ranks[r].State.PID = []string{"node1", "node2"}[r/2], 7
		}
		return ranks
	}, nil},
	{"many", func() []view.Rank {
		ranks := picture(64, 100*sec)
		for r := range ranks {
			if r != 17 {
				waits(ranks, r, 17, engine.WaitReceive, "Recv", 5, 40*sec+time.Duration(r)*100*ms)
			}
		}
		return ranks
	}, []Kind{LateSender}},
}

func TestPictures(t *testing.T) {
	for _, test := range pictures {
		t.Run(test.name, func(t *testing.T) {
			ranks := test.ranks()
			s := Make(ranks, 10500*ms, 0)
			var kinds []Kind
			for _, f := range s.Findings {
				kinds = append(kinds, f.Kind)
			}
			if !slices.Equal(kinds, test.want) {
				t.Errorf("found %q, want %q", kinds, test.want)
			}
			var b bytes.Buffer
			if err := s.WriteText(&b, Width); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", test.name+".txt"), b.Bytes())
		})
	}
}

// spawnedPicture is two ranks, three that these have spawned, and two that those have, in places
// that are not in the order of their ranks; in one place there is none any more.
func spawnedPicture() []view.Rank {
	ranks := picture(8, 10*sec)
	for at, of := range map[int]struct {
		job  string
		rank int
	}{2: {"1.1", 0}, 3: {"1", 2}, 4: {"1", 0}, 5: {"1", 1}, 7: {"1.1", 1}} {
		ranks[at].Job, ranks[at].Rank = of.job, of.rank
	}
	ranks[6] = view.Rank{Vacant: true}
	for _, at := range []int{3, 4} { // they wait for rank 1 of their job
		sends(ranks, 5, at, 10, 1<<20)
		waits(ranks, at, 5, engine.WaitReceive, "Recv", 40, 4*sec)
	}
	waits(ranks, 0, 5, engine.WaitReceive, "Recv", 50, 3*sec) // of another job, which is no rank of this one
	ranks[2].Counters.Elapsed = 2 * sec
	ranks[7].Counters = nil
	return ranks
}

// TestSpawned: each job has a summary of its own, whose ranks are those of its world.
func TestSpawned(t *testing.T) {
	ranks := spawnedPicture()
	s := Make(ranks, 10500*ms, 5)
	if len(s.Spawned) != 2 || s.Forgotten != 3 || len(s.Ranks) != 2 || len(s.Findings) != 0 {
		t.Fatalf("%+v", s)
	}
	one, inner := s.Spawned[0], s.Spawned[1]
	if one.Job != "1" || len(one.Ranks) != 3 || one.Ranks[2].Rank != 2 || one.Seconds != 10 {
		t.Errorf("%+v", one)
	}
	if f := one.Findings; len(f) != 1 || f[0].Kind != LateSender || !slices.Equal(f[0].Ranks, []int{1}) || !slices.Equal(f[0].Victims, []int{0, 2}) {
		t.Errorf("%+v", f)
	}
	if inner.Job != "1.1" || len(inner.Ranks) != 2 || inner.Seconds != 2 || inner.Ranks[1].State != Silent {
		t.Errorf("%+v", inner)
	}
	if p := ranks[4].Counters.Sites[0].Peer; p != 5 || ranks[4].Traffic[5].Rank != 5 {
		t.Errorf("the picture has changed: a peer is %d", p)
	}
	var b bytes.Buffer
	if err := s.WriteText(&b, Width); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "spawned.txt"), b.Bytes())
}

// Of very many jobs some have their text.
func TestManySpawned(t *testing.T) {
	ranks := picture(1+20, sec)
	for at := range ranks[1:] {
		ranks[1+at].Job, ranks[1+at].Rank = fmt.Sprint(20-at), 0
	}
	s := Make(ranks, sec, 20)
	var b bytes.Buffer
	if err := s.WriteText(&b, Width); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if n := bytes.Count(b.Bytes(), []byte("fitrun: spawned ")); n != mostJobs || s.Spawned[9].Job != "10" || !strings.Contains(text, "fitrun: 12 more spawned jobs: ") {
		t.Errorf("%d jobs, the tenth %s:\n%s", n, s.Spawned[9].Job, text)
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it anew); got:\n%s", file, got)
	}
}

// TestJSON: a summary is what it was after JSON.
func TestJSON(t *testing.T) {
	s := Make(pictures[1].ranks(), sec, 0)
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back := new(Summary)
	if err := json.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	f := back.Findings[0]
	if len(back.Ranks) != 4 || f.Kind != LateSender || !slices.Equal(f.Ranks, []int{1}) || !slices.Equal(f.Victims, []int{0, 2, 3}) || f.At != "/src/prog/main.go:40" || f.Op != "Recv" {
		t.Errorf("%s", data)
	}
}

// TestNothingAtAll: the summary of no ranks is no reason to fall.
func TestNothingAtAll(t *testing.T) {
	var b bytes.Buffer
	if err := Make(nil, 0, 0).WriteText(&b, Width); err != nil || b.Len() == 0 {
		t.Error(err, b.String())
	}
}

func TestUnits(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Duration(0), "0 s"}, {Duration(1.5e-6), "1.50 µs"}, {Duration(0.01234), "12.3 ms"}, {Duration(0.9999), "1.00 s"}, {Duration(59.96), "60.0 s"},
		{Duration(599), "599 s"}, {Duration(600), "10.0 min"}, {Duration(7300), "2.03 h"},
		{Bytes(0), "0 B"}, {Bytes(999), "999 B"}, {Bytes(1000), "0.98 KiB"}, {Bytes(1 << 20), "1.00 MiB"}, {Bytes(1.5 * (1 << 40)), "1.50 TiB"},
		{Count(12), "12"}, {Count(999), "999"}, {Count(1234), "1.23 k"}, {Count(2.1e6), "2.10 M"},
		{Percent(0.994), "99%"}, {Percent(0), "0%"},
		{names([]int{3}), "rank 3"}, {names([]int{0, 1}), "ranks 0 and 1"}, {names([]int{0, 2, 3}), "ranks 0, 2 and 3"}, {names([]int{0, 4, 5, 6}), "ranks 0 and 4-6"},
		{names([]int{0, 2, 4, 6, 8, 10, 12, 14, 16}), "9 ranks"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}
