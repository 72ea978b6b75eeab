package engine

import (
	"github.com/fitmpi/fitmpi/engine/internal/progress"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// command is something that only the holder of the progress right may do.
type command struct {
	kind  cmdKind
	mso   *MSO
	peer  PeerID
	err   error
	lane  *lane
	conn  *conn
	intro *introduction
	ctx   ContextID
	mask  ContextID
}

type cmdKind uint8

const (
	cmdAbandon   cmdKind = iota // end mso with err
	cmdFailPeer                 // peer is dead because of err
	cmdBye                      // say goodbye on every connection
	cmdUseLane                  // lane is in use
	cmdBeat                     // the next heartbeat is due
	cmdShut                     // end what is of ctx under mask with err
	cmdSecure                   // the TLS handshake of conn has something to write, or is over
	cmdIntroduce                // enter peers of other jobs
	cmdPart                     // say goodbye to peer alone
)

// command queues c and wakes the holder of the right. If no goroutine holds it, the caller runs c.
func (e *Engine) command(c command) {
	e.mu.Lock()
	e.cmds = append(e.cmds, c)
	e.unlock()
	if e.cfg.Progress == Caller {
		e.right.Note(progress.State.Owe) // the caller that drives may be just giving the right back
	}
	e.rouse()
	if e.tryRight() {
		e.runCommands()
		e.deliver()
		e.drv.flushAll()
		e.releaseRight()
	}
}

// runCommands does what is queued.
//
// Preconditions:
//   - the caller holds the progress right.
func (e *Engine) runCommands() {
	for {
		e.mu.Lock()
		cmds := e.cmds
		e.cmds = nil
		e.unlock()
		if len(cmds) == 0 {
			return
		}
		for _, c := range cmds {
			e.run(c)
		}
	}
}

func (e *Engine) run(c command) {
	switch c.kind {
	case cmdAbandon:
		e.mu.Lock()
		e.core.Abandon(c.mso, c.err, e.drv.sink)
		e.unlock()
	case cmdFailPeer:
		if id := c.peer; id >= 0 && int(id) < len(e.drv.bridge) && int(id) != e.cfg.Rank {
			e.drv.failPeer(id, &reportedError{c.err})
		}
	case cmdBye:
		e.drv.sayBye()
	case cmdUseLane:
		e.local.use(c.lane)
		if e.drv.saying.Load() {
			c.lane.sayBye() // a signal was on its way while goodbye was said
		}
	case cmdBeat:
		e.drv.beat(sys.Nanotime())
	case cmdShut:
		e.mu.Lock()
		e.core.Shut(c.ctx, c.mask, c.err, e.drv.sink)
		e.unlock()
	case cmdSecure:
		c.conn.writeSecuring()
	case cmdIntroduce:
		e.drv.introduce(c.intro)
	case cmdPart:
		e.drv.part(c.peer)
	}
}
