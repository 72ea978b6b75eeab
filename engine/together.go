package engine

import "github.com/fitmpi/fitmpi/netpoll"

// What the driver does with several workers; see hands.go.

// isLong reports whether a payload is coming that a hand should read.
func (c *conn) isLong() bool {
	return c.state == connOpen && c.tls == nil && c.rx.direct() != nil
}

// readTogether reads long payloads of several connections at once, as long as there are such. What
// is left of the events is for the driver alone.
func (d *driver) readTogether(evs []netpoll.Event) {
	defer d.hands.forget()
	for range maxReads {
		for i := range evs {
			if c := d.connOf(&evs[i]); c != nil && evs[i].Readable && c.isLong() {
				if t := d.hands.next(c, false); t != nil {
					t.bufs = append(t.bufs, c.rx.direct(), t.staging)
					t.want = len(t.bufs[0]) + len(t.staging)
				}
			}
		}
		if d.hands.n < 2 {
			return
		}
		calls := d.hands.round()
		for i := range calls { // all that is in its place, before anything is told of it
			if t := &calls[i]; t.n > 0 {
				t.c.came(t.n)
				t.c.rx.tookDirect(min(t.n, len(t.bufs[0])))
			}
		}
		for i := range calls {
			d.took(&calls[i], evs)
		}
		d.hands.forget()
	}
}

// took handles what a hand has read, behind the payload.
func (d *driver) took(t *ioCall, evs []netpoll.Event) {
	d.sockets.reads++
	if t.c.state != connOpen { // what others have brought has ended it
		return
	}
	if t.n > 0 {
		t.c.parse(t.staging[:t.n-min(t.n, len(t.bufs[0]))])
	}
	if t.c.more(t.n, t.want, t.err) {
		return
	}
	for i := range evs {
		if evs[i].Token == t.c.token {
			evs[i].Readable = false
		}
	}
}

// connOf is the connection of an event, nil if it is of none, or of one that is gone.
func (d *driver) connOf(ev *netpoll.Event) *conn {
	if ev.Token == listenerToken || ev.Token == bellToken {
		return nil
	}
	if s := &d.slots[uint32(ev.Token)]; s.gen == uint32(ev.Token>>32) {
		return s.c
	}
	return nil
}

// writeLater keeps spans for a hand, if they are long and to be written as they are.
func (d *driver) writeLater(c *conn, bufs [][]byte) bool {
	long := 0
	for _, b := range bufs {
		long += len(b)
	}
	if long < directMin || c.tls != nil {
		return false
	}
	t := d.hands.next(c, true)
	if t == nil {
		d.writeTogether()
		if t = d.hands.next(c, true); t == nil {
			return false
		}
	}
	t.bufs = append(t.bufs, bufs...)
	return true
}

// isKept reports whether spans of c are kept for a hand, so that nothing else of c may be written.
func (d *driver) isKept(c *conn) bool {
	if d.hands == nil || c == nil {
		return false
	}
	for i := range d.hands.n {
		if d.hands.calls[i].c == c {
			return true
		}
	}
	return false
}

// writeTogether writes what is kept for hands. It reports whether there was anything.
func (d *driver) writeTogether() bool {
	if d.hands == nil || d.hands.n == 0 {
		return false
	}
	open := 0
	for i := range d.hands.n { // without those that writes to others have ended
		if t := &d.hands.calls[i]; t.c.canWrite() {
			d.hands.calls[open], *t = *t, d.hands.calls[open]
			open++
		}
	}
	d.hands.n = open
	calls := d.hands.round()
	defer d.hands.forget()
	for i := range calls {
		t := &calls[i]
		d.sockets.writes++
		if t.c.state == connOpen {
			t.c.wrote(t.n, t.err, nil)
		}
	}
	return true
}
