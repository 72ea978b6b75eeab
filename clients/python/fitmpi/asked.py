"""What a rank says of itself when fitrun asks: whether it waits, for what, and since when.

The answers are those of package telemetry (internal/telemetry): fitrun makes of them the report of a
deadlock, fitrun status and the live page. All is read under the engine's mutex, at one moment.
"""

import gc
import os
import signal
import sys
import threading
import time

from . import wire

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
MOST = 60  # of each list in an answer, which has to be shorter than 60 kB
TCP = 0  # engine.Way
WORLD, WORLD_COLLECTIVE, FINALIZE = 0, 1, 3


def site(depth=2):
    """The call of this package that the program has made, and where: name, file:line, function."""
    name, frame = "", sys._getframe(depth)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        name, frame = frame.f_code.co_name, frame.f_back
    return name.strip("_"), *place(frame)


def place(frame):
    if frame is None:
        return "", ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}", frame.f_code.co_name


class Wait:
    """A thread that waits for a request."""

    def __init__(self, request, bounded):
        self.request, self.bounded = request, bounded
        self.thread, self.since = threading.get_ident(), time.monotonic_ns()
        self.op, self.at, self.func = site(3)


class Asked:
    """Counts what an engine does, and answers questions about it. The engine's mutex guards it."""

    def __init__(self, engine):
        self.engine, self.began = engine, time.monotonic_ns()
        self.waits = []
        self.waited, self.over = 0, 0  # nanoseconds of waits that are over, and how many those are
        self.steps = 0  # what was posted, moved or completed

    def begin(self, request, bounded):
        w = Wait(request, bounded)
        self.waits.append(w)
        return w

    def end(self, w):
        self.waits.remove(w)
        self.waited += time.monotonic_ns() - w.since
        self.over += 1

    def answer(self, question):
        """The report that answers a question."""
        if question == "collect":
            gc.collect()
            return {"Pulse": self.pulse()}
        report = {"Pulse": self.pulse()}
        if question != "pulse":
            report["Counters"] = self.counters()
        if question == "pending":
            report["Pending"] = self.pending()
        return report

    def pulse(self):
        """Of frames with peers that are gone it is not known whether they arrived."""
        live = [p for p in self.engine.peers if p.failed is None and not p.heard_bye]
        bounded = sum(w.bounded for w in self.waits)
        frames = sum(p.frames_in + p.frames_out for p in self.engine.peers)
        return {
            "At": time.monotonic_ns(), "Blocked": len(self.waits) - bounded, "Bounded": bounded,
            "Activity": self.steps + frames + self.over + len(self.waits),
            "FramesIn": sum(p.frames_in for p in live), "FramesOut": sum(p.frames_out for p in live),
            "Unsent": sum(len(view) for p in self.engine.peers for view, _ in p.out),
        }

    def counters(self):
        now, peers, way = time.monotonic_ns(), [], {"Sent": [{}, {}, {}], "Received": [{}, {}]}
        for p in self.engine.peers:
            if p.rank == self.engine.info.rank or not p.messages_out + p.messages_in:
                continue
            out = {"Messages": p.messages_out, "Bytes": p.bytes_out}
            back = {"Messages": p.messages_in, "Bytes": p.bytes_in}
            peers.append({"Rank": p.rank, "Way": TCP, "Sent": out, "Received": back})
            for total, more in ((way["Sent"][1], out), (way["Received"][0], back)):
                for key, n in more.items():
                    total[key] = total.get(key, 0) + n
        open_ = now - min((w.since for w in self.waits), default=now)
        calls = sorted(self.waits, key=lambda w: w.since)[:4]
        return {
            "Stats": {"Ways": [way], "Waited": self.waited + open_}, "Elapsed": now - self.began, "Peers": peers[:4 * MOST],
            "Calls": [self.call(w, now) for w in calls],
        }

    def call(self, w, now):
        return {"Op": name_of(w.request, w.op), "At": w.at, "Func": w.func, "Since": now - w.since, "Bounded": w.bounded}

    def pending(self):
        e, now = self.engine, time.monotonic_ns()
        requests = list(dict.fromkeys([w.request for w in self.waits] + e.posted + [
            r for p in e.peers for group in (p.sends.values(), p.transfers.values(), p.moving) for r in group]))
        listed = {r: i for i, r in enumerate(requests[:MOST])}
        calls = [{**self.call(w, now), "Need": 1, "Waits": [listed[w.request]]} for w in self.waits[:MOST]]
        messages = [{
            "Source": a.source, "Tag": a.tag, "Comm": WORLD, "Bytes": a.length, "Announced": a.payload is None,
            "Synchronous": bool(a.flags & wire.SYNC), "Internal": a.context != WORLD,
        } for a in e.unexpected]
        others = self.threads()
        i = e.info
        p = {
            "Calls": calls, "Operations": [self.operation(r) for r in listed], "Messages": messages[:MOST], "Goroutines": others[:MOST],
            "Comms": [{"Context": WORLD, "Collectives": WORLD_COLLECTIVE, "Name": "world", "Rank": i.rank, "Size": i.size}],
            "Timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0, "Signal": handles_signals(),
        }
        for key, all_ in (("Calls", self.waits), ("Operations", requests), ("Messages", messages), ("Goroutines", others)):
            if len(all_) > len(p[key]):
                p["All" + key] = len(all_)
        return p

    def operation(self, r):
        o = {"Op": name_of(r, r.op), "At": r.made_at, "Func": r.func, "State": r.state(), "Comm": WORLD, "Tag": r.tag}
        if r.context != WORLD:
            o.update({"Kind": "collective", "Peer": -1, "Bytes": 0, ("To" if r.sends else "From"): [r.peer]})
        elif r.sends:
            o.update({"Kind": "send", "Peer": r.peer, "Bytes": len(r.view)})
        else:
            o.update({"Kind": "receive", "Peer": r.peer, "Bytes": -1 if r.into is None else len(r.into)})
        return o

    def threads(self):
        """The threads of the program that wait in no call: for all that is known each may go on."""
        waiting = {w.thread for w in self.waits} | {self.engine.thread.ident, threading.get_ident()}
        found = []
        for thread, frame in sys._current_frames().items():
            if thread not in waiting:
                at, func = place(frame)
                found.append({"State": "running", "At": at, "Func": func, "May": True, "By": "itself"})
        return found


def name_of(request, op):
    """What the program calls: the steps of a barrier stand for that."""
    if request.context == FINALIZE:
        return "Finalize"
    return "Barrier" if request.context == WORLD_COLLECTIVE else op


def handles_signals():
    """Whether a signal may have something done: a thread that waits runs functions of the program's then."""
    own = [signal.getsignal(s) for s in signal.valid_signals()]
    return any(callable(h) and h is not signal.default_int_handler and not isinstance(h, signal.Handlers) for h in own)
