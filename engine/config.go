package engine

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"time"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/internal/shm"
)

// Policy says who makes progress.
type Policy uint8

// The policies; all give the same results.
const (
	// Worker: only the worker touches sockets.
	Worker Policy = iota
	// Assist: as Worker; a caller that blocks may poll for itself as long as a
	// core is free for that, or sleep in the poller for a while where it is not,
	// and a blocking send writes its own message when nobody else drives.
	Assist
	// Caller: there is no worker; messages move only inside calls. The
	// single-threaded baseline.
	Caller
)

var policyNames = [...]string{"worker", "assist", "caller"}

func (p Policy) String() string { return policyNames[p] }

// ParsePolicy is the inverse of String.
func ParsePolicy(s string) (Policy, error) {
	for i, n := range policyNames {
		if n == s {
			return Policy(i), nil
		}
	}
	return 0, fmt.Errorf("progress policy %q: choose worker, assist or caller", s)
}

// Config describes a rank and its parameters. Zero values mean defaults.
type Config struct {
	Rank, Size int
	Job        [16]byte // public name of the job, part of the handshake
	Secret     []byte   // shared by the ranks of the job; 32 bytes

	Progress Policy
	Listen   []netip.Addr  // where to accept peers, the best address first; default 127.0.0.1
	Ports    netif.Ports   // at which port; default any
	Try      time.Duration // how long one route to a peer is tried if there is another; default 3 s
	Connect  time.Duration // how long a peer is tried to be reached; default 60 s
	Spin     time.Duration // how long a caller polls before it sleeps; 0 = no core is free for that
	Yield    time.Duration // if Spin is 0: how long it polls and yields the core in between, unless all peers are threads of this process
	Doze     time.Duration // if Spin is 0: how long it sleeps in the poller after that, before it leaves that to the worker (assist)
	KeepP    bool          // the worker may keep its P while it waits: GOMAXPROCS has one to spare

	SendBuffer int // bytes of the library send buffer
	ShortMax   int // bytes up to which a payload is copied behind its header
	EagerMax   int // bytes up to which a payload follows without permission
	Window     int // bytes of eager messages that each peer may have waiting here
	CopyMax    int // bytes up to which a standard Send is copied to the library buffer
	MaxMessage int // bytes of the longest message that a receive of unknown length allocates for

	SocketBuffer int    // SO_SNDBUF and SO_RCVBUF; 0 = the system's
	Congestion   string // TCP_CONGESTION; "" = the system's

	TLS bool // connections are encrypted; every rank of the job does the same

	// The ranks of this host that are reached without a socket; see PeerInfo.Way.
	Process *Process        // this process's ranks; nil if this is the only one
	Segment *shm.Segment    // memory shared with processes of this host, whose owner closes it after Kill, when nobody is inside a call; nil if there is none
	Index   int             // number of this rank among those of its host
	Bell    *os.File        // eventfd that processes of this host ring when they have put something for us; needed with Segment
	Fetch   bool            // long messages between processes are read by the kernel from the sender's memory, not piped through the ring
	AskBell func(index int) // asks for the bell of another; the answer is SetBell. Needed with Segment; must not block

	Logger *slog.Logger // nil is silent
}

// PeerInfo is a line of the bridge table: where a peer is.
type PeerInfo struct {
	Routes []Route // ways to connect to it, the best first; for Way TCP
	Host   string
	Way    Way
	Index  int // number of the rank among those of its host; for Way other than TCP

	BigEndian bool // the byte order of the rank's memory
}

func (c *Config) setDefaults() error {
	if c.Size < 1 || c.Rank < 0 || c.Rank >= c.Size {
		return fmt.Errorf("engine: rank %d of %d ranks does not exist", c.Rank, c.Size)
	}
	if len(c.Secret) < 16 {
		return fmt.Errorf("engine: the job's secret has %d bytes, need at least 16", len(c.Secret))
	}
	if len(c.Listen) == 0 {
		c.Listen = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	}
	c.Try = cmp.Or(c.Try, 3*time.Second)
	c.Connect = cmp.Or(c.Connect, 60*time.Second)
	c.SendBuffer = cmp.Or(c.SendBuffer, core.DefaultSendBuffer)
	c.CopyMax = cmp.Or(c.CopyMax, c.SendBuffer)
	if c.Progress == Caller {
		c.CopyMax = -1 // what is left in the library buffer would wait for the next call
	}
	if !c.KeepP {
		c.Doze = 0 // it would keep a P that is not to spare
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

func (c *Config) core() core.Config {
	return core.Config{
		Self: core.PeerID(c.Rank), Peers: c.Size,
		SendBuffer: c.SendBuffer, ShortMax: c.ShortMax, EagerMax: c.EagerMax, Window: c.Window, MaxMessage: c.MaxMessage,
	}
}
