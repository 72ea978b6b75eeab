"""Frames and handshake: the bytes of docs/PROTOCOL.md, sections 2 and 3.

Nothing here has a socket, a clock or a thread. The tests compare it with the vectors that the Go
library keeps in engine/internal/wire/testdata.
"""

import hashlib
import hmac
import struct
import sys
from dataclasses import dataclass

VERSION = 2
MAX_LENGTH = 1 << 46  # of a message, and of a window of credit
MAX_SIGNAL = 4096
MAX_STREAM = 1 << 62
MAX_TAG = (1 << 31) - 1
MIN_WINDOW = 65536
EAGER_COST = 512  # of a sender's credit, beside the length

EAGER, RTS, CTS, DATA, ACK, CREDIT, CANCEL = 1, 2, 3, 4, 5, 6, 7
CANCEL_REPLY, BYE, HEARTBEAT, FIN, SIGNAL, RECEIVED = 8, 9, 10, 11, 12, 13

COLLECTIVE = (1, 3)  # contexts of collectives: of the world, and of the end
PART_FAILED = range(1, 16)  # in the place of elem in these: the sender's part of the collective has failed

SYNC, OBJECT, DONE, PULL, PAUSED = 1, 2, 4, 8, 16

HEADER = struct.Struct("<BBBBiQQQ")
HEADER_LEN = HEADER.size  # 32
WITH_PAYLOAD = frozenset((EAGER, DATA, SIGNAL))


class ProtocolError(Exception):
    """A peer has broken a rule. The connection ends, and the peer counts as failed."""


@dataclass
class Header:
    kind: int
    flags: int = 0
    elem: int = 0
    tag: int = 0
    context: int = 0
    length: int = 0
    id: int = 0

    def encode(self):
        return HEADER.pack(VERSION, self.kind, self.flags, self.elem, self.tag, self.context, self.length, self.id)

    def payload_len(self):
        return self.length if self.kind in WITH_PAYLOAD else 0


@dataclass(frozen=True)
class Shape:
    """What headers of one kind may have; the rest must be zero."""

    flags: int = 0
    elem: bool = False
    tag: bool = False
    context: int = 0  # the greatest
    least: int = 0  # length
    most: int = 0
    id: bool = False


ANY = (1 << 64) - 1
SHAPES = {
    EAGER: Shape(SYNC | OBJECT, True, True, ANY, 0, MAX_LENGTH, True),
    RTS: Shape(SYNC | OBJECT | PULL, True, True, ANY, 0, MAX_LENGTH, True),
    CTS: Shape(context=ANY, most=MAX_LENGTH, id=True),
    DATA: Shape(context=MAX_LENGTH - 1, least=1, most=MAX_LENGTH, id=True),
    ACK: Shape(id=True),
    CREDIT: Shape(least=1, most=MAX_LENGTH),
    CANCEL: Shape(tag=True, context=ANY, id=True),
    CANCEL_REPLY: Shape(DONE, id=True),
    BYE: Shape(),
    HEARTBEAT: Shape(PAUSED),
    FIN: Shape(most=MAX_LENGTH, id=True),
    SIGNAL: Shape(tag=True, context=ANY, most=MAX_SIGNAL, id=True),
    RECEIVED: Shape(most=MAX_STREAM),
}


def decode_header(b):
    """The header at the front of b, which has 32 bytes. The errors are those of section 10."""
    version, kind, flags, elem, tag, context, length, ident = HEADER.unpack_from(b)
    if version != VERSION:
        raise ProtocolError("bad version")
    shape = SHAPES.get(kind)
    if shape is None:
        raise ProtocolError("unknown kind")
    if flags & ~shape.flags:
        raise ProtocolError("bad flags")
    if elem and not shape.elem:
        raise ProtocolError("bad element class")
    if tag < 0 or tag and not shape.tag:
        raise ProtocolError("bad tag")
    if context > shape.context:
        raise ProtocolError("bad context")
    if length and shape.most == 0:
        raise ProtocolError("bad length")
    if length > shape.most:
        raise ProtocolError("too long")
    if length < shape.least:
        raise ProtocolError("zero length")
    if ident and not (shape.id and (kind != EAGER or flags & SYNC)):
        raise ProtocolError("bad id")
    return Header(kind, flags, elem, tag, context, length, ident)


# The handshake.

MAGIC = b"FITM"
HELLO, CHALLENGE, PROOF, VERDICT = 1, 2, 3, 4
LENGTHS = {HELLO: 96, CHALLENGE: 112, PROOF: 40, VERDICT: 40}
ACCEPT, DUPLICATE, CLOSED, BYTE_ORDER = 0, 1, 2, 3
PREFIX = struct.Struct("<4sHBB")
CLAIM = struct.Struct("<IIIIQQII32s")
RESUME = 1
OWN_ORDER = 1 if sys.byteorder == "little" else 2


class HandshakeError(Exception):
    """A handshake has failed, for a reason of section 2. It harms nothing but the connection."""


@dataclass
class Claim:
    """What a side says of itself."""

    sender: int
    receiver: int
    size: int
    window: int
    nonce: bytes
    flags: int = 0
    received: int = 0
    connection: int = 0
    beat: int = 0

    def encode(self):
        return CLAIM.pack(self.sender, self.receiver, self.size, self.flags, self.window, self.received,
                          self.connection, self.beat, self.nonce)

    @staticmethod
    def decode(b):
        sender, receiver, size, flags, window, received, connection, beat, nonce = CLAIM.unpack(b)
        return Claim(sender, receiver, size, window, nonce, flags, received, connection, beat)

    def check(self):
        """The ranges, which both sides check after the ranks and the size."""
        if self.flags & ~RESUME or not MIN_WINDOW <= self.window <= MAX_LENGTH or self.received > MAX_STREAM:
            raise HandshakeError("bad-message")
        if not self.flags & RESUME and self.received:
            raise HandshakeError("bad-message")


def prefix(message, param=0):
    return PREFIX.pack(MAGIC, VERSION, message, param)


def check_prefix(b, message):
    """Returns the parameter of a message whose first eight bytes are there."""
    magic, version, kind, param = PREFIX.unpack(bytes(b[:8]))
    if magic != MAGIC:
        if b[0] == 22 or bytes(b[:2]) == b"\x15\x03":
            raise HandshakeError("encrypted")
        raise HandshakeError("bad-magic")
    if version != VERSION:
        raise HandshakeError("bad-version")
    if kind != message:
        raise HandshakeError("bad-message")
    return param


def proof(secret, label, transcript):
    return hmac.new(secret, label + transcript, hashlib.sha256).digest()


class Handshake:
    """What both sides of a handshake have in common.

    out is what is to be written. feed takes bytes, and returns how many of them belong to the
    handshake. done is set by the verdict: then verdict, peer and window count.
    """

    def __init__(self, job, secret, rank, size, window, nonce):
        self.job, self.secret, self.rank, self.size = job, secret, rank, size
        self.own = Claim(rank, 0, size, window, nonce)
        self.said = b""  # every byte of both sides, in the order of the messages
        self.out = b""
        self.partial = b""
        self.peer = -1
        self.window = 0
        self.peer_order = 0
        self.done = False
        self.verdict = -1

    def say(self, message):
        self.said += message
        self.out += message

    def feed(self, b):
        used = 0
        while self.awaits and used < len(b):
            need = LENGTHS[self.awaits]
            take = bytes(b[used:used + need - len(self.partial)])
            self.partial += take
            used += len(take)
            if len(self.partial) >= 8:
                check_prefix(self.partial, self.awaits)
            if len(self.partial) < need:
                break
            message, self.partial = self.partial, b""
            self.take(message)
        return used

    def check_proof(self, message, label):
        want = proof(self.secret, label, self.said + message[:-32])
        if not hmac.compare_digest(want, message[-32:]):
            raise HandshakeError("bad-proof")

    def take_claim(self, claim, param):
        claim.check()
        if param not in (1, 2):
            raise HandshakeError("bad-message")
        self.peer, self.window, self.peer_order = claim.sender, claim.window, param

    def proves(self, kind, param, label):
        b = prefix(kind, param)
        self.say(b + proof(self.secret, label, self.said + b))


class Dialer(Handshake):
    """Says HELLO to the rank peer."""

    def __init__(self, job, secret, rank, size, window, nonce, peer):
        super().__init__(job, secret, rank, size, window, nonce)
        self.dialled = peer
        self.own.receiver = peer
        self.awaits = CHALLENGE
        self.proved = False
        self.say(prefix(HELLO, OWN_ORDER) + job + self.own.encode())

    def take(self, message):
        if self.awaits == CHALLENGE:
            self.check_proof(message, b"FITMPI2 acceptor")
            claim = Claim.decode(message[8:80])
            if (claim.sender, claim.receiver) != (self.dialled, self.rank):
                raise HandshakeError("wrong-rank")
            if claim.size != self.size:
                raise HandshakeError("wrong-size")
            self.take_claim(claim, message[7])
            self.said += message
            self.proves(PROOF, 0, b"FITMPI2 dialer")
            self.awaits, self.proved = VERDICT, True
            return
        self.check_proof(message, b"FITMPI2 verdict")
        if message[7] > BYTE_ORDER:
            raise HandshakeError("bad-message")
        if message[7] == ACCEPT and self.peer_order != OWN_ORDER:
            raise HandshakeError("byte-order")
        self.awaits, self.verdict, self.done = 0, message[7], True


class Acceptor(Handshake):
    """Answers a HELLO. Once proven is set it waits for decide."""

    def __init__(self, job, secret, rank, size, window, nonce):
        super().__init__(job, secret, rank, size, window, nonce)
        self.awaits = HELLO
        self.proven = False

    def take(self, message):
        if self.awaits == HELLO:
            claim = Claim.decode(message[24:96])
            if message[8:24] != self.job:
                raise HandshakeError("wrong-job")
            if claim.receiver != self.rank:
                raise HandshakeError("wrong-rank")
            if claim.size != self.size:
                raise HandshakeError("wrong-size")
            if claim.sender >= self.size or claim.sender == self.rank:
                raise HandshakeError("stranger")
            self.take_claim(claim, message[7])
            self.said += message
            self.own.receiver = claim.sender
            b = prefix(CHALLENGE, OWN_ORDER) + self.own.encode()
            self.say(b + proof(self.secret, b"FITMPI2 acceptor", self.said + b))
            self.awaits = PROOF
            return
        if message[7] != 0:
            raise HandshakeError("bad-message")
        self.check_proof(message, b"FITMPI2 dialer")
        self.said += message
        self.awaits, self.proven = 0, True

    def decide(self, verdict):
        if self.peer_order != OWN_ORDER:
            verdict = BYTE_ORDER
        self.proves(VERDICT, verdict, b"FITMPI2 verdict")
        self.verdict, self.done = verdict, True
