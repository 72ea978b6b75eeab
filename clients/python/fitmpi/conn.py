"""Connections to other ranks: dialling, accepting, and what goes in and out of a socket."""

import errno
import os
import selectors
import socket
import time

from . import wire

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
TRY = 3.0  # seconds for one address, before PROOF
TIMEOUT = 60.0  # seconds over all addresses
GREETING = 10.0  # seconds in which an accepted connection has to prove itself
CHUNK = 256 << 10
PROTOCOL_VERSION = b"\x15\x03\x03\x00\x02\x02\x46"  # an alert of TLS, which this client does not have
STRANGERS = 64  # connections that have proved nothing


class Conn:
    """A connection, from the first byte of its handshake on. Its engine's mutex guards it."""

    def __init__(self, engine, sock, handshake, peer=None):
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.engine, self.sock, self.handshake = engine, sock, handshake
        self.peer = peer  # the rank that it leads to; None until an accepted one has proved itself
        self.dialled = peer is not None
        self.connecting = self.dialled
        self.deadline = time.monotonic() + (TRY if self.dialled else GREETING)
        self.buffer = bytearray()  # bytes of frames, not handled yet
        self.header = None  # of the frame whose payload comes
        self.sink = None  # where the rest of that goes
        self.payload = None  # all of it
        self.interest = READ | (WRITE if self.dialled else 0)
        engine.selector.register(sock, self.interest, self.ready)

    def ready(self, events):
        try:
            if self.connecting:
                self.connected()
            elif events & READ:
                self.read()
            if events & WRITE and self.sock is not None and not self.connecting:
                self.flush()
        except (wire.ProtocolError, wire.HandshakeError, OSError) as err:
            if str(err) == "encrypted" and not self.dialled:
                self.sock.send(PROTOCOL_VERSION)
            self.broken(str(err) or "the connection was reset")

    def connected(self):
        code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(os.strerror(code))
        self.connecting = False
        self.deadline = time.monotonic() + TRY
        self.flush()

    def read(self):
        try:
            data = self.sock.recv(CHUNK)
        except BlockingIOError:
            return
        if not data:
            self.ended()
        elif self.handshake is not None:
            self.greet(data)
        else:
            self.parse(data)

    def greet(self, data):
        hs = self.handshake
        used = hs.feed(data)
        if isinstance(hs, wire.Acceptor) and hs.proven and not hs.done:
            hs.decide(self.engine.decide(self, self.engine.peers[hs.peer]))
        if self.dialled and hs.proved:
            self.deadline = time.monotonic() + TIMEOUT  # the peer may have accepted
        self.flush()
        if not hs.done or self.sock is None:
            return
        self.handshake, self.deadline = None, None
        if self.dialled and hs.verdict != wire.ACCEPT:
            self.engine.refused(self, hs.verdict)
            return
        if hs.verdict != wire.ACCEPT:
            self.close()
            return
        self.engine.opened(self, self.engine.peers[hs.peer], hs.window)
        if used < len(data) and self.sock is not None:
            self.parse(data[used:])

    def parse(self, data):
        """Handles the frames of the stream, however it is cut."""
        b, at = self.buffer, 0
        b += data
        while self.sock is not None:
            if self.header is None:
                if len(b) - at < wire.HEADER_LEN:
                    break
                self.header = wire.decode_header(memoryview(b)[at:at + wire.HEADER_LEN])
                at += wire.HEADER_LEN
                self.sink = self.engine.begin(self.peer, self.header)
                self.payload = self.sink
            n = min(len(self.sink), len(b) - at)
            if n:
                self.engine.asked.steps += n  # of payload: heartbeats are no steps
                self.sink[:n] = memoryview(b)[at:at + n]
                self.sink, at = self.sink[n:], at + n
            if len(self.sink):
                break
            header, payload, self.header, self.payload = self.header, self.payload, None, None
            self.engine.frame(self.peer, header, payload)
        if self.sock is None:
            return
        self.buffer = b[at:]

    def flush(self):
        """Writes what the socket takes. What is left goes when it takes more."""
        if self.sock is None or self.connecting:
            return
        try:
            if self.handshake is not None:
                while self.handshake.out:
                    self.handshake.out = self.handshake.out[self.sock.send(self.handshake.out):]
            if self.handshake is None and self.peer is not None:
                self.flush_frames()
            more = False
        except BlockingIOError:
            more = True
        except OSError as err:
            self.broken(str(err))
            return
        self.want(READ | WRITE if more else READ)

    def flush_frames(self):
        p = self.peer
        if p.flushing:
            return  # a call of ours further up goes on with what has been added
        p.flushing = True
        try:
            while p.out:
                n = self.sock.sendmsg([view for view, _ in list_of(p.out, 64)])
                while p.out and n >= len(p.out[0][0]):
                    view, done = p.out.popleft()
                    n -= len(view)
                    if done is not None:
                        done()
                if n:
                    p.out[0][0] = p.out[0][0][n:]
        finally:
            p.flushing = False

    def want(self, interest):
        if self.sock is not None and interest != self.interest:
            self.interest = interest
            self.engine.selector.modify(self.sock, interest, self.ready)

    def ended(self):
        self.broken("the connection was closed" if self.handshake is not None else "the connection was closed without a goodbye")

    def broken(self, why):
        """The connection is lost: as a dial, as a stranger, or with the peer."""
        stood = self.handshake is None
        self.close()
        self.engine.lost(self, stood, why)

    def close(self):
        if self.sock is not None:
            self.engine.selector.unregister(self.sock)
            self.sock.close()
            self.sock = None
        self.engine.strangers.discard(self)


def list_of(queue, most):
    return [queue[i] for i in range(min(len(queue), most))]


class Dial:
    """The tries to reach one peer, over all its addresses, in rounds."""

    def __init__(self, addrs):
        self.addrs, self.next = addrs, 0
        self.until = time.monotonic() + TIMEOUT
        self.pause = 0.1
        self.retry = None  # when to go on, if that is not at once
        self.conn = None
        self.why = "no address is known"

    def start(self, engine, peer):
        self.retry = None
        host, port = self.addrs[self.next].rsplit(":", 1)
        family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setblocking(False)
        code = sock.connect_ex((host.strip("[]").split("%")[0], int(port)))  # before the selector sees it
        hs = wire.Dialer(engine.info.job, engine.info.secret, engine.info.rank, engine.info.size,
                         engine.window, os.urandom(32), peer.rank)
        self.conn = Conn(engine, sock, hs, peer)
        if code not in (0, errno.EINPROGRESS):
            self.conn.broken(os.strerror(code))

    def failed(self, why):
        """One address has failed. It returns whether the peer is to be given up."""
        self.conn, self.why = None, f"{self.addrs[self.next]}: {why}"
        self.next += 1
        if self.next < len(self.addrs):
            self.retry = time.monotonic()
            return False
        self.next = 0
        self.retry = time.monotonic() + self.pause
        self.pause = min(2 * self.pause, 2.0)
        return self.retry > self.until
