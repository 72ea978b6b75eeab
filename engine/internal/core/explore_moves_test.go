package core

import (
	"fmt"

	"github.com/fitmpi/fitmpi/engine/internal/wire"
)

// move is something that happens next in an [xworld].
type move struct {
	do   moveKind
	a, b int8
}

type moveKind uint8

const (
	moveStep      moveKind = iota // program a does its next step
	moveFinish                    // program a has done the job that its last post brought
	moveGather                    // rank a begins to write to b
	moveWrote                     // rank a has written all that it began to write
	moveWrotePart                 // ... or one part of it
	moveHeader                    // rank b reads a header of a
	moveWhole                     // rank b reads a whole short message of a
	movePayload                   // rank b reads the payload of a
	moveJob                       // rank a takes a job
	moveJobDone                   // ... and has done it
	moveCut                       // rank b finds out that its connection to a is lost for good
	moveBreak                     // rank b finds out that its connection to a is broken
	moveResume                    // ranks a and b have another connection
	moveAck                       // rank b acknowledges what has come of a's stream
)

func (m move) String() string {
	names := [...]string{"step of program %d", "job of program %d done", "%d gathers for %d", "%d wrote all", "%d wrote a part", "header %d->%d", "message %d->%d",
		"payload %d->%d", "%d takes a job", "%d has done its job", "connection lost %d->%d", "connection broken %d->%d",
		"resumed %d, %d", "acknowledged %d->%d"}
	if s := names[m.do]; m.do == moveGather || m.do >= moveHeader && m.do <= movePayload || m.do >= moveCut {
		return fmt.Sprintf(s, m.a, m.b)
	}
	return fmt.Sprintf(names[m.do], m.a)
}

// moves lists what may happen, in an order that depends on the state alone.
func (w *xworld) moves() (ms []move) {
	for i := range w.threads {
		if th := &w.threads[i]; th.job != nil {
			ms = append(ms, move{moveFinish, int8(i), 0})
		} else if w.canStep(i) {
			ms = append(ms, move{moveStep, int8(i), 0})
		}
	}
	for r := range w.cores {
		ms = w.driverMoves(ms, r)
	}
	return ms
}

func (w *xworld) canStep(i int) bool {
	th, pr := &w.threads[i], &w.sc.progs[i]
	if th.pc == len(pr.ops) {
		return false
	}
	switch op := &pr.ops[th.pc]; op.do {
	case xWait, xRecvMsg:
		x := th.done[op.of]
		return x.m == nil || x.m.IsDone()
	case xAbandon, xTakeOver: // with the progress right
		return !w.drivers[pr.rank].isBusy()
	}
	return true
}

// isBusy: the holder of the progress right is where others can see it.
func (d *xdriver) isBusy() bool { return d.bufs != nil || d.job != nil }

func (w *xworld) driverMoves(ms []move, r int) []move {
	d, a := &w.drivers[r], int8(r)
	switch {
	case d.bufs != nil:
		ms = append(ms, move{moveWrote, a, 0})
		if w.sc.parts && w.unit(r, int(d.writing), d.bufs) < sizeOf(d.bufs) {
			ms = append(ms, move{moveWrotePart, a, 0})
		}
		return ms
	case d.job != nil:
		return append(ms, move{moveJobDone, a, 0})
	}
	if w.cores[r].HasJobs() {
		ms = append(ms, move{moveJob, a, 0})
	}
	for p := range w.cores {
		if d.want[p] && !w.isDown(p, r) {
			ms = append(ms, move{moveGather, a, int8(p)})
		}
		ms = w.readMoves(ms, p, r)
		if w.sc.breaks > 0 && p != r {
			ms = w.breakMoves(ms, p, r)
		}
		pair := pairOf(p, r)
		if p != r && w.cores[r].PeerGone(PeerID(p)) == nil && (w.broken[pair] || w.cuts > 0) {
			ms = append(ms, move{moveCut, int8(p), a})
		}
	}
	return ms
}

func pairOf(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

func (w *xworld) isDown(a, b int) bool { return w.down[pairOf(a, b)] }

// breakMoves are those of streams that outlive their connections.
func (w *xworld) breakMoves(ms []move, p, r int) []move {
	switch down := w.isDown(p, r); {
	case w.cores[r].PeerGone(PeerID(p)) != nil || w.cores[p].PeerGone(PeerID(r)) != nil:
		return ms
	case down && p < r && !w.drivers[p].isBusy():
		ms = append(ms, move{moveResume, int8(p), int8(r)})
	case !down && w.breaks > 0:
		ms = append(ms, move{moveBreak, int8(p), int8(r)})
	}
	if !w.isDown(p, r) && w.pipes[[2]int{p, r}].pos != w.cores[r].peers[p].kept.ackSent {
		ms = append(ms, move{moveAck, int8(p), int8(r)})
	}
	return ms
}

// resume goes on with the streams between a and b; what was on its way is lost.
func (w *xworld) resume(a, b int) {
	delete(w.down, pairOf(a, b))
	w.reconnect(a, b)
	for _, e := range [][2]int{{a, b}, {b, a}} {
		p := w.pipes[e]
		if w.left[e] = 0; p.in {
			w.left[e] = p.sink.Len() - p.got
		}
	}
}

func (w *xworld) readMoves(ms []move, a, b int) []move {
	p := w.pipes[[2]int{a, b}]
	switch {
	case p.cut || len(p.buf) == 0:
	case p.in:
		ms = append(ms, move{movePayload, int8(a), int8(b)})
	case len(p.buf) >= wire.HeaderLen:
		var h wire.Header
		if wire.ConsumeHeader(p.buf, &h); w.sc.whole && len(p.buf)-wire.HeaderLen >= int(h.PayloadLen()) && IsWhole(&h, int(h.PayloadLen())) {
			return append(ms, move{moveWhole, int8(a), int8(b)})
		}
		ms = append(ms, move{moveHeader, int8(a), int8(b)})
	}
	return ms
}

func sizeOf(bufs [][]byte) (n int) {
	for _, b := range bufs {
		n += len(b)
	}
	return n
}

// unit is the length of the next header or payload on the stream from a to b.
func (w *xworld) unit(a, b int, bufs [][]byte) int {
	if n := w.left[[2]int{a, b}]; n > 0 {
		return n
	}
	return wire.HeaderLen
}

// do lets m happen, and all that follows without a choice.
func (w *xworld) do(m move) {
	a, b := int(m.a), int(m.b)
	switch m.do {
	case moveStep:
		w.step(a)
		w.unlessSplit(w.threads[a].job != nil, move{moveFinish, m.a, 0})
	case moveFinish:
		j := w.threads[a].job
		w.threads[a].job = nil
		w.finish(w.cores[w.sc.progs[a].rank], j)
	case moveGather:
		w.gather(a, b)
		w.unlessSplit(!w.sc.parts && w.drivers[a].bufs != nil, move{moveWrote, m.a, 0})
	case moveWrote:
		w.wrote(a, sizeOf(w.drivers[a].bufs))
	case moveWrotePart:
		w.wrote(a, w.unit(a, int(w.drivers[a].writing), w.drivers[a].bufs))
	case moveHeader:
		w.read(a, b, wire.HeaderLen)
	case moveWhole:
		w.readWhole(a, b)
	case movePayload:
		w.read(a, b, 1<<20)
	case moveJob:
		j, _ := w.cores[a].NextJob()
		w.drivers[a].job = &j
		w.unlessSplit(true, move{moveJobDone, m.a, 0})
	case moveJobDone:
		j := w.drivers[a].job
		w.drivers[a].job = nil
		w.finish(w.cores[a], j)
	case moveCut:
		w.lost(a, b)
	case moveBreak:
		w.down[pairOf(a, b)] = true
		w.breaks--
		w.cores[b].Broken(PeerID(a))
	case moveResume:
		w.resume(a, b)
	case moveAck:
		w.cores[b].Acknowledge(PeerID(a), w.pipes[[2]int{a, b}].pos, true)
	}
	for r := range w.cores {
		for _, id := range w.drainDirty(r) {
			w.drivers[r].want[id] = true
		}
	}
	w.look()
}

func (w *xworld) unlessSplit(is bool, m move) {
	if is && !w.sc.split {
		w.do(m)
	}
}

func (w *xworld) gather(a, b int) {
	d := &w.drivers[a]
	d.want[b] = false
	d.writing = PeerID(b)
	if d.bufs = w.cores[a].Gather(PeerID(b), make([][]byte, 0, 16)); len(d.bufs) == 0 {
		d.bufs = nil
	}
}

// wrote lets the network take n bytes of what rank a gathered.
func (w *xworld) wrote(a, n int) {
	d := &w.drivers[a]
	b := int(d.writing)
	route := [2]int{a, b}
	p, rest := w.pipes[route], n
	for _, x := range d.bufs {
		x = x[:min(len(x), rest)]
		rest -= len(x)
		if w.isDown(a, b) {
			continue // the system took it, and it was never heard of again
		}
		w.track(route, x)
		if !p.cut {
			p.buf = append(p.buf, x...)
		}
	}
	d.bufs = nil
	if w.cores[a].Wrote(PeerID(b), n) {
		d.want[b] = true
	}
}

// track follows the frames in x, which goes on the stream. A header is never cut.
func (w *xworld) track(route [2]int, x []byte) {
	for len(x) > 0 {
		if k := w.left[route]; k > 0 {
			k = min(k, len(x))
			w.left[route] -= k
			x = x[k:]
			continue
		}
		var h wire.Header
		if wire.ConsumeHeader(x, &h) <= 0 {
			w.t.Fatalf("%v: no header on the stream: % x", route, x[:min(len(x), wire.HeaderLen)])
		}
		w.left[route] = int(h.PayloadLen())
		x = x[wire.HeaderLen:]
	}
}

func (w *xworld) read(a, b, n int) {
	p := w.pipes[[2]int{a, b}]
	if !p.in && w.sc.drop != 0 {
		var h wire.Header
		if wire.ConsumeHeader(p.buf, &h); h.Kind == w.sc.drop {
			p.buf = p.buf[wire.HeaderLen:]
			return
		}
	}
	was := p.in
	if _, err := w.deliver(a, b, n, 1); err != nil {
		w.t.Fatalf("%d->%d: %v", a, b, err)
	}
	if was && !p.in {
		w.arrivedWhole(a, b)
	}
}

func (w *xworld) arrivedWhole(a, b int) {
	if s := w.filling[[2]int{a, b}]; s != nil {
		s.whole = true
		delete(w.filling, [2]int{a, b})
	}
}

func (w *xworld) readWhole(a, b int) {
	p := w.pipes[[2]int{a, b}]
	var h wire.Header
	wire.ConsumeHeader(p.buf, &h)
	w.arrives(a, b, &h)
	n := int(h.PayloadLen())
	body := p.buf[wire.HeaderLen : wire.HeaderLen+n]
	if err := w.cores[b].OnWhole(PeerID(a), &h, body[:n/2], body[n/2:]); err != nil {
		w.t.Fatalf("%d->%d: %v", a, b, err)
	}
	p.buf = p.buf[wire.HeaderLen+n:]
	w.arrivedWhole(a, b)
}

// lost lets rank b find out that rank a is gone; a will find out about b.
func (w *xworld) lost(a, b int) {
	if pair := pairOf(a, b); !w.broken[pair] {
		w.broken[pair] = true
		w.cuts--
	}
	w.cutSide(a, b)
	w.lose(a, b)
	w.drivers[b].want[a] = false
}
