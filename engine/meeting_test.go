//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// Ranks of two jobs that were introduced to each other exchange messages as ranks of one do, and
// part without a trace of failure (MPI 4.1, chapter 11).

// meetJobs introduces all of one job to all of another, and returns the numbers that those have: by
// job, by rank, the numbers of the ranks of the other.
func meetJobs(t *testing.T, name byte, a, b []*Engine) (ids [2][][]PeerID) {
	t.Helper()
	jobs, secret := [2][]*Engine{a, b}, bytes.Repeat([]byte{name}, 32)
	for side, es := range jobs {
		other, first, theirs := jobs[1-side], 0, len(a)
		if side == 1 {
			first, theirs = len(a), 0
		}
		for r, e := range es {
			var peers []Introduced
			for q, o := range other {
				peers = append(peers, Introduced{Rank: theirs + q, PeerInfo: PeerInfo{Routes: Direct(o.Addr()), Host: "elsewhere"}})
			}
			got, err := e.Introduce(Meeting{Job: [16]byte{name}, Secret: secret, Rank: first + r, Size: len(a) + len(b)}, peers)
			if err != nil {
				t.Fatal(err)
			}
			ids[side] = append(ids[side], got)
		}
	}
	return ids
}

// otherJob is job whose ranks know another secret, and call themselves another job.
func otherJob(t *testing.T, n int, p Policy, tune func(*Config)) []*Engine {
	return job(t, n, p, func(c *Config) {
		c.Job, c.Secret = [16]byte{0xb}, bytes.Repeat([]byte{0xb}, 32)
		if tune != nil {
			tune(c)
		}
	})
}

func TestMeeting(t *testing.T) {
	for _, p := range []Policy{Worker, Assist, Caller} {
		for _, encrypted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/TLS %v", p, encrypted), func(t *testing.T) {
				tune := func(c *Config) { c.TLS = encrypted }
				a, b := job(t, 2, p, tune), otherJob(t, 2, p, tune)
				ids := meetJobs(t, 'M', a, b)
				for r, got := range ids[0] {
					if got[0] != 2 || got[1] != 3 {
						t.Fatalf("rank %d knows them as %v, want the numbers behind its own job's", r, got)
					}
				}
				var all sync.WaitGroup
				for side, es := range [][]*Engine{a, b} {
					for r, e := range es {
						all.Go(func() { exchangeWith(t, e, ids[side][r], r) })
					}
				}
				all.Wait()
				for side, es := range [][]*Engine{a, b} {
					for r, e := range es {
						e.Part(ids[side][r])
					}
				}
			})
		}
	}
}

// exchangeWith sends each of the peers a short and a long message, and takes the same of each. Tags
// say from which rank of its job a message is.
func exchangeWith(t *testing.T, e *Engine, peers []PeerID, rank int) {
	for _, n := range []int{8, 600 << 10} {
		var ms []*MSO
		for q, id := range peers {
			in := expect(e, n, id, Tag(q))
			out := &MSO{Kind: KindSend, Peer: id, Tag: Tag(rank), Buf: pattern(n, rank)}
			e.Post(out, Waits)
			ms = append(ms, in, out)
		}
		for i, m := range ms {
			e.Wait(m)
			if m.Err != nil {
				t.Errorf("rank %d: %v", rank, m.Err)
			} else if i%2 == 0 && !bytes.Equal(m.Buf, pattern(n, i/2)) {
				t.Errorf("rank %d: a message of %d bytes from %d is another one", rank, n, i/2)
			}
		}
	}
}

// expect posts a receive.
func expect(e *Engine, n int, from PeerID, tag Tag) *MSO {
	m := &MSO{Kind: KindRecv, Peer: from, Tag: tag, Buf: make([]byte, n)}
	e.Post(m, Computes)
	return m
}

// A rank that was not introduced is a stranger, though it knows the secret of the meeting. One that
// does not know it proves nothing, and at a rank that takes no part there is no such job.
func TestMeetingLetsNoOtherIn(t *testing.T) {
	a := job(t, 2, Worker, func(c *Config) { c.TLS = false })
	b := otherJob(t, 2, Worker, func(c *Config) { c.TLS = false })
	m := Meeting{Job: [16]byte{'M'}, Secret: bytes.Repeat([]byte{'M'}, 32), Rank: 0, Size: 4}
	if _, err := a[0].Introduce(m, []Introduced{{Rank: 2, PeerInfo: PeerInfo{Routes: Direct(b[0].Addr()), Host: "elsewhere"}}}); err != nil {
		t.Fatal(err)
	}
	claims := func(e *Engine, rank uint32, secret byte) {
		c := dialRaw(t, e)
		defer c.Close()
		shake(t, c, &wire.Identity{Job: m.Job, Secret: bytes.Repeat([]byte{secret}, 32), Rank: rank, Size: 4, Window: 1 << 20})
	}
	claims(a[0], 1, 'M')
	claims(a[0], 3, 'M')
	wantReject(t, a[0], wire.RejectStranger, 2)
	claims(a[0], 2, 'N')
	claims(a[1], 2, 'M')
	wantReject(t, a[1], wire.RejectWrongJob, 1)
	eventually(t, "one without the secret of the meeting does not count as turned away", func() bool {
		r := a[0].Stats().Rejects // which a[0] counts at its own time, whatever a[1] has counted
		return r["stranger"] == 2 && r["bad-proof"]+r["hangup"] == 1
	})
}

// A meeting that cannot be is an error that says why.
func TestMeetingArguments(t *testing.T) {
	e := job(t, 1, Worker, nil)[0]
	good := Meeting{Job: [16]byte{'M'}, Secret: bytes.Repeat([]byte{'M'}, 32), Rank: 0, Size: 2}
	peer := []Introduced{{Rank: 1, PeerInfo: PeerInfo{Host: "elsewhere"}}}
	for _, tt := range []struct {
		name  string
		m     func(*Meeting)
		peers []Introduced
		want  string
	}{
		{"a short secret", func(m *Meeting) { m.Secret = m.Secret[:31] }, peer, "has 31 bytes"},
		{"no such rank", func(m *Meeting) { m.Rank = 2 }, peer, "rank 2 of a meeting of 2"},
		{"a peer beyond", func(*Meeting) {}, []Introduced{{Rank: 2, PeerInfo: PeerInfo{}}}, "rank 2 cannot be introduced"},
		{"itself", func(*Meeting) {}, []Introduced{{Rank: 0, PeerInfo: PeerInfo{}}}, "rank 0 cannot be introduced"},
		{"a peer twice", func(*Meeting) {}, []Introduced{{Rank: 1, PeerInfo: PeerInfo{}}, {Rank: 1, PeerInfo: PeerInfo{}}}, "rank 1 cannot be introduced"},
		{"shared memory", func(*Meeting) {}, []Introduced{{Rank: 1, PeerInfo: PeerInfo{Way: Shared}}}, "by shared"},
	} {
		m := good
		tt.m(&m)
		if _, err := e.Introduce(m, tt.peers); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want one with %q", tt.name, err, tt.want)
		}
	}
	if _, err := e.Introduce(good, peer); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Introduce(good, peer); err == nil || !strings.Contains(err.Error(), "entered before") {
		t.Errorf("the same meeting again: %v", err)
	}
	if err := e.Kill(); err != nil {
		t.Fatal(err)
	}
	good.Job[0] = 9
	if _, err := e.Introduce(good, peer); !errors.Is(err, ErrStopped) {
		t.Errorf("after the end: %v", err)
	}
}

// Those that part are gone for each other as ranks that have finalized, and the rest go on.
func TestPart(t *testing.T) {
	for _, p := range []Policy{Worker, Assist, Caller} {
		t.Run(p.String(), func(t *testing.T) {
			a, b := job(t, 2, p, nil), otherJob(t, 1, p, nil)
			ids := meetJobs(t, 'M', a, b)
			var all sync.WaitGroup
			for r := range a {
				all.Go(func() { exchangeWith(t, a[r], ids[0][r], r) })
			}
			all.Go(func() { exchangeWith(t, b[0], ids[1][0], 0) })
			all.Wait()
			in := expect(a[0], 8, ids[0][0][0], 1) // which can never come
			a[0].Part(ids[0][0])
			b[0].Part(ids[1][0][:1])
			a[0].Wait(in)
			if !errors.Is(in.Err, ErrPeerLeft) {
				t.Errorf("a receive from a rank that was parted from: %v, want %v", in.Err, ErrPeerLeft)
			}
			all.Go(func() { exchangeWith(t, a[1], ids[0][1], 0) })
			all.Go(func() { exchangeWith(t, b[0], ids[1][0][1:], 0) })
			all.Wait()
			a[1].Part(ids[0][1])
			b[0].Part(ids[1][0][1:])
		})
	}
}

// What ranks of two jobs send each other is under way between them where what both count is known,
// until they part. Frames of others are left out, of which nothing could be said.
func TestMeetingCountsFrames(t *testing.T) {
	for _, counted := range []bool{true, false} {
		t.Run(fmt.Sprintf("counted %v", counted), func(t *testing.T) {
			a, b := job(t, 1, Worker, nil)[0], otherJob(t, 1, Worker, nil)[0]
			secret, ids := bytes.Repeat([]byte{'M'}, 32), [2]PeerID{}
			for side, e := range []*Engine{a, b} {
				other := []*Engine{b, a}[side]
				peer := Introduced{Rank: 1 - side, Counted: counted, PeerInfo: PeerInfo{Routes: Direct(other.Addr()), Host: "elsewhere"}}
				got, err := e.Introduce(Meeting{Job: [16]byte{'M'}, Secret: secret, Rank: side, Size: 2}, []Introduced{peer})
				if err != nil {
					t.Fatal(err)
				}
				ids[side] = got[0]
			}
			in, out := expect(b, 8, ids[1], 3), &MSO{Kind: KindSend, Peer: ids[0], Tag: 3, Buf: pattern(8, 1)}
			a.Post(out, Waits)
			a.Wait(out)
			b.Wait(in)
			sent, arrived := a.Stats(), b.Stats()
			_, n := sent.LiveFrames()
			m, _ := arrived.LiveFrames()
			if want := uint64(1); counted && (n != want || m != want) || !counted && n+m != 0 {
				t.Errorf("%d frames to the other job and %d from it", n, m)
			}
			a.Part(ids[:1])
			b.Part(ids[1:])
			for _, e := range []*Engine{a, b} {
				eventually(t, "frames of a peer that has parted count no more", func() bool {
					s := e.Stats()
					in, out := s.LiveFrames()
					return in+out == 0
				})
			}
		})
	}
}
