"""What a rank and fitrun say to each other, and what ranks tell of themselves.

The messages are those of the package comment of internal/boot: JSON objects, one a line, over the
socket whose number is in FITMPI_BOOT_FD. The card is that of docs/PROTOCOL.md, section 12.
"""

import base64
import fcntl
import ipaddress
import json
import os
import socket
import struct
import sys
import threading

VERSION = 1
MAX_LINE = 64 << 10


class BootError(Exception):
    """This process cannot join a job; the text says why."""


class Launcher:
    """The rank's end of the connection to fitrun."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""
        self.sending = threading.Lock()  # a message is whole, whichever threads send

    def send(self, **message):
        line = json.dumps(message).encode() + b"\n"
        with self.sending:
            self.sock.sendall(line)

    def read(self):
        """The next message; None at the end of the connection."""
        while b"\n" not in self.buffer:
            more = self.sock.recv(MAX_LINE)  # descriptors that come with it are dropped by the kernel
            if not more:
                return None
            self.feed(more)
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def feed(self, more):
        self.buffer += more
        if b"\n" not in self.buffer and len(self.buffer) >= MAX_LINE:
            raise BootError(f"a message of fitrun is longer than {MAX_LINE} bytes")

    def lines(self):
        """All messages that are there whole."""
        while b"\n" in self.buffer:
            line, self.buffer = self.buffer.split(b"\n", 1)
            yield json.loads(line)

    def abort(self, code, text):
        """Ends the whole job; fitrun shows the text once."""
        try:
            self.send(type="abort", code=code, text=text[:4096])
        except OSError:
            pass  # fitrun is gone, and with it the job


class Info:
    """What fitrun says of this rank and its job."""

    def __init__(self, welcome):
        m = welcome
        if m is None or m.get("type") != "welcome" or m.get("v") != VERSION:
            raise BootError(f"want a welcome of version {VERSION} from fitrun, got {str(m)[:200]}")
        self.rank, self.size = m.get("rank", 0), m["size"]
        self.local_rank, self.local_size = m.get("local_rank", 0), m["local_size"]
        self.job = bytes.fromhex(m["job"])
        self.secret = base64.b64decode(m["secret"])
        self.host = m.get("host") or socket.gethostname()
        self.app, self.ft = m.get("app", 0), m.get("ft", False)
        self.process_ranks = m.get("process_ranks", 1)
        net = m.get("net") or {}
        self.remote, self.iface, self.ports = net.get("remote", False), net.get("iface", ""), net.get("ports", "")
        self.tls, self.domain = net.get("tls", False), net.get("domain", "")
        if not 0 <= self.rank < self.size or len(self.job) != 16 or len(self.secret) < 32:
            raise BootError("the welcome of fitrun makes no sense")


def connect(environ):
    """Takes over the socket of fitrun's, and reads its welcome."""
    numbers = environ.pop("FITMPI_BOOT_FD", "")
    if not numbers:
        raise BootError("FITMPI_BOOT_FD is not set: start the program by fitrun, which is the only launcher that this client knows")
    environ["FITMPI_LAUNCHER"] = "none"  # what this process starts is no rank of the job
    fds = [int(n) for n in numbers.split(",")]
    sock = socket.socket(fileno=fds[0])
    sock.set_inheritable(False)
    launcher = Launcher(sock)
    info = Info(launcher.read())
    if len(fds) > 1:
        refuse(launcher, info, "a process of several ranks (--ranks-per-process)")
    launcher.send(type="hello", v=VERSION, pid=os.getpid())
    return launcher, info


def refuse(launcher, info, what):
    """Ends the job, as this client cannot do what it asks for. All ranks hear why."""
    text = f"rank {info.rank} is a client in Python, which cannot do this: {what}"
    launcher.abort(1, text)
    raise BootError(text)


def check(launcher, info, environ):
    """Refuses jobs that ask for what this client does not have."""
    wants = (
        (info.tls or environ.get("FITMPI_TLS") == "1", "encrypted connections (--tls, FITMPI_TLS)"),
        (environ.get("FITMPI_CHECK") == "1", "the checks of types and calls (--check, FITMPI_CHECK)"),
        (environ.get("FITMPI_COLL", "") != "", "chosen algorithms of collectives (FITMPI_COLL)"),
        (environ.get("FITMPI_TRANSPORT") == "shm", "shared memory (--transport shm)"),
        (info.ft or environ.get("FITMPI_FT") == "1", "to go on without dead ranks (--with-ft, FITMPI_FT)"),
        (info.domain != "", "gateways between domains of hosts"),
    )
    for wanted, what in wants:
        if wanted:
            refuse(launcher, info, what)


def boot_id():
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return ""


def link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def started(pid):
    """When the process began, as the kernel counts that: field 22 of its stat."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return ""


def card(info, addrs, environ):
    """What this rank tells the others of itself. It names no memory: so all reach it by TCP."""
    cliques = int(environ.get("FITMPI_CLIQUES") or 0)
    boot, net = boot_id(), link("/proc/self/ns/net")
    c = {
        "addrs": ",".join(addrs), "host": info.host, "pid": os.getpid(), "began": started(os.getpid()),
        "index": info.local_rank, "place": boot or "host " + info.host, "bound": [-1, -1, -1, -1], "app": info.app,
    }
    if boot and net:
        c["net"] = f"{boot} {net}"
    if boot and link("/proc/self") == str(os.getpid()):
        c["pids"] = link("/proc/self/ns/pid")
    if sys.byteorder == "big":
        c["big"] = True
    if cliques > 0:
        c["cliques"], c["clique"] = cliques, info.local_rank * cliques // info.local_size
    return {k: v for k, v in c.items() if v != "" or k == "place"}


def exchange(launcher, info, mine):
    """Hands in this rank's card, and returns those of all."""
    launcher.send(type="card", card=base64.b64encode(json.dumps(mine).encode()).decode())
    cards = [None] * info.size
    while None in cards:
        m = launcher.read()
        if m is None:
            raise BootError("fitrun is gone")
        if m["type"] == "cards":
            for i, c in enumerate(m["cards"]):
                cards[m.get("first", 0) + i] = json.loads(base64.b64decode(c or ""))
        elif m["type"] == "event" and m["event"] in ("peer-failed", "job-aborted"):
            raise BootError(f"{m['event']}: {m.get('text', '')}")
    return cards


def check_cards(cards, mine):
    """What all ranks must have the same of. The Go ranks look at the same, and say the same."""
    for r, c in enumerate(cards):
        if c.get("coll", ""):
            return f"FITMPI_COLL is {c['coll']!r} at rank {r}"
        if c.get("check", False):
            return f"types are checked at rank {r} (FITMPI_CHECK)"
        if c.get("tls", False):
            return f"rank {r} uses TLS (FITMPI_TLS)"
        if c.get("cliques", 0) != mine.get("cliques", 0):
            return f"FITMPI_CLIQUES differs at rank {r}"
        if c.get("domain", ""):
            return f"rank {r} is in the domain {c['domain']!r}"
    return ""


def interfaces():
    """The IPv4 addresses of this host that lead out of it, with the names of their interfaces."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                addr = socket.inet_ntoa(fcntl.ioctl(s, 0x8915, request)[20:24])  # SIOCGIFADDR
                flags = struct.unpack("<H" if sys.byteorder == "little" else ">H",
                                      fcntl.ioctl(s, 0x8913, request)[16:18])[0]  # SIOCGIFFLAGS
            except OSError:
                continue
            if flags & 1 and not flags & 8:  # it is up, and no loopback interface
                found.append((name, addr))
    return found


def choose(found, choice):
    """The addresses of a comma list of interfaces, addresses and networks; all without one."""
    if not choice:
        return [addr for _, addr in found]
    chosen = []
    for item in choice.split(","):
        for name, addr in found + [("lo", "127.0.0.1")]:
            if item in (name, addr) or "/" in item and ipaddress.ip_address(addr) in ipaddress.ip_network(item, False):
                if addr not in chosen:
                    chosen.append(addr)
    return chosen


def listen(info, environ):
    """Listens where other ranks may reach this one. It returns the sockets and their addresses."""
    choice = info.iface or environ.get("FITMPI_IFACE", "")
    addrs = choose(interfaces(), choice) if info.remote or choice else ["127.0.0.1"]
    if not addrs:
        raise BootError(f"no IPv4 address of this host is in {choice!r}" if choice else "this host has no IPv4 address that leads out of it")
    ports = info.ports or environ.get("FITMPI_PORT_RANGE", "")
    first, last = (int(p) for p in ports.split("-")) if ports else (0, 0)
    socks = []
    for addr in addrs:
        for port in range(first, last + 1):
            s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind((addr, port))
                s.listen(128)
            except OSError:
                s.close()
                if port == last:
                    raise BootError(f"no port of {addr} is free in {ports or 'any'}") from None
                continue
            socks.append(s)
            break
    return socks, [f"{s.getsockname()[0]}:{s.getsockname()[1]}" for s in socks]
