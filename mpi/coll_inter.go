package mpi

import (
	"cmp"

	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

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
	return (&collective{prepare: prepare, deliver: deliver}).startInter(c, op, build)
}

func (x *collective) startInter(c *Comm, op string, build func(x coll.Inter)) *Request {
	return x.start(c, op, func(g coll.Graph) { build(c.view(g)) })
}

// interIdle is the part of a rank that is neither root nor in the other group.
func interIdle(c *Comm, op string) *Request {
	return startInter(c, op, func(coll.Inter) {}, nil, nil)
}

// interBlocks are equal blocks of a buffer of n elements for the ranks of the other group, or one
// value of t for each.
func (c *Comm) interBlocks(op, what string, t *Datatype, n int) (blocks, *Error) {
	if t != nil {
		return equalBlocks(c.RemoteSize(), 1), nil
	}
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
	case !c.serialises(e):
		to, err := wholeOf(c, op, c.recvType, buf, 1)
		if err != nil {
			return failedRequest(c, err)
		}
		return startInter(c, op, func(x coll.Inter) { x.Bcast(c.algorithm(coll.KindBcast), root, to) }, nil, nil)
	}
	var data []byte
	return startInter(c, op, func(x coll.Inter) { x.BcastObject(root, &data) }, nil,
		func() error { return decodeExactly(data, buf) })
}

// interSend sends in to one remote rank.
func interSend[T any](c *Comm, op string, e *elem, in []T, to int) *Request {
	if !c.serialises(e) {
		from, err := wholeOf(c, op, c.sendType, in, 1)
		if err != nil {
			return failedRequest(c, err)
		}
		return (&collective{sent: c.sends(nil, nil, from)}).startInter(c, op, func(x coll.Inter) { x.SendTo(to, from) })
	}
	var data []byte
	return startInter(c, op, func(x coll.Inter) { x.SendObjectTo(to, &data) },
		func() error { return encodeInto(op, &data, in) }, nil)
}

// interRecv receives all of out from one remote rank.
func interRecv[T any](c *Comm, op string, e *elem, out []T, from int) *Request {
	if !c.serialises(e) {
		to, err := wholeOf(c, op, c.recvType, out, 1)
		if err != nil {
			return failedRequest(c, err)
		}
		return startInter(c, op, func(x coll.Inter) { x.RecvFrom(from, to) }, nil, nil)
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
	if !c.serialises(e) {
		src, err := blocksOf(c, op, c.sendType, in, from)
		if err != nil {
			return failedRequest(c, err)
		}
		dst, err := blocksOf(c, op, c.recvType, out, to)
		if err != nil {
			return failedRequest(c, err)
		}
		return (&collective{sent: c.sendsBlocks(bytesOf(in), bytesOf(out), &src)}).startInter(c, op, func(x coll.Inter) {
			if deals {
				x.Deal(src.Buf, src.counts, src.displs)
			}
			if collects {
				x.Collect(dst.Buf, dst.counts, dst.displs)
			}
		})
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
	n := len(in)
	if c.sendType != nil {
		n = 1
	}
	everyone := equalBlocks(c.RemoteSize(), n)
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
		return interRecvReduced(c, op, e, out)
	case !c.serialises(e):
		var y reduced
		if err := reducedBy(&y, c, op, f, in, 1, nil, 0); err != nil {
			return failedRequest(c, err)
		}
		return (&collective{foreign: y.foreign, sent: y.sent}).startInter(c, op, func(x coll.Inter) { x.Reduce(c.algorithm(coll.KindReduce), root, y.in, y.red) })
	}
	acc := &objectAccumulator[T]{f: f, n: len(in)}
	return (&collective{foreign: true, prepare: func() error { return acc.load(op, in) }}).startInter(c, op, func(x coll.Inter) { x.ReduceObject(root, acc.reducer()) })
}

// interRecvReduced is the root's part.
func interRecvReduced[T any](c *Comm, op string, e *elem, out []T) *Request {
	if c.serialises(e) {
		return interRecv(c, op, e, out, 0)
	}
	to, err := reducedOf(c, op, c.recvType, out, 1)
	if err != nil {
		return failedRequest(c, err)
	}
	size := cmp.Or(c.reducedSize(e), e.wire)
	return startInter(c, op, func(x coll.Inter) { x.RecvReduced(to, size, c.job.choice.Segment) }, nil, nil)
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
	if err == nil && !c.isTyped() {
		if err = checkLen(op, "out", len(out), len(in)); err == nil {
			out = out[:len(in)]
		}
	}
	if err != nil {
		return failedRequest(c, err)
	}
	if !c.serialises(e) {
		var y reduced
		if err := reducedBy(&y, c, op, f, in, 1, out, 1); err != nil {
			return failedRequest(c, err)
		}
		return (&collective{foreign: y.foreign, prepare: y.prepare, sent: y.sent}).startInter(c, op, func(x coll.Inter) { x.Allreduce(y.in, y.out, y.red) })
	}
	acc := &objectAccumulator[T]{f: f, n: len(in)}
	var data []byte
	return (&collective{
		foreign: true,
		prepare: func() error { return acc.load(op, in) },
		deliver: func() error { return decodeExactly(data, out) },
	}).startInter(c, op, func(x coll.Inter) { x.AllreduceObject(acc.reducer(), &data) })
}

// interReduceScatter is ReduceScatter, whose arguments have been checked.
func interReduceScatter[T any](c *Comm, op string, e *elem, in, out []T, bl blocks, f Op[T]) *Request {
	if !c.serialises(e) {
		var y reduced
		if err := reducedBy(&y, c, op, f, in, bl.total(), out, bl.counts[c.rank]); err != nil {
			return failedRequest(c, err)
		}
		return (&collective{foreign: y.foreign, prepare: y.prepare, sent: y.sent}).startInter(c, op, func(x coll.Inter) {
			counts, _ := bl.bytes(y.in.Len() / max(bl.total(), 1))
			x.ReduceScatter(y.in, y.out, counts, y.red)
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
	return (&collective{
		foreign: true,
		prepare: func() error { return acc.load(op, in) },
		deliver: func() error { return decodeExactly(mine, out) },
	}).startInter(c, op, func(x coll.Inter) { x.ReduceScatterObject(acc.reducer(), split, &mine) })
}

// interUndefined is the error of a collective that intercommunicators do not have.
func interUndefined(c *Comm, op string) *Request {
	if err := c.usable(op); err != nil {
		return failedRequest(c, err)
	}
	return failedRequest(c, opErrorf(ErrComm, op, "%s is an intercommunicator, over which it is not defined: "+
		"use a communicator of one group, such as Merge gives", c))
}
