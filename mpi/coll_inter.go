//go:build linux

package mpi

import "github.com/fitmpi/fitmpi/internal/coll"

// Collectives over an intercommunicator go from one group to the other (MPI 4.1,
// section 6.2.3). All ranks of both groups call them.
//
//   - Of a rooted one the root gives Root as root argument, the others of its group
//     ProcNull, and all ranks of the other group the root's rank. Data goes from the root
//     to the other group (Bcast, Scatter) or from there to the root (Gather, Reduce).
//   - In the others each group gets what the other one gives: blocks of a buffer belong to
//     the ranks of the other group, but for those that ReduceScatter deals out. Blocks that
//     go one way may differ in length from those that go the other, so where a buffer has
//     equal ones their length is that of the buffer divided by RemoteSize.
//   - Barrier waits for all ranks of both. Scan and Exscan are not defined.
//
// Each is one schedule over both groups, so the nonblocking and persistent forms are like
// any other.

// isInter is IsInter of what may be nil.
func (c *Comm) isInter() bool { return c != nil && c.comm != nil && c.both != nil }

// view is how the algorithms see both groups; g has the ranks of c.both.
func (c *Comm) view(g coll.Graph) coll.Inter {
	local, remote := make([]int, c.Size()), make([]int, c.RemoteSize())
	first, second := local, remote
	if !c.low {
		first, second = remote, local
	}
	for r := range first {
		first[r] = r
	}
	for r := range second {
		second[r] = len(first) + r
	}
	return coll.NewInter(g, c.rank, local, remote)
}

// startInter starts a collective over an intercommunicator.
func startInter(c *Comm, op string, build func(x coll.Inter), prepare, deliver func() error) *Request {
	return collective{prepare: prepare, deliver: deliver, build: func(g coll.Graph) error {
		build(c.view(g))
		return nil
	}}.start(c, op)
}

// interIdle is the part of a rank that is neither root nor in the other group.
func interIdle(c *Comm, op string) *Request {
	return startInter(c, op, func(coll.Inter) {}, nil, nil)
}

// interBlocks are equal blocks of a buffer of n elements for the ranks of the other group.
func (c *Comm) interBlocks(op, what string, n int) (blocks, *Error) {
	if n%c.RemoteSize() != 0 {
		return blocks{}, opErrorf(ErrCount, op, "%s holds %d elements: need a multiple of %d, the number of remote ranks", what, n, c.RemoteSize())
	}
	return equalBlocks(c.RemoteSize(), n/c.RemoteSize()), nil
}

// interBcast is Bcast, of which buf is the root's operand or this rank's result.
func interBcast[T any](c *Comm, op string, e *elem, buf []T, root int) *Request {
	switch {
	case root == ProcNull:
		return interIdle(c, op)
	case root == Root:
		return interSend(c, op, e, buf, 0)
	case c.converts(e):
		return bcastOnBytes(c, op, buf, root)
	case e.plain:
		return startInter(c, op, func(x coll.Inter) { x.Bcast(c.algorithm(coll.KindBcast), root, bytesOf(buf)) }, nil, nil)
	}
	var data []byte
	return startInter(c, op, func(x coll.Inter) { x.BcastObject(root, &data) }, nil,
		func() error { return decodeExactly(data, buf) })
}

// interSend sends in to one remote rank.
func interSend[T any](c *Comm, op string, e *elem, in []T, to int) *Request {
	if c.converts(e) {
		return onBytes(c, op, in, part{}, []T(nil), part{}, func(c *Comm, in []byte, _ []int, _ []byte, _ []int) *Request {
			return interSend(c, op, byteElem, in, to)
		})
	}
	if e.plain {
		return startInter(c, op, func(x coll.Inter) { x.SendTo(to, bytesOf(in)) }, nil, nil)
	}
	var data []byte
	return startInter(c, op, func(x coll.Inter) { x.SendObjectTo(to, &data) },
		func() error { return encodeInto(op, &data, in) }, nil)
}

// interRecv receives all of out from one remote rank.
func interRecv[T any](c *Comm, op string, e *elem, out []T, from int) *Request {
	if c.converts(e) {
		return onBytes(c, op, []T(nil), part{}, out, part{}, func(c *Comm, _ []byte, _ []int, out []byte, _ []int) *Request {
			return interRecv(c, op, byteElem, out, from)
		})
	}
	if e.plain {
		return startInter(c, op, func(x coll.Inter) { x.RecvFrom(from, bytesOf(out)) }, nil, nil)
	}
	var data []byte
	return startInter(c, op, func(x coll.Inter) { x.RecvObjectFrom(from, &data) }, nil,
		func() error { return decodeExactly(data, out) })
}

// interDeal sends each remote rank its block of in.
func interDeal[T any](c *Comm, op string, e *elem, in []T, bl blocks) *Request {
	return interExchange(c, op, e, in, bl, nil, blocks{})
}

// interCollect receives a block of out from each remote rank.
func interCollect[T any](c *Comm, op string, e *elem, out []T, bl blocks) *Request {
	return interExchange(c, op, e, nil, blocks{}, out, bl)
}

// interExchange sends each remote rank its block of in and receives one of out from it.
// Without counts on one side nothing goes that way.
func interExchange[T any](c *Comm, op string, e *elem, in []T, from blocks, out []T, to blocks) *Request {
	deals, collects := from.counts != nil, to.counts != nil
	if c.converts(e) {
		return onBytes(c, op, in, part{blocks: &from}, out, part{blocks: &to}, func(c *Comm, in []byte, sent []int, out []byte, got []int) *Request {
			var from, to blocks
			if deals {
				from = blocks{sent, packed(sent)}
			}
			if collects {
				to = blocks{got, packed(got)}
			}
			return interExchange(c, op, byteElem, in, from, out, to)
		})
	}
	if e.plain {
		return startInter(c, op, func(x coll.Inter) {
			if deals {
				counts, displs := from.bytes(e.size)
				x.Deal(bytesOf(in), counts, displs)
			}
			if collects {
				counts, displs := to.bytes(e.size)
				x.Collect(bytesOf(out), counts, displs)
			}
		}, nil, nil)
	}
	send, recv := make([][]byte, len(from.counts)), make([][]byte, len(to.counts))
	return startInter(c, op, func(x coll.Inter) {
		if deals {
			x.DealObject(send)
		}
		if collects {
			x.CollectObject(recv)
		}
	}, func() error { return encodeBlocks(op, send, in, from) },
		func() error { return decodeBlocks(recv, out, to) })
}

// interAllgather gives in to every remote rank.
func interAllgather[T any](c *Comm, op string, e *elem, in, out []T, to blocks) *Request {
	everyone := equalBlocks(c.RemoteSize(), len(in))
	clear(everyone.displs)
	return interExchange(c, op, e, in, everyone, out, to)
}

// interReduce is Reduce.
func interReduce[T any](c *Comm, op string, in, out []T, f Op[T], root int) *Request {
	e, err := c.interReduction(op, elemOf[T](), root, f == nil)
	switch {
	case err != nil:
		return failedRequest(c, err)
	case root == ProcNull:
		return interIdle(c, op)
	case root == Root:
		return interRecv(c, op, e, out, 0)
	case e.plain:
		return wired(c, op, f, in, nil, func(in, _ []byte, red coll.Reducer) *Request {
			return startInter(c, op, func(x coll.Inter) { x.Reduce(c.algorithm(coll.KindReduce), root, in, red) }, nil, nil)
		})
	}
	acc := &objectAccumulator[T]{f: f, n: len(in)}
	return startInter(c, op, func(x coll.Inter) { x.ReduceObject(root, acc.reducer()) },
		func() error { return acc.load(op, in) }, nil)
}

// interReduction checks what all reductions have in common.
func (c *Comm) interReduction(op string, e *elem, root int, noOp bool) (*elem, *Error) {
	err := c.checkReduction(op, root, 0, 0, false, noOp)
	if err == nil && e.err != nil {
		err = opError(ErrType, op, e.err)
	}
	return e, err
}

// interAllreduce is Allreduce.
func interAllreduce[T any](c *Comm, op string, in, out []T, f Op[T]) *Request {
	e, err := c.interReduction(op, elemOf[T](), 0, f == nil)
	if err == nil {
		err = checkLen(op, "out", len(out), len(in))
	}
	if err != nil {
		return failedRequest(c, err)
	}
	out = out[:len(in)]
	if e.plain {
		return wired(c, op, f, in, out, func(in, out []byte, red coll.Reducer) *Request {
			return startInter(c, op, func(x coll.Inter) { x.Allreduce(in, out, red) }, nil, nil)
		})
	}
	acc := &objectAccumulator[T]{f: f, n: len(in)}
	var data []byte
	return startInter(c, op, func(x coll.Inter) { x.AllreduceObject(acc.reducer(), &data) },
		func() error { return acc.load(op, in) }, func() error { return decodeExactly(data, out) })
}

// interReduceScatter is ReduceScatter, whose arguments have been checked.
func interReduceScatter[T any](c *Comm, op string, e *elem, in, out []T, bl blocks, f Op[T]) *Request {
	if e.plain {
		return wired(c, op, f, in, out, func(in, out []byte, red coll.Reducer) *Request {
			return startInter(c, op, func(x coll.Inter) {
				counts, _ := bl.bytes(e.wire)
				x.ReduceScatter(in, out, counts, red)
			}, nil, nil)
		})
	}
	acc := &objectAccumulator[T]{f: f, n: len(in)}
	split := func(whole []byte, all [][]byte) error {
		v, err := acc.decode(whole)
		if err != nil {
			return err
		}
		return encodeBlocks(op, all, v, bl)
	}
	var mine []byte
	return startInter(c, op, func(x coll.Inter) { x.ReduceScatterObject(acc.reducer(), split, &mine) },
		func() error { return acc.load(op, in) }, func() error { return decodeExactly(mine, out) })
}

// interUndefined is the error of a collective that intercommunicators do not have.
func interUndefined(c *Comm, op string) *Request {
	if err := c.usable(op); err != nil {
		return failedRequest(c, err)
	}
	return failedRequest(c, opErrorf(ErrComm, op, "%s is an intercommunicator, over which it is not defined: "+
		"use a communicator of one group, such as Merge gives", c))
}
