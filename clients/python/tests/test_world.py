"""Worlds of several ranks in one process, over TCP, with a fitrun of the test's."""

import base64
import json
import os
import socket
import threading
import time
import unittest
from array import array

import fitmpi
from fitmpi import boot, wire
from fitmpi.engine import Engine


class Job:
    """n ranks that have found each other."""

    def __init__(self, n, places=None):
        secret, self.job = os.urandom(32), os.urandom(16)
        self.launchers, infos, listeners, cards = [], [], [], []
        for r in range(n):
            ours, theirs = socket.socketpair()
            self.launchers.append(theirs)
            info = boot.Info({"type": "welcome", "v": 1, "rank": r, "size": n, "local_rank": r, "local_size": n, "job": self.job.hex(),
                              "secret": base64.b64encode(secret).decode(), "host": "test"})
            socks, addrs = boot.listen(info, {})
            card = boot.card(info, addrs, {})
            if places:
                card["place"] = places[r]
            infos.append((boot.Launcher(ours), info))
            listeners.append(socks)
            cards.append(card)
        self.secret, self.cards = secret, cards
        self.worlds = [fitmpi.World(Engine(info, launcher, socks, cards), cards) for (launcher, info), socks in zip(infos, listeners)]

    def run(self, f):
        """Calls f with each world, in threads of their own, and returns what they return."""
        results, errors = [None] * len(self.worlds), []

        def one(w):
            try:
                results[w.rank] = f(w)
            except Exception as err:
                errors.append(err)

        threads = [threading.Thread(target=one, args=(w,), daemon=True) for w in self.worlds]
        for t in threads:
            t.start()
        for t in threads:
            t.join(30)
            if t.is_alive():
                raise TimeoutError("a rank does not return")
        if errors:
            raise errors[0]
        return results

    def close(self):
        for w in self.worlds:
            w._engine.close(0.1)
        for s in self.launchers:
            s.close()


class Worlds(unittest.TestCase):
    def job(self, n, places=None):
        j = Job(n, places)
        self.addCleanup(j.close)
        return j

    def test_pingpong(self):
        """Section 5: eager up to the limit, rendezvous above it."""
        def rank(w):
            for n in (0, 1, 8, 4096, 256 << 10, (256 << 10) + 1, 3 << 20):
                data = bytes(i * 7 & 0xff for i in range(min(n, 4096))) * (n // max(min(n, 4096), 1) + 1)
                if w.rank == 0:
                    w.send(data[:n], 1, tag=n)
                    self.assertEqual(bytes(w.recv(1, n).data), data[:n])
                else:
                    m = w.recv()
                    self.assertEqual((m.source, m.tag, len(m.data)), (0, n, n))
                    w.send(m.data, 0, m.tag)
            w.finalize()
        self.job(2).run(rank)

    def test_order(self):
        """Section 4: of two messages that match the earlier one gets the receive, whatever their kinds."""
        def rank(w):
            if w.rank == 0:
                rs = [w.isend(bytes([i]) * (300_000 if i % 3 == 0 else 10), 1, tag=i % 2) for i in range(40)]
                for r in rs:
                    r.wait()
            else:
                time.sleep(0.05)
                odd = [w.recv(0, 1).data[0] for _ in range(20)]
                even = [w.recv(fitmpi.ANY_SOURCE, 0).data[0] for _ in range(20)]
                self.assertEqual(odd, list(range(1, 40, 2)))
                self.assertEqual(even, list(range(0, 40, 2)))
            w.finalize()
        self.job(2).run(rank)

    def test_credit(self):
        """Section 6: more than a window waits unreceived, by RTS; all of it comes."""
        def rank(w):
            n = 3 * w._engine.window // 8192
            if w.rank == 0:
                rs = [w.isend(bytes(8192), 1, tag=i) for i in range(n)]
                w.barrier()
                for r in rs:
                    r.wait()
            else:
                w.barrier()
                for i in reversed(range(n)):
                    self.assertEqual(len(w.recv(0, i).data), 8192)
            w.finalize()
        self.job(2).run(rank)

    def test_simultaneous(self):
        """Section 2, Simultaneous connect: all dial all at once."""
        def rank(w):
            rs = [w.irecv(r, 5) for r in range(w.size)]
            for r in range(w.size):
                w.send(array("d", [w.rank, r]), r, 5)
            for r, q in enumerate(rs):
                self.assertEqual(list(fitmpi.values(q.wait(20))), [r, w.rank])
            w.finalize()
        for _ in range(5):
            self.job(5).run(rank)

    def test_barrier(self):
        """No rank leaves before the last has come (MPI 4.1, 6.3), on one host and on several."""
        for places in (None, ["a", "a", "b", "b", "b", "c"], list("abcdef")):
            came = []

            def rank(w):
                for round in range(3):
                    time.sleep(0.01 * w.rank)
                    came.append(round)
                    w.barrier()
                    self.assertGreaterEqual(came.count(round), w.size)
                w.finalize()
            with self.subTest(places=places):
                self.job(6, places).run(rank)

    def test_truncated(self):
        def rank(w):
            if w.rank == 0:
                w.send(bytes(1000), 1)
                w.send(bytes(500_000), 1)
                w.ssend(b"last", 1)
            else:
                for _ in range(2):
                    with self.assertRaises(fitmpi.Truncated):
                        w.recv(0, into=bytearray(600))
                self.assertEqual(bytes(w.recv(0).data), b"last")
            w.finalize()
        self.job(2).run(rank)

    def test_refuses_collectives(self):
        """A message of what this client does not have ends the job with a word, and nothing waits."""
        j = self.job(2)
        a, b = j.worlds
        a._engine.send(1, 1, 0, memoryview(b"12345678"), 0x90 | 11)
        with self.assertRaisesRegex(fitmpi.Unsupported, "Allreduce, which rank 0 has begun"):
            b.recv(0, 3)
        m = json.loads(j.launchers[1].recv(4096).split(b"\n")[0])
        self.assertEqual((m["type"], m["text"]), ("abort", "rank 1 is a client in Python, which cannot do this: Allreduce, which rank 0 has begun"))

    def test_part_failed(self):
        """Section 4: a message with the mark 1 fails a barrier; between two ranks 1 is a class of elements."""
        a, b = self.job(2).worlds
        a._engine.send(1, 1, 0, memoryview(b""), wire.PART_FAILED[2])
        with self.assertRaisesRegex(fitmpi.PartFailed, "rank 0 has found an error in its part"):
            b.barrier()
        a._engine.send(1, 0, 7, memoryview(b"x"), wire.PART_FAILED[0])
        self.assertEqual(bytes(b.recv(0, 7).data), b"x")

    def test_failed_peer(self):
        """Section 8: the end of a connection without Bye fails what needs the peer."""
        j = self.job(2)
        a, b = j.worlds
        r = b.irecv(0, 1)
        a.send(b"x", 1, 2)
        b.recv(0, 2)
        with a._engine.mu:
            a._engine.peers[1].conn.close()
        with self.assertRaisesRegex(fitmpi.PeerFailed, "without a goodbye"):
            r.wait(10)

    def test_strangers(self):
        """A stranger is dropped, and breaks nothing; a rank that breaks the protocol has failed."""
        j = self.job(2)
        a, b = j.worlds
        host, port = j.cards[1]["addrs"].split(":")
        for greeting in (b"GET / HTTP/1.1\r\n\r\n", bytes(96), b"\x16\x03\x01\x02\x00\x01\x00\x01"):
            with socket.create_connection((host, int(port))) as s:
                s.sendall(greeting)
                s.settimeout(5)
                self.assertIn(s.recv(100), (b"", b"\x15\x03\x03\x00\x02\x02\x46"))
        a.send(b"x", 1, 2)
        b.recv(0, 2)
        r = b.irecv(0, 1)
        with a._engine.mu:
            a._engine.peers[1].out.append([memoryview(bytes(32)), None])
            a._engine.peers[1].conn.flush()
        with self.assertRaisesRegex(fitmpi.PeerFailed, "bad version"):
            r.wait(10)

    def test_overdrawn(self):
        j = self.job(2)
        a, b = j.worlds
        a.send(b"x", 1, 2)
        b.recv(0, 2)
        r = b.irecv(0, 1)
        with a._engine.mu:
            a._engine.peers[1].credit = 1 << 40
        for _ in range(6):
            try:
                a.send(bytes(256 << 10), 1, 3)
            except fitmpi.PeerFailed:
                break
        with self.assertRaisesRegex(fitmpi.PeerFailed, "overdrawn"):
            r.wait(10)


class Boot(unittest.TestCase):
    def test_refuses(self):
        """What this client does not have is refused before any rank waits for it."""
        for welcome, environ, what in (({"net": {"tls": True}}, {}, "encrypted"), ({}, {"FITMPI_CHECK": "1"}, "checks"),
                                       ({"ft": True}, {}, "dead ranks"), ({}, {"FITMPI_TRANSPORT": "shm"}, "shared memory")):
            ours, theirs = socket.socketpair()
            with ours, theirs:
                info = boot.Info({"type": "welcome", "v": 1, "rank": 1, "size": 2, "local_size": 2, "job": "00" * 16,
                                  "secret": base64.b64encode(bytes(32)).decode(), **welcome})
                with self.subTest(what), self.assertRaisesRegex(fitmpi.BootError, f"rank 1 is a client in Python.*{what}"):
                    boot.check(boot.Launcher(ours), info, environ)
                self.assertEqual(json.loads(theirs.recv(4096))["type"], "abort")

    def test_choose(self):
        found = [("eth0", "10.1.0.5"), ("eth1", "192.168.7.1")]
        for choice, want in (("", ["10.1.0.5", "192.168.7.1"]), ("eth1", ["192.168.7.1"]), ("10.0.0.0/8", ["10.1.0.5"]),
                             ("lo,eth0", ["127.0.0.1", "10.1.0.5"]), ("eth9", [])):
            self.assertEqual(boot.choose(found, choice), want)

    def test_without_fitrun(self):
        with self.assertRaisesRegex(fitmpi.BootError, "start the program by fitrun"):
            boot.connect({})


if __name__ == "__main__":
    unittest.main()
