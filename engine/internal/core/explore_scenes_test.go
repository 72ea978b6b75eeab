package core

// Messages of the scenes: 5 bytes are copied behind their header, 20 follow it from where they lie,
// 50 are announced and go in two parts.
const (
	xShort = 5
	xEager = 20
	xLong  = 50
)

func program(rank int, ops ...xop) xprogram { return xprogram{rank, ops} }

func xsendTo(peer PeerID, tag Tag, n int) xop { return xop{do: xSend, peer: peer, tag: tag, n: n} }
func xrecvFrom(peer PeerID, tag Tag) xop      { return xop{do: xRecv, peer: peer, tag: tag, n: xLong} }

func (o xop) synchronous() xop { o.sync = true; return o }
func (o xop) room(n int) xop   { o.n = n; return o }
func (o xop) inAlloc() xop     { o.alloc = true; return o }
func (o xop) inLayout() xop    { o.layout = true; return o }
func (o xop) fromCopy() xop    { o.copied = true; return o }

// scenes are looked at by TestExplore.
var scenes = []scene{
	{name: "order of lengths", ranks: 2, split: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager), xsendTo(1, 1, xLong), xsendTo(1, 1, xShort)),
		program(1, xrecvFrom(0, 1), xrecvFrom(0, AnyTag), xrecvFrom(AnyPeer, 1)),
	}},
	{name: "frames in parts", large: true, ranks: 2, split: true, parts: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager), xsendTo(1, 2, xLong)),
		program(1, xrecvFrom(0, 2), xrecvFrom(0, 1)),
	}},
	{name: "wildcards of three ranks", large: true, ranks: 3, progs: []xprogram{
		program(0, xsendTo(2, 1, xEager), xsendTo(2, 2, xShort)),
		program(1, xsendTo(2, 1, xShort)),
		program(2, xrecvFrom(AnyPeer, 1), xrecvFrom(0, AnyTag), xrecvFrom(AnyPeer, AnyTag)),
	}},
	{name: "synchronous and cancelled", large: true, ranks: 2, split: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager).synchronous(), xop{do: xCancel, of: 0}, xsendTo(1, 1, xShort)),
		program(1, xrecvFrom(0, 1), xop{do: xCancel, of: 0}),
	}},
	{name: "cancel of the long", ranks: 2, split: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong), xop{do: xCancel, of: 0}, xsendTo(1, 1, xLong)),
		program(1, xrecvFrom(0, 1), xop{do: xCancel, of: 0}, xrecvFrom(0, AnyTag)),
	}},
	{name: "without credit", ranks: 2, window: 1070, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager), xsendTo(1, 2, xShort), xsendTo(1, 1, xShort), xsendTo(1, 1, 0)),
		program(1, xrecvFrom(0, 1), xrecvFrom(AnyPeer, 2), xrecvFrom(0, 1)),
	}},
	{name: "probes", ranks: 2, split: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong), xsendTo(1, 1, xEager), xsendTo(1, 2, xShort)),
		program(1, xop{do: xMprobe, peer: 0, tag: 1}, xop{do: xRecvMsg, of: 0, n: xLong}),
		program(1, xop{do: xIprobe, peer: AnyPeer, tag: AnyTag}, xrecvFrom(0, AnyTag)),
	}},
	{name: "truncation", ranks: 2, split: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong), xsendTo(1, 1, xEager), xsendTo(1, 1, xLong)),
		program(1, xrecvFrom(0, 1).room(40), xrecvFrom(0, 1).room(3), xrecvFrom(0, 1).room(0)),
	}},
	{name: "memory of unknown length, and layouts", ranks: 2, split: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong).inLayout(), xsendTo(1, 1, xEager), xsendTo(1, 1, xShort).inLayout()),
		program(1, xrecvFrom(0, 1).inAlloc(), xrecvFrom(0, 1).inLayout(), xrecvFrom(0, 1).inAlloc()),
	}},
	{name: "both ways", ranks: 2, split: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong), xrecvFrom(1, 1)),
		program(1, xsendTo(0, 1, xEager).synchronous(), xrecvFrom(0, 1)),
	}},
	{name: "to itself", ranks: 2, split: true, progs: []xprogram{
		program(0, xsendTo(0, 1, xEager), xop{do: xCancel, of: 0}, xsendTo(0, 1, xShort)),
		program(0, xrecvFrom(AnyPeer, 1), xrecvFrom(0, AnyTag)),
		program(1, xsendTo(0, 1, xShort)),
	}},
	{name: "copies", ranks: 2, split: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong).fromCopy(), xsendTo(1, 1, xEager).fromCopy(), xsendTo(1, 1, xLong), xop{do: xTakeOver, of: 2}, xop{do: xWait, of: 2}),
		program(1, xrecvFrom(0, 1), xrecvFrom(0, 1)),
	}},
	{name: "taken over", ranks: 2, split: true, parts: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager), xop{do: xTakeOver, of: 0}, xop{do: xWait, of: 0}, xsendTo(1, 2, xLong), xop{do: xTakeOver, of: 3}, xop{do: xWait, of: 3}),
		program(1, xrecvFrom(0, 1), xrecvFrom(0, 2)),
	}},
	{name: "given up", ranks: 2, split: true, parts: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong), xop{do: xAbandon, of: 0}, xsendTo(1, 1, xEager), xop{do: xAbandon, of: 2}),
		program(1, xrecvFrom(0, 1), xop{do: xAbandon, of: 0}, xrecvFrom(0, 1)),
	}},
	{name: "given up and received again", ranks: 2, split: true, parts: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong), xsendTo(1, 1, xEager), xsendTo(1, 2, xLong)),
		program(1, xrecvFrom(0, 1), xop{do: xAbandon, of: 0}, xrecvFrom(0, 1), xop{do: xAbandon, of: 2}, xrecvFrom(AnyPeer, AnyTag)),
	}},
	{name: "given up, layouts and unknown lengths", ranks: 2, split: true, parts: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong).inLayout(), xsendTo(1, 1, xEager)),
		program(1, xrecvFrom(0, 1).inAlloc(), xop{do: xAbandon, of: 0}, xrecvFrom(0, 1).inLayout(), xop{do: xAbandon, of: 2}, xrecvFrom(0, 1).inAlloc()),
	}},
	{name: "given up of several", ranks: 2, split: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager), xsendTo(1, 1, xLong)),
		program(1, xrecvFrom(0, 1), xrecvFrom(0, 1), xop{do: xAbandon, of: 0}, xop{do: xIprobe, peer: 0, tag: 1}, xop{do: xAbandon, of: 1}, xrecvFrom(0, 1)),
	}},
	{name: "given up, short of room", ranks: 2, split: true, parts: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong), xsendTo(1, 1, xEager)),
		program(1, xrecvFrom(0, 1).room(3), xop{do: xAbandon, of: 0}, xrecvFrom(0, 1).room(3), xop{do: xAbandon, of: 2}, xrecvFrom(0, 1)),
	}},
	{name: "given up after a matched probe", ranks: 2, split: true, parts: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong), xsendTo(1, 1, xEager)),
		program(1, xop{do: xMprobe, peer: 0, tag: 1}, xop{do: xRecvMsg, of: 0, n: xLong}, xop{do: xAbandon, of: 1}, xrecvFrom(0, 1), xrecvFrom(0, 1)),
	}},
	{name: "given up, synchronous and cancelled", ranks: 2, split: true, parts: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager).synchronous(), xop{do: xCancel, of: 0}, xsendTo(1, 1, xLong).synchronous(), xop{do: xCancel, of: 2}),
		program(1, xrecvFrom(0, 1), xop{do: xAbandon, of: 0}, xrecvFrom(0, 1).inAlloc(), xop{do: xAbandon, of: 2}),
	}},
	{name: "given up and lost", ranks: 2, split: true, parts: true, cuts: 1, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager), xsendTo(1, 2, xLong)),
		program(1, xrecvFrom(0, 1), xop{do: xAbandon, of: 0}, xrecvFrom(0, 2).inAlloc(), xop{do: xAbandon, of: 2}, xrecvFrom(0, 1)),
	}},
	{name: "given up and resumed", ranks: 2, breaks: 1, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong)),
		program(1, xrecvFrom(0, 1), xop{do: xAbandon, of: 0}, xrecvFrom(0, 1)),
	}},
	{name: "whole records", ranks: 2, whole: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xShort), xsendTo(1, 2, xEager), xsendTo(1, 1, xEager).synchronous(), xsendTo(1, 1, 0)),
		program(1, xrecvFrom(0, 1).room(3), xrecvFrom(AnyPeer, AnyTag), xop{do: xIprobe, peer: 0, tag: 1}),
	}},
	{name: "lost", ranks: 2, split: true, parts: true, cuts: 1, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager), xsendTo(1, 1, xLong)),
		program(1, xrecvFrom(0, 1), xrecvFrom(AnyPeer, 1)),
	}},
	{name: "lost, and any tag received", ranks: 2, split: true, parts: true, cuts: 1, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong), xsendTo(1, 2, xEager)),
		program(1, xrecvFrom(0, AnyTag), xrecvFrom(AnyPeer, AnyTag)),
	}},
	{name: "one of three lost", large: true, ranks: 3, cuts: 1, progs: []xprogram{
		program(0, xsendTo(2, 1, xLong)),
		program(1, xsendTo(2, 1, xEager).synchronous()),
		program(2, xrecvFrom(AnyPeer, 1), xrecvFrom(1, 1)),
	}},
	{name: "resumed", ranks: 2, split: true, breaks: 1, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager), xsendTo(1, 1, xShort)),
		program(1, xrecvFrom(0, 1)),
	}},
	{name: "resumed, synchronous", ranks: 2, breaks: 1, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager).synchronous()),
		program(1, xrecvFrom(0, 1)),
	}},
	{name: "resumed twice", ranks: 2, breaks: 2, parts: true, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong)),
		program(1, xrecvFrom(0, 1)),
	}},
	{name: "resumed while it is cancelled or given up", ranks: 2, split: true, breaks: 1, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager), xop{do: xAbandon, of: 0}, xsendTo(1, 1, xShort).synchronous(), xop{do: xCancel, of: 2}),
		program(1, xrecvFrom(0, 1), xop{do: xCancel, of: 0}),
	}},
	{name: "resumed or lost", ranks: 2, breaks: 1, cuts: 1, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong), xsendTo(1, 2, xEager), xop{do: xTakeOver, of: 1}, xop{do: xWait, of: 1}),
		program(1, xrecvFrom(0, 1)),
	}},
	{name: "lost while it is cancelled", ranks: 2, split: true, cuts: 1, progs: []xprogram{
		program(0, xsendTo(1, 1, xEager).synchronous(), xop{do: xCancel, of: 0}),
		program(1, xop{do: xMprobe, peer: 0, tag: 1}, xop{do: xRecvMsg, of: 0, n: xLong}),
	}},
	{name: "lost while it is given up", ranks: 2, split: true, cuts: 1, progs: []xprogram{
		program(0, xsendTo(1, 1, xLong), xop{do: xAbandon, of: 0}),
		program(1, xrecvFrom(0, 1), xop{do: xAbandon, of: 0}),
	}},
}
