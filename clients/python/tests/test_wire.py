"""The bytes, against the vectors of engine/internal/wire/testdata (docs/PROTOCOL.md)."""

import pathlib
import unittest

from fitmpi import wire

TESTDATA = pathlib.Path(__file__).parents[3] / "engine/internal/wire/testdata"
NAMES = {"eager": wire.EAGER, "rts": wire.RTS, "cts": wire.CTS, "data": wire.DATA, "ack": wire.ACK, "credit": wire.CREDIT,
         "cancel": wire.CANCEL, "cancel-reply": wire.CANCEL_REPLY, "bye": wire.BYE, "heartbeat": wire.HEARTBEAT,
         "fin": wire.FIN, "signal": wire.SIGNAL, "received": wire.RECEIVED}
FLAGS = {"sync": 1, "object": 2, "done": 4, "pull": 8, "paused": 16}


def parse(text):
    """The header that a line of headers.golden describes."""
    name, *fields = text.split()
    h = wire.Header(NAMES[name])
    for f in fields:
        key, is_set, value = f.partition("=")
        if not is_set:
            h.flags = sum(FLAGS[w] for w in f.split("+"))
            continue
        field = {"ctx": "context", "xfer": "context", "off": "context", "tag": "tag", "len": "length", "elem": "elem", "req": "id"}[key]
        if name == "data" and key == "xfer":
            field = "id"
        setattr(h, field, int(value, 0))
    return h


class Headers(unittest.TestCase):
    def test_golden(self):
        lines = (TESTDATA / "headers.golden").read_text().splitlines()
        self.assertEqual(len(lines) % 2, 0)
        for text, hexa in zip(lines[::2], lines[1::2]):
            with self.subTest(text):
                got = wire.decode_header(bytes.fromhex(hexa))
                self.assertEqual(got.encode().hex(), hexa)
                if not text.startswith(("signal", "received", "fin")):
                    self.assertEqual(got, parse(text))

    def test_refused(self):
        """The table of section 10, by the header alone."""
        good = wire.Header(wire.EAGER, 0, 0, 7, 0, 8).encode()
        for why, at, value in (("bad version", 0, 9), ("unknown kind", 1, 14), ("bad flags", 2, 4), ("bad id", 24, 1), ("too long", 22, 0x80), ("bad tag", 7, 0x80)):
            b = bytearray(good)
            b[at] = value
            with self.subTest(why), self.assertRaisesRegex(wire.ProtocolError, why):
                wire.decode_header(b)
        for why, h in (("zero length", wire.Header(wire.CREDIT)), ("bad context", wire.Header(wire.DATA, context=1 << 46, length=1)),
                       ("bad length", wire.Header(wire.BYE, length=1)), ("bad element class", wire.Header(wire.CTS, elem=1))):
            with self.subTest(why), self.assertRaisesRegex(wire.ProtocolError, why):
                wire.decode_header(h.encode())


def golden_handshakes():
    lines = [l.rsplit(" ", 1) for l in (TESTDATA / "handshake.golden").read_text().splitlines()]
    for i in range(0, len(lines), 5):
        yield [(name, bytes.fromhex(hexa)) for name, hexa in lines[i:i + 5]]


class Handshakes(unittest.TestCase):
    def test_golden(self):
        """Both sides agree with every byte of the vectors, cut at each place."""
        for (_, secret), (_, hello), (_, challenge), (_, proof), (verdict, last) in golden_handshakes():
            claim, answer = wire.Claim.decode(hello[24:96]), wire.Claim.decode(challenge[8:80])
            for cut in (1, 7, 200):
                with self.subTest(verdict, cut=cut):
                    d = wire.Dialer(hello[8:24], secret, claim.sender, claim.size, claim.window, claim.nonce, claim.receiver)
                    a = wire.Acceptor(hello[8:24], secret, answer.sender, answer.size, answer.window, answer.nonce)
                    for side, own in ((d, claim), (a, answer)):  # this client does not resume by itself
                        side.own.flags, side.own.received, side.own.connection, side.own.beat = own.flags, own.received, own.connection, own.beat
                    d.said = d.out = b""
                    d.say(wire.prefix(wire.HELLO, 1) + d.job + d.own.encode())
                    self.assertEqual(self.pass_on(d, a, cut), hello)
                    self.assertEqual(self.pass_on(a, d, cut), challenge)
                    self.assertEqual(self.pass_on(d, a, cut), proof)
                    self.assertTrue(a.proven)
                    a.decide(last[7])
                    self.assertEqual(self.pass_on(a, d, cut), last)
                    self.assertEqual((d.verdict, d.window), (last[7], answer.window))

    def pass_on(self, one, other, cut):
        said, one.out = one.out, b""
        for i in range(0, len(said), cut):
            piece = said[i:i + cut]
            self.assertEqual(other.feed(piece), len(piece))
        return said

    def test_any_bit_counts(self):
        """A challenge with one bit changed is refused."""
        (_, secret), (_, hello), (_, challenge), *_ = next(golden_handshakes())
        claim = wire.Claim.decode(hello[24:96])
        for at in range(len(challenge)):
            d = wire.Dialer(hello[8:24], secret, claim.sender, claim.size, claim.window, claim.nonce, claim.receiver)
            d.said = hello
            b = bytearray(challenge)
            b[at] ^= 4
            with self.subTest(at), self.assertRaises(wire.HandshakeError):
                d.feed(bytes(b))


if __name__ == "__main__":
    unittest.main()
