//go:build linux && !fitmpi_portable

package engine

import (
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/jobtls"
)

// TestChoked: a connection on which a record of TLS is not whole for as long as the patience, and
// none before it, is of no use. That verdict is not passed on a connection on which nothing comes,
// or records come now and then, or whose peer may stop amid them.
func TestChoked(t *testing.T) {
	const patience = int64(10 * time.Second)
	for _, tc := range []struct {
		name    string
		arrives func(second int) (whole uint64, partial bool)
		choked  bool
	}{
		{"a record that never is whole", func(s int) (uint64, bool) { return 0, true }, true},
		{"the same, after some that were", func(s int) (uint64, bool) { return uint64(max(0, 12-s)), true }, true},
		{"nothing, or a peer that may pause", func(s int) (uint64, bool) { return 0, false }, false},
		{"nothing, then a record that needs nine seconds", func(s int) (uint64, bool) { return uint64(s / 29), s > 19 }, false},
		{"a record each nine seconds, in pieces", func(s int) (uint64, bool) { return uint64(s%9/8) * 700, true }, false},
		{"heartbeats", func(s int) (uint64, bool) { return 32, false }, false},
	} {
		b := connBeat{opened: 900}
		choked := b.isChoked(1, false, true, patience)
		for s := range 30 {
			whole, partial := tc.arrives(s)
			b.opened += whole
			choked = b.isChoked(int64(time.Duration(s+1)*time.Second), false, !partial, patience) || choked
		}
		if choked != tc.choked {
			t.Errorf("%s: choked %v", tc.name, choked)
		}
	}
}

// TestMayPause: which peers may stop in the middle of a record.
func TestMayPause(t *testing.T) {
	for _, tc := range []struct {
		name                  string
		policy                Policy
		promised              int64
		paused, lives, resume bool
		want                  bool
	}{
		{"it is heard", Worker, 1, false, true, false, false},
		{"it is silent: it may be stopped", Worker, 1, false, false, true, true},
		{"it is held in a debugger", Worker, 1, true, true, true, true},
		{"it promises nothing", Assist, 0, false, true, true, true},
		{"it computes", Caller, 0, false, true, false, true},
		{"it computes, and can be asked again", Caller, 0, false, false, true, false},
	} {
		c := conn{
			d: &driver{e: &Engine{cfg: Config{Progress: tc.policy}}}, rx: &input{paused: tc.paused},
			session: &peerSession{resumes: tc.resume}, beat: connBeat{promised: tc.promised},
		}
		if got := c.mayPause(tc.lives); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// TestFills: a rank that promises no heartbeats fills records, unless the peer, under the same
// policy, decides by its clock and asks again.
func TestFills(t *testing.T) {
	for _, tc := range []struct {
		name               string
		policy             Policy
		tls, beats, resume bool
		want               bool
	}{
		{"heartbeats show it", Worker, true, true, false, false},
		{"none are wanted of it", Assist, true, false, true, true},
		{"it makes progress in calls only", Caller, true, false, false, true},
		{"the same, and the record is sent again", Caller, true, false, true, false},
		{"no records", Caller, false, false, false, false},
	} {
		c := conn{d: &driver{e: &Engine{cfg: Config{Progress: tc.policy}}}, session: &peerSession{resumes: tc.resume}}
		c.d.heart.beats = tc.beats
		if tc.tls {
			c.tls = new(jobtls.Conn)
		}
		if got := c.fills(); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// TestShare: as many beats as fit into the timeout bring all, and none brings much more than its
// part.
func TestShare(t *testing.T) {
	for _, tc := range [][2]time.Duration{{time.Second, time.Minute}, {200 * time.Millisecond, time.Second}, {-1, time.Minute}, {7 * time.Second, 11 * time.Second}} {
		m := newMetronome(tc[0], tc[1])
		beats, n := int(m.timeout/m.every), m.share(jobtls.MaxRecord)
		if rest := int(m.timeout%m.every) * jobtls.MaxRecord / int(m.timeout); n*beats+rest+1 < jobtls.MaxRecord || n > jobtls.MaxRecord/beats+1 {
			t.Errorf("every %v of %v: %d bytes", tc[0], tc[1], n)
		}
	}
}
