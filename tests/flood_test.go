//go:build linux

package tests

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// Floods: all ranks send to rank 0, which comes late, as fast as they can. Nothing is lost, and no
// rank takes more memory than docs/LIMITS.md says.

// envFlood says what a flood sends: bytes of a message, and how many from each rank.
const envFlood = "FITMPI_TESTS_FLOOD"

func init() { programs["flood"] = floodRank }

// flood is what each rank sends.
type flood struct {
	name         string
	bytes, count int
	nonblocking  bool // all sends are begun before any is waited for
	full         bool // only where FITMPI_TESTS_FLOOD_RANKS asks for it
}

// floods: in the short form each takes a second or two.
var floods = []flood{
	{name: "empty", bytes: 0, count: 20_000},
	{name: "8 bytes", bytes: 8, count: 20_000},
	{name: "1 KiB", bytes: 1 << 10, count: 10_000},
	{name: "1 KiB, nonblocking", bytes: 1 << 10, count: 2_000, nonblocking: true},
	{name: "100 KiB", bytes: 100 << 10, count: 60},
	{name: "4 MiB", bytes: 4 << 20, count: 3},
	{name: "64 MiB", bytes: 64 << 20, count: 1, full: true},
}

// floodRanks is the number of ranks: 8, or FITMPI_TESTS_FLOOD_RANKS, with which the long floods run
// too.
func floodRanks() (n int, full bool) {
	if n, err := strconv.Atoi(os.Getenv("FITMPI_TESTS_FLOOD_RANKS")); err == nil {
		return n, true
	}
	return 8, false
}

func TestFlood(t *testing.T) {
	effort.Need(t, effort.Full, "it fills the memory of many ranks")
	if raceEnabled {
		t.Skip("memory is measured, and the race detector takes most of it")
	}
	n, full := floodRanks()
	for _, transport := range []string{"shm", "tcp"} {
		for _, f := range floods {
			if f.full && !full {
				continue
			}
			t.Run(transport+"/"+f.name, func(t *testing.T) {
				dir := t.TempDir()
				run := runJob(t, "flood", n, "assist", dir, "FITMPI_TRANSPORT="+transport, "FITMPI_WINDOW=1M", fmt.Sprintf("%s=%d %d %t", envFlood, f.bytes, f.count, f.nonblocking))
				if run.code != 0 {
					t.Fatalf("code %d\n%s%s", run.code, run.stdout, run.stderr)
				}
				f.check(t, dir, n, run.took)
			})
		}
	}
}

// floodUse is what a rank says of its memory, in KiB.
type floodUse struct{ before, peak, shared int }

// check compares what the ranks took with what is stated.
func (f *flood) check(t *testing.T, dir string, n int, took time.Duration) {
	t.Helper()
	most := f.most(n)
	total, shared, first, worst := 0, 0, floodUse{}, 0
	for r := range n {
		var u floodUse
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("flood", r)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(string(b), &u.before, &u.peak, &u.shared); err != nil {
			t.Fatal(err)
		}
		grown := u.peak - u.before
		if r == 0 {
			first = u
			if grown > most.receiver>>10 {
				t.Errorf("the receiver took %d MiB, which is more than the stated %d", grown>>10, most.receiver>>20)
			}
		} else if worst = max(worst, grown); grown > most.sender>>10 {
			t.Errorf("rank %d took %d MiB, which is more than the stated %d", r, grown>>10, most.sender>>20)
		}
		total += u.peak - u.shared
		shared = max(shared, u.shared)
	}
	t.Logf("%d ranks, %d messages of %d bytes: receiver +%d of %d MiB, senders at most +%d of %d MiB, all processes %d MiB and %d MiB shared, %v", n, (n-1)*f.count, f.bytes,
		(first.peak-first.before)>>10, most.receiver>>20, worst>>10, most.sender>>20, total>>10, shared>>10, took.Round(time.Millisecond))
}

type floodBound struct{ receiver, sender int }

// most is what docs/LIMITS.md says for n ranks with a window of 1 MiB and else the default
// parameters, in bytes beyond what a rank takes before. Go's heap grows to twice of what lives in
// it; a rank has it mapped, and its part of the rings of both directions.
func (f *flood) most(n int) floodBound {
	const window, parked, entry, library, slack = 1 << 20, 1024, 700, 16 << 20, 24 << 20
	rings := (n - 1) * (2 << 20)
	messages := f.bytes // the buffers of the program
	if f.nonblocking {
		messages = f.count * (f.bytes + entry + 600) // a request each
	}
	waiting := parked
	if f.nonblocking {
		waiting = f.count
	}
	receiver := (n-1)*(window*17/10+min(waiting, f.count)*entry) + library
	return floodBound{2*(receiver+f.bytes) + rings + slack, 2*(library+messages+entry*parked) + rings + slack}
}

// floodRank is the main function of a rank of a flood.
func floodRank() {
	var f flood
	if _, err := fmt.Sscan(os.Getenv(envFlood), &f.bytes, &f.count, &f.nonblocking); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	mpi.Main(func(_ context.Context, world *mpi.Comm) error {
		if err := mpi.Barrier(world); err != nil {
			return err
		}
		u := floodUse{before: statusKiB("VmRSS")}
		err := f.send(world)
		if world.Rank() == 0 {
			time.Sleep(300 * time.Millisecond) // it comes late; nothing depends on how much
			err = f.receive(world)
		}
		if err != nil {
			return err
		}
		if err := mpi.Barrier(world); err != nil {
			return err
		}
		u.peak, u.shared = statusKiB("VmHWM"), statusKiB("RssShmem")
		return os.WriteFile(filepath.Join(os.Getenv(envDir), fmt.Sprint("flood", world.Rank())), fmt.Appendln(nil, u.before, u.peak, u.shared), 0o600)
	})
}

// statusKiB is a line of /proc/self/status, -1 if it is not there.
func statusKiB(name string) int {
	b, _ := os.ReadFile("/proc/self/status")
	_, rest, ok := strings.Cut(string(b), "\n"+name+":")
	n := -1
	if ok {
		fmt.Sscan(rest, &n)
	}
	return n
}

// send sends the messages of this rank to rank 0. The tag is the message's number.
func (f *flood) send(world *mpi.Comm) error {
	if world.Rank() == 0 {
		return nil
	}
	var rs []*mpi.Request
	b := make([]byte, f.bytes)
	for i := range f.count {
		if f.nonblocking {
			b = make([]byte, f.bytes)
		}
		f.fill(b, world.Rank(), i)
		if f.nonblocking {
			rs = append(rs, mpi.Isend(world, b, 0, i))
		} else if err := mpi.Send(world, b, 0, i); err != nil {
			return err
		}
	}
	_, err := mpi.WaitAll(rs...)
	return err
}

// fill makes message i of a rank: a pattern, and its checksum if there is room for one.
func (f *flood) fill(b []byte, rank, i int) {
	for k := 0; k < len(b); k += 64 {
		b[k] = byte(rank + i + k>>6)
	}
	if len(b) >= 16 {
		binary.LittleEndian.PutUint64(b[4:], uint64(rank)<<32|uint64(i))
		binary.LittleEndian.PutUint32(b, crc32.ChecksumIEEE(b[4:]))
	}
}

// receive takes all messages of all ranks, in any order of ranks, and checks that those of each are
// whole and in order.
func (f *flood) receive(world *mpi.Comm) error {
	next := make([]int, world.Size())
	b, want := make([]byte, f.bytes), make([]byte, f.bytes)
	for range (world.Size() - 1) * f.count {
		st, err := mpi.Recv(world, b, mpi.AnySource, mpi.AnyTag)
		if err != nil {
			return err
		}
		if st.Tag != next[st.Source] {
			return fmt.Errorf("message %d of rank %d comes where message %d should", st.Tag, st.Source, next[st.Source])
		}
		next[st.Source]++
		if f.fill(want, st.Source, st.Tag); string(b) != string(want) || st.Count != f.bytes {
			return fmt.Errorf("message %d of rank %d is damaged: %d bytes", st.Tag, st.Source, st.Count)
		}
	}
	return nil
}
