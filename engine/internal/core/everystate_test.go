package core

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// life is the course of one message from rank 0 to rank 1, in steps of a few
// bytes, so that something can happen to it in every state that it passes.
type life struct {
	*fakeNet
	send, recv *MSO
	sendBuf    []byte
	sendDone   bool // seen, and its memory scribbled over
	recvDone   bool
	probe      *MSO
	onlyRecv   bool // nothing but its receive is given up: the message is received all the same, by it or by another
}

// lifeKind is a kind of message and of its receive.
type lifeKind struct {
	name   string
	length int
	mode   Mode
	copied bool // sent from the library buffer
	alloc  bool // received into memory of unknown length
	short  bool // the receive buffer is too short
	probed bool // received by way of a matched probe
	packed bool // sent from a layout
	placed bool // received into a layout
}

var lifeKinds = []lifeKind{
	{name: "empty", length: 0},
	{name: "short", length: 8},
	{name: "eager", length: 90},
	{name: "eager truncated", length: 90, short: true},
	{name: "eager alloc", length: 90, alloc: true},
	{name: "eager probed", length: 90, probed: true},
	{name: "sync short", length: 8, mode: Synchronous},
	{name: "sync eager", length: 90, mode: Synchronous},
	{name: "rendezvous", length: 300},
	{name: "rendezvous truncated", length: 300, short: true},
	{name: "rendezvous alloc", length: 300, alloc: true},
	{name: "rendezvous probed", length: 300, probed: true},
	{name: "copied", length: 300, copied: true},
	{name: "short layouts", length: 8, packed: true, placed: true},
	{name: "eager layout", length: 90, placed: true},
	{name: "eager layout truncated", length: 90, placed: true, short: true},
	{name: "sync layouts", length: 8, mode: Synchronous, packed: true, placed: true},
	{name: "packed", length: 90, packed: true},
	{name: "placed", length: 300, placed: true},
	{name: "layouts", length: 300, packed: true, placed: true},
	{name: "layouts truncated", length: 300, packed: true, placed: true, short: true},
}

const lifeBytes = 40 // moved in one step

func newLife(t testing.TB, kept bool) *life {
	l := &life{fakeNet: newNet(t, 2, Config{ShortMax: 8, EagerMax: 100, Chunk: 128})}
	if kept {
		l.keep()
	}
	l.connectAll()
	return l
}

// post leaves the job that it may bring for the next step.
func (l *life) post(rank int, m *MSO) {
	if j, ok := l.cores[rank].Post(m); ok {
		l.cores[rank].jobs.Push(j)
	}
}

func (l *life) postSend(k *lifeKind) {
	l.sendBuf = pattern(k.length, 1)
	m := &MSO{Kind: KindSend, Peer: 1, Tag: 1, Mode: k.mode, Buf: l.sendBuf}
	if k.packed {
		asView(m)
	}
	if !k.copied {
		l.send = m
		l.post(0, m)
		return
	}
	b, ok := l.cores[0].Reserve(1, k.length)
	if !ok {
		l.t.Fatal("no room")
	}
	copy(b, m.Buf)
	l.cores[0].PostCopied(m, b)
}

func (l *life) postRecv(k *lifeKind) {
	m := &MSO{Kind: KindRecv, Peer: 0, Tag: 1, Buf: make([]byte, k.length)}
	switch {
	case k.alloc:
		m.Alloc, m.Buf = func(n int) []byte { return make([]byte, n) }, nil
	case k.short:
		m.Buf = m.Buf[:k.length/2]
	}
	if k.placed {
		asView(m)
	}
	if k.probed {
		l.probe = &MSO{Kind: KindMprobe, Peer: AnyPeer, Tag: AnyTag}
		l.post(1, l.probe)
		l.recv = m
		return
	}
	l.recv = m
	l.post(1, m)
}

// step moves a little of everything. It reports whether anything moved.
func (l *life) step() bool {
	moved := 0
	for a := range 2 { // the jobs of the step before: something may have come between
		if j, ok := l.cores[a].NextJob(); ok {
			l.finish(l.cores[a], &j)
			moved++
		}
	}
	for a := range 2 {
		l.drainDirty(a)
		if l.cores[a].PeerGone(PeerID(1-a)) == nil {
			moved += l.write(a, 1-a, lifeBytes)
		}
		n, err := l.deliver(a, 1-a, lifeBytes, 1)
		if err != nil {
			l.t.Fatal(err)
		}
		moved += n
		if l.cores[a].HasJobs() {
			moved++
		}
	}
	if l.probe != nil && l.probe.IsDone() && l.recv.State() == Idle && l.probe.Message != nil {
		l.recv.Message = l.probe.Message
		l.post(1, l.recv)
		moved++
	}
	l.look()
	return moved > 0 || l.acknowledge()
}

// acknowledge is what a driver does for streams that are kept when nothing moves any more. It
// reports whether there was something to say.
func (l *life) acknowledge() (said bool) {
	for a := range 2 {
		if p := l.pipes[[2]int{1 - a, a}]; l.keeps && !p.cut && l.cores[a].PeerGone(PeerID(1-a)) == nil {
			l.cores[a].Acknowledge(PeerID(1-a), p.pos, true)
			said = said || l.cores[a].HasOutput()
		}
	}
	return said
}

// look scribbles over memory that is its owner's again: nothing that is still
// under way may depend on it.
func (l *life) look() {
	if m := l.send; m != nil && m.IsDone() && !l.sendDone {
		l.sendDone = true
		fill(l.sendBuf, 0xee)
	}
	if m := l.recv; m != nil && m.IsDone() && !l.recvDone {
		l.recvDone = true
		if m.Err == nil && !m.Cancelled && (m.Length != len(l.sendBuf) || !bytes.Equal(bufOf(m)[:m.Length], pattern(m.Length, 1))) {
			l.t.Fatalf("received %d bytes, wrong ones", m.Length)
		}
		fill(bufOf(m), 0xdd)
	}
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// end runs to the end, receives what is left over, and checks that all is given back.
func (l *life) end(k *lifeKind, why string) {
	l.t.Helper()
	for l.step() {
	}
	if l.cores[1].IsShut(0) != nil { // the sender hears of it some time
		l.shut(0)
		l.look()
		for l.step() {
		}
	}
	received := 0
	if m := l.recv; m != nil && m.IsDone() && !m.Cancelled && (m.Err == nil || errors.Is(m.Err, ErrTruncated)) {
		received++
	}
	for ; l.cores[1].Iprobe(0, 0, AnyTag) != nil; received++ {
		m := &MSO{Kind: KindRecv, Peer: 0, Tag: AnyTag, Buf: make([]byte, k.length)}
		l.post(1, m)
		for l.step() {
		}
		if !m.IsDone() || m.Err == nil && !bytes.Equal(m.Buf[:m.Length], pattern(m.Length, 1)) {
			l.t.Fatalf("%s: the message left over: %v, %v", why, m.State(), m.Err)
		}
	}
	if l.onlyRecv && received != 1 {
		l.t.Fatalf("%s: the message was received %d times", why, received)
	}
	for _, m := range []*MSO{l.send, l.recv, l.probe} {
		if m != nil && m.State() != Done && m.State() != Idle {
			l.cores[1].Cancel(m) // a receive that never got its message
		}
	}
	l.look()
	for who, m := range map[string]*MSO{"send": l.send, "recv": l.recv, "probe": l.probe} {
		if m != nil && m.State() != Done && m.State() != Idle {
			l.t.Fatalf("%s: %s is still %v", why, who, m.State())
		}
	}
	if l.recv != nil && l.recvDone && bytes.Count(bufOf(l.recv), []byte{0xdd}) != len(bufOf(l.recv)) {
		l.t.Fatalf("%s: a receive buffer changed after its receive was done", why)
	}
	l.wantRest(why)
}

// TestEveryState lets each thing happen in each state of each kind of message,
// with the receive posted before the message, in the middle of it, and never.
func TestEveryState(t *testing.T) {
	events := []struct {
		name string
		do   func(*life)
		kept bool // for streams that outlive their connections only
	}{
		{"nothing", func(*life) {}, false},
		{"cut", func(l *life) { l.cut(0, 1) }, false},
		{"receiver dies", func(l *life) { l.cutSide(1, 0); l.look(); l.step(); l.cutSide(0, 1) }, false},
		{"sender dies", func(l *life) { l.cutSide(0, 1); l.look(); l.step(); l.cutSide(1, 0) }, false},
		{"sender stops", func(l *life) { l.cores[0].Stop(); l.look(); l.cutSide(0, 1) }, false},
		{"receiver stops", func(l *life) {
			l.cores[1].FailPeer(0, ErrStopped, false, l.sinks(1)(0))
			l.cores[1].Stop()
			l.look()
			l.pipes[[2]int{0, 1}].cut = true
			l.cutSide(1, 0)
		}, false},
		{"cancel send", func(l *life) { l.ifSent(l.cores[0].Cancel) }, false},
		{"cancel receive", func(l *life) { l.ifPosted(l.cores[1].Cancel) }, false},
		{"abandon send", func(l *life) { l.ifSent(l.abandon(0)) }, false},
		{"abandon receive", func(l *life) { l.onlyRecv = true; l.ifPosted(l.abandon(1)) }, false},
		{"cancel and abandon send", func(l *life) { l.ifSent(l.cores[0].Cancel); l.ifSent(l.abandon(0)) }, false},
		{"abandon send and cut", func(l *life) { l.ifSent(l.abandon(0)); l.look(); l.step(); l.cut(0, 1) }, false},
		{"abandon receive and cut", func(l *life) { l.ifPosted(l.abandon(1)); l.look(); l.step(); l.cut(0, 1) }, false},
		{"take send over", func(l *life) { l.ifSent(l.takeOver) }, false},
		{"take send over and cut", func(l *life) { l.ifSent(l.takeOver); l.look(); l.step(); l.cut(0, 1) }, false},
		{"take send over, abandon receive", func(l *life) { l.ifSent(l.takeOver); l.ifPosted(l.abandon(1)) }, false},
		{"abandon both", func(l *life) { l.ifSent(l.abandon(0)); l.ifPosted(l.abandon(1)) }, false},
		{"reconnect", func(l *life) { l.reconnect(0, 1) }, true},
		{"reconnect twice", func(l *life) { l.reconnect(0, 1); l.look(); l.step(); l.reconnect(0, 1) }, true},
		{"cancel send and reconnect", func(l *life) { l.ifSent(l.cores[0].Cancel); l.reconnect(0, 1) }, true},
		{"abandon send and reconnect", func(l *life) { l.ifSent(l.abandon(0)); l.look(); l.reconnect(0, 1) }, true},
		{"abandon receive and reconnect", func(l *life) { l.onlyRecv = true; l.ifPosted(l.abandon(1)); l.look(); l.reconnect(0, 1) }, true},
		{"take send over and reconnect", func(l *life) { l.ifSent(l.takeOver); l.look(); l.reconnect(0, 1) }, true},
		{"reconnect and cut", func(l *life) { l.reconnect(0, 1); l.look(); l.step(); l.cut(0, 1) }, true},
		{"sender shuts", func(l *life) { l.shut(0) }, false},
		{"receiver shuts", func(l *life) { l.shut(1) }, false},
		{"both shut", func(l *life) { l.shut(0); l.shut(1) }, false},
		{"receiver shuts, then sender", func(l *life) { l.shut(1); l.look(); l.step(); l.shut(0) }, false},
		{"sender shuts, then receiver", func(l *life) { l.shut(0); l.look(); l.step(); l.shut(1) }, false},
		{"receiver shuts and cut", func(l *life) { l.shut(1); l.look(); l.step(); l.cut(0, 1) }, false},
		{"sender shuts and cut", func(l *life) { l.shut(0); l.look(); l.step(); l.cut(0, 1) }, false},
		{"cancel send, receiver shuts", func(l *life) { l.ifSent(l.cores[0].Cancel); l.look(); l.step(); l.shut(1) }, false},
		{"receiver shuts, cancel send", func(l *life) { l.shut(1); l.ifSent(l.cores[0].Cancel) }, false},
	}
	stride := 1
	if testing.Short() {
		stride = 3 // every third moment
	}
	for i := range lifeKinds {
		k := &lifeKinds[i]
		for _, ev := range events {
			t.Run(k.name+"/"+ev.name, func(t *testing.T) {
				t.Parallel()
				for _, kept := range []bool{false, true} {
					if ev.kept && !kept {
						continue
					}
					total := oneLife(t, k, kept, -1, -1, ev.do)
					for recvAt := -1; recvAt <= total; recvAt++ {
						for at := (recvAt + 1) % stride; at <= 2*total; at += stride {
							oneLife(t, k, kept, recvAt, at, ev.do)
						}
					}
				}
			})
		}
	}
}

func (l *life) ifSent(f func(*MSO)) {
	if l.send != nil {
		f(l.send)
	}
}

func (l *life) ifPosted(f func(*MSO)) {
	if l.recv != nil && l.recv.State() != Idle {
		f(l.recv)
	}
}

func (l *life) abandon(rank int) func(*MSO) {
	return func(m *MSO) {
		l.cores[rank].Abandon(m, errors.New("given up"), l.sinks(rank))
		if l.jobs(rank); !m.IsDone() {
			l.t.Fatalf("abandoned, but it still waits for the peer: %v", m.State())
		}
	}
}

// takeOver lets the sender go. Only standard sends with a payload are taken over.
func (l *life) takeOver(m *MSO) {
	if m.IsDone() || m.Mode != Standard || len(m.Buf) == 0 { // not one from a layout either
		return
	}
	b, ok := l.cores[0].Reserve(1, len(m.Buf))
	if !ok {
		l.t.Fatal("no room")
	}
	copy(b, m.Buf)
	l.cores[0].TakeOver(m, b)
	if !m.IsDone() || m.Err != nil {
		l.t.Fatalf("taken over, but %v, %v", m.State(), m.Err)
	}
}

// oneLife posts the receive before step recvAt (-1: first of all; beyond the end:
// never), lets do happen before step at, and returns the number of steps.
func oneLife(t *testing.T, k *lifeKind, kept bool, recvAt, at int, do func(*life)) int {
	why := fmt.Sprintf("receive at %d, event at %d, kept %v", recvAt, at, kept)
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%s: %v", why, r)
		}
	}()
	l := newLife(t, kept)
	if recvAt < 0 {
		l.postRecv(k)
	}
	l.postSend(k)
	steps := 0
	for ; steps <= max(recvAt, at) || l.step(); steps++ {
		if steps == recvAt && l.recv == nil {
			l.postRecv(k)
		}
		if steps == at {
			l.look()
			do(l)
			l.look()
		}
		l.step()
	}
	l.end(k, why)
	return steps
}
