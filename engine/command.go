package engine

// command is something that only the holder of the progress right may do.
type command struct {
	kind cmdKind
	mso  *MSO
	peer PeerID
	err  error
	lane *lane
	conn *conn
}

type cmdKind uint8

const (
	cmdAbandon  cmdKind = iota // end mso with err
	cmdFailPeer                // peer is dead because of err
	cmdBye                     // say goodbye on every connection
	cmdUseLane                 // lane is in use
	cmdSecure                  // the TLS handshake of conn has something to write, or is over
)

// command queues c and wakes whoever holds the right; if nobody does, the caller runs it.
func (e *Engine) command(c command) {
	e.mu.Lock()
	e.cmds = append(e.cmds, c)
	e.unlock()
	e.rouse()
	if e.tryRight() {
		e.runCommands()
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
		if id := c.peer; id >= 0 && int(id) < e.cfg.Size && int(id) != e.cfg.Rank {
			e.drv.failPeer(id, c.err)
		}
	case cmdBye:
		e.drv.sayBye()
	case cmdUseLane:
		e.near.use(c.lane)
	case cmdSecure:
		c.conn.writeSecuring()
	}
}
