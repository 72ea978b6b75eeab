"""A rank of the jobs of tests/python_test.go: it answers what ranks in Go say, as its argument has it."""

import os
import sys
from array import array

import fitmpi

ECHO, DOUBLE, BURST, STOP = 1, 2, 3, 4  # tags of what is asked for; the test has the same


def serve(world):
    """Answers until every rank in Go, of which there are as many, has said stop."""
    stops = int(sys.argv[2])
    while stops:
        m = world.recv(fitmpi.ANY_SOURCE, fitmpi.ANY_TAG)
        if m.tag == ECHO:
            world.send(m.data, m.source, ECHO)
        elif m.tag == DOUBLE:
            world.send(array("d", [2 * x for x in fitmpi.values(m)]), m.source, DOUBLE)
        elif m.tag == BURST:
            requests = [world.isend(array("q", [i]), m.source, 100 + i % 3) for i in range(fitmpi.values(m)[0])]
            for r in requests:
                r.wait()
        else:
            assert m.tag == STOP, m.tag
            stops -= 1
    world.barrier()  # no rank receives by wildcards any more
    # Ranks in Python among themselves: each to the next, long and short.
    python = [r for r in range(world.size) if r >= int(sys.argv[2])]
    at = python.index(world.rank)
    n = len(python)
    for size in (8, 1 << 20):
        request = world.irecv(python[at - 1], size)
        world.ssend(bytes([world.rank]) * size, python[(at + 1) % n], size)
        assert request.wait().data == bytes([python[at - 1]]) * size
    for _ in range(9):
        world.barrier()
    print(f"rank {world.rank} in Python is done", flush=True)


def wait(world):
    """Waits for what does not come."""
    print("waiting", flush=True)
    world.recv(0, 99)


def die(world):
    world.barrier()
    os.kill(os.getpid(), 9)


def leave(world):
    world.barrier()
    os._exit(0)  # without finalize


def fail(world):
    world.barrier()
    raise ValueError("of the program's own")


with fitmpi.init() as w:
    globals()[sys.argv[1]](w)
