"""Matching, protocols and progress: docs/PROTOCOL.md, sections 4 to 8, for the world of a job.

One thread moves everything (Engine.run). It and the callers of the program share one mutex. A
message that this client has no use for ends the job with a word at all ranks: to wait for an answer
that never comes would be worse.
"""

import os
import selectors
import socket
import threading
import time
from collections import deque

from . import wire
from .asked import Asked
from .conn import READ, STRANGERS, Conn, Dial
from .request import ANY, Arrival, Error, JobEnded, PeerFailed, Receive, Send, Unsupported

WORLD, WORLD_COLLECTIVE, FINALIZE = 0, 1, 3  # contexts
MARKS = {WORLD_COLLECTIVE: 0x20, FINALIZE: 0x10}  # of the messages of Barrier, and of the one that finalizes
PERSISTENT = 1 << 30
OPERATIONS = {
    1: "a call that makes or frees a communicator, a window or a file", 2: "Barrier", 3: "Bcast", 4: "Gather",
    5: "Scatter", 6: "Allgather", 7: "Alltoall", 8: "Reduce", 9: "Allreduce", 10: "ReduceScatter", 11: "Scan",
    12: "Exscan", 13: "NeighborAllgather", 14: "NeighborAlltoall",
}
SAYS_REVOKED, SAYS_IDLE, SAYS_IDLED, SAYS_AWAKE = 1, 4, 5, 6
EAGER_MAX = 256 << 10
PIECE = 256 << 10  # of a Data frame


class Peer:
    def __init__(self, rank, card):
        self.rank, self.host = rank, card.get("host", "")
        self.addrs = [a for a in card.get("addrs", "").split(",") if a]
        self.conn = None  # the one that stands
        self.dial = None
        self.out = deque()  # [memoryview, what to call when it is written]
        self.flushing = False
        self.credit, self.spent = wire.MIN_WINDOW, 0  # of ours there
        self.used, self.owed = 0, 0  # of theirs here: in use, and free but not said yet
        self.sends, self.transfers = {}, {}  # by their numbers: those that wait for a CTS, and for Data
        self.moving = set()  # sends whose Data are on their way
        self.said_bye = self.heard_bye = self.idle = False
        self.failed = None
        self.frames_in = self.frames_out = 0
        self.messages_in = self.messages_out = self.bytes_in = self.bytes_out = 0


class Engine:
    window = 1 << 20  # the credit that each peer has here

    def __init__(self, info, launcher, listeners, cards):
        self.info, self.launcher = info, launcher
        self.mu = threading.RLock()
        self.changed = threading.Condition(self.mu)
        self.selector = selectors.DefaultSelector()
        self.peers = [Peer(r, c) for r, c in enumerate(cards)]
        self.strangers = set()
        self.posted, self.unexpected = [], []
        self.asked = Asked(self)
        self.ids = 0
        self.closing = self.stopped = False
        self.ended = None  # the error of everything, once the job is ending
        self.listeners = listeners
        for s in listeners:
            s.setblocking(False)
            self.selector.register(s, READ, lambda _, s=s: self.accept(s))
        self.selector.register(launcher.sock, READ, lambda _: self.hear_launcher())
        self.waker, wakened = socket.socketpair()
        wakened.setblocking(False)
        self.selector.register(wakened, READ, lambda _: wakened.recv(64))
        self.thread = threading.Thread(target=self.run, name="fitmpi", daemon=True)
        self.take_news()  # what came with the cards
        self.thread.start()

    # Progress.

    def run(self):
        try:
            self.move()
        except BaseException as err:  # a bug: no caller must wait for ever
            with self.mu:
                self.end(Error(f"the client's progress has ended: {err!r}"))
            raise

    def move(self):
        while not self.stopped:
            for key, events in self.selector.select(0.2):
                with self.mu:
                    if key.fileobj.fileno() >= 0:  # one before it in the list may have closed it
                        key.data(events)
            with self.mu:
                self.keep_time()

    def keep_time(self):
        now = time.monotonic()
        for p in self.peers:
            d = p.dial
            if d is None:
                continue
            if d.conn is not None and d.conn.deadline is not None and d.conn.deadline < now:
                d.conn.broken("no answer")
            elif d.conn is None and d.retry is not None and d.retry <= now:
                d.start(self, p)
        for c in [c for c in self.strangers if c.deadline < now]:
            c.close()

    def accept(self, listener):
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        if len(self.strangers) >= STRANGERS:
            min(self.strangers, key=lambda c: c.deadline).close()
        i = self.info
        self.strangers.add(Conn(self, sock, wire.Acceptor(i.job, i.secret, i.rank, i.size, self.window, os.urandom(32))))

    def decide(self, conn, p):
        """The verdict on a peer that has proved itself: section 2, Simultaneous connect."""
        if p.failed or p.heard_bye or self.closing and not p.out:
            return wire.CLOSED
        if p.conn is not None:
            return wire.DUPLICATE
        own = p.dial.conn if p.dial is not None else None
        if own is not None and self.info.rank < p.rank and own.handshake is not None and own.handshake.proved:
            return wire.DUPLICATE
        if own is not None:
            own.close()
        p.dial = None
        return wire.ACCEPT

    def opened(self, conn, p, window):
        self.strangers.discard(conn)
        conn.peer, p.conn, p.dial = p, conn, None
        p.credit += window - wire.MIN_WINDOW
        if self.closing:
            self.say_bye(p)
        conn.flush()

    def refused(self, conn, verdict):
        p = conn.peer
        conn.close()
        if verdict == wire.DUPLICATE:
            if p.dial is not None:  # the peer's own connection comes, or has come
                p.dial.conn, p.dial.retry = None, time.monotonic() + 3
            return
        p.dial = None
        self.fail(p, "it takes no more connections" if verdict == wire.CLOSED else "its payloads have another byte order")

    def lost(self, conn, stood, why):
        p = conn.peer
        if stood:
            p.conn = None
            if p.heard_bye or p.idle or self.closing:
                self.fail(p, "it has left")
            else:
                self.fail(p, why)
        elif conn.dialled and p.dial is not None and p.dial.conn is conn and p.dial.failed(why):
            self.fail(p, f"connect to it: {p.dial.why}")

    def reach(self, p):
        """Sees to a connection to p, for which something lies in its queue."""
        if p.conn is not None:
            p.conn.flush()
        elif p.dial is None and p.failed is None:
            if not p.addrs:
                self.fail(p, "no address is known")
                return
            p.dial = Dial(p.addrs)
            p.dial.start(self, p)

    def put(self, p, h, payload=None, done=None):
        if p.failed is not None or p.said_bye:
            return
        p.frames_out += 1
        p.out.append([memoryview(h.encode()), done if payload is None or not len(payload) else None])
        if payload is not None and len(payload):
            p.out.append([payload, done])
        self.reach(p)

    # Calls of the program.

    def new_id(self):
        self.ids += 1
        return self.ids

    def check_peer(self, p):
        if self.ended is not None:
            raise self.ended
        if p.failed is not None or p.heard_bye:
            raise PeerFailed(f"rank {p.rank} on {p.host} failed: {p.failed or 'it has left'}")

    def send(self, dest, context, tag, view, elem=0, sync=False):
        with self.mu:
            p = self.peers[dest]
            self.check_peer(p)
            r = Send(self, dest, context, tag, view)
            p.messages_out, p.bytes_out = p.messages_out + 1, p.bytes_out + len(view)
            h = wire.Header(wire.EAGER, 0, elem, tag, context, len(view))
            if dest == self.info.rank:
                a = Arrival(dest, h, bytes(view))
                a.matched = r if sync else None
                self.arrived(a)
                if not sync:
                    r.finish()
                return r
            cost = wire.EAGER_COST + len(view)
            if not sync and len(view) <= EAGER_MAX and cost <= p.credit:
                p.credit -= cost
                p.spent += cost
                self.put(p, h, memoryview(bytes(view)))
                r.finish()
                return r
            h.kind, h.id = wire.RTS, self.new_id()
            if sync:
                h.flags |= wire.SYNC
            p.sends[h.id] = r
            self.put(p, h)
            return r

    def receive(self, source, context, tag, into=None):
        with self.mu:
            r = Receive(self, source, context, tag, into)
            for i, a in enumerate(self.unexpected):
                if r.matches(a):
                    del self.unexpected[i]
                    self.match(r, a)
                    return r
            if self.ended is not None:
                raise self.ended
            if source != ANY:
                self.check_peer(self.peers[source])
            self.posted.append(r)
            return r

    # What arrives.

    def arrived(self, a):
        for i, r in enumerate(self.posted):
            if r.matches(a):
                del self.posted[i]
                self.match(r, a)
                return
        self.unexpected.append(a)

    def match(self, r, a):
        p = self.peers[a.source]
        n = r.prepare(a)
        p.messages_in, p.bytes_in = p.messages_in + 1, p.bytes_in + a.length
        if a.payload is None:
            r.approved, t = n, self.new_id()
            if n:
                p.transfers[t] = r
                r.peer = a.source  # whose failure concerns it from now on
            self.put(p, wire.Header(wire.CTS, context=t, length=n, id=a.id))
            if not n:
                r.finish(r.late)
            return
        if n:
            r.into[:n] = a.payload[:n]
        if a.flags & wire.SYNC:
            self.put(p, wire.Header(wire.ACK, id=a.id))
        if a.matched is not None:
            a.matched.finish()
        if a.source != self.info.rank:
            self.give_back(p, wire.EAGER_COST + a.length)
        r.finish(r.late)

    def give_back(self, p, cost):
        p.owed += cost
        if p.owed >= self.window // 2:
            n, p.owed = p.owed, 0
            p.used -= n
            self.put(p, wire.Header(wire.CREDIT, length=n))

    def begin(self, p, h):
        """Checks a header, and returns where its payload goes."""
        if p.heard_bye:
            raise wire.ProtocolError("after Bye")
        if h.kind == wire.EAGER:
            cost = wire.EAGER_COST + h.length
            if p.used + cost > self.window:
                raise wire.ProtocolError("overdrawn")
            p.used += cost
            return memoryview(bytearray(h.length))
        if h.kind == wire.DATA:
            r = p.transfers.get(h.id)
            if r is None:
                raise wire.ProtocolError("unknown transfer")
            if h.context != r.at:
                raise wire.ProtocolError("gap")
            if h.length > r.approved - r.at:
                raise wire.ProtocolError("overrun")
            return r.into[r.at:r.at + h.length]
        return memoryview(bytearray(h.payload_len()))

    def frame(self, p, h, payload):
        """Handles a frame whose payload is there."""
        if h.kind not in (wire.HEARTBEAT, wire.RECEIVED):  # which belong to a connection
            p.frames_in += 1
        if h.kind == wire.EAGER or h.kind == wire.RTS:
            if h.flags & wire.PULL:
                raise wire.ProtocolError("an offer of memory on a connection")
            if self.is_known(p, h):
                self.arrived(Arrival(p.rank, h, payload if h.kind == wire.EAGER else None))
        elif h.kind == wire.DATA:
            r = p.transfers.get(h.id)
            if r is None:
                return  # the job is ending
            r.at += h.length
            if r.at == r.approved:
                del p.transfers[h.id]
                r.finish(r.late)
        elif h.kind == wire.CTS:
            self.clear_to_send(p, h)
        elif h.kind == wire.CREDIT:
            if h.length > p.spent:
                raise wire.ProtocolError("over-returned")
            p.spent -= h.length
            p.credit += h.length
        elif h.kind == wire.CANCEL:
            self.cancel(p, h)
        elif h.kind == wire.CANCEL_REPLY:
            r = p.sends.pop(h.id, None)
            if r is None or not h.flags & wire.DONE:  # we never ask
                raise wire.ProtocolError("unknown request")
            r.finish(Error(f"rank {p.rank} has no use for the message any more"))
        elif h.kind == wire.SIGNAL:
            self.signal(p, h, bytes(payload))
        elif h.kind == wire.BYE:
            p.heard_bye = True
            self.forsake(p, "it has left")
            self.maybe_close(p)
        elif h.kind == wire.ACK:
            raise wire.ProtocolError("unknown request")
        elif h.kind == wire.FIN:
            raise wire.ProtocolError("Fin on a connection")
        elif h.kind == wire.RECEIVED:
            raise wire.ProtocolError("received too much")

    def is_known(self, p, h):
        """Whether a message is of what this client can do. If not the job ends."""
        if h.context == WORLD:
            return True
        if h.elem >> 4 in (0, MARKS.get(h.context, 0xff) >> 4) and h.context in MARKS and h.tag < PERSISTENT:
            return True
        what = OPERATIONS.get(h.elem >> 4, "a collective operation")
        if h.tag >= PERSISTENT:
            what = "a persistent " + what
        if h.context != WORLD_COLLECTIVE:
            what = "an operation of another communicator than the world, or a partitioned one"
        self.refuse(f"{what}, which rank {p.rank} has begun")
        return False

    def clear_to_send(self, p, h):
        r = p.sends.pop(h.id, None)
        if r is None:
            raise wire.ProtocolError("unknown request")
        if h.length > len(r.view):
            raise wire.ProtocolError("approved too much")
        r.view, r.transfer = r.view[:h.length], h.context
        if not h.length:
            r.finish()
            return
        p.moving.add(r)
        self.hand_over(p, r)

    def hand_over(self, p, r):
        """Queues the next piece: frames of other messages get between two of them."""
        at = r.handed
        if at == len(r.view):
            p.moving.discard(r)
            r.finish()
            return
        n = min(PIECE, len(r.view) - at)
        r.handed += n
        self.put(p, wire.Header(wire.DATA, context=at, length=n, id=r.transfer), r.view[at:at + n], lambda: self.hand_over(p, r))

    def cancel(self, p, h):
        for i, a in enumerate(self.unexpected):
            if (a.source, a.context, a.tag, a.id) == (p.rank, h.context, h.tag, h.id):
                del self.unexpected[i]
                if a.payload is not None:
                    self.give_back(p, wire.EAGER_COST + a.length)
                self.put(p, wire.Header(wire.CANCEL_REPLY, wire.DONE, id=h.id))
                return
        self.put(p, wire.Header(wire.CANCEL_REPLY, id=h.id))

    def signal(self, p, h, payload):
        word = payload[0] if payload else 0
        if h.context >> 61 == 7:
            self.refuse(f"Agree or Shrink, which rank {p.rank} has begun")
        elif word == SAYS_REVOKED:
            self.refuse(f"Revoke, which rank {p.rank} has called")
        elif word == SAYS_IDLE:
            p.idle = True
            self.put(p, wire.Header(wire.SIGNAL, length=1), memoryview(bytes([SAYS_IDLED])))
        elif word == SAYS_AWAKE:
            p.idle = False

    # Ends.

    def refuse(self, what):
        text = f"rank {self.info.rank} is a client in Python, which cannot do this: {what}"
        self.launcher.abort(1, text)
        self.end(Unsupported(text))

    def hear_launcher(self):
        try:
            data = self.launcher.sock.recv(64 << 10, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.selector.unregister(self.launcher.sock)
            self.end(JobEnded("fitrun is gone"))
            threading.Timer(2, os._exit, [1]).start()
            return
        self.launcher.feed(data)
        self.take_news()

    def take_news(self):
        for m in self.launcher.lines():
            if m.get("type") != "event":
                continue  # as a bell, for which this client does not ask
            if m["event"] == "job-aborted":
                self.end(JobEnded(f"the job was aborted: {m.get('text', '')}"))
            elif m["event"] == "peer-failed":
                self.fail(self.peers[m.get("rank", 0)], m.get("text", ""))
            elif m["event"] == "asked":
                self.answer(m.get("code", 0), m.get("text", ""))

    def answer(self, number, question):
        """Tells fitrun what this rank does. Nothing of it is worth the end of the job."""
        try:
            self.launcher.send(type="answer", number=number, data=self.asked.answer(question))
        except OSError:
            pass  # fitrun is gone, which is noticed where it is read from

    def forsake(self, p, why):
        """Ends what needs p."""
        error = PeerFailed(f"rank {p.rank} on {p.host} failed: {why}")
        for r in [*p.sends.values(), *p.transfers.values(), *p.moving]:
            r.finish(error)
        for requests in (p.sends, p.transfers, p.moving):
            requests.clear()
        for r in [r for r in self.posted if r.peer == p.rank or r.peer == ANY and not (p.heard_bye or p.idle or self.closing)]:
            self.posted.remove(r)
            r.finish(error)

    def fail(self, p, why):
        if p.failed is not None:
            return
        p.failed = why
        p.out.clear()
        self.forsake(p, why)
        self.unexpected = [a for a in self.unexpected if a.source != p.rank or a.payload is not None]
        for c in (p.conn, p.dial.conn if p.dial is not None else None):
            if c is not None:
                c.close()
        p.conn = p.dial = None
        self.changed.notify_all()

    def end(self, error):
        if self.ended is None:
            self.ended = error
        for p in self.peers:
            for r in [*p.sends.values(), *p.transfers.values(), *p.moving]:
                r.finish(self.ended)
        for r in self.posted:
            r.finish(self.ended)
        self.posted.clear()
        self.changed.notify_all()

    def say_bye(self, p):
        if not p.said_bye and p.failed is None:
            p.said_bye = True
            p.frames_out += 1
            p.out.append([memoryview(wire.Header(wire.BYE).encode()), lambda: self.maybe_close(p)])
            p.conn.flush()

    def maybe_close(self, p):
        """Closes the connection once both sides have said goodbye."""
        if p.conn is not None and p.said_bye and p.heard_bye and not p.out:
            p.conn.close()
            p.conn = None
            self.changed.notify_all()

    def close(self, timeout):
        """Says goodbye to all, and waits for theirs."""
        with self.mu:
            self.closing = True
            for p in self.peers:
                if p.conn is not None:
                    self.say_bye(p)
            self.changed.wait_for(lambda: all(p.conn is None and (p.dial is None or not p.out) for p in self.peers), timeout)
        self.stop()

    def stop(self):
        self.stopped = True
        self.waker.send(b"x")
        if threading.current_thread() is not self.thread:
            self.thread.join()
        with self.mu:
            for p in self.peers:
                if p.conn is not None:
                    p.conn.close()
        for s in self.listeners:
            s.close()
