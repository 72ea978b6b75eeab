//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
)

// TestDamage: whatever happens to a record of TLS, the connection breaks, is made again, and
// nothing is lost. Where the reader is left waiting for bytes that no sender has sent, and only
// heartbeats come, the patience with a silent peer ends that.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		harm  func([]byte) []byte
		waits bool
	}{
		"longer":                {resize(16 << 10), true},
		"one bit longer":        {change(3, 0x20), true},
		"a little longer":       {func(b []byte) []byte { return resize(len(b) - recordHead + 10)(b) }, false}, // a heartbeat has more
		"shorter":               {func(b []byte) []byte { return resize(len(b) - recordHead - 1)(b) }, false},
		"empty":                 {resize(0), false},
		"longer than any":       {resize(0xffff), false},
		"type":                  {change(0, 1), false},
		"change cipher spec":    {change(0, 0x17^0x14), false},
		"alert":                 {change(0, 0x17^0x15), false},
		"version":               {change(2, 1), false},
		"body":                  {change(100, 1), false},
		"seal":                  {func(b []byte) []byte { return change(len(b)-1, 0x80)(b) }, false},
		"bytes lost":            {func(b []byte) []byte { return append(b[:100:100], b[110:]...) }, false},
		"most bytes lost":       {func(b []byte) []byte { return b[:len(b)-4000] }, true},
		"header lost":           {func(b []byte) []byte { return b[recordHead:] }, false},
		"record lost":           {func([]byte) []byte { return nil }, false},
		"bytes put in":          {func(b []byte) []byte { return append(append(b[:100:100], 1, 2, 3), b[100:]...) }, false},
		"a header put in front": {func(b []byte) []byte { return append([]byte{0x17, 3, 3, 0x40, 0}, b...) }, true},
		"twice":                 {func(b []byte) []byte { return append(b[:len(b):len(b)], b...) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := new(damager)
			es, _, why := damagedJob(t, d, []Policy{Worker, Assist}[len(name)%2])
			talk(t, es, 1)
			for k, dir := range []faultproxy.Direction{faultproxy.Up, faultproxy.Down} {
				d.next(1, ofLong(dir), tc.harm)
				talk(t, es, 1)
				if n := d.count(); n != k+1 {
					t.Fatalf("%d records are damaged, want %d", n, k+1)
				}
			}
			wantResumed(t, es, 4)
			if waited := why.has(errNoRecord.Error()); waited != tc.waits {
				t.Errorf("ended by the clock: %v, want %v", waited, tc.waits)
			}
			closeAll(t, es)
		})
	}
}

// ofLong is for damager.next: the record of the message of 5000 bytes that goes this way.
func ofLong(dir faultproxy.Direction) func(faultproxy.Direction, int, int) bool {
	return func(way faultproxy.Direction, _, size int) bool { return way == dir && size > 5000 && size < 8000 }
}

// TestDamageUnderCaller: ranks that show no heartbeats wait for the rest of a record no longer than
// others.
func TestDamageUnderCaller(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	d := new(damager)
	es, _, why := damagedJob(t, d, Caller)
	talk(t, es, 1)
	for _, dir := range []faultproxy.Direction{faultproxy.Up, faultproxy.Down} {
		d.next(1, ofLong(dir), resize(16<<10))
		talk(t, es, 1)
	}
	wantResumed(t, es, 4)
	if d.count() != 2 || !why.has(errNoRecord.Error()) {
		t.Errorf("%d records are damaged, and the clock has ended nothing", d.count())
	}
	closeAll(t, es)
}

// TestDamagedFinalReport: what a rank says last is damaged, and no heartbeat follows.
func TestDamagedFinalReport(t *testing.T) {
	t.Parallel()
	d := new(damager)
	es, _, _ := damagedJob(t, d, Assist)
	exchangeAll(t, es)
	d.next(1, func(_ faultproxy.Direction, _, size int) bool { return size > 5000 }, resize(16<<10))
	in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 5000)}
	es[1].Post(in, Computes)
	es[0].Post(&MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(5000, 1)}, Computes)
	var closing sync.WaitGroup
	closing.Go(func() { es[0].Close(time.Minute) })
	waitLong(t, "the last message", es[1], in)
	if in.Err != nil || d.count() != 1 {
		t.Errorf("%v, %d records are damaged", in.Err, d.count())
	}
	es[1].Close(time.Minute)
	closing.Wait()
	wantResumed(t, es, 1)
}

// TestSilentAmidARecord: a peer that is silent from the middle of a record on may be stopped there.
// It is treated as any silent peer, as another party knows more of it. When it is heard again
// nothing is lost.
func TestSilentAmidARecord(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	d := new(damager)
	es, _, why := damagedJob(t, d, Assist)
	exchangeAll(t, es)
	from := faultproxy.Direction(-1)
	d.next(math.MaxInt, func(way faultproxy.Direction, _, size int) bool {
		if from < 0 && size > 5000 {
			from = way
		}
		return way == from
	}, func(b []byte) []byte { return b[:max(0, len(b)-4000)] }) // nor does a heartbeat pass
	in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 5000)}
	es[1].Post(in, Computes)
	es[0].Post(&MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(5000, 1)}, Computes)
	eventually(t, "not told of a silent peer", func() bool { return es[1].Stats().Suspicions > 0 })
	if why.has("") {
		t.Errorf("broken: %q", why.whys)
	}
	d.next(0, nil, nil)
	waitLong(t, "a peer that is heard again", es[1], in)
	if in.Err != nil || !bytes.Equal(in.Buf, pattern(5000, 1)) {
		t.Errorf("%v, or a wrong payload", in.Err)
	}
	wantResumed(t, es, 1)
}

// TestDamageWithoutResuming: the peer has failed, for the right reason. A peer that promises no
// heartbeats is not declared dead by the clock: it fills the record instead.
func TestDamageWithoutResuming(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	for name, tc := range map[string]struct {
		p    Policy
		harm func([]byte) []byte
		why  string
	}{
		"longer":               {Assist, resize(16 << 10), errNoRecord.Error()},
		"body":                 {Assist, change(100, 1), "bad record MAC"},
		"longer, under caller": {Caller, resize(16 << 10), "bad record MAC"},
		"body, under caller":   {Caller, change(100, 1), "bad record MAC"},
	} {
		t.Run(name, func(t *testing.T) {
			d := new(damager)
			es, _, _ := damagedJob(t, d, tc.p, func(c *Config) { c.Resume = ResumeOff })
			exchangeAll(t, es)
			d.next(1, func(_ faultproxy.Direction, _, size int) bool { return size > 5000 }, tc.harm)
			in, answer := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 5000)}, &MSO{Kind: KindRecv, Peer: 1, Tag: 2}
			es[1].Post(in, Computes)
			es[0].Post(&MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(5000, 1)}, Computes)
			var waits sync.WaitGroup
			es[0].Post(answer, Computes)
			waits.Go(func() { es[0].Wait(answer) }) // under caller nothing comes of a rank that makes no call
			waitLong(t, "damage", es[1], in)
			wantErr(t, "damage", in.Err, ErrPeerFailed)
			if in.Err != nil && !strings.Contains(in.Err.Error(), tc.why) {
				t.Errorf("%v, want %q", in.Err, tc.why)
			}
			waits.Wait()
			wantErr(t, "the sender", answer.Err, ErrPeerFailed)
		})
	}
}

// TestDamagedFinalReportWithoutResuming: nothing follows the final report, and the end of the
// stream ends the wait.
func TestDamagedFinalReportWithoutResuming(t *testing.T) {
	for _, p := range []Policy{Assist, Caller} {
		t.Run(p.String(), func(t *testing.T) {
			d := new(damager)
			es, _, _ := damagedJob(t, d, p, func(c *Config) { c.Resume = ResumeOff })
			exchangeAll(t, es)
			d.next(1, func(_ faultproxy.Direction, _, size int) bool { return size > 5000 }, resize(16<<10))
			in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 5000)}
			es[1].Post(in, Computes)
			es[0].Post(&MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(5000, 1)}, Computes)
			var closing sync.WaitGroup
			closing.Go(func() { es[0].Close(time.Minute) })
			waitLong(t, "the last message", es[1], in)
			wantErr(t, "the last message", in.Err, ErrPeerFailed)
			es[1].Close(time.Minute)
			closing.Wait()
		})
	}
}

// handshakeRecords is more than a handshake has records in a direction: seven or eight, of TLS and
// of the ranks.
const handshakeRecords = 11

// TestDamageHandshakes: a length is damaged in the handshakes of a connection that is made again,
// of TLS or of the ranks, or shortly behind them; where both dial at once, of both connections.
func TestDamageHandshakes(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	t.Parallel()
	for dir, name := range []string{"from the dialer", "to the dialer"} {
		for nth := range handshakeRecords {
			t.Run(fmt.Sprintf("record %d %s", nth, name), func(t *testing.T) {
				t.Parallel()
				d := new(damager)
				es, proxies, _ := damagedJob(t, d, Assist)
				talk(t, es, 1)
				d.next(2, func(way faultproxy.Direction, n, _ int) bool { return way == faultproxy.Direction(dir) && n == nth }, resize(16<<10))
				for _, p := range proxies {
					p.CutAll(faultproxy.Cut{})
				}
				talk(t, es, 1)
				if d.count() == 0 {
					t.Error("nothing was damaged")
				}
				wantResumed(t, es, 2)
				closeAll(t, es)
			})
		}
	}
}

// TestDamageFirstHandshake: the same for the first connection of a pair, which one of them alone
// makes. All cases wait at once: for a dialer that is not heard its acceptor waits for
// handshakeTimeout.
func TestDamageFirstHandshake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs as long as a handshake may take")
	}
	var waits []func()
	for dir, name := range []string{"from the dialer", "to the dialer"} {
		for nth := range handshakeRecords {
			d := new(damager)
			d.next(1, func(way faultproxy.Direction, n, _ int) bool { return way == faultproxy.Direction(dir) && n == nth }, resize(16<<10))
			es, _, _ := damagedJob(t, d, Assist)
			in := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, 5000)}
			es[1].Post(in, Computes)
			es[0].Post(&MSO{Kind: KindSend, Peer: 1, Tag: 1, Buf: pattern(5000, 1)}, Computes)
			waits = append(waits, func() {
				what := fmt.Sprintf("record %d %s", nth, name)
				waitLong(t, what, es[1], in)
				exchangeAll(t, es)
				if in.Err != nil || !bytes.Equal(in.Buf, pattern(5000, 1)) || d.count() != 1 {
					t.Errorf("%s: %v, or a wrong payload; %d are damaged", what, in.Err, d.count())
				}
				wantResumed(t, es, 0)
			})
		}
	}
	for _, f := range waits {
		f()
	}
}
