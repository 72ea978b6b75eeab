package mpi

// How the functions of this package tell tools that they begin. Each of these returns nil if
// nothing wants to know, which is decided in line. The rest is not in line, so that generic
// functions stay small. TestEveryCallIsObserved finds functions that do not tell.

// begin begins the call of an operation that has no data, or none of its own.
func (c *Comm) begin(op string) *Call {
	if !isObserved() {
		return nil
	}
	return c.call(op)
}

func (c *Comm) call(op string) *Call { return c.newCall(op).begin() }

// beginSend begins a call that sends buf.
func beginSend[T any](c *Comm, op string, buf []T, dest, tag int) *Call {
	if !isObserved() {
		return nil
	}
	return callSend(c, op, buf, dest, tag)
}

func callSend[T any](c *Comm, op string, buf []T, dest, tag int) *Call {
	k := c.newCall(op)
	if k != nil {
		k.Dest, k.SendTag = dest, tag
		k.SendCount, k.SendBytes = extentOf(c, c.sendType, buf)
		keepSent(k, c, buf, nil)
	}
	return k.begin()
}

// beginRecv begins a call that receives into buf.
func beginRecv[T any](c *Comm, op string, buf []T, source, tag int) *Call {
	if !isObserved() {
		return nil
	}
	return callRecv(c, op, buf, source, tag)
}

func callRecv[T any](c *Comm, op string, buf []T, source, tag int) *Call {
	k := c.newCall(op)
	if k != nil {
		k.Source, k.RecvTag = source, tag
		k.RecvCount, k.RecvBytes = extentOf(c, c.recvType, buf)
	}
	return k.begin()
}

// beginSendrecv begins a call that does both.
func beginSendrecv[S, R any](c *Comm, op string, out []S, dest, sendTag int, in []R, source, recvTag int) *Call {
	if !isObserved() {
		return nil
	}
	return callSendrecv(c, op, out, dest, sendTag, in, source, recvTag)
}

func callSendrecv[S, R any](c *Comm, op string, out []S, dest, sendTag int, in []R, source, recvTag int) *Call {
	k := c.newCall(op)
	if k != nil {
		k.Dest, k.SendTag, k.Source, k.RecvTag = dest, sendTag, source, recvTag
		k.SendCount, k.SendBytes = extentOf(c, c.sendType, out)
		k.RecvCount, k.RecvBytes = extentOf(c, c.recvType, in)
		keepSent(k, c, out, memoryOrNone(in))
	}
	return k.begin()
}

// beginProbe begins a call that looks for a message, or receives one of any length.
func (c *Comm) beginProbe(op string, source, tag int) *Call {
	if !isObserved() {
		return nil
	}
	return c.callProbe(op, source, tag)
}

func (c *Comm) callProbe(op string, source, tag int) *Call {
	k := c.newCall(op)
	if k != nil {
		k.Source, k.RecvTag = source, tag
	}
	return k.begin()
}

// beginColl begins a collective operation that sends in and receives into out; root is Undefined if
// it has none.
func beginColl[S, R any](c *Comm, op string, in []S, out []R, root int) *Call {
	if !isObserved() {
		return nil
	}
	return callColl(c, op, in, out, root)
}

func callColl[S, R any](c *Comm, op string, in []S, out []R, root int) *Call {
	k := c.newCall(op)
	if k != nil {
		k.Root = root
		k.SendCount, k.SendBytes = extentOf(c, c.sendType, in)
		k.RecvCount, k.RecvBytes = extentOf(c, c.recvType, out)
	}
	return k.begin()
}

// beginBcast is beginColl of an operation with one buffer, which the root sends and the others
// receive into.
func beginBcast[T any](c *Comm, op string, buf []T, root int) *Call {
	if !isObserved() {
		return nil
	}
	return callBcast(c, op, buf, root)
}

func callBcast[T any](c *Comm, op string, buf []T, root int) *Call {
	if c != nil && c.comm != nil && (root == c.rank && !c.IsInter() || root == Root) {
		return callColl(c, op, buf, []T(nil), root)
	}
	return callColl(c, op, []T(nil), buf, root)
}

// beginMessage begins a call that receives a message which a matched probe took into buf.
func beginMessage[T any](msg *Message, op string, buf []T) *Call {
	if !isObserved() || msg == nil || msg.c == nil {
		return nil
	}
	return callRecv(msg.c, op, buf, AnySource, AnyTag)
}

// begin begins the call of an operation on g that has no communicator.
func (g *Group) begin(op string) *Call {
	if !isObserved() || g == nil || g.job == nil {
		return nil
	}
	return g.job.tools.newCall(op).begin()
}

// begin begins the call of an operation on s.
func (s *Session) begin(op string) *Call {
	if !isObserved() || s == nil || s.job == nil {
		return nil
	}
	return s.job.tools.newCall(op).begin()
}

// begin begins a call about r.
func (r *Request) begin(op string) *Call {
	if !isObserved() {
		return nil
	}
	return r.call(op)
}

func (r *Request) call(op string) *Call {
	if r == nil || r.c == nil {
		return nil
	}
	k := r.c.newCall(op)
	if k != nil {
		k.one[0] = r
		k.Requests = k.one[:]
	}
	return k.begin()
}

// beginRequests begins a call about rs.
func beginRequests(op string, rs []*Request) *Call {
	if !isObserved() {
		return nil
	}
	return callRequests(op, rs)
}

func callRequests(op string, rs []*Request) *Call {
	for _, r := range rs {
		if r != nil && r.c != nil {
			k := r.c.newCall(op)
			if k != nil {
				k.many = append(k.many[:0], rs...) // a copy, so that the caller's slice need not be on the heap when no tool is told
				k.Requests = k.many
			}
			return k.begin()
		}
	}
	return nil
}

// extentOf is how many elements buf has, and how many bytes of them travel with the layout t, which
// may be nil.
func extentOf[T any](c *Comm, t *Datatype, buf []T) (count, bytes int) {
	e := elemOf[T]()
	if !e.plain || e.err != nil {
		return len(buf), -1
	}
	if t == nil {
		return len(buf), len(buf) * e.wire
	}
	b, o, err := travels(c, "", t, buf)
	if err != nil {
		return len(buf), 0
	}
	p := payload{b: b, o: o}
	return len(buf), p.size()
}
