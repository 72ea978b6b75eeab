"""A rank in Python of a FitMPI job: messages between two ranks, and Barrier.

    import fitmpi
    with fitmpi.init() as world:
        world.send(b"hello", dest=0, tag=7)
        answer = world.recv(source=0)
        world.barrier()

The program is started by fitrun, beside ranks in Go: see README.md. It needs Python 3.8 or newer and
nothing else. All calls may come from any thread.
"""

import os
import traceback
from array import array

from . import boot, wire
from .boot import BootError
from .engine import FINALIZE, MARKS, WORLD, WORLD_COLLECTIVE, Engine
from .request import ANY, Error, JobEnded, Message, PartFailed, PeerFailed, Request, Truncated, Unsupported

__all__ = ["ANY_SOURCE", "ANY_TAG", "BootError", "Error", "JobEnded", "Message", "PartFailed", "PeerFailed", "Request", "Truncated",
           "Unsupported", "World", "init", "values"]

ANY_SOURCE = ANY_TAG = ANY
FEW = 4  # ranks that meet through the first of them
CLASSES = {("?", 1): 1, ("b", 1): 2, ("h", 2): 3, ("i", 4): 4, ("l", 4): 4, ("l", 8): 5, ("q", 8): 5, ("H", 2): 7,
           ("I", 4): 8, ("L", 4): 8, ("L", 8): 9, ("Q", 8): 9, ("f", 4): 10, ("d", 8): 11}  # of elements; else bytes
CODES = {2: "b", 3: "h", 4: "i", 5: "q", 6: "B", 7: "H", 8: "I", 9: "Q", 10: "f", 11: "d"}


def values(message):
    """The elements of a message as an array, if the sender has said what they are; else bytes."""
    a = array(CODES.get(message.elem, "B"))
    a.frombytes(message.data)
    return a


def init():
    """Joins the job that fitrun has started this process for, and returns its World.

    It blocks until all ranks have joined, and may be called once in a process.
    """
    launcher, info = boot.connect(os.environ)
    boot.check(launcher, info, os.environ)
    listeners, addrs = boot.listen(info, os.environ)
    mine = boot.card(info, addrs, os.environ)
    cards = boot.exchange(launcher, info, mine)
    differs = boot.check_cards(cards, mine)
    if differs:
        boot.refuse(launcher, info, differs)
    launcher.send(type="report", key="transport", text=f"thread 0, shared 0, tcp {info.size - 1}")
    return World(Engine(info, launcher, listeners, cards), cards)


class World:
    """All ranks of the job: rank is this one's number, size is how many there are."""

    def __init__(self, engine, cards):
        self._engine, self.rank, self.size = engine, engine.info.rank, engine.info.size
        self._hosts = hosts([(c.get("place"), c.get("clique", 0)) for c in cards])
        self._barriers = 0
        self._finalized = False

    def isend(self, data, dest, tag=0):
        """Starts a send of bytes, or of anything that has memory in one piece, such as an array.

        data must stay as it is until the request is complete. An array's type goes with it.
        """
        return self._send(data, dest, tag, False)

    def send(self, data, dest, tag=0):
        """Sends, and returns when data may be changed."""
        self.isend(data, dest, tag).wait()

    def issend(self, data, dest, tag=0):
        """isend whose request is complete when the message has been matched."""
        return self._send(data, dest, tag, True)

    def ssend(self, data, dest, tag=0):
        self.issend(data, dest, tag).wait()

    def _send(self, data, dest, tag, sync):
        self._check(dest, tag, False)
        view = memoryview(data)
        elem = CLASSES.get((view.format.lstrip("@=<"), view.itemsize), 0)
        return self._engine.send(dest, WORLD, tag, view.cast("B") if view.nbytes else memoryview(b""), elem, sync)

    def irecv(self, source=ANY_SOURCE, tag=ANY_TAG, into=None):
        """Starts a receive. Its message goes into the memory of into, else into a new bytearray."""
        self._check(source, tag, True)
        return self._engine.receive(source, WORLD, tag, None if into is None else memoryview(into).cast("B"))

    def recv(self, source=ANY_SOURCE, tag=ANY_TAG, into=None):
        """Receives, and returns the Message."""
        return self.irecv(source, tag, into).wait()

    def barrier(self):
        """Returns when all ranks of the job have called Barrier on the world."""
        number, self._barriers = self._barriers, (self._barriers + 1) % (1 << 28)
        self._meet(WORLD_COLLECTIVE, number)

    def finalize(self):
        """Waits until all ranks finalize, and leaves the job."""
        if self._finalized:
            return
        self._finalized = True
        self._meet(FINALIZE, 0)
        self._engine.launcher.send(type="finalizing")
        self._engine.close(5)

    def abort(self, code=1, text="aborted"):
        """Ends the whole job. fitrun exits with the code."""
        self._engine.launcher.abort(code, text)

    def __enter__(self):
        return self

    def __exit__(self, kind, err, trace):
        if err is None:
            self.finalize()
        elif self._engine.ended is not None:
            raise SystemExit(1) from None  # fitrun says why the job ends
        elif kind is not SystemExit:
            self.abort(1, "".join(traceback.format_exception_only(kind, err)).strip())

    def _check(self, peer, tag, receives):
        if self._finalized:
            raise Error("the rank has finalized")
        if not (0 <= peer < self.size or receives and peer == ANY_SOURCE):
            raise ValueError(f"rank {peer} in a world of {self.size}")
        if not (0 <= tag <= wire.MAX_TAG or receives and tag == ANY_TAG):
            raise ValueError(f"tag {tag}: need 0 to {wire.MAX_TAG}")

    def _meet(self, context, number):
        """Barrier: within a host towards its lowest rank, between those by dissemination, few through one."""
        def send(to):
            self._engine.send(to, context, number, memoryview(b""), MARKS[context]).wait()

        def recv(frm):
            self._engine.receive(frm, context, number).wait()

        if self._hosts is None:
            meet = through_first if 2 < self.size <= FEW else disseminate
            meet(range(self.size), self.rank, send, recv)
            return
        members = next(m for m in self._hosts if self.rank in m)
        v = members.index(self.rank)
        children = [members[c] for c in children_of(v, len(members))]
        for c in children:
            recv(c)
        if v:
            send(members[v & (v - 1)])
            recv(members[v & (v - 1)])
        else:
            leaders = [m[0] for m in self._hosts]
            disseminate(leaders, leaders.index(self.rank), send, recv)
        for c in children:
            send(c)


def through_first(ranks, me, send, recv):
    if me:
        send(ranks[0])
        recv(ranks[0])
        return
    for rank in ranks[1:]:
        recv(rank)
    for rank in ranks[1:]:
        send(rank)


def disseminate(ranks, me, send, recv):
    distance = 1
    while distance < len(ranks):
        send(ranks[(me + distance) % len(ranks)])
        recv(ranks[(me - distance) % len(ranks)])
        distance *= 2


def children_of(v, size):
    """The children of place v in a binomial tree, the largest subtree first."""
    bit, children = 1, []
    while (v == 0 or bit < v & -v) and v + bit < size:
        children.append(v + bit)
        bit *= 2
    return children[::-1]


def hosts(places):
    """The ranks of each host, hosts in the order of their first ranks.

    None if all ranks are on one host, or each has its own: then all meet as equals.
    """
    members = {}
    for rank, place in enumerate(places):
        members.setdefault(place, []).append(rank)
    return list(members.values()) if 1 < len(members) < len(places) else None
