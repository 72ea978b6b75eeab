package mpi

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"slices"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// card is what a rank tells the others of itself. How two ranks reach each other
// depends on their cards alone, so that both find the same.
type card struct {
	Addrs   string `json:"addrs"`            // where it accepts peers, with commas between, in the order in which they should try
	Domain  string `json:"domain,omitempty"` // whose ranks reach it without a gateway
	TLS     bool   `json:"tls,omitempty"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Began   string `json:"began,omitempty"`   // as sys.StartOf; "" if it does not know
	Index   int    `json:"index"`             // number among the ranks of its host
	Big     bool   `json:"big,omitempty"`     // its memory is big-endian
	Place   string `json:"place"`             // equal for the ranks of one machine, whatever containers they are in
	Net     string `json:"net,omitempty"`     // as sys.Network; "" if it does not know
	PIDs    string `json:"pids,omitempty"`    // as sys.PIDSpace; "" if it does not know
	Process string `json:"process,omitempty"` // equal for the ranks of one process; "" if this one wants TCP
	Bound   bound  `json:"bound"`             // of the machine that its process is bound to
	Segment string `json:"segment,omitempty"` // equal for ranks that share memory; "" if this one shares none
	Cliques int    `json:"cliques,omitempty"` // FITMPI_CLIQUES; 0 if it is not set
	Clique  int    `json:"clique,omitempty"`  // which of them has this rank
	Coll    string `json:"coll,omitempty"`    // FITMPI_COLL in its normal form; "" if it chooses nothing
	Check   bool   `json:"check,omitempty"`   // FITMPI_CHECK
	App     int    `json:"app,omitempty"`     // which of the job's programs it runs
	Root    string `json:"root,omitempty"`    // of a job that was spawned: see boot.Kin
	Number  int    `json:"number,omitempty"`  // likewise: of the rank
}

// newCard is the card of a rank that accepts peers at addrs.
func newCard(info boot.Info, set settings, l *local, addrs []netip.AddrPort) card {
	c := card{
		Domain: info.Net.Domain, TLS: set.net.tls, Host: info.Host, PID: os.Getpid(), Began: sys.StartOf(os.Getpid()), Index: info.LocalRank,
		Big: bigEndian, Place: sys.BootID(), Net: sys.Network(), PIDs: sys.PIDSpace(), Bound: l.bound, Process: l.token, Cliques: set.cliques, Coll: set.coll.String(), Check: set.checks,
		App: info.AppNum, Root: info.Kin.Root,
	}
	if c.Root != "" {
		c.Number = info.Kin.First + info.Rank
	}
	for i, a := range addrs {
		if i > 0 {
			c.Addrs += ","
		}
		c.Addrs += a.String()
	}
	if c.Place == "" {
		c.Place = "host " + info.Host
	}
	if l.segment != nil {
		id := l.segment.ID()
		c.Segment = hex.EncodeToString(id[:])
	}
	if set.cliques > 0 {
		c.Clique = info.LocalRank * set.cliques / info.LocalSize
	}
	return c
}

// readCards is what the ranks have told, by rank.
func readCards(raw [][]byte) ([]card, error) {
	cards := make([]card, len(raw))
	for r, b := range raw {
		if err := json.Unmarshal(b, &cards[r]); err != nil {
			return nil, fmt.Errorf("the card of rank %d: %w", r, err)
		}
		if cards[r].Cliques != cards[0].Cliques {
			return nil, fmt.Errorf("%s is %d at rank 0 and %d at rank %d (0: not set): every rank needs the same value",
				nameCliques, cards[0].Cliques, cards[r].Cliques, r)
		}
		if cards[r].Coll != cards[0].Coll {
			return nil, fmt.Errorf("%s is %q at rank 0 and %q at rank %d (\"\": nothing chosen): every rank needs the same value",
				nameColl, cards[0].Coll, cards[r].Coll, r)
		}
		if cards[r].Check != cards[0].Check {
			return nil, fmt.Errorf("%s: types are checked at rank 0: %t, at rank %d: %t: every rank needs the same value",
				nameCheck, cards[0].Check, r, cards[r].Check)
		}
		if err := checkTLS(cards, r); err != nil {
			return nil, err
		}
	}
	return cards, nil
}

// wayOf is how two ranks reach each other.
func wayOf(a, b *card) engine.Way {
	switch {
	case a.Clique != b.Clique, a.Big != b.Big:
		return engine.TCP
	case a.Process != "" && a.Process == b.Process:
		return engine.Thread
	case a.Segment != "" && a.Segment == b.Segment:
		return engine.Shared
	default:
		return engine.TCP
	}
}

// isRemote reports whether connections between two ranks leave the network stack of either. Names
// of hosts say nothing of that: cloned machines and containers often have the same.
func isRemote(a, b *card) bool { return a.Net == "" || a.Net != b.Net }

// bridge is the bridge table of the rank me; w leads to ranks that share no memory with it.
func bridge(cards []card, me int, w *world) ([]engine.PeerInfo, error) {
	peers := make([]engine.PeerInfo, len(cards))
	for r := range cards {
		c := &cards[r]
		way := engine.TCP
		if r != me {
			way = wayOf(&cards[me], c)
		}
		var routes []engine.Route
		if c.Addrs != "" || way == engine.TCP && r != me { // where there are no sockets it listens nowhere
			var err error
			if routes, err = w.routes(c); err != nil {
				return nil, fmt.Errorf("the card of rank %d: %w", r, err)
			}
		}
		peers[r] = engine.PeerInfo{Way: way, Routes: routes, Host: c.Host, Remote: isRemote(&cards[me], c), Index: c.Index, BigEndian: c.Big}
	}
	return peers, nil
}

// sayLinux adds to an error why there are no sockets, if that is so.
func sayLinux() string {
	if engine.HasSockets {
		return ""
	}
	return ": FitMPI uses sockets on Linux only; elsewhere ranks are threads of one process"
}

// checkShared says which rank the rank me can reach by TCP only, if there is one.
func checkShared(cards []card, peers []engine.PeerInfo, me int, why error) error {
	for r := range peers {
		if r == me || peers[r].Way != engine.TCP {
			continue
		}
		a, b := min(me, r), max(me, r)
		err := fmt.Errorf("ranks %d (pid %d on %s) and %d (pid %d on %s) share no memory: use --transport auto",
			a, cards[a].PID, cards[a].Host, b, cards[b].PID, cards[b].Host)
		if why != nil {
			err = fmt.Errorf("%w; %w", err, why)
		}
		return fmt.Errorf("%s=%s: %w", nameTransport, transportShm, err)
	}
	return nil
}

// nodesOf numbers the machines of the ranks in the order of their first ranks. A clique counts as a
// machine. It is nil if there is but one: no caller needs to ask.
func nodesOf(cards []card) []int {
	type place struct {
		name   string
		clique int
	}
	nodes := numbered(cards, func(c *card) place { return place{c.Place, c.Clique} })
	if slices.Max(nodes) == 0 {
		return nil
	}
	return nodes
}

// numbered gives the ranks whose cards have the same of something the same number, from 0 in the
// order of their first ranks.
func numbered[K comparable](cards []card, of func(c *card) K) []int {
	number := make(map[K]int)
	numbers := make([]int, len(cards))
	for r := range cards {
		k := of(&cards[r])
		n, ok := number[k]
		if !ok {
			n = len(number)
			number[k] = n
		}
		numbers[r] = n
	}
	return numbers
}

// hostsOf is the number of the machine of each of peers; nil if all ranks of the job are on one, or
// some of peers are of other jobs, whose machines have no number here.
func (j *job) hostsOf(peers []engine.PeerID) []int {
	if j.nodes == nil || j.isMixed(peers) {
		return nil
	}
	nodes := make([]int, len(peers))
	for r, p := range peers {
		nodes[r] = j.nodes[p]
	}
	return nodes
}

// placesOf says which ranks of a communicator of peers share a machine; nil if it
// makes no difference.
func (j *job) placesOf(peers []engine.PeerID) *coll.Places {
	nodes := j.hostsOf(peers)
	if nodes == nil {
		return nil
	}
	return coll.NewPlaces(nodes)
}
