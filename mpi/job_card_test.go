//go:build linux && !fitmpi_portable

package mpi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/internal/relay"
	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// The way between two ranks follows from their cards, and is the same seen from both.
func TestWayOf(t *testing.T) {
	for _, test := range []struct {
		name string
		a, b card
		want engine.Way
	}{
		{"threads of one process", card{Process: "p", Place: "m"}, card{Process: "p", Place: "m"}, engine.Thread},
		{"threads beside a segment", card{Process: "p", Segment: "s"}, card{Process: "p", Segment: "s"}, engine.Thread},
		{"processes with a segment", card{Process: "p", Segment: "s"}, card{Process: "q", Segment: "s"}, engine.Shared},
		{"one host by two names", card{Host: "a", Place: "m", Segment: "s"}, card{Host: "b", Place: "m", Segment: "s"}, engine.Shared},
		{"two hosts of one name", card{Host: "a", Place: "m", Process: "p", Segment: "s"}, card{Host: "a", Place: "n", Process: "q", Segment: "r"}, engine.TCP},
		{"one machine, two segments", card{Place: "m", Segment: "s"}, card{Place: "m", Segment: "r"}, engine.TCP},
		{"one machine, no segment", card{Place: "m", Process: "p"}, card{Place: "m", Process: "q"}, engine.TCP},
		{"one could, the other not", card{Place: "m", Process: "p", Segment: "s"}, card{Place: "m", Process: "q"}, engine.TCP},
		{"one chose TCP", card{Place: "m"}, card{Place: "m", Process: "p", Segment: "s"}, engine.TCP},
		{"both chose TCP in one process", card{Place: "m"}, card{Place: "m"}, engine.TCP},
		{"threads in one clique", card{Process: "p", Cliques: 2, Clique: 1}, card{Process: "p", Cliques: 2, Clique: 1}, engine.Thread},
		{"threads in two cliques", card{Process: "p", Cliques: 2}, card{Process: "p", Cliques: 2, Clique: 1}, engine.TCP},
		{"processes in two cliques", card{Segment: "s", Cliques: 2}, card{Segment: "s", Cliques: 2, Clique: 1}, engine.TCP},
	} {
		if ab, ba := wayOf(&test.a, &test.b), wayOf(&test.b, &test.a); ab != test.want || ba != test.want {
			t.Errorf("%s: %v, seen from the other %v, want %v", test.name, ab, ba, test.want)
		}
	}
}

var oneAddr = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:4000")}

// hostOf is the cards of n ranks of one host, each process with so many of them.
func hostOf(n, perProcess, cliques int) []card {
	cards := make([]card, n)
	for r := range cards {
		info := boot.Info{Rank: r, Size: n, LocalRank: r, LocalSize: n, Host: "here"}
		l := &local{token: fmt.Sprint("process ", r/perProcess)}
		cards[r] = newCard(info, settings{cliques: cliques}, l, oneAddr)
		cards[r].Segment = "s"
	}
	return cards
}

func TestBridge(t *testing.T) {
	cards := hostOf(5, 2, 0)
	peers, err := bridge(cards, 2, new(world))
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range []engine.Way{engine.Shared, engine.Shared, engine.TCP, engine.Thread, engine.Shared} { // itself is none
		if p := peers[r]; p.Way != want || p.Index != r || p.Host != "here" || len(p.Routes) != 1 || p.Routes[0].Addr != oneAddr[0] {
			t.Errorf("rank %d is %+v, want way %v and index %d", r, p, want, r)
		}
	}
	cards[3].Addrs = "nowhere"
	if _, err = bridge(cards, 2, new(world)); err == nil || !strings.Contains(err.Error(), "the card of rank 3") {
		t.Errorf("a card without an address: %v", err)
	}
}

// Which connections leave a host does not go by its name, and is the same seen from both ranks.
func TestRemote(t *testing.T) {
	for _, test := range []struct {
		name string
		a, b card
		want bool
	}{
		{"one host", card{Host: "vm", Net: "k1 n1"}, card{Host: "vm", Net: "k1 n1"}, false},
		{"one host by two names", card{Host: "a", Net: "k1 n1"}, card{Host: "b", Net: "k1 n1"}, false},
		{"two hosts of one name", card{Host: "vm", Net: "k1 n1"}, card{Host: "vm", Net: "k2 n1"}, true},
		{"two containers of one host and name", card{Host: "vm", Place: "k1", Net: "k1 n1"}, card{Host: "vm", Place: "k1", Net: "k1 n2"}, true},
		{"nobody knows", card{Host: "vm"}, card{Host: "vm"}, true},
		{"one knows", card{Host: "vm", Net: "k1 n1"}, card{Host: "vm"}, true},
	} {
		for _, cards := range [][]card{{test.a, test.b}, {test.b, test.a}} {
			for r := range cards {
				cards[r].Addrs = oneAddr[0].String()
			}
			peers, err := bridge(cards, 0, new(world))
			if err != nil {
				t.Fatal(err)
			}
			if got := peers[1].Remote; got != test.want {
				t.Errorf("%s: remote %v, want %v", test.name, got, test.want)
			}
		}
	}
	if c := newCard(boot.Info{Host: "vm", Size: 1, LocalSize: 1}, settings{}, new(local), oneAddr); c.Net != sys.Network() || c.Net == "" {
		t.Errorf("the network on a card is %q, want %q", c.Net, sys.Network())
	}
}

// Ranks of one machine count as one place; FITMPI_CLIQUES divides them evenly, in their order.
func TestNodes(t *testing.T) {
	for _, test := range []struct {
		n, cliques int
		want       []int
	}{
		{4, 0, nil}, {4, 1, nil}, {1, 3, nil},
		{4, 2, []int{0, 0, 1, 1}},
		{5, 2, []int{0, 0, 0, 1, 1}},
		{5, 3, []int{0, 0, 1, 1, 2}},
		{3, 3, []int{0, 1, 2}},
		{3, 9, []int{0, 1, 2}},
	} {
		if got := nodesOf(hostOf(test.n, 1, test.cliques)); !slices.Equal(got, test.want) {
			t.Errorf("%d ranks in %d cliques are on %v, want %v", test.n, test.cliques, got, test.want)
		}
	}
	two := slices.Concat(hostOf(2, 1, 0), hostOf(2, 1, 0), hostOf(1, 1, 0))
	two[2].Place, two[3].Place = "another", "another"
	if got := nodesOf(two); !slices.Equal(got, []int{0, 0, 1, 1, 0}) {
		t.Errorf("two machines are %v", got)
	}
}

// A communicator has the places of its own ranks, in its own order.
func TestPlacesOf(t *testing.T) {
	j := &job{nodes: []int{0, 0, 1, 1, 1}}
	for _, test := range []struct {
		peers  []engine.PeerID
		exists bool
	}{
		{[]engine.PeerID{0, 1, 2, 3, 4}, true}, {[]engine.PeerID{4, 0, 3}, true},
		{[]engine.PeerID{0, 1}, false}, {[]engine.PeerID{2, 0}, false}, {[]engine.PeerID{3}, false},
	} {
		if p := j.placesOf(test.peers); (p != nil) != test.exists {
			t.Errorf("the places of %v are %v, want some: %v", test.peers, p, test.exists)
		}
	}
	if p := (&job{}).placesOf([]engine.PeerID{0, 1}); p != nil {
		t.Errorf("the places of a job on one machine are %v", p)
	}
}

func TestReadCards(t *testing.T) {
	raw := func(cards []card) (all [][]byte) {
		for _, c := range cards {
			b, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
		return all
	}
	cards := hostOf(4, 2, 2)
	got, err := readCards(raw(cards))
	if err != nil || !slices.Equal(got, cards) {
		t.Errorf("read %+v, %v, want %+v", got, err, cards)
	}
	cards[3].Cliques = 4
	_, err = readCards(raw(cards))
	if err == nil || !strings.Contains(err.Error(), "FITMPI_CLIQUES is 2 at rank 0 and 4 at rank 3") {
		t.Errorf("ranks that differ in cliques: %v", err)
	}
	cards[3].Cliques, cards[1].Check = 2, true
	_, err = readCards(raw(cards))
	if err == nil || !strings.Contains(err.Error(), "FITMPI_CHECK: types are checked at rank 0: false, at rank 1: true") {
		t.Errorf("one that checks types: %v", err)
	}
	cards[1].Check, cards[2].TLS = false, true
	_, err = readCards(raw(cards))
	if err == nil || !strings.Contains(err.Error(), "rank 0 does not use TLS, rank 2 does: every rank needs the same FITMPI_TLS") {
		t.Errorf("one that uses TLS: %v", err)
	}
	cards[2].TLS = false
	cards[1].Check, cards[2].Coll = false, "allreduce=ring"
	_, err = readCards(raw(cards))
	if err == nil || !strings.Contains(err.Error(), `FITMPI_COLL is "" at rank 0 and "allreduce=ring" at rank 2`) {
		t.Errorf("ranks that differ in algorithms: %v", err)
	}
	_, err = readCards([][]byte{[]byte("{}"), []byte("{")})
	if err == nil || !strings.Contains(err.Error(), "the card of rank 1") {
		t.Errorf("a broken card: %v", err)
	}
}

// With FITMPI_TRANSPORT=shm a pair that has TCP only is an error that names both, whichever rank
// looks.
func TestCheckShared(t *testing.T) {
	cards := hostOf(3, 1, 0)
	look := func(me int, why error) error {
		peers, err := bridge(cards, me, new(world))
		if err != nil {
			t.Fatal(err)
		}
		return checkShared(cards, peers, me, why)
	}
	for r := range cards {
		if err := look(r, nil); err != nil {
			t.Errorf("rank %d of a host: %v", r, err)
		}
	}
	cards[2].Host, cards[2].Segment, cards[2].PID = "there", "", 77
	why := errors.New("the memory is full")
	for _, me := range []int{0, 2} {
		err := look(me, why)
		for _, part := range []string{"FITMPI_TRANSPORT=shm", "ranks 0 (", " on here) and 2 (pid 77 on there)", "--transport auto", why.Error()} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("rank %d sees %v, want an error that says %q", me, err, part)
			}
		}
	}
}

// The card of a rank that shares memory names it, and that of one that has chosen TCP names neither
// memory nor process.
func TestNewCard(t *testing.T) {
	info := sharingInfo(t, 2, 1)
	for _, test := range []struct {
		transport        string
		process, segment bool
	}{{transportAuto, true, true}, {transportShm, true, true}, {transportTCP, false, false}} {
		l, err := newLocal(info, test.transport)
		if err != nil {
			t.Fatal(err)
		}
		c := newCard(info, settings{}, l, oneAddr)
		if (c.Process != "") != test.process || (c.Segment != "") != test.segment || c.Place == "" || c.PID == 0 || c.Index != info.LocalRank {
			t.Errorf("with %s the card is %+v", test.transport, c)
		}
		if err := l.leave(); err != nil {
			t.Error(err)
		}
	}
}

// The cards of the largest host fit what a launcher takes.
func TestCardSize(t *testing.T) {
	c := hostOf(1, 1, 1)[0]
	c.Host, c.Segment, c.Process = strings.Repeat("h", 253), strings.Repeat("f", 32), strings.Repeat("P", 26)
	c.Index, c.PID, c.Domain = shm.MaxRanks, 1<<22, strings.Repeat("d", 64)
	c.Bound = bound{65535, 65535, 65535, 65535}
	c.Addrs = strings.Repeat("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%averylongname00]:65535,", maxAddrs)
	if b, err := json.Marshal(c); err != nil || len(b) > 4096 {
		t.Errorf("a card has %d bytes: %v", len(b), err)
	}
}

// The way to a rank of another domain is its gateway, with a request that is new each time; to one
// of the own domain it is its addresses, those of a common network first.
func TestRoutes(t *testing.T) {
	key := make([]byte, 32)
	w := &world{
		job: [16]byte{7}, domain: "a", mine: []netif.Address{{Prefix: netip.MustParsePrefix("10.2.0.9/16")}},
		gateways: []boot.Gateway{{Domain: "c", Addr: "10.0.0.3:1", Key: key}, {Domain: "b", Addr: "10.0.0.1:1", Key: key}, {Domain: "b", Addr: "10.0.0.2:1", Key: key}},
	}
	c := card{Addrs: "10.1.0.1:5,10.2.0.1:6", Domain: "a"}
	rs, err := w.routes(&c)
	if err != nil || len(rs) != 2 || rs[0].Addr.String() != "10.2.0.1:6" || rs[0].Preamble != nil {
		t.Errorf("routes %+v, %v", rs, err)
	}
	c.Domain = "b"
	rs, err = w.routes(&c)
	if err != nil || len(rs) != 2 || rs[0].Addr.String() != "10.0.0.1:1" || rs[1].Addr.String() != "10.0.0.2:1" {
		t.Fatalf("routes %+v, %v", rs, err)
	}
	var seen relay.Seen
	for range 3 {
		req, err := relay.ReadRequest(rs[1].Preamble())
		if err != nil || req.Domain != "b" || req.Job != w.job || fmt.Sprint(req.Targets) != "[10.1.0.1:5 10.2.0.1:6]" {
			t.Fatalf("the request is %+v, %v", req, err)
		}
		if err := req.Verify(key, time.Now(), &seen); err != nil {
			t.Error(err)
		}
	}
	request := rs[0].Preamble()
	for _, test := range []struct {
		answer []byte
		want   string
		more   bool
	}{
		{relay.AppendRefusal(nil, request, "no way", key), "the gateway refuses: no way", false},
		{relay.AppendRefusal(nil, request, "no way", nil), `the gateway, or what answers in its place without the key of this job, refuses: "no way"`, false},
		{relay.AppendRefusal(nil, request, "no way", nil)[:7], "", true},
		{[]byte("FITM\x02"), "", false},
	} {
		if why, more := rs[0].Refusal(request, test.answer); why != test.want || more != test.more {
			t.Errorf("%q means %q, %v", test.answer, why, more)
		}
	}
	c.Domain = "d"
	if _, err := w.routes(&c); err == nil || !strings.Contains(err.Error(), `in domain "d", this rank in "a"`) {
		t.Errorf("no gateway: %v", err)
	}
}

// Where a rank listens: on the loopback interface unless there are other hosts, or the user asks.
func TestListenWhere(t *testing.T) {
	for _, test := range []struct {
		iface  string
		remote bool
		wants  func(addrs []netip.Addr, err error) bool
	}{
		{"", false, func(as []netip.Addr, err error) bool { return err == nil && fmt.Sprint(as) == "[127.0.0.1]" }},
		{"127.0.0.1", false, func(as []netip.Addr, err error) bool { return err == nil && fmt.Sprint(as) == "[127.0.0.1]" }},
		{"", true, func(as []netip.Addr, err error) bool { return err == nil && len(as) > 0 && len(as) <= maxAddrs }},
		{"nosuch0", true, func(as []netip.Addr, err error) bool {
			return err != nil && strings.Contains(err.Error(), "FITMPI_IFACE: this host has no address by \"nosuch0\"; it has lo ")
		}},
	} {
		n := netSettings{remote: test.remote}
		var err error
		if n.choice, err = netif.ParseChoice(test.iface); err != nil {
			t.Fatal(err)
		}
		var cfg engine.Config
		if _, err = n.listen(&cfg, true); !test.wants(cfg.Listen, err) {
			t.Errorf("%q, remote %v: %v, %v", test.iface, test.remote, cfg.Listen, err)
		}
	}
}
