//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"
)

// effect is what a fault may do to a job.
type effect int

const (
	harmless effect = iota // nothing: the job must go on and end well
	breaks                 // a connection between live ranks is lost: nothing if streams are resumed, else two ranks fail each other
	deadly                 // a process is dead
	starves                // something that the job asks the system for is refused: success, or an error that says so
	orphans                // fitrun is dead: everything must end
)

// kind is a kind of fault.
type kind struct {
	name    string
	effect  effect
	proxied bool // strikes a connection that crosses a proxy
	ofHost  bool // strikes what stands for a host
	apply   func(r *run, f fault) bool
}

// fault is one fault of a schedule. What of it a kind does not need it ignores.
type fault struct {
	kind  *kind
	after time.Duration // since the last
	rank  int
	pick  int           // which connection, which end, which direction
	bytes int           // after how many
	lasts time.Duration // and for how long
}

func (f fault) String() string {
	return fmt.Sprintf("%v later %s of rank %d (pick %d, %d bytes, %v)", f.after, f.kind.name, f.rank, f.pick, f.bytes, f.lasts)
}

func (f fault) way(x *line) *way { return &x.ways[f.pick/16%2] }

var kinds = []*kind{
	{"kill", deadly, false, false, func(r *run, f fault) bool { return r.kill(f.rank) }},
	{"freeze", deadly, false, false, func(r *run, f fault) bool { return r.freeze(f.rank) }},
	{"kill an agent", deadly, false, true, func(r *run, f fault) bool { return r.loseHost(f.rank, "agent") }},
	{"cut off a host", deadly, false, true, func(r *run, f fault) bool { return r.loseHost(f.rank, "way") }},
	{"stop and continue an agent", harmless, false, true, func(r *run, f fault) bool { return r.stop(r.agentOf(f.rank), f.lasts) }},
	{"stop and continue", harmless, false, false, func(r *run, f fault) bool { return r.stop(r.control.pid(f.rank), f.lasts) }},
	{"freeze, then kill another", deadly, false, false, func(r *run, f fault) bool {
		return r.freeze(f.rank) && r.kill((f.rank+1)%r.plan.ranks)
	}},
	{"stop and continue fitrun", harmless, false, false, func(r *run, f fault) bool { return r.stop(r.cmd.Process.Pid, f.lasts) }},
	{"kill fitrun", orphans, false, false, func(r *run, _ fault) bool {
		r.orphaned = true
		return r.cmd.Process.Signal(syscall.SIGKILL) == nil
	}},
	{"reset", breaks, true, false, onLine(func(_ *run, x *line, _ fault) { x.reset(true, true) })},
	{"reset at one end first", breaks, true, false, onLine(func(r *run, x *line, f fault) {
		// Bytes that the other end has written are taken for some time still, and get nowhere.
		for i := range x.ways {
			x.ways[i].set(func(w *way) { w.drops = true })
		}
		x.ends[f.pick%2].SetLinger(0)
		x.ends[f.pick%2].Close()
		r.later(f.lasts, func() { x.reset(true, true) })
	})},
	{"cut after some bytes", breaks, true, false, onLine(func(_ *run, x *line, f fault) {
		f.way(x).set(func(w *way) { w.left, w.cut = f.bytes, func() { x.reset(true, true) } })
	})},
	{"arrived, but cut before the sender knows", breaks, true, false, onLine(func(r *run, x *line, f fault) {
		back := &x.ways[1-f.pick/16%2]
		back.set(func(w *way) { w.drops = true })
		f.way(x).set(func(w *way) { w.left, w.cut = f.bytes, func() { x.reset(true, true) } })
		r.later(f.lasts, func() { x.reset(true, true) }) // if so much does not come
	})},
	{"truncate", breaks, true, false, onLine(func(_ *run, x *line, f fault) {
		f.way(x).set(func(w *way) { w.left, w.cut = f.bytes, func() { x.reset(false, false) } })
	})},
	{"drop, then reset", breaks, true, false, onLine(func(r *run, x *line, f fault) {
		f.way(x).set(func(w *way) { w.drops = true })
		r.later(f.lasts, func() { x.reset(true, true) })
	})},
	{"stall", harmless, true, false, onLine(func(_ *run, x *line, f fault) {
		until := time.Now().Add(f.lasts)
		for i := range x.ways {
			x.ways[i].set(func(w *way) { w.until = until })
		}
	})},
	{"delay", harmless, true, false, onLine(func(_ *run, x *line, f fault) {
		f.way(x).set(func(w *way) { w.delay, w.slow = f.lasts/20, time.Now().Add(f.lasts) })
	})},
	{"byte by byte", harmless, true, false, onLine(func(_ *run, x *line, f fault) {
		f.way(x).set(func(w *way) { w.dribble = min(f.bytes, 5000) })
	})},
	{"refuse and reset", breaks, true, false, func(r *run, f fault) bool {
		p, x := r.control.line(f.rank, f.pick)
		if x == nil {
			return false
		}
		p.refuse(f.lasts)
		return r.breakLine(x, func() { x.reset(true, true) })
	}},
	{"refuse by the system and reset", breaks, true, false, func(r *run, f fault) bool {
		p, x := r.control.line(f.rank, f.pick)
		if x == nil || p.door.Shut(true) != nil {
			return false
		}
		r.later(f.lasts, func() { r.control.blame(p.door.Shut(false)) })
		return r.breakLine(x, func() { x.reset(true, true) })
	}},
	{"reset again and again", breaks, true, false, func(r *run, f fault) bool {
		p, x := r.control.line(f.rank, f.pick)
		if x == nil {
			return false
		}
		r.later(0, func() {
			for k := range 8 {
				if y := p.pick(f.pick + k); y != nil {
					y.reset(k%3 != 1, k%3 != 2) // both ends at once, or one before the other
				}
				time.Sleep(f.lasts / 8)
			}
		})
		return r.breakLine(x, func() { x.reset(true, true) })
	}},
	{"damage under TLS", breaks, true, false, func(r *run, f fault) bool {
		if !r.plan.tls {
			return false
		}
		return onLine(func(_ *run, x *line, f fault) { f.way(x).set(func(w *way) { w.flip = f.bytes }) })(r, f)
	}},
}

// kindNamed is the kind of a name.
func kindNamed(name string) *kind {
	return kinds[slices.IndexFunc(kinds, func(k *kind) bool { return k.name == name })]
}

// onLine makes a fault of something that is done to one of the connections to the rank.
func onLine(do func(r *run, x *line, f fault)) func(r *run, f fault) bool {
	return func(r *run, f fault) bool {
		_, x := r.control.line(f.rank, f.pick)
		if x == nil {
			return false
		}
		if f.kind.effect == breaks {
			return r.breakLine(x, func() { do(r, x, f) })
		}
		do(r, x, f)
		return true
	}
}

// drawFault draws a fault of one of some kinds.
func drawFault(d *rand.Rand, ranks int, of []*kind, gap time.Duration) fault {
	f := fault{
		kind: of[d.IntN(len(of))], after: time.Duration(d.Int64N(int64(gap))), rank: d.IntN(ranks), pick: d.IntN(1 << 10),
		lasts: time.Duration(d.Int64N(int64(60 * time.Millisecond))),
	}
	switch d.IntN(3) { // inside of a header, inside of a short message, inside of a long one
	case 0:
		f.bytes = 1 + d.IntN(64)
	case 1:
		f.bytes = 1 + d.IntN(8<<10)
	default:
		f.bytes = 1 + d.IntN(600<<10)
	}
	if d.IntN(8) == 0 {
		f.lasts *= 8
	}
	return f
}
