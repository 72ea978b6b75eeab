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

// Policy says which goroutines make progress.
type Policy uint8

// The policies; all give the same results.
const (
	// Worker: only the worker touches sockets.
	Worker Policy = iota
	// Assist: as Worker. But a caller that blocks may poll for itself as long as a core is free for
	// that, or sleep in the poller for a while where it is not. A blocking send writes its own
	// message when no other goroutine drives.
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

// MinUnexpected is the least that makes sense as Config.Unexpected: more than senders may leave at
// a receiver without waiting.
const MinUnexpected = core.MinUnexpected

// minSecret is the least number of bytes of a job's secret.
const minSecret = 32

// Config describes a rank and its parameters. Zero values mean defaults.
type Config struct {
	Rank, Size int
	Job        [16]byte // public name of the job, part of the handshake
	Secret     []byte   // shared by the ranks of the job; 32 bytes

	Progress         Policy
	Listen           []netip.Addr  // where to accept peers, the best address first; default 127.0.0.1
	Ports            netif.Ports   // at which port; default any
	Try              time.Duration // how long one route to a peer is tried if there is another; default 3 s
	Connect          time.Duration // how long a peer is tried to be reached; default 60 s
	Heartbeat        time.Duration // how often this rank shows peers of other processes that it lives; default 1 s, more in jobs of more than 33 ranks, less than 0: never
	HeartbeatTimeout time.Duration // how long such a peer that has promised heartbeats may be silent; default 60 s, less than 0: for ever, and this rank shows nothing
	// OnSuspect gets a report of a peer that was silent for too long, with the reason, or, with "",
	// of one that was heard again. The text may begin with Unreachable, or end with Answers. It
	// returns whether another party, such as the launcher, will find out and say so by FailPeer;
	// else the peer fails at once. It must not block. nil: no other party will.
	OnSuspect func(peer PeerID, why string) bool
	Spin      time.Duration // how long a caller polls before it sleeps; 0 = no core is free for that
	Yield     time.Duration // if Spin is 0: how long it polls and yields the core in between, unless all peers are threads of this process
	Doze      time.Duration // if Spin is 0: how long it sleeps in the poller after that, before it leaves that to the worker (assist)
	KeepP     bool          // the worker may keep its P while it waits: GOMAXPROCS has one to spare
	// Workers is how many threads move long payloads of several connections at the same time, at
	// most MaxWorkers, for experiments; see hands.go. 0 and 1: the goroutine that drives alone.
	Workers int
	// Moderation is for how long the worker rests, at most 4 ms, where no core is idle for it
	// (assist; see rest.go). What arrives meanwhile waits for its next look, or for a call. 0: a
	// core is the worker's own, and it hears everything at once. Under worker it says no more than
	// whether there is such a core.
	Moderation time.Duration
	// WorkerCPUs are processors on which the worker may run where Moderation is set, though the
	// process may be bound to fewer; nil: those of the process.
	WorkerCPUs []int

	SendBuffer int       // bytes of the library send buffer
	ShortMax   int       // bytes up to which a payload is copied behind its header
	EagerMax   int       // bytes up to which a payload follows without permission
	Family     ContextID // bits of a context that all contexts of a communicator share; 0 = all
	Streams    Tag       // bits of a tag that may differ in the messages of one schedule; the others are its own
	Window     int       // bytes of eager messages that each peer may have waiting here
	CopyMax    int       // bytes up to which a standard Send is copied to the library buffer
	MaxMessage int       // bytes of the longest message that a receive of unknown length allocates for
	Early      int       // bytes of long messages that may be taken from their senders before a receive asks for them; 0 = none
	Unexpected int       // bytes of announcements of messages that no receive has asked for, from all peers together

	SocketBuffer int    // SO_SNDBUF and SO_RCVBUF; 0 = the system's
	Congestion   string // TCP_CONGESTION; "" = the system's

	Resume    Resume        // between which ranks streams outlive their connections
	Reconnect time.Duration // how long a connection that broke is tried to be made again; default 10 s
	Unacked   int           // bytes sent to a peer and not acknowledged, at most, where streams outlive their connections; default 16 MiB

	TLS bool // connections are encrypted; every rank of the job does the same

	// The ranks of this host that are reached without a socket; see PeerInfo.Way.
	Process *Process        // this process's ranks; nil if this is the only one
	Segment *shm.Segment    // memory shared with processes of this host, whose owner closes it after Kill, when no caller is inside a call; nil if there is none
	Index   int             // number of this rank among those of its host
	Bell    *os.File        // eventfd that processes of this host ring when they have put something for us; needed with Segment
	Copy    Copying         // how long messages come between processes
	AskBell func(index int) // asks for the bell of another; the answer is SetBell. Needed with Segment; must not block

	// OnSignal gets what peers signal; OnPeerGone gets the end of a peer, which has failed or left
	// (err.Left). The goroutine that makes progress calls both, one at a time, in order for each
	// peer, without the engine's mutex. They may post and signal. They must not wait, nor take a
	// lock that any goroutine holds while it calls the engine. payload is valid during the call.
	// nil: nothing is reported.
	OnSignal   func(from PeerID, ctx ContextID, payload []byte)
	OnPeerGone func(peer PeerID, err *PeerError)

	Observer Observer // of messages, and of turns if it is a TurnObserver; nil = none

	Logger *slog.Logger // nil is silent
}

// PeerInfo is a line of the bridge table: where a peer is.
type PeerInfo struct {
	Routes []Route // ways to connect to it, the best first; for Way TCP
	Host   string  // its name, for people: several hosts may have the same
	Remote bool    // connections to it leave this host, so they may break though both ranks live
	Way    Way
	Index  int // number of the rank among those of its host; for Way other than TCP

	BigEndian bool // the byte order of the rank's memory
}

func (c *Config) setDefaults() error {
	if c.Size < 1 || c.Rank < 0 || c.Rank >= c.Size {
		return fmt.Errorf("engine: rank %d of %d ranks does not exist", c.Rank, c.Size)
	}
	if len(c.Secret) < minSecret {
		return fmt.Errorf("engine: the job's secret has %d bytes, need at least %d", len(c.Secret), minSecret)
	}
	if len(c.Listen) == 0 {
		c.Listen = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	}
	c.Try = cmp.Or(c.Try, 3*time.Second)
	c.Connect = cmp.Or(c.Connect, 60*time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, max(DefaultHeartbeat, time.Duration(c.Size)*beatShare))
	c.HeartbeatTimeout = cmp.Or(c.HeartbeatTimeout, DefaultHeartbeatTimeout)
	c.Reconnect = cmp.Or(c.Reconnect, 10*time.Second)
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
		SendBuffer: c.SendBuffer, ShortMax: c.ShortMax, EagerMax: c.EagerMax, Window: c.Window, MaxMessage: c.MaxMessage, Family: c.Family, Streams: c.Streams,
		Announced: c.Unexpected / core.EntrySize, Early: c.Early, Unacked: c.Unacked, Observer: c.Observer,
	}
}

// InForce is the configuration with the defaults filled in, as far as it is about how the engine
// works: no addresses, no secret.
func (e *Engine) InForce() Config {
	c, k := e.cfg, e.core.Config()
	return Config{
		Rank: c.Rank, Size: c.Size, Progress: c.Progress, Try: c.Try, Connect: c.Connect, Spin: c.Spin, Yield: e.yieldFor, Doze: c.Doze, KeepP: c.KeepP, Workers: c.Workers, Moderation: c.Moderation,
		SendBuffer: k.SendBuffer, ShortMax: k.ShortMax, EagerMax: k.EagerMax, Window: k.Window, CopyMax: c.CopyMax, MaxMessage: k.MaxMessage, Unexpected: cmp.Or(c.Unexpected, k.Announced*core.EntrySize), Early: k.Early,
		Heartbeat: c.Heartbeat, HeartbeatTimeout: c.HeartbeatTimeout,
		SocketBuffer: c.SocketBuffer, Congestion: c.Congestion, TLS: c.TLS, Copy: c.Copy,
		Resume: c.Resume, Reconnect: c.Reconnect, Unacked: k.Unacked,
	}
}
