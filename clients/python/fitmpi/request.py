"""Operations under way, their errors, and what they have received."""

from . import wire
from .asked import site

ANY = -1  # source or tag


class Error(Exception):
    """An operation has failed."""


class PeerFailed(Error):
    """The other rank has failed, or has left."""


class Truncated(Error):
    """The message was longer than the buffer."""


class Unsupported(Error):
    """This client cannot do what another rank asks for. The job ends."""


class PartFailed(Error):
    """Another rank has found an error in its part of a collective."""


class JobEnded(Error):
    """The job is ending."""


class Message:
    """What a receive has got: data (a bytearray, or the front of the caller's buffer), source, tag.

    elem is the class of its elements as PROTOCOL.md numbers them, 0 for bytes.
    """

    def __init__(self, source, tag, elem, data):
        self.source, self.tag, self.elem, self.data = source, tag, elem, data


class Request:
    """An operation under way."""

    sends = False

    def __init__(self, engine, peer, context, tag):
        self.engine, self.peer = engine, peer  # peer: a rank, or ANY
        self.context, self.tag = context, tag
        self.op, self.made_at, self.func = site(3)
        engine.asked.steps += 1
        self.done = False
        self.error = None
        self.message = None

    def wait(self, timeout=None):
        """Blocks until the operation is complete, and returns the Message of a receive."""
        with self.engine.mu:
            if not self.done:
                self._block(timeout)
        if self.error is not None:
            raise self.error
        return self.message

    def _block(self, timeout):
        w = self.engine.asked.begin(self, timeout is not None)
        try:
            if not self.engine.changed.wait_for(lambda: self.done, timeout):
                raise TimeoutError("the operation is not complete")
        finally:
            self.engine.asked.end(w)

    def test(self):
        """Whether it is complete; wait tells how it ended."""
        return self.done

    def finish(self, error=None):
        if not self.done:
            self.engine.asked.steps += 1
            self.done, self.error = True, error
            self.engine.changed.notify_all()


class Send(Request):
    """A message that waits for its CTS."""

    sends = True

    def __init__(self, engine, peer, context, tag, view):
        super().__init__(engine, peer, context, tag)
        self.view, self.transfer, self.handed = view, 0, 0

    def state(self):
        return "moving" if self.transfer else "offered"


class Receive(Request):
    """A posted receive, then a transfer."""

    def __init__(self, engine, source, context, tag, into):
        super().__init__(engine, source, context, tag)
        self.into = into
        self.at = self.approved = 0
        self.late = None  # the error, once the message is there

    def state(self):
        return "moving" if self.approved else "queued"

    def matches(self, a):
        return self.context == a.context and self.peer in (ANY, a.source) and self.tag in (ANY, a.tag)

    def prepare(self, a):
        """Makes room for the message a, and returns how much of it fits."""
        own = bytearray(a.length) if self.into is None else None
        if own is not None:
            self.into = memoryview(own)
        n = min(len(self.into), a.length)
        if a.context in wire.COLLECTIVE and a.elem in wire.PART_FAILED:
            self.late = PartFailed(f"rank {a.source} has found an error in its part of a collective: its own error says what is wrong")
            return 0
        self.message = Message(a.source, a.tag, a.elem, self.into[:n] if own is None else own)
        if a.flags & wire.OBJECT:
            self.late = Unsupported(f"rank {a.source} has sent a serialised value of Go, with tag {a.tag}: send plain elements to a client in Python")
            return 0
        if n < a.length:
            self.late = Truncated(f"a message of {a.length} bytes from rank {a.source} with tag {a.tag}, and a buffer of {n}")
        return n


class Arrival:
    """A message at its receiver. payload is None if it waits at the sender (RTS)."""

    def __init__(self, source, h, payload):
        self.source, self.context, self.tag, self.elem = source, h.context, h.tag, h.elem
        self.flags, self.length, self.id, self.payload = h.flags, h.length, h.id, payload
        self.matched = None  # of a message to oneself: the request to finish
